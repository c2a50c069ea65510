//! Errors of learning.

use callgrove_model::Cancelled;

/// An error of this crate.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MlError {
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// There is nothing to learn from.
    #[error("the forest has no trees: no execution of the function was found")]
    EmptyForest,
    /// Deep trees have more subtrees than the limit.
    #[error(
        "the trees are so deep that they have {found} subtrees, more than {limit}; lower `max_degree` \
         (the paper's settings have none, the default is 64)"
    )]
    TooManySubtrees {
        /// Number of subtrees of all degrees of all different trees.
        found: u64,
        /// Maximum number.
        limit: u64,
    },
    /// A parameter is out of its bounds.
    #[error("{name} must be {wanted}, not {}", in_digits(*.value))]
    InvalidParam {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values as text.
        wanted: &'static str,
    },
    /// Two inputs that belong together differ in length.
    #[error("{expected} {what} were expected, but {found} given")]
    LengthMismatch {
        /// The counted items.
        what: &'static str,
        /// The expected length.
        expected: usize,
        /// The given length.
        found: usize,
    },
    /// A number is NaN, infinite or negative where that is invalid.
    #[error("{what} of row {row} is NaN, infinite or out of range")]
    BadNumber {
        /// The container of the number.
        what: &'static str,
        /// The row.
        row: usize,
    },
    /// Too many rows for a method whose cost grows with their square.
    #[error("{what} takes at most {max} rows, but {found} were given")]
    TooManyRows {
        /// The method.
        what: &'static str,
        /// The maximum number of rows.
        max: usize,
        /// The given number.
        found: usize,
    },
    /// All weights are zero: all trees are labelled abnormal.
    #[error("nothing is left to learn from: every tree is labelled abnormal or has weight 0")]
    NoPositiveWeight,
    /// The weights sum to less than C, so the problem of Eq. 1 has no minimum.
    #[error(
        "too few trees are left to learn from: their weights sum to {weight_sum}, less than C = {c}"
    )]
    Infeasible {
        /// Sum of all weights.
        weight_sum: f64,
        /// The regularisation parameter C.
        c: f64,
    },
    /// A class has too few examples to learn from or to measure with.
    #[error(
        "{num_positive} anomalies and {num_negative} normal trees are known, but {needed} of each are needed"
    )]
    TooFewExamples {
        /// Known anomalies.
        num_positive: usize,
        /// Known normal trees.
        num_negative: usize,
        /// Number needed of each.
        needed: usize,
    },
    /// An external crate that implements a baseline failed.
    #[error("a baseline failed: {0}")]
    PeerFailed(String),
    /// A file is not a model.
    #[error("this is not a Callgrove model ({0})")]
    NoModel(String),
    /// A model file has another version.
    #[error(
        "the model has version {found}, but this program supports version {supported}; train it again"
    )]
    ModelVersion {
        /// Version of the file.
        found: u32,
        /// Version of this program.
        supported: u32,
    },
    /// A model file has inconsistent parts.
    #[error("the model is damaged: {reason}")]
    DamagedModel {
        /// The inconsistency.
        reason: &'static str,
    },
}

impl From<Cancelled> for MlError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// The result of a fallible function of this crate.
pub type Result<T> = std::result::Result<T, MlError>;

/// Formats a number; a very small or large one has an exponent.
fn in_digits(value: f64) -> String {
    let size = value.abs();
    if size.is_finite() && size > 0.0 && !(1e-6..1e15).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Checks that a parameter `is_valid`.
///
/// # Errors
/// [`MlError::InvalidParam`] if it is not.
pub fn check_param(
    name: &'static str,
    value: f64,
    is_valid: bool,
    wanted: &'static str,
) -> Result<()> {
    if is_valid {
        Ok(())
    } else {
        Err(MlError::InvalidParam {
            name,
            value,
            wanted,
        })
    }
}
