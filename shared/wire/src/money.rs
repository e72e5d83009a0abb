//! Money, in US dollars.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount in US dollars, exact to a billionth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = f64, minimum = 0, example = 0.25))]
pub struct Usd(u64);

/// The number of billionths in a dollar.
const NANOS: f64 = 1e9;

impl Usd {
    /// Zero dollars.
    pub const ZERO: Self = Self(0);
    /// One million dollars, the maximum of a limit. JSON numbers are exact enough for much larger amounts.
    pub const MILLION: Self = Self(1_000_000_000_000_000);

    /// Creates an amount from billionths of a dollar.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the amount in billionths of a dollar.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Returns the nearest amount, or `None` if the number is negative, not a number or too large.
    pub fn from_f64(dollars: f64) -> Option<Self> {
        let nanos = (dollars * NANOS).round();
        let fits = nanos >= 0.0 && nanos <= Self::MILLION.0 as f64 * 1e3;
        fits.then_some(Self(nanos as u64))
    }

    /// Returns the amount in dollars, as the nearest floating-point number.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// Returns the difference, or zero if `other` is larger.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::ops::Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::fmt::Display for Usd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0 as f64 / NANOS)
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / NANOS)
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::from_f64(dollars)
            .ok_or_else(|| D::Error::custom("must be a dollar amount of at least 0"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_amount_comes_back_out_of_json_as_it_was(nanos in 0..=Usd::MILLION.0) {
            let json = serde_json::to_string(&Usd(nanos)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Usd>(&json).unwrap(), Usd(nanos));
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for wrong in ["-0.1", "\"1\"", "null", "1e300"] {
            assert!(serde_json::from_str::<Usd>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Usd::from_f64(f64::NAN), None);
        assert_eq!(Usd::from_f64(0.29), Some(Usd(290_000_000)));
        assert_eq!(Usd(1_500_000).to_string(), "0.0015");
    }
}
