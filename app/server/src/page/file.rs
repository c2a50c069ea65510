//! One file of the page, and its answers.

use std::io::Read as _;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use callgrove_model::hex;
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use super::encoding::Encoding;
use crate::api::ApiError;

/// Maximum size of an unpacked file.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file of the page in its compressed forms.
#[derive(Clone, Debug)]
pub struct PageFile {
    /// Name of the file, which is also its path on the server.
    pub name: String,
    /// Content, compressed by brotli.
    pub brotli: Bytes,
    /// The same content, compressed by gzip.
    pub gzip: Bytes,
}

/// A file that is ready to be served.
#[derive(Clone)]
pub(super) struct ServedFile(Arc<Served>);

struct Served {
    file: PageFile,
    kind: &'static str,
    /// The entity tag, which changes with the content.
    tag: String,
    caching: &'static str,
}

impl PageFile {
    /// Adds the headers of its answers. The file named `index` is revalidated on each load; the others have their hash
    /// in their name.
    pub(super) fn served(self, index: &str) -> ServedFile {
        let tag = hex(&Sha256::digest(&self.gzip)[..12]);
        let is_index = self.name == index;
        ServedFile(Arc::new(Served {
            kind: kind_of(&self.name),
            tag,
            caching: if is_index {
                "no-cache"
            } else {
                "private, max-age=31536000, immutable"
            },
            file: self,
        }))
    }
}

impl ServedFile {
    pub(super) fn name(&self) -> &str {
        &self.0.file.name
    }

    /// Answers with the file in the best encoding that the client accepts, or with 304 if the client has it already.
    pub(super) fn answer(&self, request: &HeaderMap) -> Response {
        let Served {
            file,
            kind,
            tag,
            caching,
        } = &*self.0;
        let Some(encoding) = Encoding::of(request) else {
            let message =
                "the page is available unencoded, with gzip or with brotli: accept one of them";
            return ApiError::new(StatusCode::NOT_ACCEPTABLE, message).into_response();
        };
        let form = encoding.name().unwrap_or("plain");
        let tag = format!("\"{tag}-{form}\"");
        let about = [
            (header::ETAG, tag.as_str()),
            (header::CACHE_CONTROL, caching),
            (header::VARY, "Accept-Encoding"),
        ];
        if knows(request, &tag) {
            return (StatusCode::NOT_MODIFIED, about).into_response();
        }
        let content = match encoding {
            Encoding::Brotli => file.brotli.clone(),
            Encoding::Gzip => file.gzip.clone(),
            Encoding::Identity => match unpacked(&file.gzip) {
                Ok(content) => content.into(),
                Err(error) => return ApiError::defect(&error).into_response(),
            },
        };
        let kind = [(header::CONTENT_TYPE, *kind)];
        let mut response = (about, kind, Body::from(content)).into_response();
        if let Some(name) = encoding.name() {
            response.headers_mut().insert(
                header::CONTENT_ENCODING,
                header::HeaderValue::from_static(name),
            );
        }
        response
    }
}

/// Returns whether the client has the content with a tag (RFC 9110, section 13.1.2).
fn knows(request: &HeaderMap, tag: &str) -> bool {
    let known = request.get_all(header::IF_NONE_MATCH).iter();
    known
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|known| known.trim().trim_start_matches("W/"))
        .any(|known| known == tag || known == "*")
}

pub(super) fn unpacked(gzip: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    GzDecoder::new(gzip)
        .take(MAX_FILE_BYTES)
        .read_to_end(&mut content)?;
    Ok(content)
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        Some("json" | "jsonl") => "application/json",
        _ => "application/octet-stream",
    }
}
