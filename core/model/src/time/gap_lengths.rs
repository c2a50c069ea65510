//! The lengths of the gaps between events, and which of them are unusually long.

use super::DurationNs;

/// Number of bins per octave of lengths, as a power of two.
const BITS_PER_OCTAVE: u32 = 3;
/// Number of bins per octave of lengths.
const BINS_PER_OCTAVE: u32 = 1 << BITS_PER_OCTAVE;

/// The same as an index.
const BINS: usize = 1 << BITS_PER_OCTAVE;

/// The result of [`bin_of`] for the length 1, before it is subtracted.
const FIRST_PARTS: u64 = 1.0_f64.to_bits() >> (f64::MANTISSA_DIGITS - 1 - BITS_PER_OCTAVE);

/// Number of bins for 64-bit lengths.
const NUM_BINS: usize = 64 * BINS;

/// Lengths of gaps, counted in bins of an eighth of an octave.
#[derive(Clone, Debug)]
pub struct GapLengths {
    counts: Box<[u64; NUM_BINS]>,
}

impl Default for GapLengths {
    fn default() -> Self {
        Self {
            counts: Box::new([0; NUM_BINS]),
        }
    }
}

impl GapLengths {
    /// Counts a gap. Takes constant time.
    #[inline]
    pub fn add(&mut self, length: DurationNs) {
        self.counts[bin_of(length) % NUM_BINS] += 1;
    }

    /// Returns a length that at most one gap in `one_in` exceeds.
    pub fn exceeded_by_one_in(&self, one_in: u64) -> DurationNs {
        let max_above = self.counts.iter().sum::<u64>() / one_in;
        let mut above = 0;
        // Most octaves are empty: they are skipped as a whole.
        for (octave, counts) in self.counts.chunks_exact(BINS).enumerate().rev() {
            let of_octave: u64 = counts.iter().sum();
            if above + of_octave <= max_above {
                above += of_octave;
                continue;
            }
            for (part, count) in counts.iter().enumerate().rev() {
                above += count;
                if above > max_above {
                    return end_of(octave * BINS + part);
                }
            }
        }
        DurationNs::ZERO
    }
}

/// Returns the bin of a length: its exponent is the octave, and the first bits of its fraction are the bin in it.
#[inline]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "lengths are rounded as said below, and bins are few"
)]
fn bin_of(length: DurationNs) -> usize {
    // Beyond 2⁵³ ns, a hundred days, a length that is rounded up may be counted in the next bin.
    let length_ns = length.0.max(1) as f64;
    let parts = length_ns.to_bits() >> (f64::MANTISSA_DIGITS - 1 - BITS_PER_OCTAVE);
    (parts - FIRST_PARTS) as usize
}

/// Returns the length at which a bin ends.
fn end_of(bin: usize) -> DurationNs {
    let bin = u32::try_from(bin).unwrap_or(u32::MAX);
    let (octave, part) = (bin / BINS_PER_OCTAVE, bin % BINS_PER_OCTAVE);
    let parts = u128::from(BINS_PER_OCTAVE + part + 1) << octave;
    let end_ns = parts.div_ceil(u128::from(BINS_PER_OCTAVE));
    DurationNs(i64::try_from(end_ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_their_lengths() {
        for length in [1, 2, 3, 7, 8, 9, 1_000, 123_456_789, (1 << 53) - 1] {
            let bin = bin_of(DurationNs(length));
            assert!(DurationNs(length) < end_of(bin), "{length}");
            assert!(
                bin == 0 || DurationNs(length) >= end_of(bin - 1) || length < 8,
                "{length}"
            );
        }
        assert!(end_of(bin_of(DurationNs(i64::MAX))) >= DurationNs(i64::MAX));
    }

    #[test]
    fn at_most_the_given_share_is_longer() {
        let mut lengths = GapLengths::default();
        assert_eq!(lengths.exceeded_by_one_in(10), DurationNs::ZERO);
        for length in 1..=1_000 {
            lengths.add(DurationNs(length));
        }
        let limit = lengths.exceeded_by_one_in(10);
        assert!((900..=1_024).contains(&limit.0), "{limit:?}");
    }
}
