//! Access control: checks the token of every request, and on servers without a token the host name that the client
//! used. Requests from pages of other sites are refused.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header, uri::Authority};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tonic::Status;

use crate::api::ApiError;
use crate::connection::admission::Admission;
use crate::token::Token;
use crate::{cookie, grpc, monitoring, page};

/// The settings that requests are checked against.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) token: Option<Token>,
    /// The token of the page's address; not valid for gRPC calls.
    pub(crate) page_token: Option<Token>,
    /// True if browsers may send their cookie over TLS only.
    pub(crate) is_tls: bool,
    /// Maximum number of connections with a valid request.
    pub(crate) max_connections: usize,
    /// Timeout of a request that waits for a connection slot.
    pub(crate) slot_timeout: Duration,
}

/// Passes on a request that has the token, in its header or as a browser's cookie, and answers others with 401. For
/// servers without a token, see [`calls_this_machine`]. Requests from pages of other sites are always refused.
///
/// The check runs before every route, gRPC and JSON, known or not: without the token a client learns only that the
/// server runs, and whether it is ready.
pub(crate) async fn check_token(
    State(gate): State<Gate>,
    request: Request,
    next: Next,
) -> Response {
    if monitoring::is_probe(&request) {
        // Not admitted: the connection keeps its deadline, and may be closed in favour of others like any without the
        // token.
        return next.run(request).await;
    }
    if let Some(sent) = cookie::token_in_address(request.uri())
        && let Some(token) = gate.tokens(&request).find(|it| it.matches(sent.as_bytes()))
    {
        if let Err(full) = gate.admit(admission(&request)).await {
            return refuse(&request, StatusCode::SERVICE_UNAVAILABLE, &full);
        }
        return page::with_security_headers(cookie::exchange(token, request.uri(), gate.is_tls))
            .await;
    }
    let refusal = if is_cross_origin(&request) {
        Some((
            StatusCode::FORBIDDEN,
            "this server accepts requests from its own pages only: open its address in the browser directly",
        ))
    } else {
        match &gate.token {
            Some(_)
                if !gate
                    .tokens(&request)
                    .any(|it| has_token(request.headers(), it)) =>
            {
                Some((
                    StatusCode::UNAUTHORIZED,
                    "this server requires its token with every request: send the header `authorization: Bearer TOKEN` (the \
                 token is in the server's --token-file or its CALLGROVE_TOKEN, else in ~/.config/callgrove/token of the user \
                 that started it), or open ADDRESS/?token=TOKEN, as `callgrove serve` prints it, in a browser that takes its \
                 cookie",
                ))
            }
            None if !calls_this_machine(&request) => Some((
                StatusCode::FORBIDDEN,
                "without a token this server accepts requests for `localhost` and loopback addresses only: use one of them, or \
                 start it with --token-file",
            )),
            _ => None,
        }
    };
    if let Some((status, message)) = refusal {
        return refuse(&request, status, message);
    }
    if let Err(full) = gate.admit(admission(&request)).await {
        return refuse(&request, StatusCode::SERVICE_UNAVAILABLE, &full);
    }
    next.run(request).await
}

/// Returns the admission of the request's connection; `None` for a request of this process.
fn admission(request: &Request) -> Option<Admission> {
    request.extensions().get::<Admission>().cloned()
}

impl Gate {
    /// Returns the tokens that admit a request.
    fn tokens<'a>(&'a self, request: &Request) -> impl Iterator<Item = &'a Token> + use<'a> {
        let page_token = self.page_token.as_ref();
        let page_token = page_token.filter(|_| !grpc::is_method(request.uri().path()));
        self.token.iter().chain(page_token)
    }

    /// Admits a connection, which may have to wait for a slot. The error states why it cannot be admitted.
    async fn admit(&self, admission: Option<Admission>) -> Result<(), String> {
        match admission {
            Some(admission) if !admission.admit(self.slot_timeout).await => Err(format!(
                "all {} connections of the server are in use: start it with a larger --max-connections (and allow it as \
                 many open files, `ulimit -n`), or let an AD instance read more ranks",
                self.max_connections
            )),
            _ => Ok(()),
        }
    }
}

fn refuse(request: &Request, status: StatusCode, message: &str) -> Response {
    if grpc::is_grpc(request.headers()) {
        let status = match status {
            StatusCode::UNAUTHORIZED => Status::unauthenticated(message),
            StatusCode::SERVICE_UNAVAILABLE => Status::unavailable(message),
            _ => Status::permission_denied(message),
        };
        return status.into_http();
    }
    let mut response = ApiError::new(status, message).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let bearer = header::HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, bearer);
    }
    response
}

fn has_token(headers: &HeaderMap, token: &Token) -> bool {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return cookie::has_cookie(headers, token);
    };
    let value = value.as_bytes();
    value
        .split_at_checked(b"bearer ".len())
        .is_some_and(|(scheme, sent)| {
            scheme.eq_ignore_ascii_case(b"bearer ") && token.matches(sent.trim_ascii())
        })
}

/// Returns the server's host name in the request.
fn host_of(request: &Request) -> Option<&str> {
    let named = request.uri().authority().map(Authority::as_str);
    named.or_else(|| {
        let host = request.headers().get(header::HOST)?;
        Some(host.to_str().unwrap_or("?"))
    })
}

/// Returns whether a browser sends the request for a page of another origin. Browsers always state the origin when they
/// send data or open a WebSocket; other clients never do.
fn is_cross_origin(request: &Request) -> bool {
    let Some(origin) = request.headers().get(header::ORIGIN) else {
        return false;
    };
    let origin = origin.to_str().unwrap_or("?");
    let site = origin.split_once("://").map(|(_, site)| site);
    site.is_none_or(|site| host_of(request).is_none_or(|own| !own.eq_ignore_ascii_case(site)))
}

/// Returns whether the client reached the server by a loopback name. A page of another site can make a browser connect
/// to this machine under the site's own name (DNS rebinding), which is not a loopback name.
fn calls_this_machine(request: &Request) -> bool {
    host_of(request).is_none_or(is_loopback_name)
}

fn is_loopback_name(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else {
        return false;
    };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_this_machine() {
        for own in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:7880",
            "[::1]:7880",
            "127.1.2.3",
        ] {
            assert!(is_loopback_name(own), "{own}");
        }
        for foreign in [
            "example.org",
            "localhost.example.org:80",
            "10.0.0.1",
            "",
            "127.0.0.1.nip.io",
        ] {
            assert!(!is_loopback_name(foreign), "{foreign}");
        }
    }

    #[test]
    fn the_scheme_is_case_insensitive_and_others_are_refused() {
        let token = Token::new("0123456789abcdef", "the test").unwrap();
        let sent = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(
                header::AUTHORIZATION,
                header::HeaderValue::from_static(value),
            );
            has_token(&headers, &token)
        };
        assert!(sent("Bearer 0123456789abcdef"));
        assert!(sent("bearer  0123456789abcdef"));
        assert!(!sent("Basic 0123456789abcdef"));
        assert!(!sent("0123456789abcdef"));
        assert!(!sent("Bearer"));
    }

    #[test]
    fn pages_of_other_origins_are_detected() {
        let from = |origin: &str, host: &str| {
            let request = Request::builder()
                .header(header::ORIGIN, origin)
                .header(header::HOST, host)
                .body(axum::body::Body::empty());
            is_cross_origin(&request.unwrap())
        };
        assert!(!from("http://127.0.0.1:7880", "127.0.0.1:7880"));
        assert!(!from("https://head.cluster", "head.cluster"));
        for (origin, host) in [
            ("http://evil.example", "127.0.0.1:7880"),
            ("http://127.0.0.1:7881", "127.0.0.1:7880"),
            ("http://localhost:7880", "127.0.0.1:7880"),
            ("null", "127.0.0.1:7880"),
        ] {
            assert!(from(origin, host), "{origin}");
        }
        assert!(!is_cross_origin(&Request::default()));
    }
}
