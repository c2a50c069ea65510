//! The page: Callgrove in a browser, from the bundle that `cargo xtask web` builds.
//!
//! All files of the page are in memory, compressed beforehand. Every file but `index.html` has a part of its hash in
//! its name, so browsers cache it for good. A session on the server has a separate path.

mod encoding;
mod error;
mod file;
mod folder;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;

pub use error::PageError;
pub use file::PageFile;
pub use folder::folder_files;

/// The file that is served at the root path.
const INDEX: &str = "index.html";

/// The content security policy: the page may run our scripts and WebAssembly, and connect to this server. The icon of
/// an open run is drawn by the page itself, as a `data:` image.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page that consists of `files`.
///
/// # Errors
/// If there are no files, or no index.
pub fn router(files: Vec<PageFile>) -> Result<Router, PageError> {
    if files.is_empty() {
        return Err(PageError::Missing);
    }
    if !files.iter().any(|file| file.name == INDEX) {
        return Err(PageError::NoIndex);
    }
    let mut routes = Router::new();
    for file in files {
        let file = file.served(INDEX);
        let paths = [
            Some(format!("/{}", file.name())),
            (file.name() == INDEX).then(|| "/".to_owned()),
        ];
        for path in paths.into_iter().flatten() {
            let file = file.clone();
            routes = routes.route(
                &path,
                get(move |headers: axum::http::HeaderMap| async move { file.answer(&headers) }),
            );
        }
    }
    Ok(routes.layer(map_response(with_security_headers)))
}

/// Adds headers that protect the page, and keep its address, which may hold the token, from other sites.
pub(crate) async fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            header::HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
