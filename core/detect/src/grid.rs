//! The grid of times that all histograms share: log-linear, dyadic, nested.
//!
//! At precision p, each octave `[2ᵏ, 2ᵏ⁺¹)` is divided into 2ᵖ bins of equal width. Times below 2ᵖ⁺¹ have one bin each.
//! Bins are numbered from 0 without gaps. Each bin at precision p − 1 is one bin, or two adjacent bins, at precision p:
//! a coarser grid takes over whole counts, and never splits them.

/// The precision at which every 64-bit time has its own bin.
pub(crate) const FINEST: u32 = 63;

/// Returns the bin of a time.
#[inline]
pub(crate) fn index(value: u64, precision: u32) -> u64 {
    let num_bits = u64::BITS - value.leading_zeros();
    let shift = num_bits.saturating_sub(precision + 1);
    (u64::from(shift) << precision) + (value >> shift)
}

/// Returns the number of low bits of a time that its bin does not determine.
#[expect(
    clippy::cast_possible_truncation,
    reason = "63 bits at most, for the largest time"
)]
fn shift(index: u64, precision: u32) -> u32 {
    (index >> precision).saturating_sub(1) as u32
}

/// Returns the smallest time of a bin.
pub(crate) fn first(index: u64, precision: u32) -> u64 {
    let shift = shift(index, precision);
    (index - (u64::from(shift) << precision)) << shift
}

/// Returns the largest time of a bin.
pub(crate) fn last(index: u64, precision: u32) -> u64 {
    first(index, precision) + ((1 << shift(index, precision)) - 1)
}

/// Returns the bin of the largest time.
pub(crate) fn last_index(precision: u32) -> u64 {
    index(u64::MAX, precision)
}

/// Returns the coarsest precision at which two different times have different bins.
pub(crate) fn separating_precision(a: u64, b: u64) -> u32 {
    let same_bits = (a ^ b).leading_zeros();
    same_bits.saturating_sub(a.leading_zeros().min(b.leading_zeros()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times of all magnitudes.
    fn any_time() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
    }

    proptest! {
        #[test]
        fn a_time_lies_in_its_bin(value in any_time(), precision in 0..=FINEST) {
            let bin = index(value, precision);
            prop_assert!(first(bin, precision) <= value && value <= last(bin, precision));
            prop_assert_eq!(index(first(bin, precision), precision), bin);
            prop_assert_eq!(index(last(bin, precision), precision), bin);
        }

        #[test]
        fn bins_follow_each_other_without_gaps(value in any_time(), precision in 0..=FINEST) {
            let bin = index(value, precision);
            if let Some(next) = last(bin, precision).checked_add(1) {
                prop_assert_eq!(index(next, precision), bin + 1);
            } else {
                prop_assert_eq!(bin, last_index(precision));
            }
        }

        #[test]
        fn coarser_bins_hold_whole_bins(value in any_time(), precision in 1..=FINEST) {
            let bin = index(value, precision);
            let coarser = |value| index(value, precision - 1);
            prop_assert_eq!(coarser(first(bin, precision)), coarser(value));
            prop_assert_eq!(coarser(last(bin, precision)), coarser(value));
        }

        #[test]
        fn bins_are_as_narrow_as_the_precision_says(value in any_time(), precision in 0..=FINEST) {
            let bin = index(value, precision);
            let width = u128::from(last(bin, precision) - first(bin, precision)) + 1;
            prop_assert!(width == 1 || width << precision <= u128::from(value));
        }
    }

    proptest! {
        #[test]
        fn two_times_separate_at_one_precision(a in any_time(), b in any_time(), precision in 0..=FINEST) {
            prop_assume!(a != b);
            let are_apart = index(a, precision) != index(b, precision);
            prop_assert_eq!(are_apart, precision >= separating_precision(a, b));
        }
    }

    #[test]
    fn the_ends_of_the_range_have_bins() {
        for (value, precision, bin) in [
            (0, 0, 0),
            (1, 0, 1),
            (u64::MAX, 0, 64),
            (u64::MAX, FINEST, u64::MAX),
            (7, 2, 7),
            (8, 2, 8),
            (9, 2, 8),
            (15, 2, 11),
            (16, 2, 12),
        ] {
            assert_eq!(index(value, precision), bin, "{value} at {precision}");
        }
    }
}
