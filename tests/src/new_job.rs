//! A job that does nothing, in the form in which the API stores it.

use serde_json::Map;
use shared::db::job::{Needs, NewJobRow};
use shared::hook::Hooks;
use shared::id::{JobId, TenantId};
use shared::job::{JobRequest, Priority, Target};
use shared::limits::Limits;

/// Returns a new job of the tenant with the skill `shell`.
pub fn new_job(tenant: TenantId) -> NewJobRow {
    NewJobRow {
        id: JobId::new(),
        tenant,
        target: Target::Skill("shell".to_owned()),
        title: "Nothing to do.".to_owned(),
        external_id: None,
        model: "script/bash".parse().expect("it is a model's name"),
        position: None,
        needs: Needs::default(),
        skill_version: None,
        skill_digest: Some("0".repeat(64)),
        request: JobRequest {
            models: None,
            prompt: "Nothing to do.".to_owned(),
            inputs: Vec::new(),
            parameters: Map::new(),
            hooks: Hooks::default(),
            limits: Limits::DEFAULT,
            output_schema: None,
            max_attempts: 3,
            priority: Priority::default(),
            agent: None,
            webhook: None,
            origin: None,
        },
        metadata: Map::new(),
        retry_of: None,
        schedule: None,
        run_at: None,
        digest: "0".repeat(64),
        is_followed: false,
    }
}
