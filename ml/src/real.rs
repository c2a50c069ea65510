//! Whole numbers as real ones and back, in one place; beyond 2^53 they lose their last digits.

/// A whole number that counts or measures something.
pub(crate) trait Real {
    /// The nearest real number.
    fn real(self) -> f64;
}

macro_rules! real {
    ($($whole:ty),*) => {
        $(impl Real for $whole {
            #[expect(clippy::cast_precision_loss, reason = "as said above")]
            fn real(self) -> f64 {
                self as f64
            }
        })*
    };
}

real!(usize, u64, i64);

/// A real number without its fraction; 0 for negative ones and NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is out of range becomes the nearest that is not"
)]
pub(crate) fn whole(number: f64) -> usize {
    number as usize
}

/// How much of some work is done, for its progress.
#[expect(clippy::cast_possible_truncation, reason = "a share is in range")]
pub(crate) fn fraction(done: impl Real, all: impl Real) -> f32 {
    (done.real() / all.real()) as f32
}
