//! The self-test at start-up, which attacks a real sandbox from inside.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use shared::sandbox::Isolation;
use tokio::time::timeout;

use super::{LaunchError, MemoryFloor, Mode, Sandbox, Unavailable};

/// The timeout of the self-test. It is much longer than the test takes.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The output of the test if it succeeds.
const PASSED: &str = "confined";

/// Opens the best sandbox that the mode allows and this machine supports. A self-test in `home` attacks it from inside
/// first. Commands can read the usual directories of this machine and those in `read_only`. They are killed when less
/// memory of the machine is available than the floor.
pub async fn open(
    mode: Mode,
    home: &Path,
    read_only: Vec<PathBuf>,
    memory_floor: MemoryFloor,
) -> Result<Sandbox, Unavailable> {
    if mode == Mode::Off {
        return Ok(Sandbox::new(Isolation::Off, read_only, memory_floor));
    }
    let sandbox = Sandbox::new(Isolation::Namespaced, read_only.clone(), memory_floor);
    match attack(&sandbox, home).await {
        Ok(()) => Ok(sandbox),
        Err(unavailable) if mode == Mode::AllowLandlocked => {
            tracing::warn!(
                reason = unavailable.reason,
                "namespaces are not available; trying Landlock"
            );
            let sandbox = Sandbox::new(Isolation::Landlocked, read_only, memory_floor);
            attack(&sandbox, home).await?;
            Ok(sandbox)
        }
        Err(unavailable) => Err(unavailable),
    }
}

/// Attacks the sandbox from inside, and checks that the attacks fail.
async fn attack(sandbox: &Sandbox, home: &Path) -> Result<(), Unavailable> {
    let printed = timeout(TIMEOUT, run(sandbox, home))
        .await
        .map_err(|_| Unavailable::other(&anyhow::anyhow!("the self-test timed out")))?;
    match printed {
        Ok(text) if text.trim() == PASSED => Ok(()),
        Ok(text) => Err(Unavailable::leaks(sandbox.isolation(), text.trim())),
        Err(error) => match error.downcast::<LaunchError>() {
            Ok(LaunchError::Setup(failed)) => Err(failed.into()),
            Ok(error) => Err(Unavailable::other(&error.into())),
            Err(error) => Err(Unavailable::other(&error)),
        },
    }
}

async fn run(sandbox: &Sandbox, home: &Path) -> anyhow::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let outside = home.join(format!("self-test-{}", uuid::Uuid::now_v7()));
    let script = script(sandbox.isolation(), &outside, listener.local_addr()?);
    sandbox.run_once(&script, outside).await
}

/// Returns the script of the self-test. It prints one word, or the holes that it found.
fn script(isolation: Isolation, outside: &Path, listener: SocketAddr) -> String {
    let worker = std::process::id();
    let outside = outside.display();
    let port = listener.port();
    let namespaced = if isolation == Isolation::Namespaced {
        r#"
[[ $UID == 1000 ]] || hole "the user is $UID"
[[ $$ -le 3 ]] || hole "the machine's processes are visible"
[[ -e /proc/self/environ ]] || hole "/proc is not mounted"
exists /proc/$worker/environ; exists "$outside"; exists /root; exists /home; exists /sys/kernel"#
    } else {
        ""
    };
    format!(
        r#"worker={worker}
outside='{outside}'
holes=
hole() {{ holes+="$1; "; }}
exists() {{ [[ ! -e $1 ]] || hole "$1 exists"; }}
reads() {{ {{ : < "$1"; }} 2>/dev/null && hole "$1 can be read"; }}
writes() {{ {{ : >> "$1"; }} 2>/dev/null && hole "$1 can be written"; }}
{namespaced}
reads /proc/$worker/environ; reads /proc/1/environ; reads /proc/$worker/mem; reads /etc/shadow
writes /usr/skillet; writes /etc/skillet; writes /proc/sys/kernel/core_pattern; writes /proc/sysrq-trigger
kill -0 $worker 2>/dev/null && hole "the worker can be killed"
{{ : < /dev/tcp/127.0.0.1/{port}; }} 2>/dev/null && hole "the machine's network can be reached"
unshare --user true 2>/dev/null && hole "more namespaces can be created"
{{ : >> "$HOME/a" && : >> "$TMPDIR/a"; }} 2>/dev/null || hole "the workspace or /tmp cannot be written"
echo "${{holes:-{PASSED}}}""#
    )
}
