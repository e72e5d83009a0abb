//! Common programs of jobs, in the sandbox.

use serde_json::json;

use super::attack::run;
use crate::support::{Service, has_program};

/// Runs the command if this machine has the program, and returns its output.
async fn printed(program: &str, command: &str) -> Option<String> {
    if !has_program(program) {
        return None;
    }
    let service = Service::start().await;
    let reply = run(&service, command).await;
    assert_eq!(reply["exit_code"], 0, "{reply:#}");
    assert_eq!(reply["note"], json!(null), "{reply:#}");
    Some(reply["stdout"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn python_with_processes_threads_and_temporary_files() {
    let program = "import multiprocessing, sqlite3, ssl, tempfile, threading
def double(number):
    return number * 2
if __name__ == '__main__':
    with multiprocessing.Pool(4) as pool:
        print(sum(pool.map(double, range(100))))
    with tempfile.NamedTemporaryFile() as file:
        file.write(b'x')
    thread = threading.Thread(target=print, args=('thread',))
    thread.start()
    thread.join()
    shared = multiprocessing.shared_memory = __import__('multiprocessing.shared_memory').shared_memory
    memory = shared.SharedMemory(create=True, size=1 << 20)
    memory.close()
    memory.unlink()
    print(sqlite3.connect('a.db').execute('select 6 * 7').fetchone()[0])";
    let command = format!("cat > program.py <<'END'\n{program}\nEND\n/usr/bin/python3 program.py");
    if let Some(printed) = printed("python3", &command).await {
        assert_eq!(printed, "9900\nthread\n42\n");
    }
}

#[tokio::test]
async fn node_with_web_assembly_and_a_worker() {
    let program = "const { Worker } = require('worker_threads');
const bytes = [0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,7,5,1,1,102,0,0,10,6,1,4,0,65,42,11];
WebAssembly.instantiate(new Uint8Array(bytes)).then(({ instance }) => {
  console.log(instance.exports.f());
  new Worker('console.log(\"worker\")', { eval: true });
});";
    let command = format!("cat > program.js <<'END'\n{program}\nEND\nnode program.js");
    if let Some(printed) = printed("node", &command).await {
        assert_eq!(printed, "42\nworker\n");
    }
}

#[tokio::test]
async fn git_with_a_repository_of_its_own() {
    let command = "git config --global user.email a@b.c && git config --global user.name A && git init -q r && cd r && \
                   echo x > x && git add . && git commit -qm one && cd .. && git clone -q r s && git -C s log --format=%s";
    if let Some(printed) = printed("git", command).await {
        assert_eq!(printed, "one\n");
    }
}

#[tokio::test]
async fn sqlite() {
    let command = "sqlite3 a.db 'pragma journal_mode=wal; create table t(a); insert into t values (1), (2)' && \
                   sqlite3 a.db 'select sum(a) from t'";
    if let Some(printed) = printed("sqlite3", command).await {
        assert!(printed.ends_with("3\n"), "{printed}");
    }
}

#[tokio::test]
async fn ffmpeg() {
    let command = "ffmpeg -v error -f lavfi -i testsrc=d=1:s=160x120 -f lavfi -i sine=d=1 -c:v libx264 -c:a aac a.mp4 && \
                   ffprobe -v error -show_entries format=duration -of csv=p=0 a.mp4";
    if let Some(printed) = printed("ffmpeg", command).await {
        assert!(printed.starts_with("1."), "{printed}");
    }
}

#[tokio::test]
async fn a_shell_with_all_that_shells_do() {
    let service = Service::start().await;
    let command = "cat <(echo one) <(echo two); mkfifo p; (echo three > p &); cat p; seq 3 | while read i; do echo $i; done | tac | xargs; \
                   coproc cat; echo four >&${COPROC[1]}; read -ru ${COPROC[0]} x; echo $x; echo ~; id -un; hostname; \
                   timeout 0.1 sleep 5; echo $?; ulimit -c";
    let reply = run(&service, command).await;
    assert_eq!(
        reply["stdout"], "one\ntwo\nthree\n3 2 1\nfour\n/workspace\nsandbox\nsandbox\n124\n0\n",
        "{reply:#}"
    );
}

#[tokio::test]
async fn an_office_suite_or_a_browser() {
    let office = "echo '<p>Hello</p>' > a.html && soffice --headless --convert-to pdf a.html > /dev/null && head -c 4 a.pdf";
    let browser = "echo '<p>Hello</p>' > a.html && chromium --headless --no-sandbox --disable-dev-shm-usage --disable-gpu \
                   --screenshot=a.png --window-size=200,200 file:///workspace/a.html > log 2>&1 || tail log; head -c 4 a.png | tail -c 3";
    // Each program needs a few hundred megabytes, so a missing program is not an error.
    let service = Service::start().await;
    let both = [("soffice", office, "%PDF"), ("chromium", browser, "PNG")];
    for (program, command, begins) in both {
        let command = format!("command -v {program} > /dev/null || exit 99\n{command}");
        let reply = run(&service, &command).await;
        if reply["exit_code"] != 99 {
            assert_eq!(reply["stdout"], begins, "{reply:#}");
        }
    }
}
