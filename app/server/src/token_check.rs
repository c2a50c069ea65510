//! Who may pass: the token of every request, and for servers without one, the name that the client called.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header, uri::Authority};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::Notify;
use tonic::Status;

use crate::Token;
use crate::api::ApiError;
use crate::grpc;

/// Told once a request on this connection has passed; an extension of each request.
#[derive(Clone, Default)]
pub(crate) struct Admission(pub(crate) Arc<Notify>);

/// Lets a request pass that has the token, or answers 401; without a token, see [`calls_this_machine`].
///
/// It stands before every route, gRPC and JSON, known or not: a stranger learns nothing.
pub(crate) async fn check_token(
    State(token): State<Option<Token>>,
    request: Request,
    next: Next,
) -> Response {
    let refusal = match &token {
        Some(token) if !bears(request.headers(), token) => Some((
            StatusCode::UNAUTHORIZED,
            "this server wants its token with every request: send the header `authorization: Bearer TOKEN` (the \
             token is in the server's --token-file or its CALLGROVE_TOKEN)",
        )),
        None if !calls_this_machine(&request) => Some((
            StatusCode::FORBIDDEN,
            "without a token this server answers only to `localhost` and loopback addresses: call it by one of them, or \
             start it with --token-file",
        )),
        _ => None,
    };
    if let Some((status, message)) = refusal {
        return refuse(&request, status, message);
    }
    if let Some(admission) = request.extensions().get::<Admission>() {
        admission.0.notify_one();
    }
    next.run(request).await
}

fn refuse(request: &Request, status: StatusCode, message: &str) -> Response {
    if grpc::is_grpc(request.headers()) {
        let status = match status {
            StatusCode::UNAUTHORIZED => Status::unauthenticated(message),
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

fn bears(headers: &HeaderMap, token: &Token) -> bool {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return false;
    };
    let value = value.as_bytes();
    value
        .split_at_checked(b"bearer ".len())
        .is_some_and(|(scheme, sent)| {
            scheme.eq_ignore_ascii_case(b"bearer ") && token.matches(sent.trim_ascii())
        })
}

/// Whether the client called the server by a loopback name. A page of a foreign site can make a browser connect to this
/// machine under the site's own name (DNS rebinding); that name gives it away.
fn calls_this_machine(request: &Request) -> bool {
    let named = request
        .uri()
        .authority()
        .map(Authority::as_str)
        .or_else(|| {
            let host = request.headers().get(header::HOST)?;
            Some(host.to_str().unwrap_or("?"))
        });
    named.is_none_or(is_loopback_name)
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
    fn the_scheme_is_read_in_any_case_and_others_are_refused() {
        let token = Token::new("0123456789abcdef", "the test").unwrap();
        let sent = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(
                header::AUTHORIZATION,
                header::HeaderValue::from_static(value),
            );
            bears(&headers, &token)
        };
        assert!(sent("Bearer 0123456789abcdef"));
        assert!(sent("bearer  0123456789abcdef"));
        assert!(!sent("Basic 0123456789abcdef"));
        assert!(!sent("0123456789abcdef"));
        assert!(!sent("Bearer"));
    }
}
