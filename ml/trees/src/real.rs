//! Conversions of real numbers to integers and shares.

pub use callgrove_model::Real;

/// Returns a real number without its fraction; 0 for negative ones and NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values out of range are clamped"
)]
pub fn whole(number: f64) -> usize {
    number as usize
}

/// Returns the share of some work that is done, for its progress.
#[expect(clippy::cast_possible_truncation, reason = "a share is in range")]
pub fn fraction(done: impl Real, all: impl Real) -> f32 {
    (done.real() / all.real()) as f32
}
