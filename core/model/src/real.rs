//! Whole numbers as real ones, in one place; beyond 2^53 they lose their last digits.

/// A whole number that counts or measures something.
pub trait Real {
    /// The nearest real number.
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
