//! Facts: names and values.

use std::fmt;

/// A name and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportFact {
    /// Name.
    pub name: &'static str,
    /// Value, with its unit.
    pub value: String,
}

impl ReportFact {
    /// Returns a fact with the text of a value.
    pub(crate) fn new(name: &'static str, value: impl fmt::Display) -> Self {
        Self {
            name,
            value: value.to_string(),
        }
    }
}
