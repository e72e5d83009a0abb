//! Lanes: the parts of the queue for each tenant, ordered by virtual time.

use std::time::Duration;

use sqlx::PgExecutor;

use crate::id::TenantId;

/// The time in which the weight of past use decays by a factor of e. The SQL function `virtual_time_after` has the
/// same constant.
const DECAY: Duration = Duration::from_secs(60);

/// Returns the part of a charge that still counts after a time.
pub fn decayed(seconds: f64, since: Duration) -> f64 {
    seconds * (-since.div_duration_f64(DECAY)).exp()
}

/// Charges tenants with seconds of a worker's time. Negative seconds are a refund.
pub async fn charge(db: impl PgExecutor<'_>, charges: &[(TenantId, f64)]) -> sqlx::Result<()> {
    let (tenants, seconds): (Vec<_>, Vec<_>) = charges
        .iter()
        .map(|(tenant, seconds)| (tenant.0, *seconds))
        .unzip();
    sqlx::query!(
        "update tenant set
             virtual_time = virtual_time_after(tenant.virtual_time, charge.seconds / tenant.weight),
             charged_at = now()
         from (
             select tenant.id, charge.seconds
             from unnest($1::uuid[], $2::double precision[]) as charge (id, seconds)
             join tenant on tenant.id = charge.id
             order by tenant.id
             for no key update of tenant
         ) as charge
         where tenant.id = charge.id",
        &tenants,
        &seconds,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Marks lanes as ready that have a job to claim but another state. Returns their number. Such a lane exists only if a
/// job became ready without `mark_lanes_ready`.
pub async fn reopen(db: impl PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"
        with closed as materialized (
            select id, lane
            from tenant
            cross join (select worker_abilities() as abilities) as workers
            where lane <> 'ready'
              and exists (select from run where tenant_id = tenant.id and state = 'ready')
              and free_capacity(id, max_running, 1) > 0
              and (lane <> 'unrunnable' or is_runnable(id, abilities))
        ),
        opened as (
            select mark_lanes_ready(
                array_agg(id) filter (where lane <> 'at_cap'), array_agg(id) filter (where lane = 'at_cap')
            )
            from closed
        )
        select (select count(*) from closed) as "count!" from opened
        "#,
    )
    .fetch_one(db)
    .await
}
