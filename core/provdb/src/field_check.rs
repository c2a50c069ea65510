//! Checks that the fields of a query can be in documents: in the schema, or additionally in stored documents.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::collection::Collection;
use crate::error::ProvDbError;
use crate::query::{Filter, Path, PathStep, Query, Test, UnknownField};
use crate::store::Store;

/// Maximum depth of references in a schema, so that a cyclic one ends.
const MAX_REFERENCES: usize = 16;

/// Checks that each field of a query, and each of `columns`, is in the schema of the collection or in some document.
/// Documents are read only for fields that the schema does not have.
///
/// # Errors
/// [`ProvDbError::UnknownField`] for the first missing field; the place cannot be read.
pub fn check_fields(
    store: &mut dyn Store,
    query: &Query,
    columns: &[Path],
) -> Result<(), ProvDbError> {
    let mut paths = Vec::new();
    if let Some(filter) = &query.filter {
        add_paths(filter, &mut paths);
    }
    paths.extend(query.sort.as_ref().map(|sort| &sort.path));
    paths.extend(columns);
    let schema = schema_of(query.collection)?;
    for path in paths {
        if let Err(unknown) = find_in_schema(&schema, query.collection, path)
            && !is_in_documents(store, query.collection, path)?
        {
            return Err(unknown.into());
        }
    }
    Ok(())
}

/// The type that the schema of a collection gives the values of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// True or false.
    Bool,
    /// Integers.
    Int,
    /// Numbers.
    Float,
    /// Text.
    Text,
    /// Lists, objects, or values of several types; or the schema does not have the field.
    Any,
}

/// Returns the types of fields of a collection, shape `[n_paths]`. A field may be absent or null in a document.
///
/// # Errors
/// [`ProvDbError::Database`] if the schema of the collection cannot be read.
pub fn field_types(collection: Collection, paths: &[Path]) -> Result<Vec<FieldType>, ProvDbError> {
    let schema = schema_of(collection)?;
    let types = paths.iter().map(|path| {
        find_in_schema(&schema, collection, path).map_or(FieldType::Any, |places| type_of(&places))
    });
    Ok(types.collect())
}

/// Returns the type that holds all values of the alternatives.
fn type_of(places: &[&Value]) -> FieldType {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for place in places {
        match place.get("type") {
            Some(Value::String(name)) => found.extend([&**name]),
            Some(Value::Array(names)) => found.extend(names.iter().filter_map(Value::as_str)),
            _ => {}
        }
        let values = place.get("enum").and_then(Value::as_array);
        let values = values.into_iter().flatten().chain(place.get("const"));
        found.extend(values.map(|value| match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }));
    }
    found.remove("null");
    match found.into_iter().collect::<Vec<_>>()[..] {
        ["boolean"] => FieldType::Bool,
        ["integer"] => FieldType::Int,
        ["number"] | ["integer", "number"] => FieldType::Float,
        ["string"] => FieldType::Text,
        _ => FieldType::Any,
    }
}

fn schema_of(collection: Collection) -> Result<Value, ProvDbError> {
    serde_json::from_str(collection.schema()).map_err(|error| ProvDbError::Database {
        cause: error.to_string(),
        place: format!("the schema of {collection}"),
    })
}

fn add_paths<'q>(filter: &'q Filter, paths: &mut Vec<&'q Path>) {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => {
            for part in parts {
                add_paths(part, paths);
            }
        }
        Filter::Not(part) => add_paths(part, paths),
        Filter::Test(path, _) if paths.contains(&path) => {}
        Filter::Test(path, _) => paths.push(path),
    }
}

fn is_in_documents(
    store: &mut dyn Store,
    collection: Collection,
    path: &Path,
) -> Result<bool, ProvDbError> {
    let having = Query {
        filter: Some(Filter::Test(path.clone(), Test::IsNotNull)),
        limit: Some(1),
        ..Query::all(collection)
    };
    Ok(!store.find_ids(&having)?.is_empty())
}

/// Follows a path through the schema, and returns the possible schemas of its value; the error is the first step that
/// no document of the schema can have.
fn find_in_schema<'s>(
    schema: &'s Value,
    collection: Collection,
    path: &Path,
) -> Result<Vec<&'s Value>, UnknownField> {
    let mut places = Vec::new();
    add_alternatives(schema, schema, &mut places, 0);
    for (idx, step) in path.steps().iter().enumerate() {
        let mut next = Vec::new();
        for place in &places {
            let below = match step {
                PathStep::Field(name) => place.get("properties").and_then(|it| it.get(name)),
                PathStep::Index(_) | PathStep::Any => place.get("items"),
            };
            if let Some(below) = below {
                add_alternatives(schema, below, &mut next, 0);
            }
        }
        if next.is_empty() {
            let (before, _) = path.steps().split_at(idx);
            let named = |step: PathStep| {
                let steps = before.iter().cloned().chain([step]);
                Path(steps.collect()).to_string()
            };
            let known = places.iter().filter_map(|place| place.get("properties"));
            let known = known.filter_map(Value::as_object).flat_map(|it| it.keys());
            let known = known.map(|name| named(PathStep::Field(name.clone())));
            return Err(UnknownField::new(
                named(step.clone()),
                collection,
                known.collect(),
            ));
        }
        places = next;
    }
    Ok(places)
}

/// Adds the possible schemas of a value: the schema itself, or each of its alternatives.
fn add_alternatives<'s>(
    root: &'s Value,
    schema: &'s Value,
    places: &mut Vec<&'s Value>,
    num_references: usize,
) {
    places.push(schema);
    if num_references == MAX_REFERENCES {
        return;
    }
    let referred = schema.get("$ref").and_then(Value::as_str);
    let referred = referred.and_then(|it| root.pointer(it.strip_prefix('#')?));
    let parts = ["oneOf", "anyOf", "allOf"].into_iter();
    let parts = parts.filter_map(|name| schema.get(name)?.as_array());
    for part in referred.into_iter().chain(parts.flatten()) {
        add_alternatives(root, part, places, num_references + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_of_fields_are_those_of_the_schema() {
        let types = |collection, names: &[&str]| {
            let paths = names.iter().map(|name| Path::of_names(name.split('.')));
            let paths: Vec<Path> = paths.collect::<Result<_, _>>().expect("paths");
            field_types(collection, &paths).expect("a schema")
        };
        let names = [
            "rid",
            "outlier_score",
            "func",
            "is_anomaly",
            "call_stack",
            "no_such",
        ];
        assert_eq!(
            types(Collection::Anomalies, &names)[..3],
            [FieldType::Int, FieldType::Float, FieldType::Text]
        );
        assert_eq!(
            types(Collection::Anomalies, &names)[4..],
            [FieldType::Any, FieldType::Any]
        );
        let names = ["holds", "kind", "host", "factor"];
        assert_eq!(
            types(Collection::Trends, &names),
            [
                FieldType::Bool,
                FieldType::Text,
                FieldType::Text,
                FieldType::Float
            ]
        );
        let names = ["runtime_profile.exclusive_runtime.mean"];
        assert_eq!(types(Collection::FuncStats, &names), [FieldType::Float]);
    }

    fn unknown(collection: Collection, path: &str) -> Option<String> {
        let schema = serde_json::from_str(collection.schema()).expect("a schema");
        let path = Path::parse(path).expect("a path");
        let found = find_in_schema(&schema, collection, &path);
        found.err().map(|error| error.to_string())
    }

    #[test]
    fn schemas_are_followed_through_references_alternatives_and_arrays() {
        for path in [
            "__id",
            "outlier_severity",
            "event_window.comm_window[*].tar",
            "call_stack[0].func",
            "gpu_parent.call_stack[*].event_id",
            "algo_params.histogram.\"Histogram Bin Edges\"[0]",
            "algo_params.mean",
        ] {
            assert_eq!(unknown(Collection::Anomalies, path), None, "{path}");
        }
        for collection in Collection::ALL {
            assert_eq!(unknown(collection, "__id"), None, "{collection}");
        }
    }

    #[test]
    fn a_wrong_step_is_named_with_its_path() {
        let message = unknown(Collection::Anomalies, "event_window.com_window[*].tar");
        assert_eq!(
            message.as_deref(),
            Some(
                "no field 'event_window.com_window' in anomalies; did you mean 'event_window.comm_window'?"
            )
        );
        let message = unknown(Collection::Anomalies, "rid[0]");
        assert_eq!(message.as_deref(), Some("no field 'rid[0]' in anomalies"));
        let message = unknown(Collection::FuncStats, "rid").expect("unknown");
        assert!(
            message.starts_with("no field 'rid' in func_stats"),
            "{message}"
        );
    }
}
