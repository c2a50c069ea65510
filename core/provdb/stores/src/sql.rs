//! The parts of SQL that all engines share: the structure of a condition, and a parameter for every value of the user.
//! No text of a user ever becomes SQL.

use callgrove_provdb::columns::{COLUMNS, ColumnKind};
use callgrove_provdb::{Filter, Literal, Op, Path, PathStep, Query, Test};

/// SQL and the values of its numbered parameters.
#[derive(Debug)]
pub(crate) struct Sql<P> {
    pub(crate) text: String,
    pub(crate) params: Vec<P>,
}

impl<P> Sql<P> {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            params: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds a value and returns its parameter number.
    pub(crate) fn param(&mut self, value: P) -> usize {
        self.params.push(value);
        self.params.len()
    }
}

/// A value of a document as SQL expressions.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A column; null if missing.
    Column { name: &'static str, is_text: bool },
    /// A value in the JSON, as an expression of the engine.
    Json(String),
}

/// The SQL dialect of an engine. Every condition is true or false, never null.
pub(crate) trait Dialect {
    /// Type of bound values.
    type Param;

    /// Returns the value at the end of a path without `[*]`, from the document (`None`) or from an element.
    fn value(sql: &mut Sql<Self::Param>, from: Option<&str>, steps: &[PathStep]) -> String;
    /// Returns the start of `exists (select … where` over the elements of an array, and the element as `from` of
    /// [`Dialect::value`]. `depth` makes names unique.
    fn elements(sql: &mut Sql<Self::Param>, array: &str, depth: usize) -> String;
    /// Adds the comparison of a JSON value with a literal of its own type.
    fn compares(sql: &mut Sql<Self::Param>, value: &str, op: Op, literal: &Literal);
    /// Adds the condition that a JSON value is a text that matches a pattern.
    fn like(sql: &mut Sql<Self::Param>, value: &Value, pattern: &str);
    /// Adds the condition that a JSON value is null or missing.
    fn is_null(sql: &mut Sql<Self::Param>, value: &str);
    /// Adds the comparison of a column with a literal of its type.
    fn column_compares(sql: &mut Sql<Self::Param>, name: &str, op: Op, literal: &Literal);
}

/// Returns the column with the value at the end of a path, if there is one, and whether it is text.
pub(crate) fn column(path: &Path) -> Option<(&'static str, bool)> {
    let [PathStep::Field(name)] = path.steps() else {
        return None;
    };
    if name == "__id" {
        return Some(("id", false));
    }
    let (column, kind) = COLUMNS.into_iter().find(|(column, _)| *column == name)?;
    Some((column, kind == ColumnKind::Text))
}

/// Returns whether a query reads more of the documents than their columns.
pub(crate) fn reads_json(query: &Query) -> bool {
    fn any(filter: &Filter) -> bool {
        match filter {
            Filter::And(parts) | Filter::Or(parts) => parts.iter().any(any),
            Filter::Not(part) => any(part),
            Filter::Test(path, _) => column(path).is_none(),
        }
    }
    query.filter.as_ref().is_some_and(any)
        || query
            .sort
            .as_ref()
            .is_some_and(|it| column(&it.path).is_none())
}

/// Adds a filter as a condition.
pub(crate) fn push_filter<D: Dialect>(sql: &mut Sql<D::Param>, filter: &Filter) {
    match filter {
        Filter::And(parts) => push_joined(sql, parts, ("and", "true"), &push_filter::<D>),
        Filter::Or(parts) => push_joined(sql, parts, ("or", "false"), &push_filter::<D>),
        Filter::Not(part) => {
            sql.push("not (");
            push_filter::<D>(sql, part);
            sql.push(")");
        }
        Filter::Test(path, test) => match column(path) {
            Some((name, is_text)) => push_test::<D>(sql, &Value::Column { name, is_text }, test),
            None => push_elements::<D>(sql, None, path.steps(), test, 0),
        },
    }
}

/// Adds parts with a keyword between them, or the keyword for no parts. The parts are nested in halves, since engines
/// limit the depth of an expression.
fn push_joined<P, T>(
    sql: &mut Sql<P>,
    parts: &[T],
    (word, empty): (&str, &str),
    push: &impl Fn(&mut Sql<P>, &T),
) {
    match parts {
        [] => {
            sql.push(empty);
        }
        [part] => push(sql, part),
        _ => {
            let (left, right) = parts.split_at(parts.len() / 2);
            sql.push("(");
            push_joined(sql, left, (word, empty), push);
            sql.push(" ").push(word).push(" ");
            push_joined(sql, right, (word, empty), push);
            sql.push(")");
        }
    }
}

/// Adds a test of any value that the rest of a path leads to.
fn push_elements<D: Dialect>(
    sql: &mut Sql<D::Param>,
    from: Option<&str>,
    steps: &[PathStep],
    test: &Test,
    depth: usize,
) {
    let Some(place) = steps.iter().position(|step| *step == PathStep::Any) else {
        let value = D::value(sql, from, steps);
        push_test::<D>(sql, &Value::Json(value), test);
        return;
    };
    let array = D::value(sql, from, &steps[..place]);
    let element = D::elements(sql, &array, depth);
    push_elements::<D>(sql, Some(&element), &steps[place + 1..], test, depth + 1);
    sql.push(")");
}

fn push_test<D: Dialect>(sql: &mut Sql<D::Param>, value: &Value, test: &Test) {
    match test {
        Test::Compare(Op::Ne, literal) => {
            sql.push("(not ");
            push_null::<D>(sql, value);
            sql.push(" and not ");
            push_comparison::<D>(sql, value, Op::Eq, literal);
            sql.push(")");
        }
        Test::Compare(op, literal) => push_comparison::<D>(sql, value, *op, literal),
        Test::In(literals) => {
            push_joined(
                sql,
                literals,
                ("or", "false"),
                &|sql: &mut Sql<D::Param>, literal| {
                    push_comparison::<D>(sql, value, Op::Eq, literal);
                },
            );
        }
        Test::Like(_) if matches!(value, Value::Column { is_text: false, .. }) => {
            sql.push("false");
        }
        Test::Like(pattern) => D::like(sql, value, pattern),
        Test::IsNull => push_null::<D>(sql, value),
        Test::IsNotNull => {
            sql.push("not ");
            push_null::<D>(sql, value);
        }
    }
}

fn push_null<D: Dialect>(sql: &mut Sql<D::Param>, value: &Value) {
    match value {
        Value::Column { name, .. } => {
            sql.push("(").push(name).push(" is null)");
        }
        Value::Json(json) => D::is_null(sql, json),
    }
}

fn push_comparison<D: Dialect>(sql: &mut Sql<D::Param>, value: &Value, op: Op, literal: &Literal) {
    match value {
        Value::Json(json) => D::compares(sql, json, op, literal),
        Value::Column { name, is_text } => {
            let fits = match literal {
                Literal::Text(_) => *is_text,
                Literal::Int(_) | Literal::Float(_) => !is_text,
                Literal::Bool(_) => false,
            };
            if !fits {
                sql.push("false");
                return;
            }
            sql.push("(").push(name).push(" is not null and ");
            D::column_compares(sql, name, op, literal);
            sql.push(")");
        }
    }
}
