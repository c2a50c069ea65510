//! What a query consists of.

use std::fmt;

use crate::Collection;

/// Which documents, in which order.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// From where.
    pub collection: Collection,
    /// Which ones; all without a filter.
    pub filter: Option<Filter>,
    /// In which order; in that of `__id` without one.
    pub sort: Option<SortKey>,
    /// How many at most.
    pub limit: Option<u64>,
    /// How many to skip first.
    pub offset: u64,
}

impl Query {
    /// All documents of a collection.
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

/// A condition on a document, true or false and never unknown.
///
/// A path leads to any number of values: none if a field is missing, many through `[*]`. A test holds if **any** of
/// them passes it. Values compare with values of their own type only: numbers, texts (by code point), booleans
/// (`=` and `!=`). A missing or null value passes no test but `is null`.
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

/// A way to values of a document, such as `event_window.comm_window[*].tar`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub(crate) Vec<PathStep>);

/// One step of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// Into a field of an object. A name has no `"`, `\` or control characters.
    Field(String),
    /// Into one element of an array, counted from 0.
    Index(u32),
    /// Into every element of an array.
    Any,
}

impl Path {
    /// The steps, at least one, the first a field.
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }
}

/// What is asked of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It compares so with a literal.
    Compare(Op, Literal),
    /// It equals one of these.
    In(Vec<Literal>),
    /// It is a text like this pattern: `*` stands for any text, `?` for one character, `\` takes the next
    /// character as it is.
    Like(String),
    /// It is null or missing.
    IsNull,
    /// It is there and not null.
    IsNotNull,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `=`
    Eq,
    /// `!=`: a value is there, and it is another one, perhaps of another type.
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
    /// As it is written, here and in SQL.
    pub(crate) fn symbol(self) -> &'static str {
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

/// An order of documents: numbers (and booleans as 0 and 1) before texts before all else, whatever the direction;
/// equals in the order of `__id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// By which value.
    pub path: Path,
    /// Largest first.
    pub is_descending: bool,
}

/// Why a filter or order is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    pub(crate) cause: String,
    pub(crate) text: String,
    pub(crate) at_byte: usize,
}

impl FilterError {
    /// What was expected.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// Where in the text, as a column of characters counted from 1.
    pub fn column(&self) -> usize {
        self.before().chars().count() + 1
    }

    fn before(&self) -> &str {
        self.text.get(..self.at_byte).unwrap_or(&self.text)
    }
}

impl fmt::Display for FilterError {
    /// The cause and column, then the line with a caret below the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST_SHOWN: usize = 60;
        let before: Vec<char> = self.before().chars().collect();
        let shown_from = before.len().saturating_sub(MOST_SHOWN);
        let line: String = before[shown_from..]
            .iter()
            .copied()
            .chain(
                self.text
                    .get(self.at_byte..)
                    .unwrap_or_default()
                    .chars()
                    .take(MOST_SHOWN),
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
    /// Rows, each as long as `columns`, in the order of the SQL.
    pub rows: Vec<Vec<serde_json::Value>>,
}
