//! A plain implementation of filters and orders on parsed JSON: the oracle for all engines.

use std::cmp::Ordering;

use callgrove_provdb::{Filter, Literal, Op, Path, PathStep, SortKey, Test};
use serde_json::Value;

/// Returns whether a document passes a filter.
pub(crate) fn matches(filter: &Filter, document: &Value) -> bool {
    match filter {
        Filter::And(parts) => parts.iter().all(|part| matches(part, document)),
        Filter::Or(parts) => parts.iter().any(|part| matches(part, document)),
        Filter::Not(part) => !matches(part, document),
        Filter::Test(path, test) => values(document, path)
            .into_iter()
            .any(|value| passes(test, value.unwrap_or(&Value::Null))),
    }
}

/// Compares two documents, ignoring their ids.
pub(crate) fn compare(sort: &SortKey, left: &Value, right: &Value) -> Ordering {
    let key = |document| match values(document, &sort.path).pop().flatten() {
        Some(Value::Bool(it)) => (0, f64::from(*it), ""),
        Some(Value::Number(it)) => (0, it.as_f64().expect("a number"), ""),
        Some(Value::String(it)) => (1, 0.0, it.as_str()),
        _ => (2, 0.0, ""),
    };
    let (left, right) = (key(left), key(right));
    let within = left.1.total_cmp(&right.1).then(left.2.cmp(right.2));
    left.0.cmp(&right.0).then(if sort.is_descending {
        within.reverse()
    } else {
        within
    })
}

/// Returns the values that a path leads to; `None` for a missing one.
fn values<'v>(document: &'v Value, path: &Path) -> Vec<Option<&'v Value>> {
    let mut values = vec![Some(document)];
    for step in path.steps() {
        values = values
            .into_iter()
            .flat_map(|value| match (step, value) {
                (PathStep::Any, Some(Value::Array(elements))) => {
                    elements.iter().map(Some).collect()
                }
                (PathStep::Any, _) => Vec::new(),
                (PathStep::Field(name), Some(Value::Object(fields))) => vec![fields.get(name)],
                (PathStep::Index(index), Some(Value::Array(elements))) => {
                    vec![elements.get(*index as usize)]
                }
                _ => vec![None],
            })
            .collect();
    }
    values
}

fn passes(test: &Test, value: &Value) -> bool {
    match test {
        Test::IsNull => value.is_null(),
        Test::IsNotNull => !value.is_null(),
        Test::Compare(Op::Ne, literal) => !value.is_null() && !compares(Op::Eq, literal, value),
        Test::Compare(op, literal) => compares(*op, literal, value),
        Test::In(literals) => literals
            .iter()
            .any(|literal| compares(Op::Eq, literal, value)),
        Test::Like(pattern) => value
            .as_str()
            .is_some_and(|text| like(&pattern.chars().collect::<Vec<_>>(), text)),
    }
}

fn compares(op: Op, literal: &Literal, value: &Value) -> bool {
    let number = |literal: f64| value.as_f64().map(|it| it.total_cmp(&(literal + 0.0)));
    let order = match literal {
        Literal::Int(it) => number(*it as f64),
        Literal::Float(it) => number(*it),
        Literal::Text(it) => value.as_str().map(|text| text.cmp(it)),
        Literal::Bool(it) => value
            .as_bool()
            .filter(|value| value == it)
            .map(|_| Ordering::Equal),
    };
    order.is_some_and(|order| match op {
        Op::Eq => order.is_eq(),
        Op::Ne => order.is_ne(),
        Op::Lt => order.is_lt(),
        Op::Le => order.is_le(),
        Op::Gt => order.is_gt(),
        Op::Ge => order.is_ge(),
    })
}

fn like(pattern: &[char], text: &str) -> bool {
    let mut rest = text.chars();
    match pattern {
        [] => text.is_empty(),
        ['*', more @ ..] => text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .any(|at| like(more, &text[at..])),
        ['?', more @ ..] => rest.next().is_some() && like(more, rest.as_str()),
        ['\\', it, more @ ..] | [it, more @ ..] => {
            rest.next() == Some(*it) && like(more, rest.as_str())
        }
    }
}
