//! Queries as SQL of PostgreSQL, whose operators access JSON step by step.

use callgrove_provdb::{Collection, Literal, Op, Path, PathStep, Query};
use postgres::types::ToSql;

use crate::sql::{Dialect, Sql, Value, column, push_filter, reads_json};

/// A bound value. The SQL casts each to its type.
pub(crate) type Param = Box<dyn ToSql + Sync>;

/// Returns the statement for the ids of the documents that match a query, in its order.
pub(crate) fn select_ids(query: &Query) -> Sql<Param> {
    let mut sql = Sql::new("select id");
    push_source(&mut sql, query);
    sql.push(" order by ");
    if let Some(sort) = &query.sort {
        push_order(&mut sql, &sort.path, sort.is_descending);
    }
    // A null limit means no limit.
    let bounded = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    let limit = sql.param(Box::new(query.limit.map(bounded)));
    let offset = sql.param(Box::new(bounded(query.offset)));
    sql.push(&format!(
        "id limit ${limit}::bigint offset ${offset}::bigint"
    ));
    sql
}

/// Returns the statement for the documents with the ids of an array, in its order: `id` and the text of `doc` of each.
pub(crate) fn documents(collection: Collection) -> String {
    format!(
        "select id, doc::text from unnest($1::bigint[]) with ordinality wanted (id, place) join {collection} using (id) \
         order by place"
    )
}

/// Returns the statement for the number of documents that match a query's filter.
pub(crate) fn count(query: &Query) -> Sql<Param> {
    let mut sql = Sql::new("select count(*)");
    push_source(&mut sql, query);
    sql
}

/// Adds the `from` and `where` clauses. Each document is parsed once, and only if the query needs more than its
/// columns; `offset 0` keeps PostgreSQL from parsing it again at each use.
fn push_source(sql: &mut Sql<Param>, query: &Query) {
    sql.push(" from ").push(query.collection.name());
    if reads_json(query) {
        sql.push(" cross join lateral (select doc::jsonb as body offset 0) parsed");
    }
    if let Some(filter) = &query.filter {
        sql.push(" where ");
        push_filter::<Postgres>(sql, filter);
    }
}

fn push_order(sql: &mut Sql<Param>, path: &Path, is_descending: bool) {
    let direction = if is_descending { "desc" } else { "asc" };
    if let Some((name, _)) = column(path) {
        sql.push(&format!("{name} {direction} nulls last, "));
        return;
    }
    let value = Postgres::value(sql, None, path.steps());
    let text = format!("({value} #>> '{{}}')");
    sql.push(&format!(
        "case jsonb_typeof({value}) when 'number' then 0 when 'boolean' then 0 when 'string' then 1 else 2 end, \
         case jsonb_typeof({value}) when 'number' then {text}::numeric when 'boolean' then {text}::boolean::int::numeric \
         end {direction} nulls last, \
         (case when jsonb_typeof({value}) = 'string' then {text} end) collate \"C\" {direction} nulls last, "
    ));
}

/// Values are expressions of type `jsonb`.
struct Postgres;

impl Dialect for Postgres {
    type Param = Param;

    fn value(sql: &mut Sql<Param>, from: Option<&str>, steps: &[PathStep]) -> String {
        let mut value = from.unwrap_or("body").to_owned();
        for step in steps {
            value = match step {
                PathStep::Field(name) => {
                    let number = sql.param(Box::new(name.clone()));
                    format!("({value} -> ${number}::text)")
                }
                // The element operator would treat a number as a list of itself.
                PathStep::Index(index) => {
                    format!("jsonb_path_query_first({value}, 'strict $[{index}]', '{{}}', true)")
                }
                PathStep::Any => value,
            };
        }
        value
    }

    fn elements(sql: &mut Sql<Param>, array: &str, depth: usize) -> String {
        sql.push(&format!(
            "exists (select 1 from jsonb_array_elements(case when jsonb_typeof({array}) = 'array' then {array} else \
             '[]'::jsonb end) as e{depth}(v) where "
        ));
        format!("e{depth}.v")
    }

    fn compares(sql: &mut Sql<Param>, value: &str, op: Op, literal: &Literal) {
        let (kind, param, cast, of_value): (_, Param, _, _) = match literal {
            Literal::Int(it) => (
                "number",
                Box::new(it.to_string()),
                "text::numeric",
                "::numeric",
            ),
            Literal::Float(it) => (
                "number",
                Box::new(format!("{it:e}")),
                "text::numeric",
                "::numeric",
            ),
            Literal::Text(it) => ("string", Box::new(it.clone()), "text", " collate \"C\""),
            Literal::Bool(it) => ("boolean", Box::new(it.to_string()), "text", ""),
        };
        let (number, op) = (sql.param(param), op.symbol());
        // CASE, since nothing else protects the cast from texts that are not numbers.
        sql.push(&format!(
            "(case when jsonb_typeof({value}) = '{kind}' then ({value} #>> '{{}}'){of_value} {op} ${number}::{cast} \
             else false end)"
        ));
    }

    fn like(sql: &mut Sql<Param>, value: &Value, pattern: &str) {
        let number = sql.param(Box::new(like_pattern(pattern)));
        sql.push(&match value {
            Value::Column { name, .. } => {
                format!("({name} is not null and {name} like ${number}::text)")
            }
            Value::Json(json) => format!(
                "(case when jsonb_typeof({json}) = 'string' then ({json} #>> '{{}}') like ${number}::text else false end)"
            ),
        });
    }

    fn is_null(sql: &mut Sql<Param>, value: &str) {
        sql.push(&format!(
            "(coalesce(jsonb_typeof({value}), 'null') = 'null')"
        ));
    }

    fn column_compares(sql: &mut Sql<Param>, name: &str, op: Op, literal: &Literal) {
        let (param, cast): (Param, _) = match literal {
            Literal::Int(it) => (Box::new(*it), "bigint"),
            Literal::Float(it) => (Box::new(*it), "float8"),
            Literal::Text(it) => (Box::new(it.clone()), "text"),
            Literal::Bool(it) => (Box::new(*it), "boolean"),
        };
        let number = sql.param(param);
        sql.push(&format!("{name} {} ${number}::{cast}", op.symbol()));
    }
}

/// Converts a pattern of the query language to one of LIKE.
fn like_pattern(pattern: &str) -> String {
    let mut like = String::new();
    let mut push = |it: char, is_wild: bool| match it {
        '*' if is_wild => like.push('%'),
        '?' if is_wild => like.push('_'),
        '%' | '_' | '\\' => like.extend(['\\', it]),
        other => like.push(other),
    };
    let mut chars = pattern.chars();
    while let Some(it) = chars.next() {
        if it == '\\' {
            push(chars.next().unwrap_or('\\'), false);
        } else {
            push(it, true);
        }
    }
    like
}
