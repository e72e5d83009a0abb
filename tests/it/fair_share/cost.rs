//! The number of pages that claims and maintenance read, independent of the size of the queue.

use std::time::Duration;

use serde_json::Value;
use shared::db::{self, Pool};

use super::Field;

/// Returns the number of pages that the claim of one job reads.
async fn pages(field: &Field) -> i64 {
    let mut transaction = field.pool().begin().await.unwrap();
    let mut least = i64::MAX;
    // The first claims also read catalogs, and mark dead index entries for later claims.
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
    // Some tenants are idle, some are at their cap, most have one or two jobs, and one has very many.
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

#[tokio::test]
async fn a_claim_costs_no_more_beside_tenants_whose_jobs_nobody_can_run() {
    let field = Field::new().await;
    for tenant in 0..10 {
        let tenant = field.tenant(&format!("few {tenant}")).await;
        field.enqueue(tenant, 100).await;
    }
    let few = pages(&field).await;
    // Half of the tenants have jobs of a paused skill. The others need a program that no worker has.
    db::queue::pause_skill(field.pool(), "paused")
        .await
        .unwrap();
    for statement in [
        "insert into tenant (id, name) select gen_random_uuid(), 'stuck ' || n from generate_series(1, 5000) as n",
        "insert into run (job_id, tenant_id, skill, needs, state, rank, run_at, last_seq)
         select gen_random_uuid(), id, 'paused', case when name like '%5' then '{nowhere}'::text[] end, 'ready', now(), now(), 1
         from tenant
         where name like 'stuck %'",
    ] {
        sqlx::query(statement).execute(field.pool()).await.unwrap();
    }
    // The first claims close the lanes of these tenants, 1,000 at a time.
    for _ in 0..6 {
        assert_eq!(field.claim(20).await.len(), 20);
    }
    // Autovacuum would soon do the same: remove the index entries of the closed lanes.
    let vacuum = sqlx::query("vacuum analyze tenant");
    vacuum.execute(field.pool()).await.unwrap();
    let many = pages(&field).await;
    assert!(many <= 2 * few, "{many} pages, with few jobs {few}");
}

#[tokio::test]
async fn looking_for_stalled_conversations_costs_no_more_with_many_jobs_that_wait_in_them() {
    let field = Field::new().await;
    let pool = single_connection(&field).await;
    let tenant = field.tenant("talkative").await;
    // The first bound includes the pages that the planner reads. The table has hundreds of pages. Of recently
    // accepted jobs 1,000 are read, with a few pages each.
    for (age, bound) in [("1 hour", 50), ("0", 6_000)] {
        // In each conversation one job waits for a person, and 99 jobs wait for that job.
        sqlx::query(
            "insert into run (job_id, tenant_id, state, rank, run_at, last_seq, conversation_id, position)
             select
                 (left(first_job_id(now() - $2::interval)::text, 14) || substr(gen_random_uuid()::text, 15))::uuid, $1,
                 case when position = 1 then 'waiting'::run_state else 'blocked' end, now(), now(), 1, conversation, position
             from (select gen_random_uuid() as conversation from generate_series(1, 200)) as conversation
             cross join generate_series(1, 100) as position",
        )
        .bind(tenant.0)
        .bind(age)
        .execute(&pool)
        .await
        .unwrap();
        vacuum(&pool).await;
        let lately = Some(Duration::from_secs(60));
        let before = pages_so_far(&pool).await;
        assert_eq!(
            db::conversation::admit_stalled(&pool, lately)
                .await
                .unwrap(),
            0
        );
        let read = pages_so_far(&pool).await - before;
        assert!(read <= bound, "{read} pages for jobs of {age} ago");
    }
}

#[tokio::test]
async fn counting_the_queue_costs_no_more_with_a_longer_queue() {
    let field = Field::new().await;
    let pool = single_connection(&field).await;
    let tenant = field.tenant("whale").await;
    let mut costs = Vec::new();
    for jobs in [12_000, 48_000] {
        sqlx::query(
            "insert into run (job_id, tenant_id, skill, state, rank, run_at, last_seq)
             select first_job_id(now() + ($2 + n) * interval '1 ms'), $1, 'shell', 'ready', now(), now(), 1
             from generate_series(1, $2) as n",
        )
        .bind(tenant.0)
        .bind(jobs)
        .execute(&pool)
        .await
        .unwrap();
        vacuum(&pool).await;
        let before = pages_so_far(&pool).await;
        let depth = db::queue::get_depth(&pool).await.unwrap();
        assert_eq!(depth.ready, 10_000);
        costs.push(pages_so_far(&pool).await - before);
    }
    let [few, many] = costs[..] else {
        unreachable!()
    };
    assert!(many <= 2 * few, "{many} pages, with few jobs {few}");
}

/// Opens a pool with one connection, so that the statistics include all earlier statements of that connection.
async fn single_connection(field: &Field) -> Pool {
    let url = &field.service.database_url;
    db::connect(url, "test", 1).await.unwrap()
}

async fn vacuum(pool: &Pool) {
    let vacuum = sqlx::query("vacuum analyze run");
    vacuum.execute(pool).await.unwrap();
}

/// Returns the number of pages of the table `run` and its indexes read so far, from memory or disk.
async fn pages_so_far(pool: &Pool) -> i64 {
    sqlx::query("select pg_stat_force_next_flush()")
        .execute(pool)
        .await
        .unwrap();
    let sum = sqlx::query_scalar(
        "select sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))::bigint
         from pg_statio_user_tables where relname = 'run'",
    );
    sum.fetch_one(pool).await.unwrap()
}
