use serde_json::Value;

use super::Field;

/// Pages that a claim of one job looks at.
async fn pages(field: &Field) -> i64 {
    let mut transaction = field.pool().begin().await.unwrap();
    let mut least = i64::MAX;
    // The first ones find dead entries and say so to those that come later, and read catalogs.
    for _ in 0..8 {
        let explained: Value = sqlx::query_scalar(
            "explain (analyze, buffers, format json) select * from claim($1, '{shell}', 1, true)",
        )
        .bind(field.worker.0)
        .fetch_one(&mut *transaction)
        .await
        .unwrap();
        let plan = &explained[0]["Plan"];
        let blocks = |kind: &str| plan[kind].as_i64().unwrap();
        least = least.min(blocks("Shared Hit Blocks") + blocks("Shared Read Blocks"));
    }
    transaction.rollback().await.unwrap();
    least
}

#[tokio::test]
async fn a_claim_costs_no_more_with_many_tenants_and_a_long_queue() {
    let field = Field::new().await;
    for tenant in 0..10 {
        let tenant = field.tenant(&format!("few {tenant}")).await;
        field.enqueue(tenant, 10).await;
    }
    let few = pages(&field).await;
    // Some idle, some at their cap, most with a job or two, and a whale.
    sqlx::query(
        "insert into tenant (id, name, max_running)
         select gen_random_uuid(), 'many ' || n, case when n % 10 = 0 then 0 end from generate_series(1, 2000) as n",
    )
    .execute(field.pool())
    .await
    .unwrap();
    let whale = field.tenant("whale").await;
    field.enqueue(whale, 20_000).await;
    sqlx::query(
        "with copy as (
             insert into job (id, tenant_id, skill, model, request, metadata, created_at)
             select gen_random_uuid(), tenant.id, skill, model, request, metadata, now()
             from job, tenant
             where job.id = $1 and (name like 'many %5' or name like 'many %0')
             returning id, tenant_id, skill
         )
         insert into run (job_id, tenant_id, skill, state, rank, run_at, last_seq)
         select id, tenant_id, skill, 'ready', now(), now(), 1 from copy",
    )
    .bind(field.model)
    .execute(field.pool())
    .await
    .unwrap();
    let many = pages(&field).await;
    assert!(many <= 2 * few, "{many} pages, with few jobs {few}");
}
