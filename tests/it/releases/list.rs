//! Lists that contain an entry of the next release.

use reqwest::Method;
use serde_json::json;

use super::{TOOL_OF_NEXT_RELEASE, put_agent, urgent};
use crate::support::Service;
use crate::support::problem::Problem;

#[tokio::test]
async fn an_agent_that_cannot_be_read_is_left_out_of_the_list_and_says_why_when_it_is_named() {
    let service = Service::without_worker().await;
    for name in ["a", "b", "c"] {
        put_agent(&service, name).await;
    }
    let settings = "update agent_version set settings = replace(settings::text, 'file.read', $1)::json where name = 'b'";
    let change = sqlx::query(settings).bind(TOOL_OF_NEXT_RELEASE);
    change.execute(&service.pool).await.unwrap();

    let mut names = Vec::new();
    let mut path = "/v1/agents?limit=1".to_owned();
    loop {
        let (status, page) = service.get(&path).await;
        assert_eq!(status, 200, "{page:#}");
        let page_names = page["data"].as_array().unwrap().iter();
        names.extend(page_names.map(|agent| agent["name"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        path = format!("/v1/agents?limit=1&cursor={cursor}");
    }
    assert_eq!(names, ["a", "c", "default"]);

    let named = service.request(Method::GET, "/v1/agents/b");
    assert_eq!(Problem::of(named).await.kind(), (409, "agent_unreadable"));
    let job = service.request(Method::POST, "/v1/jobs");
    let refused = Problem::of(job.json(&urgent("b", "true"))).await;
    assert_eq!(refused.kind(), (409, "agent_unreadable"));
    service.create(&urgent("a", "true")).await;
    let body = json!({"agent": "b"});
    assert_eq!(service.post("/v1/conversations", &body).await.0, 201);

    put_agent(&service, "b").await;
    let (status, agent) = service.get("/v1/agents/b").await;
    assert_eq!((status.as_u16(), &agent["version"]), (200, &json!(2)));
}

#[tokio::test]
async fn a_conversation_whose_metadata_cannot_be_read_leaves_the_others_in_their_list() {
    let service = Service::without_worker().await;
    for ticket in 1..=2 {
        let body = json!({"metadata": {"ticket": ticket}});
        assert_eq!(service.post("/v1/conversations", &body).await.0, 201);
    }
    let newer = "update conversation set metadata = '[1]' where metadata::text like '%1%'";
    sqlx::query(newer).execute(&service.pool).await.unwrap();
    let (status, page) = service.get("/v1/conversations").await;
    assert_eq!(status, 200, "{page:#}");
    let metadata = page["data"].as_array().unwrap().iter();
    let metadata: Vec<_> = metadata.map(|it| it["metadata"].clone()).collect();
    assert_eq!(metadata, [json!({"ticket": 2}), json!({})]);
}
