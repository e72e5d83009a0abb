//! File tools, confined to the workspace.

use serde_json::json;

use super::{ToolSetup, sh};

#[tokio::test]
async fn what_is_written_is_read_edited_and_listed() {
    let setup = ToolSetup::start().await;
    let text = "fn main() {\n\tlet x = 1;\n}\n";
    let ran = setup
        .run(
            "workbench",
            &[
                ("file_write", json!({"path": "src/deep/a.rs", "content": text})),
                ("file_read", json!({"path": "/workspace/src/deep/a.rs"})),
                ("file_read", json!({"path": "src/deep/a.rs", "offset": 1, "limit": 1})),
                ("file_edit", json!({"path": "src/deep/a.rs", "old_string": "let x = 1", "new_string": "let $1 = \\n"})),
                sh("cat src/deep/a.rs; stat -c '%a %U' src/deep/a.rs src/deep; id -un; echo x > .hidden; ln -s src l"),
                ("file_list", json!({})),
                ("file_list", json!({"path": "src", "pattern": "**/*.rs"})),
                ("file_read", json!({"path": "l/deep/a.rs", "offset": 3})),
            ],
        )
        .await;
    assert_eq!(ran[0].output, "`src/deep/a.rs` is written: 26 bytes");
    assert_eq!(ran[1].output, text);
    assert_eq!(
        ran[2].output,
        "\tlet x = 1;\n[lines 1 to 1 of 3; go on with offset 2]"
    );
    assert_eq!(
        ran[3].output,
        "`src/deep/a.rs` is changed at line 1 (counted from 0)"
    );
    let printed = ran[4].stdout();
    let (content, modes) = printed.split_at(printed.find("644").unwrap());
    assert_eq!(content, "fn main() {\n\tlet $1 = \\n;\n}\n");
    let modes: Vec<_> = modes.split_whitespace().collect();
    let [file, owner, directory, owner_too, user] = modes[..] else {
        panic!("{modes:?}")
    };
    assert_eq!((file, directory), ("644", "755"));
    assert!(owner == user && owner_too == user, "{modes:?}");
    assert_eq!(ran[5].output, ".hidden\nl -> src\nsrc/");
    assert_eq!(ran[6].output, "deep/a.rs");
    ran[7].assert_error("`l/deep/a.rs` has no line 3: it has 3");
}

#[tokio::test]
async fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
    let setup = ToolSetup::start().await;
    let ran = setup
        .run(
            "workbench",
            &[
                sh("echo '#!/bin/sh' > run.sh; chmod 750 run.sh; ln run.sh other; mkdir closed; chmod 500 closed"),
                ("file_write", json!({"path": "run.sh", "content": "#!/bin/sh\necho ran"})),
                sh("./run.sh; stat -c %a run.sh; cat other; ls -A"),
                ("file_write", json!({"path": "run.sh", "content": ""})),
                ("file_read", json!({"path": "run.sh"})),
                ("file_write", json!({"path": "run.sh/x", "content": "x"})),
                ("file_write", json!({"path": "closed", "content": "x"})),
            ],
        )
        .await;
    assert_eq!(ran[1].output, "`run.sh` existed and was replaced: 18 bytes");
    assert_eq!(
        ran[2].stdout(),
        "ran\n750\n#!/bin/sh\nclosed\nother\nrun.sh\n"
    );
    assert_eq!(ran[4].output, "[the file is empty]");
    ran[5].assert_error("is not a directory");
    ran[6].assert_error("it is a directory");
}

#[tokio::test]
async fn nothing_but_regular_files_of_the_workspace_is_touched() {
    let setup = ToolSetup::start().await;
    let prepare = "echo in > in.txt; ln -s in.txt inner; ln -s /etc/passwd out; ln -s .. up; ln -s /proc/self/environ magic; \
                   ln -s loop loop; mkfifo pipe; mkdir dir; ln -s /dev/zero device; echo h > a; ln a b; echo t > /tmp/x; \
                   ln -s missing dangling";
    let refused = [
        ("/etc/passwd", "Paths are relative to the workspace"),
        ("../x", "leads out"),
        ("dir/../../x", "leads out"),
        ("out", ""),
        ("up/x", "leads out"),
        ("magic", ""),
        ("/proc/self/environ", "leads out"),
        ("loop", ""),
        ("device", ""),
        ("pipe", "a device, a pipe or a socket"),
        ("dir", "it is a directory: name a file in it"),
        ("/tmp/x", "Only shell commands see /tmp"),
        ("dangling", ""),
    ];
    let mut calls = vec![sh(prepare)];
    for (path, _) in refused {
        calls.push(("file_read", json!({"path": path})));
        calls.push(("file_write", json!({"path": path, "content": "pwned"})));
        calls.push((
            "file_edit",
            json!({"path": path, "old_string": "x", "new_string": "y"}),
        ));
        calls.push(("file_list", json!({"path": path, "pattern": "**"})));
    }
    calls.push(("file_read", json!({"path": "b"})));
    calls.push((
        "file_edit",
        json!({"path": "b", "old_string": "h", "new_string": "i"}),
    ));
    calls.push(("file_write", json!({"path": "inner", "content": "pwned"})));
    calls.push(("file_read", json!({"path": "inner"})));
    calls.push(sh("cat in.txt a b /tmp/x; ls -A"));
    let ran = setup.run("workbench", &calls).await;
    for (number, (path, words)) in refused.iter().enumerate() {
        let [read, write, edit, list] = &ran[1 + 4 * number..5 + 4 * number] else {
            panic!()
        };
        for refused in [read, write, edit] {
            refused.assert_error(&format!("`{path}` cannot be "));
            refused.assert_error(words);
        }
        assert_eq!(
            list.outcome,
            if *path == "dir" { "ok" } else { "error" },
            "{list:?}"
        );
    }
    let [hard, hard_too, link, read, last] = &ran[1 + 4 * refused.len()..] else {
        panic!()
    };
    hard.assert_error("has other names (hard links)");
    hard_too.assert_error("has other names (hard links)");
    link.assert_error("is a link: use the path of the file that it points to");
    assert_eq!(read.output, "in\n");
    assert_eq!(
        last.stdout(),
        "in\nh\nh\nt\na\nb\ndangling\ndevice\ndir\nin.txt\ninner\nloop\nmagic\nout\npipe\nup\n",
        "nothing was written, and nothing was left beside"
    );
}

#[tokio::test]
async fn what_is_no_text_is_named_and_what_is_long_is_read_in_parts() {
    let setup = ToolSetup::start().await;
    let prepare = "printf '\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR' > a.png; printf 'a\\0b' > b.txt; \
                   seq 1 3000 > many.txt; head -c 10000 /dev/zero | tr '\\0' x > long.txt; printf 'caf\\xe9\\n' > old.txt; \
                   truncate -s 6M large.txt";
    let ran = setup
        .run(
            "narrow",
            &[
                sh(prepare),
                ("file_read", json!({"path": "a.png"})),
                ("file_read", json!({"path": "b.txt"})),
                ("file_read", json!({"path": "many.txt"})),
                ("file_read", json!({"path": "many.txt", "offset": 2998})),
                ("file_read", json!({"path": "long.txt"})),
                ("file_read", json!({"path": "old.txt"})),
                (
                    "file_edit",
                    json!({"path": "old.txt", "old_string": "caf", "new_string": "tea"}),
                ),
                (
                    "file_edit",
                    json!({"path": "large.txt", "old_string": "a", "new_string": "b"}),
                ),
            ],
        )
        .await;
    ran[1].assert_error("`a.png` is not text: it is image/png, 16 bytes");
    ran[2].assert_error("`b.txt` is not text: it is application/octet-stream, 3 bytes");
    let many = &ran[3];
    assert!(many.truncated && many.output.len() <= 2000, "{many:?}");
    let next = many.output.rsplit_once("go on with offset ").unwrap().1;
    let next: usize = next.trim_end_matches(']').parse().unwrap();
    assert!(
        many.output
            .contains(&format!("\n{next}\n[lines 0 to {} of 3000;", next - 1)),
        "{many:?}"
    );
    assert_eq!(ran[4].output, "2999\n3000\n[lines 2998 to 2999 of 3000]");
    assert!(
        ran[5].truncated && ran[5].output.contains("more bytes of this line"),
        "{:?}",
        ran[5]
    );
    assert_eq!(
        ran[6].output,
        "caf\u{fffd}\n[\u{fffd} stands for bytes that are not UTF-8]"
    );
    ran[7].assert_error("is not UTF-8 (at byte 3)");
    ran[8].assert_error("has 6291456 bytes; the limit for editing is 5242880");
}

#[tokio::test]
async fn an_edit_that_cannot_be_made_says_what_to_do() {
    let setup = ToolSetup::start().await;
    let edit = |old: &str, new: &str| {
        (
            "file_edit",
            json!({"path": "a", "old_string": old, "new_string": new}),
        )
    };
    let ran = setup
        .run(
            "workbench",
            &[
                ("file_write", json!({"path": "a", "content": "one two\n\tthree\none\n"})),
                edit("one", "1"),
                edit("four", "4"),
                edit("    three", "3"),
                edit("", "x"),
                edit("one two", "one two"),
                ("file_edit", json!({"path": "a", "old_string": "one", "new_string": "1", "replace_all": true})),
                ("file_read", json!({"path": "a"})),
            ],
        )
        .await;
    ran[1].assert_error("is 2 times in `a`, at lines 0, 2 (counted from 0)");
    ran[2].assert_error("old_string is not in `a`");
    ran[3].assert_error(r#"Line 1 (counted from 0) differs in white space only: it is "\tthree""#);
    ran[4].assert_error("old_string is empty");
    ran[5].assert_error("are the same");
    assert_eq!(ran[7].output, "1 two\n\tthree\n1\n");
}

#[tokio::test]
async fn a_long_list_is_cut_with_a_count() {
    let setup = ToolSetup::start().await;
    let ran = setup
        .run(
            "workbench",
            &[
                sh("mkdir d; cd d; seq -f 'f%04g' 1 1234 | xargs touch"),
                ("file_list", json!({"path": "d"})),
                ("file_list", json!({"pattern": "d/f00[0-2]?"})),
                ("file_list", json!({"pattern": "a[", "path": "."})),
            ],
        )
        .await;
    let lines: Vec<_> = ran[1].output.lines().collect();
    assert_eq!(
        (lines[0], lines[999], lines[1000]),
        ("f0001", "f1000", "[… and 234 more]")
    );
    assert!(ran[1].truncated && lines.len() == 1001);
    assert_eq!(ran[2].output.lines().count(), 29);
    ran[3].assert_error("the pattern is not a valid glob");
}
