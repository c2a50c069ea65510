//! gRPC services among the routes of the port.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response, header};
use tonic::codegen::Service;
use tonic::server::NamedService;

/// `routes` with a gRPC service, under the path that its name demands.
pub fn mount<S>(routes: Router, service: S) -> Router
where
    S: NamedService
        + Service<Request<Body>, Response = Response<tonic::body::Body>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    routes.route_service(&format!("/{}/{{*method}}", S::NAME), service)
}

/// Whether a request speaks gRPC, so that its refusal must, too.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}
