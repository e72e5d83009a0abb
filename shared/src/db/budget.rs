//! Monthly budgets of tenants (calendar months, UTC) and their usage.
//!
//! Each model call reserves the most that it may use. Spent and reserved amounts together never exceed the limit, so
//! usage never does.
//!
//! The month never goes back: a statement that began in the last month and had to wait uses the new month.

use chrono::NaiveDate;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::Pool;
use super::log::Lease;
use crate::budget::{TenantBudget, TenantLimits, Used};
use crate::id::TenantId;
use crate::job::Reservation;
use crate::message::Tokens;
use crate::money::Usd;

/// The id of a budget reservation for one model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationId(Uuid);

/// Sets the budget of a tenant and keeps its usage. Returns `false` if the tenant does not exist.
pub async fn put(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    limits: TenantLimits,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into tenant_budget (tenant_id, max_total_tokens, max_cost, month)
         select id, $2, $3, date_trunc('month', now() at time zone 'utc')
         from tenant
         where id = $1
         on conflict (tenant_id) do update set max_total_tokens = $2, max_cost = $3",
        tenant.0,
        limits.max_total_tokens.map(to_stored),
        limits.max_cost_usd.map(|cost| to_stored(cost.nanos())),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Returns a tenant's budget and its usage, or `None` if the tenant does not exist.
pub async fn get(db: impl PgExecutor<'_>, tenant: TenantId) -> sqlx::Result<Option<TenantBudget>> {
    let row = sqlx::query_as!(
        BudgetRow,
        r#"select
               max_total_tokens, max_cost,
               greatest(month, date_trunc('month', now() at time zone 'utc')::date) as "month!",
               case when month >= date_trunc('month', now() at time zone 'utc')::date then spent_tokens else 0 end as "spent_tokens!",
               case when month >= date_trunc('month', now() at time zone 'utc')::date then spent_cost else 0 end as "spent_cost!",
               coalesce(reserved_tokens, 0) as "reserved_tokens!",
               coalesce(reserved_cost, 0) as "reserved_cost!"
           from tenant
           left join tenant_budget on tenant_budget.tenant_id = tenant.id
           where tenant.id = $1"#,
        tenant.0,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(TenantBudget::from))
}

/// Reserves the most that a model call may use in the tenant's budget. Returns `None` if the remaining budget is too
/// small, if the lease is lost, or if the price is unknown and the budget limits the cost.
///
/// The row lock makes this exact: of two concurrent calls, the second sees the reservation of the first.
pub async fn reserve(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    lease: Lease,
    reservation: Reservation,
) -> sqlx::Result<Option<ReservationId>> {
    let id = Uuid::now_v7();
    let reserved = sqlx::query_scalar!(
        r#"
        with today as (
            select date_trunc('month', now() at time zone 'utc')::date as month
        ),
        granted as (
            update tenant_budget as budget set
                month = greatest(budget.month, today.month),
                spent_tokens = case when budget.month >= today.month then budget.spent_tokens else 0 end,
                spent_cost = case when budget.month >= today.month then budget.spent_cost else 0 end,
                reserved_tokens = budget.reserved_tokens + $5,
                reserved_cost = budget.reserved_cost + coalesce($6, 0)
            from today
            where budget.tenant_id = $2
              and exists (select from run where run.job_id = $3 and run.lease = $4 and run.state = 'running')
              and (
                  budget.max_total_tokens is null
                  or case when budget.month >= today.month then budget.spent_tokens else 0 end
                      + budget.reserved_tokens + $5 <= budget.max_total_tokens
              )
              and (
                  budget.max_cost is null
                  or case when budget.month >= today.month then budget.spent_cost else 0 end
                      + budget.reserved_cost + $6 <= budget.max_cost
              )
            returning budget.tenant_id
        )
        insert into budget_reservation (id, tenant_id, job_id, lease, tokens, cost)
        select $1, tenant_id, $3, $4, $5, coalesce($6, 0) from granted
        returning id
        "#,
        id,
        tenant.0,
        lease.job.0,
        lease.number,
        to_stored(reservation.tokens),
        reservation.cost_usd.map(|cost| to_stored(cost.nanos())),
    )
    .fetch_optional(db)
    .await?;
    Ok(reserved.map(ReservationId))
}

/// Settles a reservation: deletes it and counts the used tokens as spent, or the whole reservation if `used` is
/// `None`. A second call has no effect.
pub async fn settle(
    db: impl PgExecutor<'_>,
    id: ReservationId,
    used: Option<&Tokens>,
) -> sqlx::Result<()> {
    let cost = |tokens: &Tokens| tokens.cost_usd.unwrap_or_default();
    sqlx::query!(
        "with settled as (
             delete from budget_reservation where id = $1 returning tenant_id, tokens, cost
         )
         update tenant_budget as budget set
             month = greatest(budget.month, today.month),
             spent_tokens = coalesce($2, settled.tokens)
                 + case when budget.month >= today.month then budget.spent_tokens else 0 end,
             spent_cost = coalesce($3, settled.cost)
                 + case when budget.month >= today.month then budget.spent_cost else 0 end,
             reserved_tokens = budget.reserved_tokens - settled.tokens,
             reserved_cost = budget.reserved_cost - settled.cost
         from settled, (select date_trunc('month', now() at time zone 'utc')::date as month) as today
         where budget.tenant_id = settled.tenant_id",
        id.0,
        used.map(|tokens| to_stored(tokens.total())),
        used.map(|tokens| to_stored(cost(tokens).nanos())),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Counts the reservations of ended leases as spent: the usage of these model calls is unknown, and the provider may
/// have billed all of it. Returns the number of reservations.
pub async fn settle_abandoned(pool: &Pool) -> sqlx::Result<usize> {
    let abandoned = sqlx::query_scalar!(
        r#"select id from budget_reservation as reservation
           where not exists (
               select from run
               where run.job_id = reservation.job_id and run.lease = reservation.lease and run.state = 'running'
           )
           limit 1000"#,
    )
    .fetch_all(pool)
    .await?;
    for id in &abandoned {
        settle(pool, ReservationId(*id), None).await?;
    }
    Ok(abandoned.len())
}

struct BudgetRow {
    max_total_tokens: Option<i64>,
    max_cost: Option<i64>,
    month: NaiveDate,
    spent_tokens: i64,
    spent_cost: i64,
    reserved_tokens: i64,
    reserved_cost: i64,
}

impl From<BudgetRow> for TenantBudget {
    fn from(row: BudgetRow) -> Self {
        let used = |tokens: i64, cost: i64| Used {
            tokens: tokens.unsigned_abs(),
            cost_usd: Usd::from_nanos(cost.unsigned_abs()),
        };
        Self {
            limits: TenantLimits {
                max_total_tokens: row.max_total_tokens.map(i64::unsigned_abs),
                max_cost_usd: row
                    .max_cost
                    .map(|cost| Usd::from_nanos(cost.unsigned_abs())),
            },
            month: row.month,
            spent: used(row.spent_tokens, row.spent_cost),
            reserved: used(row.reserved_tokens, row.reserved_cost),
        }
    }
}

/// Converts an amount to its stored type. The cap is higher than any real usage.
fn to_stored(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX / 4)
}
