//! Workspaces that resist deletion.

use std::path::PathBuf;

use super::attack::{ServicePair, python, run};
use super::user::User;
use crate::support::{Service, until};

/// Creates 3,000 levels, directories without permissions for their owner, and 8,000 names.
fn undeletable() -> String {
    python(
        "top = os.getcwd()
for level in range(3000):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
open('bottom', 'w').close()
os.chdir(top)
open('bottom', 'w').close()
for folder in range(2):
    os.makedirs(f'node_modules/many-{folder}')
    for number in range(4000):
        os.link('bottom', f'node_modules/many-{folder}/{number}')
os.makedirs('closed/inner/most')
open('closed/inner/most/file', 'w')
os.symlink('/etc', 'closed/link')
os.mkfifo('closed/pipe')
os.mkdir('moved-1'); os.makedirs('x/moved-1/moved-2')
os.makedirs('/tmp/closed/inner') if os.getuid() == 1000 else None
for folder in ('closed/inner/most', 'closed/inner', 'closed', 'node_modules/many-1', 'd' * 200):
    os.chmod(folder, 0)
os.chmod('.', 0o500)
print('made')",
    )
}

#[tokio::test]
async fn a_workspace_that_was_made_to_stay_goes_all_the_same() {
    let user = User::new();
    let Some(ordinary) = ServicePair::of(&user).await else {
        return;
    };
    let root = Service::start().await;
    for service in [&root, &ordinary.inside, &ordinary.outside] {
        let reply = run(service, &undeletable()).await;
        assert_eq!(reply["stdout"], "made\n", "{reply:#}");
        until(async || workspaces(service).is_empty()).await;
        assert!(
            !service.logs().contains("could not be removed"),
            "{}",
            service.logs()
        );
        let next = run(service, "ls -A").await;
        assert_eq!(next["stdout"], "");
    }

    // `rm -rf` is not sufficient for such a tree.
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(user.id), Some(user.id)).unwrap();
    let path = home.path().display();
    let id = user.id;
    let outside = format!(
        "setpriv --reuid {id} --regid {id} --clear-groups bash -c 'cd {path} && mkdir t && cd t && {{ {}
}} && cd .. && ! rm -rf t'",
        undeletable().replace('\'', r"'\''")
    );
    let removed = super::attack::plainly(&outside).await;
    assert!(removed.status.success(), "{removed:?}");
}

fn workspaces(service: &Service) -> Vec<PathBuf> {
    let entries = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let all = service.home.path().join("worker-0/workspaces");
    entries(all).flat_map(entries).collect()
}
