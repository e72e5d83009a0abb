//! WholeNumber numbers in JSON.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A whole number in any JSON notation: `150`, `150.0` and `1.5e2` are equal.
///
/// Deserialization accepts any number. So the caller of [`get`](Self::get) can report the valid range to the client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WholeNumber(f64);

impl WholeNumber {
    /// Returns the number if it is whole and in the range of the type.
    pub fn get<T: TryFrom<i64>>(self) -> Option<T> {
        // Larger whole numbers are not exact in `f64`.
        const MAX: f64 = 9_007_199_254_740_991.0;
        let is_whole = self.0.fract() == 0.0 && self.0.abs() <= MAX;
        let number = is_whole.then_some(self.0 as i64)?;
        T::try_from(number).ok()
    }
}

impl From<u32> for WholeNumber {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

/// Serializes whole numbers without a fraction, whatever notation they were read in.
impl Serialize for WholeNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.get::<i64>() {
            Some(number) => serializer.serialize_i64(number),
            None => serializer.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(AnyNumber)
    }
}

struct AnyNumber;

impl Visitor<'_> for AnyNumber {
    type Value = WholeNumber;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(number as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> WholeNumber {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction_or_an_exponent() {
        for json in ["150", "150.0", "1.5e2", "15e1", "1500E-1"] {
            assert_eq!(read(json).get(), Some(150_u32), "{json}");
            assert_eq!(serde_json::to_string(&read(json)).unwrap(), "150");
        }
        assert_eq!(read("-100.0").get(), Some(-100_i16));
    }

    #[test]
    fn a_number_that_is_not_whole_or_too_large_for_its_type_is_none() {
        for json in ["1.5", "1e300", "-1", "4294967296", "18446744073709551615"] {
            assert_eq!(read(json).get::<u32>(), None, "{json}");
        }
        // `f64` cannot represent 2^53 + 1.
        assert_eq!(read("9007199254740993").get::<i64>(), None);
        assert_eq!(serde_json::to_string(&read("1.5")).unwrap(), "1.5");
        assert!(serde_json::from_str::<WholeNumber>("\"150\"").is_err());
    }
}
