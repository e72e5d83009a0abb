//! Fair scheduling: order of tenants, caps, pauses, and the cost of a claim.

mod cap;
mod cost;
mod pause;
mod race;
mod turn;
mod unrunnable;

use shared::db::claim::Claimed;
use shared::db::worker::NewWorker;
use shared::db::{self, Pool};
use shared::id::{JobId, TenantId, WorkerId};
use shared::sandbox::{Isolation, MemoryLimit};

use crate::support::Service;

/// A queue without worker processes. The test adds and claims the jobs itself.
struct Field {
    service: Service,
    /// The job that is copied to create others. It is not in the queue.
    model: JobId,
    worker: WorkerId,
}

impl Field {
    async fn new() -> Self {
        let service = Service::without_worker().await;
        let model = service.create_shell("true").await.parse().unwrap();
        sqlx::query("delete from run")
            .execute(&service.pool)
            .await
            .unwrap();
        let worker = add_worker(&service.pool, &["shell"]).await;
        Self {
            service,
            model,
            worker,
        }
    }

    fn pool(&self) -> &Pool {
        &self.service.pool
    }

    async fn tenant(&self, name: &str) -> TenantId {
        let tenant = db::tenant::get_or_insert(self.pool(), name).await;
        tenant.unwrap().id
    }

    async fn change(&self, tenant: TenantId, weight: i32, max_running: Option<i32>) {
        let change = db::tenant::TenantChange {
            weight: Some(weight),
            max_running: Some(max_running),
        };
        let changed = db::tenant::update(self.pool(), tenant, change).await;
        assert!(changed.unwrap().is_some());
    }

    /// Adds jobs of a tenant to the queue.
    async fn enqueue(&self, tenant: TenantId, jobs: i32) {
        enqueue(self.pool(), self.model, tenant, jobs).await;
    }

    async fn claim(&self, slots: i64) -> Vec<Claimed> {
        claim(self.pool(), self.worker, slots).await
    }

    /// Claims jobs one by one and counts them by tenant.
    async fn count_claims(&self, claims: usize, tenants: [TenantId; 2]) -> [usize; 2] {
        let mut counts = [0; 2];
        for _ in 0..claims {
            let claimed = self.claim(1).await.swap_remove(0);
            let whose = tenants.iter().position(|it| *it == claimed.tenant);
            counts[whose.unwrap()] += 1;
        }
        counts
    }
}

async fn enqueue(pool: &Pool, model: JobId, tenant: TenantId, jobs: i32) {
    sqlx::query(
        "with copy as (
             insert into job (id, tenant_id, skill, model, request, metadata, created_at)
             select gen_random_uuid(), $2, skill, model, request, metadata, now()
             from job, generate_series(1, $3)
             where id = $1
             returning id, tenant_id, skill
         )
         insert into run (job_id, tenant_id, skill, state, rank, run_at, last_seq)
         select id, tenant_id, skill, 'ready', clock_timestamp(), now(), 1 from copy",
    )
    .bind(model)
    .bind(tenant.0)
    .bind(jobs)
    .execute(pool)
    .await
    .unwrap();
}

async fn add_worker(pool: &Pool, skills: &[&str]) -> WorkerId {
    let new = NewWorker {
        name: "there".to_owned(),
        home: "/nowhere".to_owned(),
        slots: 100,
        programs: vec!["bash".to_owned()],
        skills: skills.iter().map(ToString::to_string).collect(),
        providers: Vec::new(),
        isolation: Isolation::Namespaced,
        memory_limit: MemoryLimit::Watched,
        renders_previews: false,
    };
    db::worker::insert(pool, &new).await.unwrap()
}

async fn claim(pool: &Pool, worker: WorkerId, slots: i64) -> Vec<Claimed> {
    let skills = sqlx::query_scalar("select skills from worker where id = $1");
    let skills: Vec<String> = skills.bind(worker.0).fetch_one(pool).await.unwrap();
    let claims = db::claim::claim(pool, worker, &skills, slots, true).await;
    let claimed = claims.unwrap().into_iter().map(Result::unwrap);
    claimed.collect()
}
