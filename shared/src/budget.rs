//! Monthly budgets of tenants, and their use.

use chrono::{DateTime, Days, Months, NaiveDate, NaiveTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::job::Reservation;
use crate::money::Usd;

/// Limits of a tenant for a calendar month; null means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantLimits {
    /// Tokens of all jobs, read and written.
    #[schema(required)]
    pub max_total_tokens: Option<u64>,
    /// The most that they may cost.
    #[schema(required)]
    pub max_cost_usd: Option<Usd>,
}

/// A tenant's budget, and what was used of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantBudget {
    /// The monthly limits.
    #[serde(flatten)]
    pub limits: TenantLimits,
    /// The first day of this month, UTC.
    pub month: NaiveDate,
    /// The usage of this month while there was a budget.
    pub spent: Used,
    /// The most that model calls in progress may use.
    pub reserved: Used,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Used {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Their cost, as far as it was known.
    pub cost_usd: Usd,
}

/// An amount of tokens and money; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Money.
    pub cost: Option<Usd>,
}

impl Remaining {
    /// Whether that fits into it.
    pub fn covers(&self, reservation: Reservation) -> bool {
        let has_tokens = self.tokens.is_none_or(|left| reservation.tokens <= left);
        // A price that is not known may be any.
        let is_affordable = |left| reservation.cost_usd.is_some_and(|cost| cost <= left);
        has_tokens && self.cost.is_none_or(is_affordable)
    }
}

impl TenantLimits {
    /// Whether there is anything to keep to.
    pub fn is_any(&self) -> bool {
        self.max_total_tokens.is_some() || self.max_cost_usd.is_some()
    }
}

impl TenantBudget {
    /// Whether nothing is left this month.
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

    /// When the next month begins and the budget is renewed.
    pub fn renewed_at(&self) -> DateTime<Utc> {
        let next = self.month.checked_add_months(Months::new(1));
        // The calendar ends in the year 262142.
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
