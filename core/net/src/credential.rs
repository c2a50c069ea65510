//! The token of a client, and the servers that may see it.

use std::fmt;
use std::net::IpAddr;

use tonic::codegen::http::Uri;

use crate::listener_owner::{ListenerOwner, owner_of_listener};

/// A token and the rule for which servers it may be sent to.
#[derive(Clone)]
pub struct Credential {
    token: Option<String>,
    is_explicit: bool,
}

impl Credential {
    /// Returns the token that a person passed for this server. It is sent to that server on any machine.
    pub fn explicit(token: impl Into<String>) -> Self {
        Self {
            token: Some(token.into()),
            is_explicit: true,
        }
    }

    /// Returns the token in the user's own folder, if there is one. It is sent over TLS, and on this machine to servers
    /// of the same user. A server of another user of this machine is refused with and without a token, because it could
    /// have taken the port before the user's own server started.
    pub fn of_user(token: Option<String>) -> Self {
        Self {
            token,
            is_explicit: false,
        }
    }

    /// Returns the token to send to the server at a URL.
    ///
    /// # Errors
    /// As text, if the server belongs to another user of this machine.
    pub fn for_server(&self, url: &Uri) -> Result<Option<&str>, String> {
        if self.is_explicit {
            return Ok(self.token.as_deref());
        }
        match owner_of_server(url)? {
            ListenerOwner::ThisUser | ListenerOwner::Unknown => Ok(self.token.as_deref()),
            ListenerOwner::Absent => Ok(None),
        }
    }

    /// Returns the token to send after [`owner_of_server`] has passed, for clients that connect later.
    pub(crate) fn after_check(&self, url: &Uri) -> Option<&str> {
        let is_sent = self.is_explicit || is_encrypted(url) || loopback_port(url).is_some();
        self.token.as_deref().filter(|_| is_sent)
    }

    /// Returns whether each connection to the URL must be checked by [`owner_of_server`].
    pub(crate) fn needs_check(&self, url: &Uri) -> bool {
        !self.is_explicit && !is_encrypted(url) && loopback_port(url).is_some()
    }
}

/// Returns the owner of the server that listens at a URL. A server on another machine is [`ListenerOwner::Absent`].
///
/// # Errors
/// As text, if the server belongs to another user of this machine.
pub(crate) fn owner_of_server(url: &Uri) -> Result<ListenerOwner, String> {
    if is_encrypted(url) {
        return Ok(ListenerOwner::Unknown);
    }
    match loopback_port(url) {
        Some(port) => owner_of_listener(port),
        None => Ok(ListenerOwner::Absent),
    }
}

impl fmt::Debug for Credential {
    /// Omits the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("has_token", &self.token.is_some())
            .field("is_explicit", &self.is_explicit)
            .finish()
    }
}

/// Returns whether the server proves its identity by a certificate.
fn is_encrypted(url: &Uri) -> bool {
    url.scheme_str() == Some("https")
}

/// Returns the port if the host is a loopback address.
fn loopback_port(url: &Uri) -> Option<u16> {
    let host = url.host()?.trim_matches(['[', ']']);
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.to_canonical().is_loopback());
    is_loopback.then(|| url.port_u16().unwrap_or(80))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn url(text: &str) -> Uri {
        text.parse().expect(text)
    }

    #[test]
    fn an_explicit_token_is_sent_to_every_server() {
        let explicit = Credential::explicit("secret-of-the-site");
        for server in [
            "http://node7:5559",
            "https://node7:5559",
            "http://localhost:9",
        ] {
            let sent = explicit.for_server(&url(server)).expect(server);
            assert_eq!(sent, Some("secret-of-the-site"), "{server}");
            assert!(!explicit.needs_check(&url(server)));
        }
    }

    #[test]
    fn the_users_token_is_sent_to_own_servers_and_over_tls() {
        let own = Credential::of_user(Some("secret-of-the-user".to_owned()));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        for (server, is_sent) in [
            (format!("http://127.0.0.1:{port}"), true),
            (format!("http://localhost:{port}"), true),
            ("https://node7:5559".to_owned(), true),
            ("http://node7:5559".to_owned(), false),
            ("http://10.0.0.1:5559".to_owned(), false),
        ] {
            let server = url(&server);
            let sent = own.for_server(&server).expect("no other user");
            assert_eq!(sent.is_some(), is_sent, "{server}");
            assert_eq!(own.after_check(&server).is_some(), is_sent, "{server}");
        }
        assert!(own.needs_check(&url(&format!("http://[::1]:{port}"))));
        assert!(!own.needs_check(&url("https://localhost:1")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_token_is_sent_to_a_port_without_a_server() {
        let own = Credential::of_user(Some("secret-of-the-user".to_owned()));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let server = url(&format!("http://127.0.0.1:{port}"));
        assert_eq!(own.for_server(&server), Ok(None));
    }

    #[test]
    fn a_token_is_not_printed() {
        let credential = Credential::explicit("secret-of-the-site");
        assert!(!format!("{credential:?}").contains("secret-of-the-site"));
    }
}
