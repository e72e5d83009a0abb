//! The usage of model calls that providers have not confirmed.

use skillet_wire::job::{Presumed, Reservation};
use skillet_wire::message::Tokens;
use skillet_wire::money::Usd;

/// The unconfirmed usage of a job, computed from its log. A call counts as its reservation until its usage is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnconfirmedUsage {
    total: Presumed,
    open: Option<Reservation>,
}

impl UnconfirmedUsage {
    /// The current unconfirmed usage.
    pub fn total(&self) -> Presumed {
        self.total
    }

    /// Adds the reservation of a new call. If another call is open, its usage stays unconfirmed forever.
    pub fn reserve(&mut self, reservation: Reservation) {
        self.total.tokens = self.total.tokens.saturating_add(reservation.tokens);
        self.total.cost += reservation.cost_usd.unwrap_or_default();
        self.open = Some(reservation);
    }

    /// Confirms the usage of the open call. Tokens that the provider did not count stay unconfirmed.
    pub fn settle(&mut self, used: &Tokens) {
        if used.is_counted() {
            return self.release();
        }
        if let Some(open) = self.open.take() {
            let cost = used.cost_usd.min(open.cost_usd);
            self.take_back(used.total().min(open.tokens), cost.unwrap_or_default());
        }
    }

    /// Removes the reservation of the open call, because its usage is known from another event or is zero.
    pub fn release(&mut self) {
        if let Some(open) = self.open.take() {
            self.take_back(open.tokens, open.cost_usd.unwrap_or_default());
        }
    }

    fn take_back(&mut self, tokens: u64, cost: Usd) {
        self.total.tokens = self.total.tokens.saturating_sub(tokens);
        self.total.cost = self.total.cost.saturating_sub(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservation(tokens: u64, nanos: u64) -> Reservation {
        Reservation {
            tokens,
            cost_usd: Some(Usd::from_nanos(nanos)),
        }
    }

    fn presumed(tokens: u64, nanos: u64) -> Presumed {
        Presumed {
            tokens,
            cost: Usd::from_nanos(nanos),
        }
    }

    fn used(input_tokens: u64, output_tokens: u64, nanos: u64) -> Tokens {
        Tokens {
            input_tokens,
            output_tokens,
            cost_usd: Some(Usd::from_nanos(nanos)),
            ..Tokens::default()
        }
    }

    #[test]
    fn a_call_counts_in_full_until_it_says_what_it_used() {
        let mut unconfirmed_usage = UnconfirmedUsage::default();
        unconfirmed_usage.reserve(reservation(100, 50));
        assert_eq!(unconfirmed_usage.total(), presumed(100, 50));
        unconfirmed_usage.settle(&used(10, 5, 7));
        assert_eq!(unconfirmed_usage.total(), Presumed::default());
        // There is no open call any more.
        unconfirmed_usage.settle(&used(10, 5, 7));
        unconfirmed_usage.release();
        assert_eq!(unconfirmed_usage.total(), Presumed::default());
    }

    #[test]
    fn a_call_that_never_said_so_stays() {
        let mut unconfirmed_usage = UnconfirmedUsage::default();
        unconfirmed_usage.reserve(reservation(100, 50));
        unconfirmed_usage.reserve(reservation(30, 20));
        unconfirmed_usage.settle(&used(10, 5, 7));
        assert_eq!(unconfirmed_usage.total(), presumed(100, 50));
    }

    #[test]
    fn what_is_not_counted_is_never_nothing() {
        let mut unconfirmed_usage = UnconfirmedUsage::default();
        unconfirmed_usage.reserve(reservation(100, 50));
        unconfirmed_usage.settle(&Tokens::default());
        assert_eq!(unconfirmed_usage.total(), presumed(100, 50));
        unconfirmed_usage.reserve(reservation(100, 50));
        // The provider counts input tokens only.
        unconfirmed_usage.settle(&used(40, 0, 20));
        assert_eq!(unconfirmed_usage.total(), presumed(160, 80));
    }
}
