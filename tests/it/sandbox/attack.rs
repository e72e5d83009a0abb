//! An attack that runs twice: inside a sandbox, where it must fail, and outside, where it must succeed.
//!
//! An attack that also failed outside would prove nothing about the sandbox.

use std::process::Stdio;

use serde_json::{Value, json};

use super::user::User;
use crate::support::log::data;
use crate::support::{Service, has_program, is_root};

/// A service whose worker confines commands, and one whose worker does not.
pub(super) struct ServicePair {
    pub(super) inside: Service,
    pub(super) outside: Service,
}

/// The outcomes of an attack in both services.
#[derive(Debug)]
pub(super) struct AttackResult {
    attack: String,
    pub(super) inside: Outcome,
    pub(super) outside: Outcome,
}

/// The exit status of a script, and its output.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) code: i32,
    pub(super) told: String,
}

impl ServicePair {
    /// Starts both services with workers that run as root. Returns `None` if this machine cannot run the attacks.
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

    /// Starts both services with workers that run as this user, so that no attack fails because another user owns its
    /// target. Returns `None` if this machine cannot run the attacks.
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

    /// Tries a Bash script, which succeeds if its last command succeeds.
    pub(super) async fn bash(&self, attack: &str) -> AttackResult {
        self.all(&[attack]).await.remove(0)
    }

    /// Tries several scripts one after the other, in the same workspace.
    pub(super) async fn all(&self, attacks: &[impl AsRef<str>]) -> Vec<AttackResult> {
        let (inside, outside) = tokio::join!(
            outcomes(&self.inside, attacks),
            outcomes(&self.outside, attacks)
        );
        let pairs = inside.into_iter().zip(outside);
        let tried = attacks
            .iter()
            .zip(pairs)
            .map(|(attack, pair)| AttackResult {
                attack: attack.as_ref().to_owned(),
                inside: pair.0,
                outside: pair.1,
            });
        tried.collect()
    }

    /// Tries a Python program, which succeeds unless the system refuses a call.
    pub(super) async fn python(&self, attack: &str) -> AttackResult {
        self.bash(&python(attack)).await
    }
}

/// Whether this machine has the permissions and programs that the attacks need.
pub(crate) fn can_attack() -> bool {
    is_root() && has_program("python3") && has_program("setpriv")
}

impl AttackResult {
    /// Checks that the attack failed in the sandbox for this reason.
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

    /// Checks that the attack succeeded outside.
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

    /// Checks that the attack did not fail outside for the reason that the sandbox gives. It may fail for another
    /// reason.
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

/// Whether an attack succeeded. An attack that could not be tried is an error in the test.
#[track_caller]
fn succeeded(attack: &str, outcome: &Outcome) -> bool {
    assert!(
        !matches!(outcome.code, 2 | 126 | 127),
        "not tried:\n{attack}\n{outcome:#?}"
    );
    outcome.code == 0
}

/// Runs all attacks in one command, each in its own shell.
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

/// Runs a command in a job, and returns the result that the model received.
pub(super) async fn run(service: &Service, command: &str) -> Value {
    let job = service.create_shell(command).await;
    service.finished(&job).await;
    replies(service, &job).await.pop().expect("one command ran")
}

/// Returns the results that the model received, by command.
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

/// Runs a command without a sandbox, in a directory that is deleted afterwards.
pub(super) async fn plainly(command: &str) -> std::process::Output {
    let home = tempfile::tempdir().unwrap();
    let mut bash = tokio::process::Command::new("/bin/bash");
    bash.arg("-c").arg(command).current_dir(home.path());
    bash.stdin(Stdio::null()).output().await.unwrap()
}

/// Returns all text of a result.
pub(super) fn told(reply: &Value) -> String {
    let texts = ["stdout", "stderr", "note"].map(|field| reply[field].as_str().unwrap_or_default());
    texts.join("\n")
}

/// Returns a command that runs a Python program. A refused system call ends the program with the name of the error.
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
