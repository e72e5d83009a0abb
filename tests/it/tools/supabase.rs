//! `read_table` with a Supabase project: a test server that responds as PostgREST does.

use std::sync::{Arc, Mutex};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::egress::{ANY, machine};
use crate::support::Service;
use crate::support::log::data;

const KEY: &str = "service-key-0123456789";

/// The requests to the project: the method, the path with the query, and the schema.
type Asked = Arc<Mutex<Vec<(String, String, Option<String>)>>>;

/// Starts a project with orders, and returns its URL.
fn project(asked: Asked) -> String {
    let server = HttpServer::new(move || {
        let asked = asked.clone();
        App::new().default_service(web::to(move |request: HttpRequest| {
            let header = |name: &str| {
                let value = request.headers().get(name)?;
                Some(value.to_str().unwrap().to_owned())
            };
            let place = request.uri().to_string();
            asked.lock().unwrap().push((
                request.method().to_string(),
                place.clone(),
                header("accept-profile"),
            ));
            let is_known = header("apikey").as_deref() == Some(KEY)
                && header("authorization") == Some(format!("Bearer {KEY}"));
            async move {
                if !is_known {
                    return HttpResponse::Unauthorized().json(json!({"message": "Invalid API key"}));
                }
                if place.starts_with("/rest/v1/orders?") {
                    return HttpResponse::PartialContent()
                        .insert_header(("content-range", "0-1/37"))
                        .json(json!([{"id": 1, "total": 2.50}, {"id": 2, "total": null}]));
                }
                HttpResponse::NotFound().json(json!({
                    "code": "42P01", "message": "relation \"public.none\" does not exist", "hint": null,
                }))
            }
        }))
    })
    .workers(1)
    .bind(("0.0.0.0", 0))
    .unwrap();
    let port = server.addrs()[0].port();
    tokio::spawn(server.run());
    format!("http://{}:{port}", machine())
}

async fn run(service: &Service, marker: &str, queries: &[Value]) -> Vec<(String, String)> {
    let mut reply = Reply::text("I ask.");
    for query in queries {
        reply = reply.then_call("read_table", query.clone());
    }
    reply = reply.then_call("shell.exec", json!({"command": "env"}));
    service.model.script(marker, [reply, Reply::text("Done.")]);
    let job = service
        .run(&json!({
            "skill": "supabase", "model": "anthropic/m", "prompt": format!("Ask. #{marker}"),
        }))
        .await;
    assert_eq!(job["text"], "Done.", "{job:#}\n{}", service.logs());
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert!(!json!(events).to_string().contains(KEY));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = data(&events, "tool.completed").into_iter();
    results
        .map(|it| (text(&it["outcome"]), text(&it["output"])))
        .collect()
}

async fn set(service: &Service, name: &str, value: &str) {
    let put = service.request(Method::PUT, &format!("/v1/secrets/{name}"));
    let put = put.json(&json!({ "value": value })).send().await.unwrap();
    assert_eq!(put.status(), 204);
}

#[tokio::test]
async fn a_project_is_read_and_never_written() {
    let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    service.add_worker(&[]).await;
    let asked = Asked::default();
    set(&service, "SUPABASE_URL", &project(asked.clone())).await;
    set(&service, "SUPABASE_KEY", KEY).await;
    let results = run(
        &service,
        "read",
        &[
            json!({
                "table": "orders", "select": ["id", "total"], "limit": 2,
                "filters": [{"column": "name", "operator": "ilike", "value": "%tea%"}],
                "order": [{"column": "id", "descending": true}],
            }),
            json!({
                "table": "orders", "schema": "shop", "count": true,
                "filters": [{"column": "total", "operator": "gt", "value": 1}],
            }),
            json!({"table": "none"}),
            json!({"table": "orders", "filters": [{"column": "a", "operator": "equals", "value": 1}]}),
            json!({"table": "orders", "filters": [{"column": "a", "operator": "eq", "value": null}]}),
            json!({"sql": "delete from orders"}),
        ],
    )
    .await;
    assert_eq!(results[0].0, "ok", "{results:#?}");
    assert_eq!(
        results[0].1,
        "{\"rows\":[{\"id\":1,\"total\":2.5},{\"id\":2,\"total\":null}],\"row_count\":2}\n[37 rows meet the condition.]"
    );
    assert_eq!(results[1].1, r#"{"rows":[{"count":37}],"row_count":1}"#);
    assert_eq!(
        results[2],
        (
            "error".to_owned(),
            "the project answered with status 404: relation \"public.none\" does not exist; \
             check `table` and `schema`, in the spelling of the database"
                .to_owned()
        )
    );
    for (refused, remedy) in results[3..6].iter().zip([
        "- /filters/0/operator: \"equals\" is not one of \"eq\"",
        "/filters/0/value: null cannot be compared; use the operator `is`",
        "- /sql: is not known; there are: table, schema, select",
    ]) {
        assert!(
            refused.0 != "ok" && refused.1.contains(remedy),
            "{refused:?}"
        );
    }
    assert!(
        results[6].1.contains("there is no tool `shell_exec`"),
        "{:?}",
        results[6]
    );
    let mut asked = asked.lock().unwrap().clone();
    // Reads run concurrently.
    asked.sort();
    assert_eq!(asked.len(), 3, "{asked:#?}");
    assert!(asked.iter().all(|(method, ..)| method == "GET"));
    let places: Vec<_> = asked
        .iter()
        .map(|(_, place, schema)| (place.as_str(), schema.as_deref()))
        .collect();
    assert_eq!(
        places,
        [
            ("/rest/v1/none?select=*&limit=1000", None),
            (
                "/rest/v1/orders?and=%28total.gt.%221%22%29&limit=1",
                Some("shop")
            ),
            (
                "/rest/v1/orders?select=id%2Ctotal&and=%28name.ilike.%22%25tea%25%22%29&order=id.desc&limit=2",
                None
            ),
        ]
    );
}

#[tokio::test]
async fn a_key_that_is_wrong_and_secrets_that_are_missing_are_said() {
    let mut service = Service::with_environment(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    service.add_worker(&[]).await;
    let body = json!({"skill": "supabase", "model": "anthropic/m", "prompt": "Ask."});
    let (status, problem) = service.post("/v1/jobs", &body).await;
    assert_eq!(status, 422, "{problem:#}");
    let detail = problem["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("SUPABASE_URL, SUPABASE_KEY"), "{detail}");

    set(&service, "SUPABASE_URL", &project(Asked::default())).await;
    set(&service, "SUPABASE_KEY", "another-key-0123456789").await;
    let results = run(&service, "wrong", &[json!({"table": "orders"})]).await;
    assert_eq!(
        results[0].1,
        "the project answered with status 401: Invalid API key"
    );
}
