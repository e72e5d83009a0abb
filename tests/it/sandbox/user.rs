//! Workers that are not root.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::Service;

/// An unused user of this machine.
pub(super) struct User {
    pub(super) id: u32,
}

impl User {
    /// Returns a different user for each test.
    pub(super) fn new() -> Self {
        /// The first id after those that workers give to jobs.
        const FIRST: u32 = 61_200;
        static NEXT: AtomicU32 = AtomicU32::new(FIRST);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id }
    }

    /// Returns the command that runs a program as this user.
    pub(super) fn wrapper(&self) -> Vec<String> {
        let id = self.id;
        let wrapper = format!("setpriv --reuid {id} --regid {id} --clear-groups");
        wrapper.split(' ').map(str::to_owned).collect()
    }

    /// Starts another worker that runs as this user, through an additional wrapper.
    pub(super) async fn add_worker(
        &self,
        service: &mut Service,
        wrapper: &[&str],
        more: &[(&str, &str)],
    ) {
        let assets = self.prepare(service);
        let own = self.wrapper();
        let wrapper: Vec<_> = own
            .iter()
            .map(String::as_str)
            .chain(wrapper.iter().copied())
            .collect();
        let mut variables = vec![("SKILLET_ASSETS", assets.as_str())];
        variables.extend(more);
        service.add_worker_through(&wrapper, &variables).await;
    }

    /// Creates a data directory for the next worker, and opens the path to the database. Returns the directory for
    /// assets.
    pub(super) fn prepare(&self, service: &Service) -> String {
        let home = service.next_home();
        let database = reqwest::Url::parse(&service.database_url).unwrap();
        let mut settings = database.query_pairs();
        let (_, socket) = settings.find(|(name, _)| name == "host").unwrap();
        let socket = Path::new(&*socket);
        let open = |directory: &Path, mode| {
            std::fs::set_permissions(directory, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        open(service.home.path(), 0o711);
        // The server creates files in this directory as a member of its group.
        open(socket, 0o771);
        if let Some(database) = socket.parent().filter(|it| it.ends_with("postgres")) {
            open(database, 0o711);
        }
        std::fs::create_dir_all(&home).unwrap();
        chown(&home, Some(self.id), Some(self.id)).unwrap();
        home.join("assets").display().to_string()
    }
}
