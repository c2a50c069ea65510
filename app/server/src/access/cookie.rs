//! The exchange of a token in a page's address for a cookie.
//!
//! Addresses are kept in histories and shown on screens, so the token is removed from the address at once. The cookie
//! proves that its browser had the token, without containing it; no script can read it, and pages of other sites cannot
//! send it.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, HeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use callgrove_access::Token;
use callgrove_model::{percent_decoded, percent_encoded};

/// Name of the address parameter.
const PARAMETER: &str = "token";
/// Number of digits of the proof in a cookie's name. Browsers distinguish cookies of servers on one host by name only,
/// not by port.
const NAME_DIGITS: usize = 12;

/// Returns the decoded token in the address of a request.
pub(super) fn token_in_address(uri: &Uri) -> Option<String> {
    let query = uri.query()?;
    let mut parameters = query.split('&').filter_map(|it| it.split_once('='));
    let (_, value) = parameters.find(|(name, _)| *name == PARAMETER)?;
    decode(value)
}

/// Returns the address of the page at `base`, with a token in it.
pub fn address_with_token(base: &str, token: &Token) -> String {
    let secret = percent_encoded(token.secret().as_bytes(), |byte| {
        byte.is_ascii_alphanumeric()
    });
    format!("{}/?{PARAMETER}={secret}", base.trim_end_matches('/'))
}

/// Sets the cookie with the proof of a token, and sends the browser to the same address without the token. A page with a refresh is used, since
/// after a link from another site browsers would not send the cookie along with a redirect.
pub(super) fn exchange(proof: &str, uri: &Uri, is_tls: bool) -> Response {
    let (name, value) = cookie_of(proof);
    let secure = if is_tls { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}");
    let target = without_token(uri);
    let html = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={target}\">\
         <link rel=\"icon\" href=\"data:,\"><title>Callgrove</title><p><a href=\"{target}\">Callgrove</a>"
    );
    let mut response = (StatusCode::OK, html).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => {
            headers.insert(SET_COOKIE, cookie);
            response
        }
        Err(error) => crate::api::ApiError::defect(&error).into_response(),
    }
}

/// Returns whether the browser has the cookie with a proof.
pub(super) fn has_cookie(headers: &HeaderMap, proof: &str) -> bool {
    let (name, value) = cookie_of(proof);
    let cookies = headers.get_all(COOKIE).iter();
    cookies
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .any(|(known, sent)| known == name && Token::proves(sent, value))
}

fn cookie_of(proof: &str) -> (String, &str) {
    let (name, value) = proof.split_at(NAME_DIGITS);
    (format!("callgrove-{name}"), value)
}

/// Returns path and query without the token, escaped for HTML.
fn without_token(uri: &Uri) -> String {
    let kept = uri.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = kept
        .filter(|it| !it.is_empty() && it.split_once('=').is_none_or(|(name, _)| name != PARAMETER))
        .collect();
    // A path that begins with two slashes would name another host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    let target = if kept.is_empty() {
        path
    } else {
        format!("{path}?{}", kept.join("&"))
    };
    target
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

/// Undoes percent-encoding; `None` if it is malformed.
fn decode(text: &str) -> Option<String> {
    let (bytes, is_whole) = percent_decoded(text);
    String::from_utf8(bytes).ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(secret: &str) -> Token {
        Token::new(secret, "the test").unwrap()
    }

    fn sent(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, cookie.parse().unwrap());
        headers
    }

    #[test]
    fn any_token_survives_an_address() {
        for secret in [
            "0123456789abcdef",
            "a&b=c#d%e+f/g?h\"i<j>",
            "%%%%%%%%%%%%%%%%",
        ] {
            let address = address_with_token("http://127.0.0.1:7880", &token(secret));
            let uri: Uri = address.parse().unwrap();
            assert_eq!(token_in_address(&uri).as_deref(), Some(secret), "{address}");
        }
        for damaged in ["/?token=%4", "/?token=%zz", "/?token=%ff", "/", "/?other=1"] {
            assert_eq!(
                token_in_address(&damaged.parse().unwrap()),
                None,
                "{damaged}"
            );
        }
    }

    #[test]
    fn the_cookie_is_accepted_for_its_token_only() {
        let (own, other) = (token("0123456789abcdef"), token("fedcba9876543210"));
        let uri: Uri = "/?token=0123456789abcdef".parse().unwrap();
        let given = exchange(&own.proof(), &uri, true);
        let cookie = given.headers()[SET_COOKIE].to_str().unwrap().to_owned();
        assert!(!cookie.contains(own.secret()), "{cookie}");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"));
        let (pair, _) = cookie.split_once(';').unwrap();
        assert!(has_cookie(
            &sent(&format!("theme=dark; {pair}")),
            &own.proof()
        ));
        assert!(!has_cookie(&sent(pair), &other.proof()));
        assert!(!has_cookie(&sent(&pair[..pair.len() - 1]), &own.proof()));
        assert!(!has_cookie(&HeaderMap::new(), &own.proof()));
    }

    #[test]
    fn the_token_is_removed_from_the_address() {
        for (address, target) in [
            ("/?token=abc", "/"),
            ("/?a=1&token=abc&b=2", "/?a=1&amp;b=2"),
            ("//evil.example/?token=abc", "/evil.example/"),
            ("/?token=abc&a=\"x\"", "/?a=&quot;x&quot;"),
        ] {
            let Ok(uri) = address.parse() else { continue };
            assert_eq!(without_token(&uri), target, "{address}");
        }
    }
}
