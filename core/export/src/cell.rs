//! The value of one column in one row.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::column::ColumnType;
use crate::text::rounded;

/// The value of one column in one row.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum TableCell {
    /// No value.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above the range of [`TableCell::Int`].
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(String),
}

impl TableCell {
    /// Returns the cell of a JSON value. Lists and objects are their JSON text.
    pub fn of_json(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(integer), _) => Self::Int(integer),
                (None, Some(integer)) => Self::UInt(integer),
                (None, None) => number.as_f64().map_or(Self::Null, Self::Float),
            },
            Value::String(text) => Self::Text(text),
            nested @ (Value::Array(_) | Value::Object(_)) => Self::Text(nested.to_string()),
        }
    }

    /// Returns the type of a column that holds all of these cells; text if there is no narrower one, or no value.
    pub fn common_type<'a>(cells: impl IntoIterator<Item = &'a Self>) -> ColumnType {
        let wider = |one: Option<ColumnType>, other: ColumnType| match (one, other) {
            (None, kind) => kind,
            (Some(kind), other) if kind == other => kind,
            (Some(ColumnType::Float), ColumnType::Int | ColumnType::UInt)
            | (Some(ColumnType::Int | ColumnType::UInt), ColumnType::Float) => ColumnType::Float,
            // Negative and very large integers have no common type of integers.
            (Some(ColumnType::Int), ColumnType::UInt)
            | (Some(ColumnType::UInt), ColumnType::Int) => ColumnType::UInt,
            _ => ColumnType::Text,
        };
        let (mut kind, mut has_negative) = (None, false);
        for cell in cells {
            has_negative |= matches!(cell, Self::Int(value) if *value < 0);
            let of_cell = match cell {
                Self::Null => continue,
                Self::Bool(_) => ColumnType::Bool,
                Self::Int(_) => ColumnType::Int,
                Self::UInt(_) => ColumnType::UInt,
                Self::Float(_) => ColumnType::Float,
                Self::Text(_) => ColumnType::Text,
            };
            kind = Some(wider(kind, of_cell));
        }
        match kind {
            None => ColumnType::Text,
            Some(ColumnType::UInt) if has_negative => ColumnType::Text,
            Some(kind) => kind,
        }
    }

    /// Returns the cell as text for reading: numbers are rounded.
    pub fn rounded(&self) -> String {
        match self {
            Self::Float(number) => {
                let text = rounded(*number);
                if text.contains('e') {
                    text
                } else {
                    text.trim_end_matches('0').trim_end_matches('.').to_owned()
                }
            }
            exact => exact.to_string(),
        }
    }
}

/// The exact value; nothing for no value.
impl fmt::Display for TableCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for TableCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::UInt(value) => serializer.serialize_u64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl From<bool> for TableCell {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for TableCell {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for TableCell {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Self::UInt(value), Self::Int)
    }
}

impl From<u32> for TableCell {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<usize> for TableCell {
    fn from(value: usize) -> Self {
        u64::try_from(value).map_or(Self::Null, Self::from)
    }
}

impl From<String> for TableCell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<TableCell>> From<Option<T>> for TableCell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<f64> for TableCell {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for TableCell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_common_type_holds_every_value() {
        let common = |values: Value| {
            let cells: Vec<TableCell> = match values {
                Value::Array(values) => values.into_iter().map(TableCell::of_json).collect(),
                _ => Vec::new(),
            };
            TableCell::common_type(&cells)
        };
        assert_eq!(common(json!([1, null, -2])), ColumnType::Int);
        assert_eq!(common(json!([1, 2.5])), ColumnType::Float);
        assert_eq!(common(json!([u64::MAX, 1])), ColumnType::UInt);
        assert_eq!(common(json!([u64::MAX, -1])), ColumnType::Text);
        assert_eq!(common(json!([-1, u64::MAX])), ColumnType::Text);
        assert_eq!(common(json!([true, false])), ColumnType::Bool);
        assert_eq!(common(json!([true, 1])), ColumnType::Text);
        assert_eq!(common(json!([null])), ColumnType::Text);
        assert_eq!(common(json!([])), ColumnType::Text);
    }

    #[test]
    fn text_for_reading_is_rounded_and_other_text_exact() {
        let cell = TableCell::of_json(json!(1_234.567_89));
        assert_eq!(cell.rounded(), "1234.568");
        assert_eq!(cell.to_string(), "1234.56789");
        assert_eq!(TableCell::Float(5.0).rounded(), "5");
        assert_eq!(TableCell::Float(0.0).rounded(), "0");
        assert_eq!(TableCell::Float(2.5e-7).rounded(), "2.5e-7");
        assert_eq!(TableCell::of_json(json!([1, "a"])).to_string(), "[1,\"a\"]");
    }
}
