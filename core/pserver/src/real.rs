//! Whole numbers as real ones, in one place.

/// A count as a number to calculate with; beyond 2⁵³ it is rounded.
#[expect(clippy::cast_precision_loss, reason = "this is where it is rounded")]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}
