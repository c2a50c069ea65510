//! The routes of a server that accepts connections before it can do its work, such as a parameter server whose database
//! has not started.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use tonic::Status;
use tonic::codegen::{BoxFuture, Service};
use tower::ServiceExt as _;

use crate::api::ApiError;
use crate::grpc;
use crate::monitoring::{self, Monitored};

/// Routes that are set once. Until then `/healthz` is answered by 200 and everything else by 503, with the reason.
#[derive(Clone, Debug)]
pub struct LateRoutes {
    routes: Arc<OnceLock<Router>>,
    reason: &'static str,
}

impl LateRoutes {
    /// Returns routes that wait; `reason` names no path and no address, since anyone may read it.
    pub fn new(reason: &'static str) -> Self {
        let routes = Arc::default();
        Self { routes, reason }
    }

    /// Returns the router of the server. It has no route of its own, whose parameters would be added to those of the
    /// routes that are set.
    pub(crate) fn router(&self) -> Router {
        Router::new().fallback_service(self.clone())
    }

    /// Sets the routes.
    pub fn set(&self, routes: Router) {
        self.routes.get_or_init(|| routes.fallback(not_found));
    }

    fn waiting(&self, request: &Request) -> Response {
        let path = request.uri().path();
        if grpc::is_grpc(request.headers()) {
            return Status::unavailable(self.reason).into_http();
        }
        if path == "/readyz" {
            let text = format!("{}\n", self.reason);
            return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        }
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, self.reason).into_response()
    }
}

impl Service<Request> for LateRoutes {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let routes = match self.routes.get() {
            Some(routes) => routes.clone(),
            None if request.uri().path() == "/healthz" => monitoring::router(Monitored::default()),
            None => {
                let answer = self.waiting(&request);
                return Box::pin(async { Ok(answer) });
            }
        };
        Box::pin(routes.oneshot(request))
    }
}

/// Answers requests for paths and services that there are not.
pub(crate) async fn not_found(request: Request) -> Response {
    if grpc::is_grpc(request.headers()) {
        return Status::unimplemented(
            "this server does not offer the service: check that its address is that of the right Callgrove server",
        )
        .into_http();
    }
    let message = format!(
        "there is nothing at {}; GET /api/health shows whether this is the right server",
        request.uri().path()
    );
    ApiError::new(StatusCode::NOT_FOUND, message).into_response()
}
