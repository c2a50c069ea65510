//! Chimbuko's rule for HBOS as a reference: equal bins over the whole range, counted again whenever the range changes
//! (Chimbuko moves counts instead, and loses accuracy), and a threshold at a share of the range of scores, which never
//! falls.

/// The state of one function.
#[derive(Default)]
pub(crate) struct PeerHbos {
    all: Vec<u64>,
    threshold: f64,
}

const NUM_BINS: usize = 200;

impl PeerHbos {
    /// Judges a step by the model that includes it.
    pub(crate) fn step(&mut self, times_us: &[u64]) -> Vec<bool> {
        self.all.extend(times_us);
        let (Some(&min), Some(&max)) = (self.all.iter().min(), self.all.iter().max()) else {
            return Vec::new();
        };
        let width = ((max - min) as f64 / NUM_BINS as f64).max(1e-9);
        let bin = |value: u64| (((value - min) as f64 / width) as usize).min(NUM_BINS - 1);
        let mut counts = [0_u64; NUM_BINS];
        self.all.iter().for_each(|&value| counts[bin(value)] += 1);
        let score = |count: u64| -(count as f64 / self.all.len() as f64 + 78.88e-32).log2();
        let occupied = counts.iter().filter(|&&count| count > 0);
        let scores: Vec<f64> = occupied.map(|&count| score(count)).collect();
        let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = scores.iter().copied().fold(0.0, f64::max);
        self.threshold = self
            .threshold
            .max(lowest + 0.99 * (highest - lowest))
            .max(1.4427e-5);
        let judged = times_us
            .iter()
            .map(|&value| score(counts[bin(value)]) >= self.threshold);
        judged.collect()
    }
}
