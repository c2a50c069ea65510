//! Real numbers as whole ones, and shares.

pub use callgrove_model::Real;

/// A real number without its fraction; 0 for negative ones and NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is out of range becomes the nearest that is not"
)]
pub fn whole(number: f64) -> usize {
    number as usize
}

/// How much of some work is done, for its progress.
#[expect(clippy::cast_possible_truncation, reason = "a share is in range")]
pub fn fraction(done: impl Real, all: impl Real) -> f32 {
    (done.real() / all.real()) as f32
}
