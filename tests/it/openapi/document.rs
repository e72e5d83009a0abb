//! The content of the document.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use super::document;
use crate::support::Service;
use crate::support::problem::Problem;

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi/openapi.json");
const ROUTES: &str = include_str!("../../../api/src/routes.rs");

/// An operation with its path and method.
struct Operation<'a> {
    path: &'a str,
    method: Method,
    says: &'a Value,
}

#[tokio::test]
async fn the_published_document_is_that_of_the_service() {
    let service = Service::without_worker().await;
    let response = service
        .anonymous(Method::GET, "/openapi.json")
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let current = response.text().await.unwrap() + "\n";
    if std::env::var("SKILLET_UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(PUBLISHED, &current).unwrap();
    }
    let published = std::fs::read_to_string(PUBLISHED).unwrap_or_default();
    assert!(
        published == current,
        "openapi/openapi.json is not what the service says of itself. If the change is meant: \
         SKILLET_UPDATE=1 cargo test -p tests --test it openapi::"
    );
}

#[tokio::test]
async fn every_operation_is_named_and_described() {
    let service = Service::without_worker().await;
    let document = document(&service).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let operations = operations(&document);
    let mut ids = BTreeSet::new();
    for Operation { path, method, says } in &operations {
        let id = says["operationId"].as_str().unwrap();
        assert!(ids.insert(id), "{id} is there twice");
        assert!(
            ROUTES.contains(&format!("::{id})")),
            "{id} is no handler's name"
        );
        assert_eq!(says["tags"].as_array().map(Vec::len), Some(1), "{id}");
        assert!(
            says["summary"]
                .as_str()
                .is_some_and(|text| text.ends_with('.')),
            "{id}"
        );
        let statuses: Vec<_> = says["responses"].as_object().unwrap().keys().collect();
        assert!(
            statuses.iter().any(|status| status.starts_with('2')),
            "{id}: {statuses:?}"
        );
        let problem = &says["responses"]["default"]["content"]["application/problem+json"];
        assert_eq!(
            problem["schema"]["$ref"], "#/components/schemas/Problem",
            "{id}"
        );
        for response in says["responses"].as_object().unwrap().values() {
            assert!(response["description"].is_string(), "{id}");
        }
        let declared = parameters(says, "path");
        assert_eq!(declared, in_braces(path), "{method} {path}");
    }
    assert_eq!(
        operations.len(),
        ROUTES.matches(".service(").count(),
        "each route is documented"
    );
}

#[tokio::test]
async fn every_operation_refuses_who_has_no_key() {
    let service = Service::without_worker().await;
    let document = document(&service).await;
    assert_eq!(document["security"], json!([{"key": []}]));
    assert_eq!(
        document["components"]["securitySchemes"]["key"]["scheme"],
        "bearer"
    );
    let needs_key = |says: &Value| says["operationId"] != "create_session";
    let operations = operations(&document).into_iter();
    for Operation { path, method, .. } in operations.filter(|it| needs_key(it.says)) {
        let filled = path
            .split('/')
            .map(|segment| match segment.starts_with('{') {
                true => "job_019aa0c45e8d70008000000000000000",
                false => segment,
            });
        let path = filled.collect::<Vec<_>>().join("/");
        let refused = Problem::of(service.anonymous(method.clone(), &path)).await;
        assert_eq!(refused.kind(), (401, "unauthorized"), "{method} {path}");
    }
}

#[tokio::test]
async fn every_reference_leads_to_a_schema_and_every_schema_is_referred_to() {
    let service = Service::without_worker().await;
    let document = document(&service).await;
    let mut used = BTreeSet::new();
    each(&document, &mut |value| {
        if let Some(reference) = value["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(
                document.pointer(pointer).is_some(),
                "{reference} leads nowhere"
            );
            used.insert(reference.rsplit('/').next().unwrap().to_owned());
        }
    });
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let unused: Vec<_> = schemas
        .keys()
        .filter(|name| !used.contains(*name))
        .collect();
    assert_eq!(unused, [""; 0]);
}

#[tokio::test]
async fn every_union_tells_its_variants_apart() {
    let service = Service::without_worker().await;
    let document = document(&service).await;
    let mut unions = 0;
    each(&document, &mut |value| {
        let Some(variants) = value["oneOf"].as_array() else {
            return;
        };
        // A union of one type and `null` needs no discriminator.
        if variants
            .iter()
            .filter(|variant| variant["type"] != "null")
            .count()
            < 2
        {
            return;
        }
        unions += 1;
        let property = value["discriminator"]["propertyName"]
            .as_str()
            .expect("a discriminator");
        let mapping = value["discriminator"]["mapping"]
            .as_object()
            .expect("a mapping");
        let mut mapped: Vec<_> = mapping
            .values()
            .map(|target| json!({"$ref": target}))
            .collect();
        let mut listed = variants.clone();
        for list in [&mut mapped, &mut listed] {
            list.sort_by_key(Value::to_string);
        }
        assert_eq!(
            mapped, listed,
            "each variant is a reference that the mapping has"
        );
        for (tag, target) in mapping {
            let target = document.pointer(&target.as_str().unwrap()[1..]).unwrap();
            assert_eq!(
                tag_values(target, property),
                Some(&json!([tag])),
                "{target:#}"
            );
        }
    });
    assert_eq!(
        unions, 4,
        "events, blocks of a message, places in the queue, what was said"
    );
}

#[tokio::test]
async fn files_and_streams_are_declared_as_such() {
    let service = Service::without_worker().await;
    let document = document(&service).await;
    let operations = operations(&document);
    let of = |id: &str| {
        let found = operations
            .iter()
            .find(|operation| operation.says["operationId"] == id);
        found.unwrap().says
    };
    let form = &of("upload_asset")["requestBody"]["content"]["multipart/form-data"]["schema"];
    let form = document
        .pointer(&form["$ref"].as_str().unwrap()[1..])
        .unwrap();
    assert_eq!(form["properties"]["file"]["format"], "binary");
    assert_eq!(form["required"], json!(["file"]));

    let download = of("get_asset_content");
    for status in ["200", "206"] {
        for kind in ["application/octet-stream", "*/*"] {
            let content = &download["responses"][status]["content"][kind];
            assert_eq!(content["schema"]["format"], "binary", "{download:#}");
        }
    }
    assert_eq!(
        parameters(download, "header"),
        ["If-Match", "If-None-Match", "If-Range", "Range"].into()
    );
    let range = &download["parameters"].as_array().unwrap()[1];
    assert_eq!(range["schema"], json!({"type": "string"}), "{range:#}");

    let stream = of("stream_job");
    let events = &stream["responses"]["200"]["content"]["text/event-stream"]["schema"];
    assert_eq!(events["$ref"], "#/components/schemas/Event");
    assert_eq!(parameters(stream, "header"), ["Last-Event-ID"].into());
    assert_eq!(
        parameters(stream, "query"),
        ["after", "deltas", "event_names"].into()
    );
    assert_eq!(
        parameters(of("create_job"), "header"),
        ["Idempotency-Key", "Prefer"].into()
    );
    let page = &document["components"]["schemas"]["JobPage"]["properties"]["data"]["items"];
    assert_eq!(page, &json!({"$ref": "#/components/schemas/Job"}));
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, says)| Operation {
            path,
            method: method.to_uppercase().parse().unwrap(),
            says,
        })
    });
    all.collect()
}

/// Returns the names of an operation's parameters in the path, the query or the header.
fn parameters<'a>(operation: &'a Value, place: &str) -> BTreeSet<&'a str> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let here = all.filter(|parameter| parameter["in"] == place);
    here.map(|parameter| parameter["name"].as_str().unwrap())
        .collect()
}

fn in_braces(path: &str) -> BTreeSet<&str> {
    let segments = path.split('/');
    segments
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .collect()
}

/// Returns the values that the schema or a part of it allows for a property.
fn tag_values<'a>(schema: &'a Value, property: &str) -> Option<&'a Value> {
    let own = schema.pointer(&format!("/properties/{property}/enum"));
    let mut parts = schema["allOf"].as_array().into_iter().flatten();
    own.or_else(|| parts.find_map(|part| tag_values(part, property)))
}

/// Calls `look` for the value and for each value inside it.
fn each(value: &Value, look: &mut impl FnMut(&Value)) {
    look(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| each(item, look)),
        Value::Object(fields) => fields.values().for_each(|field| each(field, look)),
        _ => {}
    }
}
