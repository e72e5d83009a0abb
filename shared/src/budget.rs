//! Monthly budgets of tenants and their usage.

use chrono::{DateTime, Days, Months, NaiveDate, NaiveTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::job::Reservation;
use crate::money::Usd;

/// The limits of a tenant for a calendar month. Null means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantLimits {
    /// The maximum number of tokens read and written by all jobs.
    #[schema(required)]
    pub max_total_tokens: Option<u64>,
    /// The maximum cost of all jobs.
    #[schema(required)]
    pub max_cost_usd: Option<Usd>,
}

/// The budget of a tenant and its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantBudget {
    /// The monthly limits.
    #[serde(flatten)]
    pub limits: TenantLimits,
    /// The first day of the current month, UTC.
    pub month: NaiveDate,
    /// The usage of the current month. Usage while the tenant had no budget is not included.
    pub spent: Used,
    /// The most that model calls in progress can use.
    pub reserved: Used,
}

/// An amount of tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Used {
    /// Tokens, read and written.
    pub tokens: u64,
    /// The cost of the tokens. Tokens without a known price are not included.
    pub cost_usd: Usd,
}

/// The rest of a budget. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Money.
    pub cost: Option<Usd>,
}

impl Remaining {
    /// Whether the rest covers a reservation.
    pub fn covers(&self, reservation: Reservation) -> bool {
        let has_tokens = self.tokens.is_none_or(|left| reservation.tokens <= left);
        // A reservation without a known price can have any cost.
        let is_affordable = |left| reservation.cost_usd.is_some_and(|cost| cost <= left);
        has_tokens && self.cost.is_none_or(is_affordable)
    }
}

impl TenantLimits {
    /// Whether there is a limit.
    pub fn is_any(&self) -> bool {
        self.max_total_tokens.is_some() || self.max_cost_usd.is_some()
    }
}

impl TenantBudget {
    /// Whether the budget for this month is used up.
    pub fn is_exhausted(&self) -> bool {
        let left = self.unspent();
        left.tokens == Some(0) || left.cost == Some(Usd::ZERO)
    }

    /// The remaining budget without reservations.
    pub fn unspent(&self) -> Remaining {
        let TenantLimits {
            max_total_tokens,
            max_cost_usd,
        } = self.limits;
        Remaining {
            tokens: max_total_tokens.map(|most| most.saturating_sub(self.spent.tokens)),
            cost: max_cost_usd.map(|most| most.saturating_sub(self.spent.cost_usd)),
        }
    }

    /// The remaining budget with all reservations counted as used.
    pub fn free(&self) -> Remaining {
        let unspent = self.unspent();
        Remaining {
            tokens: unspent
                .tokens
                .map(|tokens| tokens.saturating_sub(self.reserved.tokens)),
            cost: unspent
                .cost
                .map(|cost| cost.saturating_sub(self.reserved.cost_usd)),
        }
    }

    /// The beginning of the next month, when the budget is renewed.
    pub fn renewed_at(&self) -> DateTime<Utc> {
        let next = self.month.checked_add_months(Months::new(1));
        // The last date of the calendar is in the year 262142.
        let next = next.unwrap_or(self.month + Days::new(1));
        next.and_time(NaiveTime::MIN).and_utc()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(tokens: Option<u64>, cost: Option<u64>) -> TenantBudget {
        TenantBudget {
            limits: TenantLimits {
                max_total_tokens: tokens,
                max_cost_usd: cost.map(Usd::from_nanos),
            },
            month: "2026-12-01".parse().unwrap(),
            spent: Used {
                tokens: 60,
                cost_usd: Usd::from_nanos(600),
            },
            reserved: Used {
                tokens: 30,
                cost_usd: Usd::from_nanos(300),
            },
        }
    }

    #[test]
    fn what_is_left_is_what_nobody_has_reserved() {
        let left = |tokens: u64, cost: u64| Remaining {
            tokens: Some(tokens),
            cost: Some(Usd::from_nanos(cost)),
        };
        let open = budget(Some(100), Some(1_000));
        assert_eq!(
            (open.unspent(), open.free()),
            (left(40, 400), left(10, 100))
        );
        assert!(!open.is_exhausted());
        let lowered = budget(Some(50), Some(700));
        assert_eq!(
            (lowered.unspent(), lowered.free()),
            (left(0, 100), left(0, 0))
        );
        assert!(lowered.is_exhausted());
        let none = budget(None, None);
        assert_eq!(none.free(), Remaining::default());
        assert!(!none.is_exhausted() && !none.limits.is_any());
    }

    #[test]
    fn a_budget_is_renewed_with_the_month() {
        let renewed_at = budget(None, None).renewed_at();
        assert_eq!(renewed_at.to_rfc3339(), "2027-01-01T00:00:00+00:00");
    }
}
