//! The fit of a model call into the remaining budget.

pub(super) use shared::budget::Remaining;
use shared::job::Reservation;
use shared::provider::Price;

use crate::question::Urgency;

/// The shortest reply that justifies its prompt. A call is not made if its reply would have to be shorter.
const MIN_REPLY_TOKENS: u32 = 256;

/// A planned model call with its maximum usage.
#[derive(Clone, Copy)]
pub(super) struct PlannedCall {
    /// The price, or `None` if it is unknown. Then no limit is a cost limit.
    pub(super) price: Option<Price>,
    /// The maximum number of input tokens.
    pub(super) input: u64,
    /// The maximum number of output tokens.
    pub(super) cap: u32,
}

impl PlannedCall {
    /// Returns the maximum usage of the call.
    pub(super) fn reservation(&self) -> Reservation {
        let output = u64::from(self.cap);
        Reservation {
            tokens: self.input.saturating_add(output),
            cost_usd: self.price.map(|price| price.most(self.input, output)),
        }
    }

    /// Returns the highest cap, up to the call's own, with which the call fits. `None` if the reply would be too short.
    pub(super) fn fits(&self, left: Remaining, urgency: Urgency) -> Option<u32> {
        let mut cap = u64::from(self.cap);
        if let Some(tokens) = left.tokens {
            cap = cap.min(tokens.checked_sub(self.input)?);
        }
        if let Some(money) = left.cost {
            cap = cap.min(self.price?.affordable(money, self.input)?);
        }
        let least = match urgency {
            Urgency::Required => self.cap.min(MIN_REPLY_TOKENS),
            Urgency::Optional => self.cap,
        };
        u32::try_from(cap).ok().filter(|cap| *cap >= least)
    }

    /// Returns the same call with another cap.
    pub(super) fn capped(&self, cap: u32) -> Self {
        Self { cap, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shared::money::Usd;

    use super::*;

    fn call(input: u64, cap: u32) -> PlannedCall {
        PlannedCall {
            price: Some("3:15".parse().unwrap()),
            input,
            cap,
        }
    }

    fn tokens(tokens: u64) -> Remaining {
        Remaining {
            tokens: Some(tokens),
            cost: None,
        }
    }

    #[test]
    fn a_cap_is_lowered_to_what_fits_and_a_reply_that_is_too_short_is_none() {
        let fits = |left: u64| call(1_000, 4_096).fits(tokens(left), Urgency::Required);
        assert_eq!(fits(9_999), Some(4_096));
        assert_eq!(fits(5_096), Some(4_096));
        assert_eq!(fits(5_095), Some(4_095));
        assert_eq!(fits(1_256), Some(256));
        assert_eq!(fits(1_255), None);
        assert_eq!(fits(999), None);
        // A cap below the shortest reply is granted if all of it fits.
        let small = call(1_000, 100);
        assert_eq!(small.fits(tokens(1_100), Urgency::Required), Some(100));
        assert_eq!(small.fits(tokens(1_099), Urgency::Required), None);
        assert_eq!(
            call(1_000, 4_096).fits(tokens(5_000), Urgency::Optional),
            None
        );
        assert_eq!(
            call(1, 5).fits(Remaining::default(), Urgency::Required),
            Some(5)
        );
    }

    #[test]
    fn without_a_price_nothing_fits_into_a_sum_of_money() {
        let left = Remaining {
            tokens: None,
            cost: Some(Usd::MILLION),
        };
        let unknown = PlannedCall {
            price: None,
            ..call(1, 1)
        };
        assert_eq!(unknown.fits(left, Urgency::Required), None);
        assert_eq!(call(1, 1).fits(left, Urgency::Required), Some(1));
    }

    proptest! {
        #[test]
        fn what_fits_is_covered(
            input in 0..1_000_000_u64,
            cap in 1..200_000_u32,
            left_tokens in proptest::option::of(0..2_000_000_u64),
            left_nanos in proptest::option::of(0..10_000_000_000_u64),
        ) {
            let left = Remaining { tokens: left_tokens, cost: left_nanos.map(Usd::from_nanos) };
            let call = call(input, cap);
            if let Some(cap) = call.fits(left, Urgency::Required) {
                prop_assert!(left.covers(call.capped(cap).reservation()));
            } else {
                prop_assert!(!left.covers(call.reservation()));
            }
        }
    }
}
