//! Feeds of several tenants, and revoked API keys.

use reqwest::Method;
use shared::key::Scope;

use super::{by_job, milestones, open, until_ends};
use crate::support::{Service, create_key, parse, send};

#[tokio::test]
async fn a_tenant_gets_only_events_of_its_own_jobs() {
    let mut service = Service::start().await;
    let first_key = service.key.clone();
    let second_key = create_key(&service.pool, "second", &[Scope::Jobs]).await;
    let (mut first, _) = open(&service, "").await;
    service.key.clone_from(&second_key);
    let (mut second, _) = open(&service, "").await;
    let other = service.create_shell("true").await;
    service.key = first_key;
    let own = service.create_shell("true").await;
    for (stream, key, job) in [
        (&mut first, None, own),
        (&mut second, Some(second_key), other),
    ] {
        let events = until_ends(stream, 1).await;
        let events: Vec<_> = events.iter().map(|raw| parse(raw)).collect();
        if let Some(key) = key {
            service.key = key;
        }
        assert_eq!(by_job(&events), milestones(&service, &[job]).await);
        let (_, page) = service.get("/v1/events").await;
        assert_eq!(page["data"].as_array(), Some(&events));
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_key_is_revoked() {
    let mut service = Service::without_worker().await;
    let admin_key = service.key.clone();
    service.key = create_key(&service.pool, "default", &[Scope::Jobs]).await;
    let (mut stream, _) = open(&service, "").await;
    let (_, me) = service.get("/v1/me").await;
    let key = me["key"]["id"].as_str().unwrap();
    service.key = admin_key;
    let revoke = service.request(Method::DELETE, &format!("/v1/keys/{key}"));
    assert_eq!(send(revoke).await.0, 204);
    assert_eq!(stream.next_raw().await, None);
}
