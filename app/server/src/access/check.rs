//! The check of every request: its token and role, and on servers without a token the host name that the client used.
//! Requests from pages of other sites are refused.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header, uri::Authority};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tonic::Status;

use super::cookie;
use super::members::{Access, Members, TokenHolder};
use super::requirements::least_role;
use super::revocable_body::RevocableBody;
use crate::api::ApiError;
use crate::connection::admission::Admission;
use crate::{grpc, monitoring, page};

/// The path that is answered with the uses of all tokens.
const TOKENS_PATH: &str = "/api/tokens";

/// The settings that requests are checked against.
#[derive(Clone)]
pub(crate) struct Gate {
    /// `None` if the server requires no token.
    pub(crate) members: Option<Members>,
    /// True if browsers may send their cookie over TLS only.
    pub(crate) is_tls: bool,
    /// Maximum number of connections with a valid request.
    pub(crate) max_connections: usize,
    /// Timeout of a request that waits for a connection slot.
    pub(crate) slot_timeout: Duration,
}

/// A request that has passed the check.
enum Passed {
    /// It has a token in its address, to be exchanged for a cookie.
    Exchange(Arc<TokenHolder>),
    Member(Arc<TokenHolder>),
    /// The server requires no token.
    WithoutToken,
}

/// The answer to a request that does not pass.
struct Refusal(StatusCode, String);

/// Passes on a request whose token, in its header or as a browser's cookie, allows it, and answers others with 401
/// (without a valid token) or 403 (without the role). For servers without a token, see [`calls_this_machine`]. Requests
/// from pages of other sites are always refused.
///
/// The check runs before every route, gRPC and JSON, known or not: without the token a client learns only that the
/// server runs, and whether it is ready.
pub(crate) async fn check_access(
    State(gate): State<Gate>,
    request: Request,
    next: Next,
) -> Response {
    if monitoring::is_probe(&request) {
        // Not admitted: the connection keeps its deadline, and may be closed in favour of others like any without the
        // token.
        return next.run(request).await;
    }
    let mut checked = gate.check(&request);
    if let Some(members) = &gate.members
        && checked.is_err()
        && states_token(&request)
    {
        // The token may be a new one of the list.
        members.refresh().await;
        checked = gate.check(&request);
    }
    let passed = match checked {
        Ok(passed) => passed,
        Err(refusal) => return refusal.answer(grpc::is_grpc(request.headers())),
    };
    if let Err(full) = gate.admit(admission(&request)).await {
        let full = Refusal(StatusCode::SERVICE_UNAVAILABLE, full);
        return full.answer(grpc::is_grpc(request.headers()));
    }
    match passed {
        Passed::Exchange(member) => {
            member.enter();
            let answer = cookie::exchange(member.proof(), request.uri(), gate.is_tls);
            page::with_security_headers(answer).await
        }
        Passed::Member(member) => gate.pass_on(&member, request, next).await,
        Passed::WithoutToken => run_with(Access::without_token(), request, next).await,
    }
}

/// Returns the admission of the request's connection; `None` for a request of this process.
fn admission(request: &Request) -> Option<Admission> {
    request.extensions().get::<Admission>().cloned()
}

/// Returns whether a request states a token, right or wrong.
fn states_token(request: &Request) -> bool {
    let is_stated = request.headers().contains_key(header::AUTHORIZATION);
    is_stated || cookie::token_in_address(request.uri()).is_some()
}

async fn run_with(access: Access, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(access);
    next.run(request).await
}

impl Gate {
    fn check(&self, request: &Request) -> Result<Passed, Refusal> {
        let (method, uri) = (request.method(), request.uri());
        let is_grpc = grpc::is_method(uri.path());
        if let Some(members) = &self.members
            && let Some(token) = cookie::token_in_address(uri)
            && let Some(member) = members.with_token(token.as_bytes(), is_grpc)
        {
            return Ok(Passed::Exchange(member));
        }
        if is_cross_origin(request) {
            return Err(forbidden(
                "this server accepts requests from its own pages only: open its address in the browser directly",
            ));
        }
        let Some(members) = &self.members else {
            return if calls_this_machine(request) {
                Ok(Passed::WithoutToken)
            } else {
                Err(forbidden(
                    "without a token this server accepts requests for `localhost` and loopback addresses only: use one of \
                     them, or start it with --token-file",
                ))
            };
        };
        let member = members.with_headers(request.headers(), is_grpc);
        let member = member.ok_or_else(|| {
            unauthorized(
                "this server requires a token with every request: send the header `authorization: Bearer TOKEN` (the token is \
                 in the server's --token-file or its CALLGROVE_TOKEN, else in ~/.config/callgrove/token of the user that \
                 started it), or open ADDRESS/?token=TOKEN, as `callgrove serve` prints it, in a browser that takes its \
                 cookie",
            )
        })?;
        let least = least_role(method, uri.path());
        if member.role() < least {
            let (name, role) = (member.name(), member.role());
            return Err(forbidden(&format!(
                "this needs the role `{least}`, and the token `{name}` has the role `{role}`: ask for a token with that role \
                 (`callgrove token add FILE NAME --role {least}`)"
            )));
        }
        Ok(Passed::Member(member))
    }

    /// Passes on a request. If its token is revoked meanwhile, the request ends, and so does what it has open.
    async fn pass_on(&self, member: &TokenHolder, request: Request, next: Next) -> Response {
        let mut access = member.enter();
        if let Some(members) = &self.members
            && request.uri().path() == TOKENS_PATH
            && request.method() == Method::GET
        {
            return Json(members.uses()).into_response();
        }
        if !access.can_end() {
            return run_with(access, request, next).await;
        }
        let is_grpc = grpc::is_grpc(request.headers());
        let of_body = access.clone();
        tokio::select! {
            answer = run_with(access.clone(), request, next) => {
                answer.map(|body| Body::new(RevocableBody::new(body, of_body)))
            }
            () = access.ended() => unauthorized("the token was revoked").answer(is_grpc),
        }
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

fn forbidden(message: &str) -> Refusal {
    Refusal(StatusCode::FORBIDDEN, message.to_owned())
}

fn unauthorized(message: &str) -> Refusal {
    Refusal(StatusCode::UNAUTHORIZED, message.to_owned())
}

impl Refusal {
    fn answer(self, is_grpc: bool) -> Response {
        let Self(status, message) = self;
        if is_grpc {
            let status = match status {
                StatusCode::UNAUTHORIZED => Status::unauthenticated(message),
                StatusCode::SERVICE_UNAVAILABLE => Status::unavailable(message),
                _ => Status::permission_denied(message),
            };
            return status.into_http();
        }
        let mut response = ApiError::new(status, message).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
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
