//! An attack in two worlds: in a sandbox, where it must fail, and outside, where it must succeed.
//!
//! If it failed outside, too, its failure in the sandbox would prove nothing.

use std::process::Stdio;

use serde_json::{Value, json};

use super::user::User;
use crate::support::log::data;
use crate::support::{Service, has_program, is_root};

/// A service whose worker confines commands, and one whose worker does not.
pub(super) struct Worlds {
    pub(super) inside: Service,
    pub(super) outside: Service,
}

/// What became of an attack in each world.
#[derive(Debug)]
pub(super) struct Tried {
    attack: String,
    pub(super) inside: Outcome,
    pub(super) outside: Outcome,
}

/// How a script ended, and all that it printed.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) code: i32,
    pub(super) told: String,
}

impl Worlds {
    /// Their workers are root, as we are, or there are none.
    pub(super) async fn of_root() -> Option<Self> {
        if !can_attack() {
            return None;
        }
        let (mut inside, mut outside) =
            tokio::join!(Service::without_worker(), Service::without_worker());
        let off = [("SKILLET_SANDBOX", "off")];
        tokio::join!(inside.add_worker(&[]), outside.add_worker(&off));
        Some(Self { inside, outside })
    }

    /// Their workers are that user: whatever fails, it is not because someone else owns it. There are none where
    /// we are not root.
    pub(super) async fn of(user: &User) -> Option<Self> {
        if !can_attack() {
            return None;
        }
        let (mut inside, mut outside) =
            tokio::join!(Service::without_worker(), Service::without_worker());
        let off = [("SKILLET_SANDBOX", "off")];
        tokio::join!(
            user.add_worker(&mut inside, &[], &[]),
            user.add_worker(&mut outside, &[], &off)
        );
        Some(Self { inside, outside })
    }

    /// Tries a script of bash, which succeeds if its last command does.
    pub(super) async fn bash(&self, attack: &str) -> Tried {
        self.all(&[attack]).await.remove(0)
    }

    /// Tries several one after the other, in the same workspace.
    pub(super) async fn all(&self, attacks: &[impl AsRef<str>]) -> Vec<Tried> {
        let (inside, outside) = tokio::join!(
            outcomes(&self.inside, attacks),
            outcomes(&self.outside, attacks)
        );
        let pairs = inside.into_iter().zip(outside);
        let tried = attacks.iter().zip(pairs).map(|(attack, pair)| Tried {
            attack: attack.as_ref().to_owned(),
            inside: pair.0,
            outside: pair.1,
        });
        tried.collect()
    }

    /// Tries a program of Python, which succeeds unless the system refuses something.
    pub(super) async fn python(&self, attack: &str) -> Tried {
        self.bash(&python(attack)).await
    }
}

/// Whether this machine has what attacks are made with.
pub(crate) fn can_attack() -> bool {
    is_root() && has_program("python3") && has_program("setpriv")
}

impl Tried {
    /// It failed in the sandbox, for that reason.
    #[track_caller]
    pub(super) fn fails_inside(self, reason: &str) -> Self {
        let is_refused = !succeeded(&self.attack, &self.inside);
        assert!(
            is_refused && self.inside.told.contains(reason),
            "inside, not `{reason}`:\n{}\n{:#?}",
            self.attack,
            self.inside
        );
        self
    }

    /// It does what it is meant to do.
    #[track_caller]
    pub(super) fn succeeds_outside(self) -> Self {
        assert!(
            succeeded(&self.attack, &self.outside),
            "outside:\n{}\n{:#?}",
            self.attack,
            self.outside
        );
        self
    }

    /// Whatever came of it outside, nothing there refused it for the reason that the sandbox gives.
    #[track_caller]
    pub(super) fn differs_outside(self, reason: &str) -> Self {
        let is_refused = !succeeded(&self.attack, &self.outside);
        assert!(
            !(is_refused && self.outside.told.contains(reason)),
            "outside:\n{}\n{:#?}",
            self.attack,
            self.outside
        );
        self
    }
}

/// Whether an attack succeeded. One that could not even be tried is a mistake of the test.
#[track_caller]
fn succeeded(attack: &str, outcome: &Outcome) -> bool {
    assert!(
        !matches!(outcome.code, 2 | 126 | 127),
        "not tried:\n{attack}\n{outcome:#?}"
    );
    outcome.code == 0
}

/// Runs all in one command, each in a shell of its own.
async fn outcomes(service: &Service, attacks: &[impl AsRef<str>]) -> Vec<Outcome> {
    const RUN: &str = r#"
attack() {
    bash -c "$1" 2>&1
    printf '\036%d\037' $?
}
"#;
    let calls = attacks.iter().map(|attack| {
        let quoted = attack.as_ref().replace('\'', r"'\''");
        format!("attack '{quoted}'\n")
    });
    let script = calls.fold(RUN.to_owned(), |script, call| script + &call);
    let reply = run(service, &script).await;
    let stdout = reply["stdout"].as_str().unwrap_or_default();
    let ended = stdout.split_terminator('\u{1f}').map(|one| {
        let (told, code) = one.rsplit_once('\u{1e}').expect("each says how it ended");
        Outcome {
            code: code.parse().unwrap(),
            told: told.to_owned(),
        }
    });
    let outcomes: Vec<_> = ended.collect();
    assert_eq!(outcomes.len(), attacks.len(), "{reply:#}");
    outcomes
}

/// Runs a command of a job and returns what its model was told.
pub(super) async fn run(service: &Service, command: &str) -> Value {
    let job = service.create_shell(command).await;
    service.finished(&job).await;
    replies(service, &job).await.pop().expect("one command ran")
}

/// What the model was told, command by command.
pub(super) async fn replies(service: &Service, job: &str) -> Vec<Value> {
    let events = service.events(job).await;
    let completed = data(&events, "tool.completed");
    assert!(!completed.is_empty(), "{events:#?}\n{}", service.logs());
    let outputs = completed
        .iter()
        .map(|data| data["output"].as_str().unwrap());
    outputs
        .map(|output| serde_json::from_str(output).unwrap_or_else(|_| json!(output)))
        .collect()
}

/// Runs a command with nothing around it, in a directory that goes with it.
pub(super) async fn plainly(command: &str) -> std::process::Output {
    let home = tempfile::tempdir().unwrap();
    let mut bash = tokio::process::Command::new("/bin/bash");
    bash.arg("-c").arg(command).current_dir(home.path());
    bash.stdin(Stdio::null()).output().await.unwrap()
}

/// All that the model was told in words.
pub(super) fn told(reply: &Value) -> String {
    let texts = ["stdout", "stderr", "note"].map(|field| reply[field].as_str().unwrap_or_default());
    texts.join("\n")
}

/// A command that runs a program of Python. What the system refuses ends it with the name of the error.
pub(super) fn python(program: &str) -> String {
    const PRELUDE: &str = r"
import ctypes, errno, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    whole = [ctypes.c_long(it) if isinstance(it, int) else it for it in arguments]
    result = libc.syscall(ctypes.c_long(number), *whole)
    if result < 0:
        raise OSError(ctypes.get_errno(), 'call')
    return result
def refused(kind, error, trace):
    if issubclass(kind, OSError) and error.errno:
        print(errno.errorcode.get(error.errno), error, flush=True)
        os._exit(1)
    sys.__excepthook__(kind, error, trace)
    os._exit(127)
sys.excepthook = refused
";
    format!("/usr/bin/python3 - <<'END'\n{PRELUDE}{program}\nEND")
}
