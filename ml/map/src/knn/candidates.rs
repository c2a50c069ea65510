//! The rows that may be among the nearest of one query, determined by bounds of their distances.

use wide::f32x8;

/// Number of bounds that are filtered together.
const CHUNK: usize = 32;
/// Number of bounds that are compared at once.
const LANES: usize = 8;

/// Collects rows whose lower bound does not exceed the k-th smallest upper bound so far.
pub(super) struct Candidates {
    k: usize,
    /// The query's share of the distance between lower and upper bound.
    margin: f32,
    threshold: f32,
    /// Lower bounds and rows.
    found: Vec<(f32, u32)>,
    compact_at: usize,
    uppers: Vec<f32>,
}

impl Candidates {
    /// Returns an empty collection; `k` is 1 or more.
    pub(super) fn new(k: usize, margin: f32) -> Self {
        Self {
            k,
            margin,
            threshold: f32::INFINITY,
            found: Vec::new(),
            compact_at: 4 * k + CHUNK,
            uppers: Vec::new(),
        }
    }

    /// Adds the rows from `first` on whose lower bounds qualify. `margins`, one per row of all, are their shares of
    /// the distance to the upper bounds.
    pub(super) fn add(&mut self, lower_bounds: &[f32], first: usize, margins: &[f32]) {
        let (lanes, tail) = lower_bounds.as_chunks::<LANES>();
        let mut row = first;
        for chunk in lanes.chunks(CHUNK / LANES) {
            let mut smallest = f32x8::splat(f32::INFINITY);
            for lanes in chunk {
                smallest = smallest.fast_min(f32x8::new(*lanes));
            }
            if smallest.simd_le(f32x8::splat(self.threshold)).any() {
                self.add_chunk(chunk.as_flattened(), row, margins);
            }
            row += chunk.len() * LANES;
        }
        self.add_chunk(tail, row, margins);
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "rows are counted in 32 bits"
    )]
    fn add_chunk(&mut self, lower_bounds: &[f32], first: usize, margins: &[f32]) {
        for (index, &bound) in lower_bounds.iter().enumerate() {
            if bound <= self.threshold && bound < f32::INFINITY {
                self.found.push((bound, (first + index) as u32));
            }
        }
        if self.found.len() >= self.compact_at {
            self.compact(margins);
        }
    }

    fn compact(&mut self, margins: &[f32]) {
        if self.found.len() <= self.k {
            return;
        }
        let upper = |&(lower, row): &(f32, u32)| lower + margins[row as usize] + self.margin;
        self.uppers.clear();
        self.uppers.extend(self.found.iter().map(upper));
        let (_, threshold, _) = self
            .uppers
            .select_nth_unstable_by(self.k - 1, f32::total_cmp);
        self.threshold = *threshold;
        self.found.retain(|(lower, _)| lower <= threshold);
        self.compact_at = (2 * self.found.len()).max(4 * self.k + CHUNK);
    }

    /// Returns the remaining rows.
    pub(super) fn finish(mut self, margins: &[f32]) -> impl Iterator<Item = u32> {
        self.compact(margins);
        self.found.into_iter().map(|(_, row)| row)
    }
}
