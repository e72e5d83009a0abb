//! The routes of the API under `/v1`.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use utoipa_actix_web::scope;
use utoipa_actix_web::scope::Scope;

use crate::v1::{
    agents, approvals, assets, conversations, events, jobs, keys, me, models, queue, schedules,
    secrets, session, skills, tenants, usage, webhooks, workers,
};

/// Returns all routes under `/v1`. The caller wraps authentication around them.
pub(crate) fn v1() -> Scope<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<impl MessageBody>,
        Error = Error,
        InitError = (),
    >,
> {
    scope("/v1")
        .service(jobs::create_job)
        .service(jobs::create_jobs)
        .service(jobs::list_jobs)
        .service(jobs::get_job)
        .service(jobs::update_job)
        .service(jobs::get_job_request)
        .service(jobs::create_job_token)
        .service(jobs::delete_job)
        .service(jobs::cancel_job)
        .service(jobs::retry_job)
        .service(jobs::list_events)
        .service(jobs::stream_job)
        .service(jobs::list_job_approvals)
        .service(jobs::list_job_deliveries)
        .service(jobs::redeliver_of_job)
        .service(events::list_tenant_events)
        .service(events::stream_tenant_events)
        .service(approvals::list_approvals)
        .service(approvals::get_approval)
        .service(approvals::resolve_approval)
        .service(assets::upload_asset)
        .service(assets::list_assets)
        .service(assets::get_asset)
        .service(assets::get_asset_content)
        .service(assets::get_asset_preview)
        .service(assets::list_asset_pages)
        .service(assets::get_asset_page)
        .service(assets::delete_asset)
        .service(skills::upload_skill)
        .service(skills::list_skills)
        .service(skills::get_skill)
        .service(skills::get_skill_instructions)
        .service(skills::delete_skill)
        .service(skills::pause_skill)
        .service(skills::resume_skill)
        .service(agents::put_agent)
        .service(agents::get_agent)
        .service(agents::delete_agent)
        .service(agents::list_agents)
        .service(conversations::create_conversation)
        .service(conversations::list_conversations)
        .service(conversations::get_conversation)
        .service(conversations::delete_conversation)
        .service(schedules::create_schedule)
        .service(schedules::preview_schedule)
        .service(schedules::list_schedules)
        .service(schedules::get_schedule)
        .service(schedules::update_schedule)
        .service(schedules::delete_schedule)
        .service(schedules::run_schedule)
        .service(schedules::list_schedule_runs)
        .service(webhooks::create_webhook)
        .service(webhooks::list_webhooks)
        .service(webhooks::get_default_webhook_secret)
        .service(webhooks::rotate_default_webhook_secret)
        .service(webhooks::get_webhook)
        .service(webhooks::update_webhook)
        .service(webhooks::delete_webhook)
        .service(webhooks::rotate_webhook_secret)
        .service(webhooks::test_webhook)
        .service(webhooks::recover_webhook)
        .service(webhooks::list_deliveries)
        .service(webhooks::redeliver)
        .service(secrets::put_secret)
        .service(secrets::delete_secret)
        .service(secrets::list_secrets)
        .service(keys::create_key)
        .service(keys::list_keys)
        .service(keys::revoke_key)
        .service(tenants::create_tenant)
        .service(tenants::list_tenants)
        .service(tenants::get_tenant)
        .service(tenants::update_tenant)
        .service(tenants::delete_tenant)
        .service(tenants::put_tenant_budget)
        .service(tenants::get_tenant_budget)
        .service(tenants::put_submission_limits)
        .service(tenants::get_submission_limits)
        .service(models::list_models)
        .service(me::get_me)
        .service(session::create_session)
        .service(session::delete_session)
        .service(session::create_session_code)
        .service(workers::list_workers)
        .service(usage::list_usage)
        .service(queue::get_queue)
        .service(queue::get_queue_history)
        .service(queue::pause_queue)
        .service(queue::resume_queue)
}
