//! Secrets from the command line, and their master keys.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use shared::key::Scope;
use shared::secret::generate_master_key;

use super::{SecretsSetup, VALUE, put, skills, terminal};
use crate::cli::at;
use crate::support::{Service, Terminal, bash, create_key};

const CHECK: &str = "[ \"$KEEPER_KEY\" = 'piped in, and long' ] && echo it is";

#[tokio::test]
async fn a_secret_comes_from_standard_input_and_is_listed_and_deleted() {
    let setup = SecretsSetup::start().await;
    let service = &setup.service;
    let terminal = at(service);
    let set = ["secrets", "set", "KEEPER_KEY"];
    let ran = terminal.run_with_input(&set, "piped in, and long\n").await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "set KEEPER_KEY\n"),
        "{ran:?}"
    );
    let job = json!({"skill": "keeper", "model": "script/bash", "prompt": bash(CHECK)});
    assert_eq!(service.run(&job).await["text"], "it is");

    let listed = terminal.run(&["secrets", "list", "--json"]).await;
    let (_, page) = service.get("/v1/secrets").await;
    assert_eq!(json!(listed.objects()), page["data"]);
    let listed = terminal.run(&["secrets", "list"]).await;
    assert!(listed.out.starts_with("KEEPER_KEY\t"), "{listed:?}");

    let deleted = terminal.run(&["secrets", "delete", "KEEPER_KEY"]).await;
    assert_eq!(
        (deleted.code, deleted.out.as_str()),
        (Some(0), "deleted KEEPER_KEY\n")
    );
    let again = terminal.run(&["secrets", "delete", "KEEPER_KEY"]).await;
    assert_eq!(
        (again.code, again.err.as_str()),
        (Some(1), "error: there is no such secret\n")
    );

    let short = terminal.run_with_input(&set, "hunter2\n").await;
    assert_eq!(short.code, Some(1));
    assert!(
        short.err.contains("at least 8 bytes") && !short.err.contains("hunter2"),
        "{short:?}"
    );
    let named = terminal.run(&["secrets", "set", "PATH"]).await;
    assert_eq!(named.code, Some(2), "{named:?}");
}

#[tokio::test]
async fn rotation_puts_every_secret_under_the_current_key() {
    let (old, new) = (generate_master_key(), generate_master_key());
    let mut setup = SecretsSetup::with_environment(&[("SKILLET_MASTER_KEY", &old)]).await;
    let service = &mut setup.service;
    for number in 0..120 {
        put(service, &format!("KEY_{number}"), VALUE).await;
    }
    service.key = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    put(service, "KEEPER_KEY", "piped in, and long").await;

    let rotate = async |previous: &str| {
        let variables = [
            ("DATABASE_URL", service.database_url.as_str()),
            ("SKILLET_MASTER_KEY", new.as_str()),
            ("SKILLET_PREVIOUS_MASTER_KEYS", previous),
        ];
        Terminal::new(&variables).run(&["secrets", "rotate"]).await
    };
    let refused = rotate("").await;
    assert_eq!(refused.code, Some(1));
    assert!(refused.out.starts_with("0 of the secrets"), "{refused:?}");
    let line = "error: the secret KEEPER_KEY of the tenant ";
    assert_eq!(
        refused.err.matches("not configured here\n").count(),
        121,
        "{refused:?}"
    );
    assert!(refused.err.contains(line), "{refused:?}");

    let rotated = rotate(&old).await;
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    assert!(rotated.out.starts_with("121 of the secrets"), "{rotated:?}");
    let again = rotate("").await;
    assert!(
        again.code == Some(0) && again.out.starts_with("0 of the secrets"),
        "{again:?}"
    );

    service.add_worker(&[("SKILLET_MASTER_KEY", &new)]).await;
    let job = json!({"skill": "keeper", "model": "script/bash", "prompt": bash(CHECK)});
    let done = service.run(&job).await;
    assert_eq!(done["text"], "it is", "{done:#}");
    let (_, page) = service.get("/v1/secrets").await;
    let secret = &page["data"][0];
    assert_eq!(
        secret["created_at"], secret["updated_at"],
        "its value is the same"
    );
}

#[tokio::test]
async fn a_data_directory_has_a_key_of_its_own_that_can_be_rotated() {
    let skills = skills();
    let terminal = terminal(&skills, &[]);
    let home = terminal.folder.path().join("data");
    let home = home.to_str().unwrap();
    let set = ["secrets", "set", "KEEPER_KEY", "--data-dir", home];
    let ran = terminal.run_with_input(&set, "piped in, and long\n").await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let file = terminal.folder.path().join("data/master_key");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let before = std::fs::read_to_string(&file).unwrap();

    let rotate = ["secrets", "rotate", "--data-dir", home];
    let lock = std::fs::File::open(terminal.folder.path().join("data/lock")).unwrap();
    lock.try_lock().unwrap();
    let refused = terminal.run(&rotate).await;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("another skillet runs in"),
        "{refused:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    drop(lock);

    let rotated = terminal.run(&rotate).await;
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    assert!(rotated.out.starts_with("1 of the secrets"), "{rotated:?}");
    let after = std::fs::read_to_string(&file).unwrap();
    assert_eq!((after == before, after.lines().count()), (false, 1));

    let check = bash(CHECK);
    let run = [
        "run",
        "keeper",
        &check,
        "-m",
        "script/bash",
        "--data-dir",
        home,
    ];
    let ran = terminal.run(&run).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "it is\n"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_master_key_that_is_none_stops_the_start_and_is_not_shown() {
    let service = Service::without_worker().await;
    let database = ("DATABASE_URL", service.database_url.as_str());
    let terminal = Terminal::new(&[database, ("SKILLET_MASTER_KEY", "hunter2")]);
    for command in ["api", "worker"] {
        let ran = terminal.run(&[command, "--data-dir", "data"]).await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.err
                .starts_with("error: in SKILLET_MASTER_KEY (--master-key): ")
                && ran.err.contains("openssl rand -base64 32")
                && !ran.err.contains("hunter2"),
            "{ran:?}"
        );
    }
    // Keys from the configuration file, which are defaults of the flag, are not in the help either.
    let terminal = Terminal::new(&[database]);
    let (key, before) = (generate_master_key(), generate_master_key());
    let file = format!("master_key = \"{key}\"\nprevious_master_keys = \"{before},hunter2\"\n");
    std::fs::write(terminal.folder.path().join("skillet.toml"), file).unwrap();
    let help = terminal.run(&["api", "--help"]).await;
    assert!(help.out.contains("--master-key"), "{help:?}");
    assert!(
        !help.out.contains(&key) && !help.out.contains(&before),
        "{help:?}"
    );
    let ran = terminal.run(&["api", "--data-dir", "data"]).await;
    assert!(
        ran.err
            .starts_with("error: in SKILLET_PREVIOUS_MASTER_KEYS "),
        "{ran:?}"
    );
}
