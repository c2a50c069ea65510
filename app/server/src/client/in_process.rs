//! An interface in this process: its routes are called directly, without a network.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Method, Request, header};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

pub(super) struct InProcessApi {
    routes: Router,
    runtime: Runtime,
}

impl InProcessApi {
    pub(super) fn new(routes: Router) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        Ok(Self { routes, runtime })
    }

    /// Answers a request with its status and at most `max_bytes` of its body.
    pub(super) fn ask(
        &self,
        method: Method,
        path: &str,
        json: Vec<u8>,
        max_bytes: usize,
    ) -> Result<(u16, Bytes), String> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(json))
            .map_err(|error| error.to_string())?;
        let routes = self.routes.clone();
        self.runtime.block_on(async move {
            let answer = routes.oneshot(request).await;
            let answer = answer.unwrap_or_else(|never| match never {});
            let (head, body) = answer.into_parts();
            let body = to_bytes(body, max_bytes).await;
            Ok((
                head.status.as_u16(),
                body.map_err(|error| error.to_string())?,
            ))
        })
    }
}
