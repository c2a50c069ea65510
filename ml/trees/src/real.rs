//! Conversions of real numbers to integers and shares.

pub use callgrove_model::{Real, fraction};

/// Returns a real number without its fraction; 0 for negative ones and NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values out of range are clamped"
)]
pub fn whole(number: f64) -> usize {
    number as usize
}
