//! Queries as SQL of SQLite, whose JSON functions take paths as text.

use callgrove_provdb::{Literal, Op, Path, PathStep, Query};
use rusqlite::types::Value as Param;

use crate::sql::{Dialect, Sql, Value, column, push_filter};

/// Returns the statement for the ids of the documents that match a query, in its order. The sorted rows hold no
/// documents, and the sort keys are part of the result, so that SQLite merges the shards in the order of an index if
/// there is one.
pub(crate) fn select_ids(query: &Query) -> Sql<Param> {
    let mut sql = Sql::new("select id");
    let mut order = String::new();
    if let Some(sort) = &query.sort {
        order = push_order(&mut sql, &sort.path, sort.is_descending);
    }
    sql.push(" from ").push(query.collection.name());
    push_where(&mut sql, query);
    let limit = query
        .limit
        .map_or(-1, |it| i64::try_from(it).unwrap_or(i64::MAX));
    let offset = i64::try_from(query.offset).unwrap_or(i64::MAX);
    let (limit, offset) = (sql.param(limit.into()), sql.param(offset.into()));
    sql.push(&format!(
        " order by {order}1 limit ?{limit} offset ?{offset}"
    ));
    sql
}

/// Returns the statement for the number of documents that match a query's filter.
pub(crate) fn count(query: &Query) -> Sql<Param> {
    let mut sql = Sql::new("select count(*) from ");
    sql.push(query.collection.name());
    push_where(&mut sql, query);
    sql
}

fn push_where(sql: &mut Sql<Param>, query: &Query) {
    if let Some(filter) = &query.filter {
        sql.push(" where ");
        push_filter::<Sqlite>(sql, filter);
    }
}

/// Adds the sort keys to the result, and returns the order by their positions in it.
fn push_order(sql: &mut Sql<Param>, path: &Path, is_descending: bool) -> String {
    let direction = if is_descending { "desc" } else { "asc" };
    if let Some((name, _)) = column(path) {
        sql.push(", ").push(name);
        return format!("2 {direction} nulls last, ");
    }
    let place = Sqlite::value(sql, None, path.steps());
    sql.push(&format!(
        ", case json_type(doc, {place}) when 'integer' then 0 when 'real' then 0 when 'true' then 0 when 'false' then 0 \
         when 'text' then 1 else 2 end, \
         case when json_type(doc, {place}) not in ('object', 'array') then json_extract(doc, {place}) end"
    ));
    format!("2, 3 {direction}, ")
}

/// Values are JSON paths in the document, so that it is parsed once for all of them.
struct Sqlite;

impl Dialect for Sqlite {
    type Param = Param;

    fn value(sql: &mut Sql<Param>, from: Option<&str>, steps: &[PathStep]) -> String {
        let root = if from.is_none() { "$" } else { "" };
        let path = steps.iter().fold(root.to_owned(), |path, step| match step {
            PathStep::Field(name) => format!("{path}.\"{name}\""),
            PathStep::Index(index) => format!("{path}[{index}]"),
            PathStep::Any => path,
        });
        let number = sql.param(path.into());
        from.map_or_else(
            || format!("?{number}"),
            |from| format!("({from} || ?{number})"),
        )
    }

    fn elements(sql: &mut Sql<Param>, array: &str, depth: usize) -> String {
        // The members of an object have texts as keys; the single row of a number has none.
        sql.push(&format!(
            "exists (select 1 from json_each(doc, {array}) e{depth} where typeof(e{depth}.key) = 'integer' and "
        ));
        format!("e{depth}.fullkey")
    }

    fn compares(sql: &mut Sql<Param>, value: &str, op: Op, literal: &Literal) {
        let types = match literal {
            Literal::Int(_) | Literal::Float(_) => "'integer', 'real'",
            Literal::Text(_) => "'text'",
            Literal::Bool(true) => "'true'",
            Literal::Bool(false) => "'false'",
        };
        sql.push(&format!(
            "(coalesce(json_type(doc, {value}) in ({types}), 0)"
        ));
        if !matches!(literal, Literal::Bool(_)) {
            let number = sql.param(param(literal));
            let op = op.symbol();
            sql.push(&format!(" and json_extract(doc, {value}) {op} ?{number}"));
        }
        sql.push(")");
    }

    fn like(sql: &mut Sql<Param>, value: &Value, pattern: &str) {
        let number = sql.param(glob(pattern).into());
        sql.push(&match value {
            Value::Column { name, .. } => format!("({name} is not null and {name} glob ?{number})"),
            Value::Json(place) => format!(
                "(coalesce(json_type(doc, {place}) = 'text', 0) and json_extract(doc, {place}) glob ?{number})"
            ),
        });
    }

    fn is_null(sql: &mut Sql<Param>, value: &str) {
        sql.push(&format!(
            "(coalesce(json_type(doc, {value}), 'null') = 'null')"
        ));
    }

    fn column_compares(sql: &mut Sql<Param>, name: &str, op: Op, literal: &Literal) {
        let number = sql.param(param(literal));
        sql.push(&format!("{name} {} ?{number}", op.symbol()));
    }
}

fn param(literal: &Literal) -> Param {
    match literal {
        Literal::Int(value) => (*value).into(),
        Literal::Float(value) => (*value).into(),
        Literal::Text(text) => text.clone().into(),
        Literal::Bool(value) => (*value).into(),
    }
}

/// Converts a pattern of the query language to one of GLOB, which also has sets in brackets.
fn glob(pattern: &str) -> String {
    let mut glob = String::new();
    let mut chars = pattern.chars();
    while let Some(it) = chars.next() {
        match it {
            '\\' => match chars.next() {
                Some(next @ ('*' | '?' | '[')) => glob.extend(['[', next, ']']),
                Some(next) => glob.push(next),
                None => glob.push('\\'),
            },
            '[' => glob.push_str("[[]"),
            other => glob.push(other),
        }
    }
    glob
}
