//! gRPC services on the port.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response, header};
use tonic::codegen::Service;
use tonic::server::NamedService;

/// Returns `routes` with a gRPC service added under its name.
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

/// Returns whether a path names a method of a service, `/package.Service/Method`, regardless of the request's content
/// type.
pub(crate) fn is_method(path: &str) -> bool {
    let mut segments = path.trim_start_matches('/').split('/');
    segments.next().is_some_and(|service| service.contains('.')) && segments.next().is_some()
}

/// Returns whether a request is gRPC, so that its error answer must be, too.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}
