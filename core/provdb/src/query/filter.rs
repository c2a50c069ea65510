//! The parts of a query.

use std::fmt;

use crate::collection::Collection;

/// A query: filter, order and limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The collection.
    pub collection: Collection,
    /// The filter; all documents without one.
    pub filter: Option<Filter>,
    /// The order; that of `__id` without one.
    pub sort: Option<SortKey>,
    /// Maximum number of documents.
    pub limit: Option<u64>,
    /// Number of documents to skip first.
    pub offset: u64,
}

impl Query {
    /// Returns the query of all documents of a collection.
    pub fn all(collection: Collection) -> Self {
        Self {
            collection,
            filter: None,
            sort: None,
            limit: None,
            offset: 0,
        }
    }
}

/// A condition on a document; true or false, never unknown.
///
/// A path leads to any number of values: none if a field is missing, several through `[*]`. A test holds if **any** of
/// them passes it. Values compare only with values of their own type: numbers, texts (by code point), booleans (`=` and
/// `!=`). A missing or null value passes no test except `is null`.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// All of them hold.
    And(Vec<Self>),
    /// At least one holds.
    Or(Vec<Self>),
    /// It does not hold.
    Not(Box<Self>),
    /// A value passes a test.
    Test(Path, Test),
}

/// A path to values of a document, such as `event_window.comm_window[*].tar`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub(crate) Vec<PathStep>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// A field of an object. A name has no `"`, `\` or control characters.
    Field(String),
    /// One element of an array, counted from 0.
    Index(u32),
    /// Every element of an array.
    Any,
}

impl Path {
    /// Returns the steps, at least one, the first a field.
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }
}

/// A test of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// The comparison with a literal holds.
    Compare(Op, Literal),
    /// It equals one of these.
    In(Vec<Literal>),
    /// It is a text that matches this pattern: `*` matches any text, `?` one character, `\` escapes the next character.
    Like(String),
    /// It is null or missing.
    IsNull,
    /// It is present and not null.
    IsNotNull,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `=`
    Eq,
    /// `!=`: a value is present and differs, possibly in type.
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Op {
    /// Returns the operator as it is written, here and in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// A value in a filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// An integer.
    Int(i64),
    /// A finite number with a fraction or beyond 64 bits.
    Float(f64),
    /// A text.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
}

/// An order of documents: numbers (and booleans as 0 and 1) before texts before everything else, whatever the
/// direction; equal values in the order of `__id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The value to sort by.
    pub path: Path,
    /// True for the largest first.
    pub is_descending: bool,
}

/// A syntax error of a filter or order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    pub(crate) cause: String,
    pub(crate) text: String,
    pub(crate) at_byte: usize,
}

impl FilterError {
    /// Returns what was expected.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// Returns the column in the text, in characters counted from 1.
    pub fn column(&self) -> usize {
        self.before().chars().count() + 1
    }

    fn before(&self) -> &str {
        self.text.get(..self.at_byte).unwrap_or(&self.text)
    }
}

impl fmt::Display for FilterError {
    /// Writes the cause and column, then the line with a caret below the position.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: usize = 60;
        let before: Vec<char> = self.before().chars().collect();
        let shown_from = before.len().saturating_sub(MAX_SHOWN);
        let line: String = before[shown_from..]
            .iter()
            .copied()
            .chain(
                self.text
                    .get(self.at_byte..)
                    .unwrap_or_default()
                    .chars()
                    .take(MAX_SHOWN),
            )
            .map(|it| if it.is_control() { ' ' } else { it })
            .collect();
        let caret = before.len() - shown_from;
        write!(
            f,
            "{} at column {}\n  {line}\n  {:caret$}^",
            self.cause,
            self.column(),
            ""
        )
    }
}

impl std::error::Error for FilterError {}

/// The answer to plain SQL.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SqlTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each of the length of `columns`, in the order of the SQL.
    pub rows: Vec<Vec<serde_json::Value>>,
}
