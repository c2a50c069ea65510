//! Conversion of integers to doubles in one place; beyond 2^53 they lose their last digits.

/// An integer that counts or measures something.
pub trait Real {
    /// Returns the nearest double.
    fn real(self) -> f64;
}

macro_rules! real {
    ($($whole:ty),*) => {
        $(impl Real for $whole {
            #[inline]
            #[expect(clippy::cast_precision_loss, reason = "as said above")]
            fn real(self) -> f64 {
                self as f64
            }
        })*
    };
}

real!(usize, u64, i64);

/// Returns the share of some work that is done, for its progress.
#[expect(clippy::cast_possible_truncation, reason = "a share is in range")]
pub fn fraction(done: impl Real, all: impl Real) -> f32 {
    (done.real() / all.real()) as f32
}
