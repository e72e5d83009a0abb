//! Uploads, versions and tenants over HTTP.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;

use super::archive::{Entry, Tar, zip};
use super::{delete, form, greet, greet_world, greeting, upload, uploaded};
use crate::support::problem::Problem;
use crate::support::{Service, create_key, send};

async fn origins(service: &Service, key: &str) -> Vec<(String, String)> {
    let request = service.anonymous(Method::GET, "/v1/skills");
    let answer = request.bearer_auth(key).send().await.unwrap();
    let page: Value = answer.json().await.unwrap();
    let skills = page["data"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    skills
        .map(|skill| (text(&skill["name"]), text(&skill["origin"])))
        .collect()
}

#[tokio::test]
async fn an_upload_is_a_skill_with_all_that_it_declares() {
    let service = Service::start().await;
    let more = "metadata:\n  skillet.title: Greeter\n  skillet.secrets: TOKEN?\n  skillet.network: example.com\n  \
                skillet.programs: bash no-such-program\n";
    let archive = Tar::default()
        .file("SKILL.md", greet(more, "Greet."))
        .gzip();
    // The worker determines the versions of its programs some time after it has started.
    let settled = |mut skill: Value| {
        let programs = skill.as_object_mut().unwrap().shift_remove("programs");
        let programs = programs.unwrap();
        assert!(programs["bash"].is_array(), "{programs}");
        assert_eq!(programs.as_object().unwrap().len(), 1);
        skill
    };
    let skill = settled(uploaded(&service, archive).await);
    insta::assert_json_snapshot!(skill, {".created_at" => "[time]"}, @r#"
    {
      "name": "greet",
      "title": "Greeter",
      "description": "Greets.",
      "inputs": null,
      "outputs": [],
      "parameters": {
        "type": "object",
        "properties": {},
        "additionalProperties": false
      },
      "network": "example.com",
      "secrets": [
        {
          "name": "TOKEN",
          "required": false
        }
      ],
      "model": null,
      "timeout_seconds": 600,
      "max_iterations": 40,
      "max_tokens": 16000,
      "command_seconds": 120,
      "origin": "uploaded",
      "version": 1,
      "created_at": "[time]",
      "digest": "19a51d8765599dc9e55a50a2939bd2bd525ad5eac7f086c98cb2edc7e9281b3e",
      "available": false,
      "paused": false,
      "missing": [
        "no-such-program"
      ],
      "missing_optional": [],
      "warnings": []
    }
    "#);
    assert_eq!(settled(service.get("/v1/skills/greet").await.1), skill);
    let (_, page) = service.get("/v1/skills").await;
    let skills = page["data"].as_array().unwrap();
    let listed = skills.iter().find(|it| it["name"] == "greet").unwrap();
    assert_eq!(settled(listed.clone()), skill);
    let names: Vec<_> = skills.iter().map(|it| it["name"].as_str()).collect();
    assert!(names.is_sorted(), "{names:?}");
    let (_, shell) = service.get("/v1/skills/shell").await;
    assert_eq!(
        (&shell["origin"], &shell["version"], &shell["created_at"]),
        (&json!("built_in"), &Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn equal_files_are_one_version_however_they_are_packed() {
    let service = Service::without_worker().await;
    let (text, script) = (greet("", "Greet."), "#!/bin/sh\n");
    let first = Tar::default()
        .folder("greet/")
        .program("greet/run.sh", script)
        .file("greet/SKILL.md", &text)
        .gzip();
    let first = uploaded(&service, first).await;
    assert_eq!(first["version"], 1);
    let without_a_folder = Tar::default()
        .folder("./")
        .file("./SKILL.md", &text)
        .program("./run.sh", script)
        .gzip();
    let of_a_mac = zip(&[
        Entry::file("greet/", "").with_mode(0o040_755),
        Entry::file("greet/SKILL.md", &text),
        Entry::file("greet/run.sh", script).with_mode(0o100_755),
        Entry::file("greet/.DS_Store", "x"),
        Entry::file("__MACOSX/greet/._run.sh", "x"),
    ]);
    for archive in [without_a_folder, of_a_mac] {
        let (status, again) = upload(&service, archive).await;
        assert_eq!(status, 200, "{again:#}");
        assert_eq!(again, first);
    }

    let not_executable = Tar::default()
        .file("run.sh", script)
        .file("SKILL.md", &text);
    let second = uploaded(&service, not_executable.gzip()).await;
    assert_eq!(second["version"], 2);
    assert_ne!(second["digest"], first["digest"]);
    assert_eq!(service.get("/v1/skills/greet").await.1, second);

    delete(&service).await;
    let again = service.request(Method::DELETE, "/v1/skills/greet");
    assert_eq!(Problem::of(again).await.kind(), (404, "not_found"));
    let gone = service.request(Method::GET, "/v1/skills/greet");
    assert_eq!(Problem::of(gone).await.kind(), (404, "not_found"));
    let built_in = service.request(Method::DELETE, "/v1/skills/shell");
    assert_eq!(Problem::of(built_in).await.kind(), (404, "not_found"));
    let third = uploaded(&service, greeting("Hello")).await;
    assert_eq!(third["version"], 3);
}

#[tokio::test]
async fn of_many_uploads_at_once_each_is_a_version() {
    let service = Service::without_worker().await;
    let uploads = (0..6).map(|number| {
        let service = &service;
        async move { uploaded(service, greeting(&format!("Hello{number}"))).await }
    });
    let skills = futures_util::future::join_all(uploads).await;
    let mut versions: Vec<_> = skills.iter().map(|it| it["version"].as_i64()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=6).map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_skill_is_its_tenants_and_stands_before_the_services() {
    let service = Service::start().await;
    let other = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let shell = "---\nname: shell\ndescription: Ours.\nallowed-tools: shell.exec\n---\nOurs.\n";
    let archive = Tar::default().file("SKILL.md", shell).gzip();
    let own = uploaded(&service, archive).await;
    uploaded(&service, greeting("Hello")).await;
    let is_own = |all: &[(String, String)], name: &str| {
        all.contains(&(name.to_owned(), "uploaded".to_owned()))
    };
    let ours = origins(&service, &service.key).await;
    assert!(is_own(&ours, "shell") && is_own(&ours, "greet"), "{ours:?}");
    let theirs = origins(&service, &other).await;
    assert!(
        theirs.iter().all(|(_, origin)| origin == "built_in"),
        "{theirs:?}"
    );
    assert_eq!(ours.len(), theirs.len() + 1, "{ours:?}");

    for method in [Method::GET, Method::DELETE] {
        let request = service.anonymous(method, "/v1/skills/greet");
        let refused = Problem::of(request.bearer_auth(&other)).await;
        assert_eq!(refused.kind(), (404, "not_found"));
    }
    let request = service.anonymous(Method::POST, "/v1/jobs");
    let request = request.bearer_auth(&other).json(&greet_world());
    let refused = Problem::of(request).await;
    assert_eq!(refused.errors()[0].0, "/skill");

    let ran = service.create_shell("true").await;
    let ran = service.finished(&ran).await;
    assert_eq!(
        (&ran["skill_digest"], &ran["skill_version"]),
        (&own["digest"], &json!(1))
    );
    let request = service.anonymous(Method::POST, "/v1/jobs?");
    let body =
        json!({"skill": "shell", "model": "script/bash", "prompt": crate::support::bash("true")});
    let (_, theirs) = send(request.bearer_auth(&other).json(&body)).await;
    assert_eq!(theirs["skill_version"], Value::Null);
    assert_ne!(theirs["skill_digest"], own["digest"]);

    let delete = service.request(Method::DELETE, "/v1/skills/shell");
    assert_eq!(delete.send().await.unwrap().status(), 204);
    assert_eq!(
        service.get("/v1/skills/shell").await.1["origin"],
        "built_in"
    );
}

#[tokio::test]
async fn the_form_must_have_one_file_and_the_caller_a_key() {
    let service = Service::without_worker().await;
    let post = || service.request(Method::POST, "/v1/skills");
    let none = post().multipart(reqwest::multipart::Form::new());
    assert_eq!(Problem::of(none).await.kind(), (400, "malformed_request"));
    let two = form(greeting("a")).text("more", "x");
    let two = Problem::of(post().multipart(two)).await;
    assert_eq!(two.kind(), (400, "malformed_request"));
    let json = Problem::of(post().json(&json!({}))).await;
    assert_eq!(json.kind(), (415, "unsupported_media_type"));
    let anonymous = service.anonymous(Method::POST, "/v1/skills");
    let anonymous = Problem::of(anonymous.multipart(form(greeting("a")))).await;
    assert_eq!(anonymous.kind(), (401, "unauthorized"));
}

#[tokio::test]
async fn no_tenant_has_more_skills_than_fit_on_a_page() {
    let service = Service::without_worker().await;
    uploaded(&service, greeting("Hello")).await;
    sqlx::query(
        "insert into skill (tenant_id, name, version)
         select tenant_id, 'skill-' || number, 0 from skill, generate_series(1, 199) as number",
    )
    .execute(&service.pool)
    .await
    .unwrap();
    let text = greet("", "x").replace("name: greet", "name: one-more");
    let archive = Tar::default().file("SKILL.md", text).gzip();
    let refused = Problem::of(super::post(&service, archive)).await;
    assert_eq!(refused.kind(), (409, "too_many_skills"));
    uploaded(&service, greeting("Again")).await;
}

#[tokio::test]
async fn of_many_first_uploads_at_once_no_more_come_in_than_there_is_room_for() {
    let service = Service::without_worker().await;
    let full = "insert into skill (tenant_id, name, version)
                select id, 'skill-' || number, 1 from tenant, generate_series(1, 199) as number where name = 'default'";
    sqlx::query(full).execute(&service.pool).await.unwrap();
    let uploads = (0..8).map(|number| {
        let text = greet("", "Greet.").replace("name: greet", &format!("name: greet-{number}"));
        upload(&service, Tar::default().file("SKILL.md", text).gzip())
    });
    let mut statuses: Vec<_> = join_all(uploads)
        .await
        .into_iter()
        .map(|(status, _)| status.as_u16())
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
}
