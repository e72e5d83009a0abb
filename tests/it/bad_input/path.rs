//! Unknown paths, methods and query parameters.

use reqwest::Method;
use uuid::Uuid;

use crate::support::Service;
use crate::support::problem::Problem;
use shared::id::{AssetId, JobId};

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let service = Service::without_worker().await;
    let unknown = Uuid::now_v7();
    let job = JobId(unknown);
    let mut paths = Vec::new();
    for id in [
        unknown.to_string().as_str(),
        job.to_string().as_str(),
        "7",
        "none",
        "%00",
        "%FF",
        "..%2f..%2fetc",
    ] {
        paths.push((Method::GET, format!("/v1/jobs/{id}")));
        paths.push((Method::DELETE, format!("/v1/jobs/{id}")));
        paths.push((Method::POST, format!("/v1/jobs/{id}/cancel")));
        paths.push((Method::POST, format!("/v1/jobs/{id}/retry")));
        paths.push((Method::GET, format!("/v1/jobs/{id}/events")));
        paths.push((Method::GET, format!("/v1/jobs/{id}/stream")));
        paths.push((Method::GET, format!("/v1/assets/{id}")));
        paths.push((Method::GET, format!("/v1/assets/{id}/content")));
        paths.push((Method::DELETE, format!("/v1/assets/{id}")));
        paths.push((Method::DELETE, format!("/v1/keys/{id}")));
        paths.push((Method::DELETE, format!("/v1/secrets/{id}")));
        paths.push((Method::GET, format!("/v1/skills/{id}")));
    }
    for path in [
        "/v1",
        "/v1/",
        "/v1/nothing",
        "/v2/jobs",
        "/v1/jobs/",
        "/v1/jobs/1/2/3",
        "/metrics2",
    ] {
        paths.push((Method::GET, path.to_owned()));
    }
    for (method, path) in paths {
        let refused = Problem::of(service.request(method.clone(), &path)).await;
        assert_eq!(refused.kind(), (404, "not_found"), "{method} {path}");
    }
}

#[tokio::test]
async fn a_path_without_an_id_says_what_an_id_looks_like() {
    let service = Service::without_worker().await;
    let id = JobId::new();
    for (path, kind, prefix, text) in [
        ("/v1/jobs/abc".to_owned(), "job", "job", "abc"),
        ("/v1/jobs/abc/".to_owned(), "job", "job", "abc"),
        ("/v1/jobs/abc/events".to_owned(), "job", "job", "abc"),
        (format!("/v1/jobs/{id}x"), "job", "job", &*format!("{id}x")),
        (
            format!("/v1/jobs/{}", id.0),
            "job",
            "job",
            &*id.0.to_string(),
        ),
        ("/v1/assets/%00/content".to_owned(), "asset", "asst", "%00"),
        ("/v1/tenants/default".to_owned(), "tenant", "ten", "default"),
        (
            "/v1/conversations/1".to_owned(),
            "conversation",
            "conv",
            "1",
        ),
    ] {
        let refused = Problem::of(service.request(Method::GET, &path)).await;
        assert_eq!(refused.kind(), (404, "not_found"), "{path}");
        let expected = format!("there is no {kind} `{text}`: it must be the id of a");
        assert!(refused.detail().starts_with(&expected), "{refused:?}");
        let example = format!(", such as {prefix}_019aa0c45e8d70008000000000000000");
        assert!(refused.detail().ends_with(&example), "{refused:?}");
    }
    let asset = AssetId::new();
    let refused = Problem::of(service.request(Method::GET, &format!("/v1/jobs/{asset}"))).await;
    assert_eq!(
        refused.detail(),
        format!(
            "there is no job `{asset}`: it must be the id of a job (job_…); this is the id of an asset"
        )
    );
    let refused = Problem::of(service.request(Method::GET, &format!("/v1/jobs/{id}"))).await;
    assert_eq!(refused.detail(), "there is no such job");
    for path in ["/v1/jobs/".to_owned(), format!("/v1/jobs/{id}/")] {
        let refused = Problem::of(service.request(Method::GET, &path)).await;
        assert_eq!(refused.kind(), (404, "not_found"), "{path}");
        assert!(
            refused.detail().contains("remove the trailing slash"),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_path_says_which_methods_it_takes() {
    let service = Service::without_worker().await;
    let id = JobId::new();
    let asset = AssetId::new();
    let cases = [
        (Method::PUT, "/v1/jobs".to_owned(), "GET, HEAD, POST"),
        (Method::DELETE, "/v1/jobs".to_owned(), "GET, HEAD, POST"),
        (
            Method::POST,
            format!("/v1/jobs/{id}"),
            "GET, HEAD, PATCH, DELETE",
        ),
        (Method::GET, format!("/v1/jobs/{id}/cancel"), "POST"),
        (Method::POST, format!("/v1/jobs/{id}/stream"), "GET, HEAD"),
        (Method::PUT, "/v1/assets".to_owned(), "GET, HEAD, POST"),
        (
            Method::PUT,
            format!("/v1/assets/{asset}/content"),
            "GET, HEAD",
        ),
        (
            Method::POST,
            "/v1/skills/shell".to_owned(),
            "GET, HEAD, DELETE",
        ),
        (Method::POST, "/healthz".to_owned(), "GET, HEAD"),
        (Method::POST, "/metrics".to_owned(), "GET, HEAD"),
        // This path has the form of a job's path.
        (Method::GET, "/v1/jobs/batch".to_owned(), "POST"),
        (Method::DELETE, "/v1/jobs/batch".to_owned(), "POST"),
        (Method::PUT, "/v1/jobs/batch".to_owned(), "POST"),
    ];
    for (method, path, allowed) in cases {
        let refused = Problem::of(service.request(method.clone(), &path)).await;
        assert_eq!(
            refused.kind(),
            (405, "method_not_allowed"),
            "{method} {path}"
        );
        assert_eq!(refused.headers["allow"], allowed, "{method} {path}");
    }
}

#[tokio::test]
async fn a_query_that_cannot_be_used_is_malformed() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let events = format!("/v1/jobs/{job}/events");
    let stream = format!("/v1/jobs/{job}/stream");
    let cases = [
        ("/v1/jobs", "limit=0", "`limit`"),
        ("/v1/jobs", "limit=101", "`limit`"),
        ("/v1/jobs", "limit=-1", "`limit`"),
        ("/v1/jobs", "limit=many", "query"),
        ("/v1/jobs", "cursor=", "`cursor`"),
        ("/v1/jobs", "cursor=nonsense", "`cursor`"),
        ("/v1/jobs", "cursor=AA", "`cursor`"),
        ("/v1/jobs", "status=done", "no status `done`"),
        ("/v1/jobs", "state=queued", "unknown field `state`"),
        ("/v1/jobs", "skill=%00", "`skill`"),
        ("/v1/jobs", "agent=a%00b", "`agent`"),
        ("/v1/agents", "cursor=%00", "`cursor`"),
        (events.as_str(), "types=tool.started%00", "`types`"),
        (events.as_str(), "limit=0", "`limit`"),
        (events.as_str(), "limit=1001", "`limit`"),
        (events.as_str(), "after=x", "query"),
        (
            events.as_str(),
            "types=tool.started,tool.stopped",
            "no event type `tool.stopped`",
        ),
        (stream.as_str(), "deltas=maybe", "query"),
        ("/v1/tenants", "cursor=AA", "`cursor`"),
        ("/v1/tenants", "limit=1000", "`limit`"),
        ("/v1/keys", "tenant_id=default", "query"),
        ("/v1/keys", "cursor=AA", "`cursor`"),
        ("/v1/secrets", "cursor=AA", "`cursor`"),
    ];
    for (path, query, words) in cases {
        let refused = Problem::of(service.request(Method::GET, &format!("{path}?{query}"))).await;
        assert_eq!(refused.kind(), (400, "malformed_request"), "{path}?{query}");
        assert!(
            refused.detail().contains(words),
            "{path}?{query}: {refused:?}"
        );
    }
    let request = service.request(Method::GET, &stream);
    let refused = Problem::of(request.header("Last-Event-ID", "seven")).await;
    assert_eq!(refused.kind(), (400, "malformed_request"));
}
