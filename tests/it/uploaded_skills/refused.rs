//! Rejected archives: each error names the file, and nothing is stored.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::archive::{Entry, Tar, zip};
use super::{greet, post};
use crate::support::Service;
use crate::support::problem::Problem;
use crate::support::store::assert_stores_nothing;

const LINK: &str = "it is a link; a skill has files and folders only";
const SPECIAL: &str = "it is neither a file nor a folder";
const NO_SKILL: &str =
    "there is no SKILL.md: it must be at the top, or in the one folder that holds everything";
const TOO_LARGE: &str = "the files of the skill have more than 33554432 bytes in total";

/// A service that must reject all archives and store nothing.
struct RejectingService(Service);

impl RejectingService {
    async fn start() -> Self {
        Self(Service::without_worker().await)
    }

    /// Returns the error for the archive.
    async fn of(&self, archive: Vec<u8>) -> String {
        let problem = Problem::of(post(&self.0, archive)).await;
        assert_eq!(problem.kind(), (422, "invalid_request"), "{problem:?}");
        let [("/file", detail)] = problem.errors()[..] else {
            panic!("{problem:?}")
        };
        detail.to_owned()
    }

    async fn is(&self, archive: Vec<u8>, expected: &str) {
        assert_eq!(self.of(archive).await, expected);
    }

    async fn begins(&self, archive: Vec<u8>, expected: &str) {
        let said = self.of(archive).await;
        assert!(said.starts_with(expected), "{said}");
    }

    async fn kept_nothing(self) {
        let rows = sqlx::query_scalar::<_, i64>("select count(*) from skill_version");
        assert_eq!(rows.fetch_one(&self.0.pool).await.unwrap(), 0);
        assert_stores_nothing(&self.0);
    }
}

fn good() -> Tar {
    Tar::default().file("SKILL.md", greet("", "Greet."))
}

fn good_entry() -> Entry {
    Entry::file("SKILL.md", greet("", "Greet."))
}

#[tokio::test]
async fn a_tar_may_have_files_and_folders_with_plain_names_and_nothing_else() {
    let service = RejectingService::start().await;
    for (kind, expected) in [
        (b'1', LINK),
        (b'2', LINK),
        (b'3', SPECIAL),
        (b'4', SPECIAL),
        (b'6', SPECIAL),
        (b'7', SPECIAL),
    ] {
        let archive = good().entry(kind, b"scripts/x", 0o777, "/etc/passwd", b"");
        service
            .is(archive.gzip(), &format!("scripts/x: {expected}"))
            .await;
    }
    for (name, shown, expected) in [
        (&b"/etc/passwd"[..], "/etc/passwd", "its path is absolute"),
        (b"../x", "../x", "its path contains `..`"),
        (b"a/../../x", "a/../../x", "its path contains `..`"),
        (b"a/./x", "a/./x", "its path has an empty part"),
        (b"a\\x", "a\\x", "its name has a backslash"),
        (
            b"a\x1b[2Jx",
            "a\u{fffd}[2Jx",
            "its name contains a control character or an invisible character",
        ),
        (b"\xff\xfe", "\u{fffd}\u{fffd}", "its name is not UTF-8"),
        (
            b"1/2/3/4/5/6/7/8/9",
            "1/2/3/4/5/6/7/8/9",
            "its path is too deep: at most 8 levels",
        ),
    ] {
        let archive = good().entry(b'0', name, 0o644, "", b"x").gzip();
        service.is(archive, &format!("{shown}: {expected}")).await;
    }
    let sparse = good().entry(b'S', b"x", 0o644, "", b"").gzip();
    service.begins(sparse, "the archive is broken: ").await;
    // The path is longer than a header can hold, so a separate entry contains it.
    let long = "x".repeat(3000);
    let archive = good()
        .entry(b'L', b"././@LongLink", 0o644, "", long.as_bytes())
        .file("short", "x");
    let expected = "its path is too long: at most 150 bytes, 100 for each name";
    service
        .is(archive.gzip(), &format!("{}: {expected}", &long[..100]))
        .await;
    let record = "25 path=../../etc/passwd\n";
    let archive = good()
        .entry(b'x', b"pax", 0o644, "", record.as_bytes())
        .file("plain", "x");
    service
        .is(archive.gzip(), "../../etc/passwd: its path contains `..`")
        .await;
    service.kept_nothing().await;
}

#[tokio::test]
async fn no_two_names_may_be_one() {
    let service = RejectingService::start().await;
    for (names, expected) in [
        (["a", "a"], "a: it occurs twice"),
        (["a/b", "./a/b"], "a/b: it occurs twice"),
        (
            ["Read.me", "read.me"],
            "read.me: `Read.me` also exists and is the same name on some systems",
        ),
        (
            ["A/x", "a/y"],
            "a/y: `A` also exists and is the same name on some systems",
        ),
        (
            ["Ä", "ä"],
            "ä: `Ä` also exists and is the same name on some systems",
        ),
        // A precomposed letter, and the same letter with a combining accent.
        (
            ["ä.txt", "a\u{308}.txt"],
            "a\u{308}.txt: `ä.txt` also exists and is the same name on some systems",
        ),
        (
            ["A\u{308}/x", "ä/y"],
            "ä/y: `A\u{308}` also exists and is the same name on some systems",
        ),
        (["a", "a/b"], "a/b: it is a file and a folder at once"),
        (["a/b", "a"], "a: it is a file and a folder at once"),
    ] {
        let archive = good().file(names[0], "x").file(names[1], "y");
        service.is(archive.gzip(), expected).await;
    }
    for (names, expected) in [
        (
            ["a", "a"],
            "the archive is broken: two entries have the same name",
        ),
        (["a", "./a"], "a: it occurs twice"),
        (
            ["a", "A"],
            "A: `a` also exists and is the same name on some systems",
        ),
    ] {
        let files = names.map(|name| Entry::file(name, "x"));
        service
            .is(zip(&[&[good_entry()], &files[..]].concat()), expected)
            .await;
    }
    service.kept_nothing().await;
}

#[tokio::test]
async fn a_zip_may_have_files_and_folders_and_says_one_thing_only() {
    let service = RejectingService::start().await;
    for (mode, expected) in [
        (0o120_777, LINK),
        (0o020_644, SPECIAL),
        (0o060_644, SPECIAL),
        (0o010_644, SPECIAL),
        (0o140_644, SPECIAL),
    ] {
        let entry = Entry::file("x", "/etc/passwd").with_mode(mode);
        service
            .is(zip(&[good_entry(), entry]), &format!("x: {expected}"))
            .await;
    }
    for (name, expected) in [
        ("../x", "its path contains `..`"),
        ("/x", "its path is absolute"),
        ("C:/x", "its path is absolute"),
        ("a\\..\\x", "its name has a backslash"),
    ] {
        let archive = zip(&[good_entry(), Entry::file(name, "x")]);
        service.is(archive, &format!("{name}: {expected}")).await;
    }
    let file = || Entry::file("x", vec![b'x'; 5000]);
    let encrypted = Entry { flags: 1, ..file() };
    service
        .is(zip(&[good_entry(), encrypted]), "x: it is encrypted")
        .await;
    let lying = |change: fn(Entry) -> Entry| zip(&[good_entry(), change(file())]);
    for archive in [
        // The data do not match the checksum.
        lying(|entry| Entry { crc: 1, ..entry }),
        // The name before the data differs from the name in the directory.
        lying(|entry| Entry {
            local_name: b"y".to_vec(),
            ..entry
        }),
        // An unknown compression method.
        lying(|entry| Entry {
            method: 14,
            ..entry
        }),
        // Data that cannot be decompressed.
        lying(|entry| Entry {
            data: vec![0xff; 100],
            ..entry
        }),
        // Two entries with the same data.
        zip(&[
            good_entry(),
            file(),
            Entry {
                same_as: Some(1),
                name: b"y".to_vec(),
                ..file()
            },
        ]),
        // A truncated archive.
        zip(&[good_entry(), file()])[..200].to_vec(),
        b"PK\x03\x04 and so on".to_vec(),
    ] {
        let said = service.of(archive).await;
        assert!(said.contains("the archive is broken: "), "{said}");
    }
    service.kept_nothing().await;
}

#[tokio::test]
async fn what_grows_is_stopped_whatever_it_says_of_its_size() {
    let service = RejectingService::start().await;
    let zeros = vec![0; 17 * 1024 * 1024];
    let expected = "x: it is larger than 16777216 bytes";
    service.is(good().file("x", &zeros).gzip(), expected).await;
    let bomb = Entry::file("x", &zeros);
    service
        .is(zip(&[good_entry(), bomb.clone()]), expected)
        .await;
    // The entry declares a small size.
    let liar = Entry { size: 10, ..bomb };
    let said = service.of(zip(&[good_entry(), liar])).await;
    assert!(said == expected || said.contains("broken"), "{said}");

    let many = (0..3).map(|number| (number.to_string(), vec![0; 12 * 1024 * 1024]));
    let tar = many
        .clone()
        .fold(good(), |tar, (name, content)| tar.file(&name, content));
    service.is(tar.gzip(), TOO_LARGE).await;
    let entries = many.map(|(name, content)| Entry::file(&name, content));
    let entries: Vec<_> = std::iter::once(good_entry()).chain(entries).collect();
    service.is(zip(&entries), TOO_LARGE).await;

    // Content that is not stored counts as well: a long name, and an ignored file.
    let name = vec![b'x'; 100 * 1024 * 1024];
    let archive = good().entry(b'L', b"././@LongLink", 0o644, "", &name);
    service.is(archive.gzip(), TOO_LARGE).await;
    let litter = good().file(".git/objects/pack", &name);
    service.is(litter.gzip(), TOO_LARGE).await;
    let too_long = vec![b'x'; 300 * 1024];
    let said =
        "SKILL.md: it is larger than 262144 bytes; move what is not always needed into other files";
    service
        .is(Tar::default().file("SKILL.md", too_long).gzip(), said)
        .await;

    let said = "the skill has more than 500 files, or its archive has too many entries";
    let files =
        |count: usize| (0..count).fold(good(), |tar, number| tar.file(&number.to_string(), ""));
    service.is(files(500).gzip(), said).await;
    let entries = |count: usize| (0..count).map(|number| Entry::file(&number.to_string(), ""));
    let five_hundred: Vec<_> = std::iter::once(good_entry()).chain(entries(500)).collect();
    service.is(zip(&five_hundred), said).await;
    service.is(zip(&Vec::from_iter(entries(9000))), said).await;
    let folders = (0..2500).fold(good(), |tar, number| tar.folder(&format!("{number}/")));
    service.is(folders.gzip(), said).await;

    let mut random = vec![0; 9 * 1024 * 1024];
    rand::fill(&mut random[..]);
    let said = "the archive is larger than 8388608 bytes";
    service.is(good().file("x", random).gzip(), said).await;
    service.kept_nothing().await;
}

#[tokio::test]
async fn what_is_no_skill_is_refused_in_the_words_of_the_format() {
    let service = RejectingService::start().await;
    for nothing in [&b""[..], b"hello", b"---\nname: greet\n---\n"] {
        let said = "this is neither a ZIP archive nor a tar.gz";
        service.is(nothing.to_vec(), said).await;
    }
    let mut garbage = GzEncoder::new(Vec::new(), Compression::default());
    garbage.write_all(&[b'x'; 2000]).unwrap();
    let cut = good().gzip();
    for broken in [garbage.finish().unwrap(), cut[..cut.len() / 2].to_vec()] {
        let said = service.of(broken).await;
        assert!(said.contains("the archive is broken: "), "{said}");
    }
    let text = greet("", "Greet.");
    for archive in [
        Tar::default().gzip(),
        Tar::default().file("skill.md", &text).gzip(),
        Tar::default().file("a/b/SKILL.md", &text).gzip(),
        Tar::default()
            .file("greet/SKILL.md", &text)
            .file("other/x", "x")
            .gzip(),
        Tar::default()
            .file("greet/SKILL.md", &text)
            .file("x", "x")
            .gzip(),
        zip(&[]),
    ] {
        service.is(archive, NO_SKILL).await;
    }
    let skill = |text: &str| Tar::default().file("SKILL.md", text).gzip();
    service
        .is(
            Tar::default().file("other/SKILL.md", &text).gzip(),
            "SKILL.md: its name must be `other` like its folder: lower-case letters, digits and single hyphens, at most 64",
        )
        .await;
    service
        .is(
            skill(&text.replace("greet", "Greet")),
            "SKILL.md: its name must be lower-case letters, digits and single hyphens, at most 64",
        )
        .await;
    service
        .is(
            skill("Greet."),
            "SKILL.md: it must begin with front matter: YAML between two lines `---`",
        )
        .await;
    let tool = text.replace("shell.exec", "shell.exec shell.exec");
    service
        .is(
            skill(&tool),
            "SKILL.md: `allowed-tools`: names shell.exec twice",
        )
        .await;
    let yaml = text.replace("description: Greets.", "description: [");
    service
        .begins(skill(&yaml), "SKILL.md: its front matter cannot be read: ")
        .await;
    let nul = format!("{text}\0");
    service
        .is(skill(&nul), "SKILL.md: it must be text in UTF-8")
        .await;
    let binary = Tar::default()
        .file("SKILL.md", b"---\nname: \xff\n---\n")
        .gzip();
    service
        .is(binary, "SKILL.md: it must be text in UTF-8")
        .await;
    let needy = "x ".repeat(65);
    let more = format!("metadata:\n  skillet.programs: {needy}\n");
    service
        .is(
            skill(&greet(&more, "x")),
            "SKILL.md: `skillet.programs`: names more than 64",
        )
        .await;
    // Aliases of aliases: a small text that expands to a large one.
    let bomb = (1..30).fold("a0: &a0 x\n".to_owned(), |text, number| {
        let before = number - 1;
        text + &format!("a{number}: &a{number} [*a{before}, *a{before}, *a{before}]\n")
    });
    service
        .begins(
            skill(&greet(&bomb, "x")),
            "SKILL.md: its front matter cannot be read: ",
        )
        .await;
    service.kept_nothing().await;
}
