"""Tests of the base branch in Git repositories of every kind."""

import subprocess

from support import ENVIRONMENT, SKILLS, ScriptTest, need

SCRIPT = SKILLS / "git/scripts/base-branch"
SETTINGS = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@localhost",
}


class GitTest(ScriptTest):
    skill = "git"

    def setUp(self) -> None:
        super().setUp()
        need("git", "bash")

    def shell(self, script: str) -> None:
        environment = ENVIRONMENT | SETTINGS
        commit = 'c() { echo "$1" >> f; git add f; git commit -qm "$1"; }\n'
        subprocess.run(["bash", "-ec", commit + script], check=True, cwd=self.folder, env=environment)

    def base(self, *arguments: str) -> str:
        done = subprocess.run(
            [SCRIPT, *arguments], capture_output=True, text=True, check=False, cwd=self.folder, env=ENVIRONMENT
        )
        return done.stdout.strip() if done.returncode == 0 else f"{done.returncode} {done.stderr.strip()}"

    def test_the_default_branch_of_the_remote(self) -> None:
        self.shell(
            "git init -q -b stable a; cd a; c 1; git switch -qc next; c 2; git switch -q stable; cd ..\n"
            "git clone -q a b; cd b; git switch -qc fix; c 3"
        )
        self.assertEqual(self.base("b"), "origin/stable")
        self.assertEqual(self.base("b", "origin/next"), "origin/stable")

    def test_a_clone_of_a_clone_that_had_the_work_checked_out(self) -> None:
        self.shell("git init -q -b master a; cd a; c 1; git switch -qc fix; c 2; cd ..; git clone -q a b; cd b; c 3")
        self.assertEqual(self.base("b"), "origin/master")
        self.assertEqual(self.base("a"), "master")

    def test_unusual_names_and_the_branch_from_which_the_work_branched_off(self) -> None:
        self.shell(
            "git init -q -b old a; cd a; c 1; c 2; git switch -qc release; c 3; c 4; git switch -qc fix; c 5\n"
            "git switch -q release; c 6; git switch -q fix"
        )
        self.assertEqual(self.base("a"), "release")

    def test_the_work_is_the_base_itself(self) -> None:
        self.shell("git init -q -b main a; cd a; c 1; cd ..; git clone -q a b; git init -q -b only d; cd d; c 1")
        self.assertEqual(self.base("b"), "origin/main")
        self.assertEqual(self.base("a"), "main")
        self.assertEqual(self.base("d"), "only")

    def test_a_detached_head_and_a_bundle(self) -> None:
        self.shell(
            "git init -q -b trunk a; cd a; c 1; git switch -qc work; c 2; git bundle create -q ../x.bundle --all\n"
            "git switch -q --detach; c 3; cd ..; git clone -q x.bundle e; cd e; git switch -q work 2>/dev/null || true"
        )
        self.assertEqual(self.base("a"), "trunk")
        self.assertEqual(self.base("e", "origin/work"), "origin/trunk")

    def test_a_folder_without_a_repository_is_refused(self) -> None:
        self.shell("git init -q -b main empty; mkdir none")
        self.assertEqual(self.base("/nowhere"), "1 base-branch: /nowhere: it is not a Git repository")
        self.assertEqual(self.base("empty"), "1 base-branch: empty: it has no commit HEAD")
        self.shell("git init -q -b main a; cd a; c 1")
        self.assertIn("it has no commit gone", self.base("a", "gone"))
        self.assertIn("base-branch [REPOSITORY] [BRANCH]", self.base("--help"))
