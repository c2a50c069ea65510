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

/// Whether a path is that of a method of a service, `/package.Service/Method`, whatever the request says of its content.
pub(crate) fn is_method(path: &str) -> bool {
    let mut segments = path.trim_start_matches('/').split('/');
    segments.next().is_some_and(|service| service.contains('.')) && segments.next().is_some()
}

/// Whether a request speaks gRPC, so that its refusal must, too.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}
