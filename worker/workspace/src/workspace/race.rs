//! Tests with a directory that another thread exchanges with a link while the worker opens a file in it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Workspace;

const RACE: Duration = Duration::from_secs(5);
/// The time limit for the other thread to win once.
const TIMEOUT: Duration = Duration::from_secs(60);
const SECRET: &str = "of the host";

/// A workspace with a directory that is constantly exchanged with a link to a victim's directory.
struct Race {
    workspace: Workspace,
    folder: PathBuf,
    victim: PathBuf,
    is_over: Arc<AtomicBool>,
    exchanger: Option<JoinHandle<u64>>,
    _home: tempfile::TempDir,
}

type Opener<'a> = dyn Fn(&Race) -> io::Result<File> + 'a;

impl Race {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let victim = home.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("file"), SECRET).unwrap();
        let workspace = crate::workspace::made(home.path().join("job"));
        let folder = PathBuf::from(workspace.job_directory().host_paths().0);
        let (real, link) = (folder.join("real"), folder.join("link"));
        fs::create_dir(&real).unwrap();
        fs::write(real.join("file"), "of the job!").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let exchanger = thread::spawn({
            let is_over = is_over.clone();
            move || {
                let mut exchanges = 0;
                while !is_over.load(Ordering::Relaxed) {
                    renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                    exchanges += 1;
                }
                exchanges
            }
        });
        Self {
            workspace,
            folder,
            victim,
            is_over,
            exchanger: Some(exchanger),
            _home: home,
        }
    }

    /// Returns how often each opener opened the victim's file. The openers take turns until the race ends.
    fn leaks<const N: usize>(&self, openers: [&Opener<'_>; N]) -> [u64; N] {
        let begun_at = Instant::now();
        let mut leaks = [0; N];
        while begun_at.elapsed() < RACE {
            for (leaks, open) in leaks.iter_mut().zip(openers) {
                let mut text = String::new();
                if let Ok(mut file) = open(self) {
                    file.read_to_string(&mut text).unwrap();
                    *leaks += u64::from(text == SECRET);
                }
            }
        }
        leaks
    }
}

impl Drop for Race {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let exchanges = self.exchanger.take().unwrap().join().unwrap();
        assert!(exchanges > 1000, "{exchanges} exchanges are no race");
    }
}

/// A naive check that seems right: resolve the path, check that it is inside, open it.
fn open_after_a_look(folder: &Path) -> io::Result<File> {
    let place = folder.join("real/file").canonicalize()?;
    if !place.starts_with(folder) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    File::open(place)
}

#[test]
fn what_is_exchanged_with_a_link_meanwhile_is_not_followed_out() {
    let race = Race::start();
    let folder = race.folder.canonicalize().unwrap();
    let refused = |_| io::Error::from(io::ErrorKind::PermissionDenied);
    let [named, own, naive] = race.leaks([
        &|race| {
            let opened = race.workspace.open_file("real/file");
            opened.map(|(file, _)| file).map_err(refused)
        },
        &|race| race.workspace.open_own("real/file"),
        &|_| open_after_a_look(&folder),
    ]);
    assert_eq!((named, own), (0, 0));
    assert!(naive > 0, "the race is one");
}

#[test]
fn nor_is_anything_made_or_removed_at_its_end() {
    let race = Race::start();
    let begun_at = Instant::now();
    let mut made = 0;
    let mut made_naively = 0;
    // Until the naive check has failed at least once. On a busy machine that takes a while.
    while begun_at.elapsed() < RACE / 5 || (made_naively == 0 && begun_at.elapsed() < TIMEOUT) {
        made += u64::from(race.workspace.create_file("real/new", 0o644).is_ok());
        assert!(!race.victim.join("new").exists());
        let _ = race.workspace.remove_file("real/new");
        let _ = race.workspace.remove_file("real/file");
        assert!(race.victim.join("file").exists());
        assert!(race.workspace.create_link("link/../../out", "x").is_err());
        let naive = race.folder.join("real");
        if naive
            .canonicalize()
            .is_ok_and(|it| it.starts_with(&race.folder))
        {
            let _ = File::create(naive.join("naive"));
            made_naively += u64::from(fs::remove_file(race.victim.join("naive")).is_ok());
        }
    }
    assert!(made > 0, "it can be made where it belongs");
    assert!(made_naively > 0, "the race is one");
}
