//! The description of a table's columns.

use std::fmt;

/// The type of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// Signed integer of 64 bits.
    Int,
    /// Unsigned integer of 64 bits, for values above the range of [`ColumnType::Int`].
    UInt,
    /// Floating-point number of 64 bits.
    Float,
    /// UTF-8 text.
    Text,
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "a boolean",
            Self::Int => "an integer",
            Self::UInt => "an unsigned integer",
            Self::Float => "a number",
            Self::Text => "text",
        })
    }
}

/// A column: its name, the type of its values, and whether a row may have no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableColumn {
    name: String,
    kind: ColumnType,
    is_optional: bool,
}

/// Suffixes of names, and the units that they state.
const UNITS: [(&str, &str); 8] = [
    ("_ns", "ns"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_seconds", "s"),
    ("_bytes", "bytes"),
    ("_percent", "percent"),
    ("_hz", "Hz"),
];

impl TableColumn {
    /// Returns a column in which every row has a value.
    pub fn new(name: impl Into<String>, kind: ColumnType) -> Self {
        Self {
            name: name.into(),
            kind,
            is_optional: false,
        }
    }

    /// Returns a column of booleans.
    pub fn bool(name: impl Into<String>) -> Self {
        Self::new(name, ColumnType::Bool)
    }

    /// Returns a column of integers.
    pub fn int(name: impl Into<String>) -> Self {
        Self::new(name, ColumnType::Int)
    }

    /// Returns a column of floating-point numbers.
    pub fn float(name: impl Into<String>) -> Self {
        Self::new(name, ColumnType::Float)
    }

    /// Returns a column of text.
    pub fn text(name: impl Into<String>) -> Self {
        Self::new(name, ColumnType::Text)
    }

    /// Returns the same column, in which a row may have no value.
    #[must_use]
    pub fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of the values.
    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    /// Returns whether a row may have no value.
    pub fn is_optional(&self) -> bool {
        self.is_optional
    }

    /// Returns the unit that the suffix of the name states, such as `us` for `entry_us`; `None` if it states no unit.
    pub fn unit(&self) -> Option<&'static str> {
        let stated = UNITS.iter().find(|(suffix, _)| self.name.ends_with(suffix));
        stated.map(|(_, unit)| *unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_the_suffix_of_a_name() {
        let unit = |name: &str| TableColumn::int(name).unit();
        assert_eq!(unit("entry_us"), Some("us"));
        assert_eq!(unit("num_bytes"), Some("bytes"));
        assert_eq!(unit("confidence_percent"), Some("percent"));
        assert_eq!(unit("rank"), None);
        assert_eq!(unit("status"), None);
    }
}
