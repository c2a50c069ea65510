//! Errors of parameters, and of statistics from elsewhere.

/// An error of this crate.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum DetectError {
    /// A parameter is out of range.
    #[error("{name} must be {wanted}, not {value}")]
    InvalidParam {
        /// The key of the parameter in a parameter file.
        name: &'static str,
        /// The value.
        value: f64,
        /// The valid range as text.
        wanted: &'static str,
    },
    /// No detector has this name.
    #[error("there is no algorithm `{name}`: choose excess, hbos, sstd or copod")]
    UnknownAlgorithm {
        /// The name.
        name: String,
    },
    /// A parameter file cannot be parsed.
    #[error("{reason}: the parameters are not understood; the keys are {keys}")]
    BadParams {
        /// The error of the JSON parser, with line and column.
        reason: String,
        /// The known keys.
        keys: &'static str,
    },
    /// Statistics from elsewhere are inconsistent.
    #[error(
        "{what} of {part} is invalid: the statistics are damaged or were written by another version; recreate them"
    )]
    Damaged {
        /// The inconsistent value.
        what: &'static str,
        /// The statistics that it is part of.
        part: &'static str,
    },
    /// Models of detectors with different statistics cannot be merged.
    #[error(
        "models of different algorithms cannot be merged: use one algorithm in all instances and the parameter server"
    )]
    MixedModels,
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, DetectError>;

/// Returns the error of damaged statistics.
pub(crate) fn damaged(part: &'static str, what: &'static str) -> DetectError {
    DetectError::Damaged { what, part }
}
