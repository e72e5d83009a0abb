//! The validation of whole numbers in bodies.

use std::fmt::Display;
use std::ops::RangeInclusive;

use shared::whole_number::WholeNumber;

use crate::problem::FieldError;

/// Returns the number if it is given and valid. A number that is not whole or is out of range adds an error to
/// `errors`.
pub(crate) fn check<T: TryFrom<i64> + PartialOrd + Display>(
    given: Option<WholeNumber>,
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
