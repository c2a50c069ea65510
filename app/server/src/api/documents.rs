//! Questions to the provenance database: documents, their number, and the schemas that they keep to.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query as Parameters, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use callgrove_provdb::{
    Collection, Filter, PACKET_SCHEMA, Query, SortKey, UnknownCollection, check_fields,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::live::stopped;
use super::state::{Api, written};
use crate::connection::Stopping;

/// Documents of one answer unless asked for fewer or more.
pub const DEFAULT_LIMIT: u64 = 100;
/// The most documents of one answer; further ones are had by `offset`.
pub const MAX_LIMIT: u64 = 1000;

/// What `GET /api/documents/…` may be asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    filter: Option<String>,
    sort: Option<String>,
    #[serde(default)]
    order: Order,
    #[serde(default = "default_limit")]
    limit: u64,
    #[serde(default)]
    offset: u64,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Asc,
    Desc,
}

fn default_limit() -> u64 {
    DEFAULT_LIMIT
}

/// `GET /api/documents/{collection}`.
pub(super) async fn documents(
    State(api): State<Api>,
    Path(collection): Path<String>,
    stopping: Option<Extension<Stopping>>,
    wanted: Result<Parameters<Wanted>, QueryRejection>,
) -> Result<Response, ApiError> {
    let documents = api.documents()?;
    let Parameters(wanted) = wanted.map_err(|error| {
        let message = format!(
            "{}: the parameters are filter, sort, order (asc, desc), limit and offset",
            error.body_text()
        );
        ApiError::bad_request(message)
    })?;
    if wanted.limit > MAX_LIMIT {
        let message = format!(
            "limit is {}: ask for at most {MAX_LIMIT} documents at once, and for more by offset",
            wanted.limit
        );
        return Err(ApiError::bad_request(message));
    }
    let collection = known(&collection)?;
    let query = Query {
        collection,
        filter: wanted.filter.as_deref().map(filter).transpose()?,
        sort: wanted
            .sort
            .as_deref()
            .map(|by| sort(collection, by, wanted.order))
            .transpose()?,
        limit: Some(wanted.limit),
        offset: wanted.offset,
    };
    let found = documents
        .ask(stopped(stopping), move |store| {
            check_fields(store, &query, &[])?;
            store.find(&query)
        })
        .await?;
    Ok(written(format!("[{}]", found.join(",")).into_bytes()))
}

/// What `GET /api/count/…` may be asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counted {
    filter: Option<String>,
}

/// `GET /api/count/{collection}`.
pub(super) async fn count(
    State(api): State<Api>,
    Path(collection): Path<String>,
    stopping: Option<Extension<Stopping>>,
    counted: Result<Parameters<Counted>, QueryRejection>,
) -> Result<Json<Value>, ApiError> {
    let documents = api.documents()?;
    let Parameters(Counted { filter: text }) = counted.map_err(|error| {
        ApiError::bad_request(format!(
            "{}: the only parameter is filter",
            error.body_text()
        ))
    })?;
    let filter = text.as_deref().map(filter).transpose()?;
    let query = Query {
        filter,
        ..Query::all(known(&collection)?)
    };
    let count = documents
        .ask(stopped(stopping), move |store| {
            check_fields(store, &query, &[])?;
            store.count(&query)
        })
        .await?;
    Ok(Json(json!({ "count": count })))
}

/// `GET /api/schema/{collection}`.
pub(super) async fn schema(Path(name): Path<String>) -> Result<Response, ApiError> {
    let schema = if name == "packet" {
        PACKET_SCHEMA
    } else {
        known(&name)?.schema()
    };
    Ok(written(schema.as_bytes().to_vec()))
}

fn known(name: &str) -> Result<Collection, ApiError> {
    name.parse()
        .map_err(|error: UnknownCollection| ApiError::new(StatusCode::NOT_FOUND, error.to_string()))
}

fn filter(text: &str) -> Result<Filter, ApiError> {
    Filter::parse(text).map_err(|error| ApiError::bad_request(format!("in the filter, {error}")))
}

/// By any field; `score` and `severity` of executions need not be spelt out.
fn sort(collection: Collection, by: &str, order: Order) -> Result<SortKey, ApiError> {
    let is_execution = matches!(collection, Collection::Anomalies | Collection::NormalExecs);
    let by = match by {
        "score" if is_execution => "outlier_score",
        "severity" if is_execution => "outlier_severity",
        other => other,
    };
    let direction = match order {
        Order::Asc => "asc",
        Order::Desc => "desc",
    };
    SortKey::parse(&format!("{by} {direction}"))
        .map_err(|error| ApiError::bad_request(format!("in the order, {error}")))
}
