//! Tests of snapshots.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;

fn workspace(home: &Path, name: &str) -> Arc<Workspace> {
    let workspace = crate::workspace::made(home.join(name));
    fs::write(folder(&workspace).join("input.csv"), "a,b\n").unwrap();
    fs::write(folder(&workspace).join("unwanted.csv"), "x\n").unwrap();
    Arc::new(workspace)
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.job_directory().host_paths().0.into()
}

/// Every path with its mode and its content or target.
fn tree(workspace: &Workspace) -> Vec<(String, u32, String)> {
    let found = workspace.survey().unwrap().found.into_iter().map(|found| {
        let path = folder(workspace).join(&found.path);
        match found.kind {
            SurveyEntryKind::File { mode, .. } => {
                (found.path, mode, fs::read_to_string(path).unwrap())
            }
            SurveyEntryKind::Directory { mode } => (found.path, mode, String::new()),
            SurveyEntryKind::Link { target } => (found.path, 0, target),
        }
    });
    let mut tree: Vec<_> = found.collect();
    tree.sort();
    tree
}

#[tokio::test]
async fn another_worker_finds_the_workspace_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let assets = AssetStore::in_folder(&home.path().join("assets")).unwrap();
    let job = JobId::new();
    let first = workspace(home.path(), "first");
    let mut snapshots = Snapshots::begin(&assets, job, &first, |_| true)
        .await
        .unwrap();
    assert!(
        snapshots.save(&first).await.unwrap().is_none(),
        "inputs alone are no change"
    );

    let at = |name: &str| folder(&first).join(name);
    fs::create_dir_all(at("out/deep")).unwrap();
    fs::create_dir(at("empty")).unwrap();
    fs::set_permissions(at("empty"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(at("out/deep/script.sh"), "echo").unwrap();
    fs::set_permissions(at("out/deep/script.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::write(at("input.csv"), "changed\n").unwrap();
    fs::remove_file(at("unwanted.csv")).unwrap();
    symlink("out/deep", at("link")).unwrap();
    symlink("/etc/passwd", at("out/outer")).unwrap();
    fs::create_dir_all(at(".cache/pip")).unwrap();
    fs::write(at(".netrc"), "password").unwrap();
    let saved = snapshots.save(&first).await.unwrap().unwrap();
    assert_eq!(saved.files, 2);
    assert!(
        snapshots.save(&first).await.unwrap().is_none(),
        "nothing changed since"
    );

    let second = workspace(home.path(), "second");
    let mut resumed = Snapshots::begin(&assets, job, &second, |_| true)
        .await
        .unwrap();
    assert_eq!(
        resumed.restore(&second, &saved.manifest).await.unwrap(),
        None
    );
    assert_eq!(tree(&second), tree(&first));
    assert!(!folder(&second).join(".netrc").exists());
    assert!(
        resumed.save(&second).await.unwrap().is_none(),
        "a restored workspace is no change"
    );

    resumed.clear().await.unwrap();
    assert_eq!(assets.list_workspaces().await.unwrap(), []);
}

#[tokio::test]
async fn staged_directories_are_kept_like_inputs_and_what_became_of_them_is_restored() {
    let home = tempfile::tempdir().unwrap();
    let assets = AssetStore::in_folder(&home.path().join("assets")).unwrap();
    let job = JobId::new();
    let staged = |name: &str| {
        let workspace = workspace(home.path(), name);
        for directory in ["skill", "skill/a", "skill/b", "skill/c"] {
            workspace.create_directory(directory, 0o755).unwrap();
            fs::write(folder(&workspace).join(directory).join("x"), "x").unwrap();
        }
        workspace
    };
    let first = staged("first");
    let mut snapshots = Snapshots::begin(&assets, job, &first, |_| true)
        .await
        .unwrap();
    assert!(snapshots.save(&first).await.unwrap().is_none());

    let at = |name: &str| folder(&first).join(name);
    fs::remove_dir_all(at("skill/a")).unwrap();
    fs::remove_dir_all(at("skill/b")).unwrap();
    fs::write(at("skill/b"), "a file").unwrap();
    fs::set_permissions(at("skill/c"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::write(at("skill/c/y"), "new").unwrap();
    let saved = snapshots.save(&first).await.unwrap().unwrap();
    assert_eq!(saved.files, 2, "what was staged is not saved again");

    let second = staged("second");
    let mut resumed = Snapshots::begin(&assets, job, &second, |_| true)
        .await
        .unwrap();
    let lost = resumed.restore(&second, &saved.manifest).await.unwrap();
    assert_eq!(lost, None);
    assert_eq!(tree(&second), tree(&first));
    assert!(resumed.save(&second).await.unwrap().is_none());
}
