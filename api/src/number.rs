//! Whole numbers in bodies.

use std::fmt::Display;
use std::ops::RangeInclusive;

use shared::whole::Whole;

use crate::problem::FieldError;

/// The number, if one was given. One that is not whole or out of the range is noted as an error of its field.
pub(crate) fn check<T: TryFrom<i64> + PartialOrd + Display>(
    given: Option<Whole>,
    range: RangeInclusive<T>,
    pointer: &str,
    errors: &mut Vec<FieldError>,
) -> Option<T> {
    let number = given?.get().filter(|number| range.contains(number));
    if number.is_none() {
        let (low, high) = range.into_inner();
        let detail = format!("must be a whole number from {low} to {high}");
        errors.push(FieldError::new(pointer, detail));
    }
    number
}
