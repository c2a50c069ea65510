//! The verdict of a detector.

/// The verdict on one execution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    /// How abnormal the execution is; larger is more. HBOS and COPOD: in bits, from 0 to 100, comparable between
    /// functions. SSTD: distance from the mean in standard deviations. Excess: −log₁₀ of the probability of a time as
    /// long or longer.
    pub score: f64,
    /// True if the execution is an outlier.
    pub is_outlier: bool,
}

/// The score of usual executions.
pub const USUAL_SCORE: f64 = 0.0;
