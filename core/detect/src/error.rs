//! What can be wrong with parameters, and with statistics that come from elsewhere.

/// An error of this crate.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum DetectError {
    /// A parameter is out of its bounds.
    #[error("{name} must be {wanted}, not {value}")]
    InvalidParam {
        /// Its key in a file of parameters.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values in words.
        wanted: &'static str,
    },
    /// No detector has this name.
    #[error("there is no algorithm `{name}`: choose excess, hbos, sstd or copod")]
    UnknownAlgorithm {
        /// The name.
        name: String,
    },
    /// A file of parameters does not read.
    #[error("{reason}: the parameters are not understood; the keys are {keys}")]
    BadParams {
        /// What the JSON reader says, with line and column.
        reason: String,
        /// The keys that are known.
        keys: &'static str,
    },
    /// Statistics from elsewhere contradict themselves.
    #[error(
        "{what} of {part} cannot be: the statistics are damaged or were written by another version; have them made \
         again"
    )]
    Damaged {
        /// What contradicts the rest.
        what: &'static str,
        /// The statistics that it is part of.
        part: &'static str,
    },
    /// Models of detectors that keep different things do not merge.
    #[error(
        "models of different algorithms meet: give all instances and the parameter server the same one"
    )]
    MixedModels,
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, DetectError>;

/// The error of damaged statistics.
pub(crate) fn damaged(part: &'static str, what: &'static str) -> DetectError {
    DetectError::Damaged { what, part }
}
