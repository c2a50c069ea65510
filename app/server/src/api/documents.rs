//! Queries of the provenance database: documents, their number, and their schemas.

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
use super::state::{Api, json_response};
use crate::connection::Stopping;

/// Default number of documents in one answer.
pub const DEFAULT_LIMIT: u64 = 100;
/// Maximum number of documents in one answer; `offset` selects further ones.
pub const MAX_LIMIT: u64 = 1000;

/// The parameters of `GET /api/documents/…`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentParameters {
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
    wanted: Result<Parameters<DocumentParameters>, QueryRejection>,
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
            "limit is {}: request at most {MAX_LIMIT} documents at once, and further ones by offset",
            wanted.limit
        );
        return Err(ApiError::bad_request(message));
    }
    let collection = collection_named(&collection)?;
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
    Ok(json_response(format!("[{}]", found.join(",")).into_bytes()))
}

/// The parameters of `GET /api/count/…`.
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
        ..Query::all(collection_named(&collection)?)
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
        collection_named(&name)?.schema()
    };
    Ok(json_response(schema.as_bytes().to_vec()))
}

fn collection_named(name: &str) -> Result<Collection, ApiError> {
    name.parse()
        .map_err(|error: UnknownCollection| ApiError::new(StatusCode::NOT_FOUND, error.to_string()))
}

fn filter(text: &str) -> Result<Filter, ApiError> {
    Filter::parse(text).map_err(|error| ApiError::bad_request(format!("in the filter, {error}")))
}

/// Parses the order: any field can be used; `score` and `severity` are short names for executions.
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
