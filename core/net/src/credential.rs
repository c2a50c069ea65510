//! The token of a client, and the servers that may see it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::sync::{Arc, OnceLock};

use tonic::codegen::http::Uri;

use crate::listener_owner::{ListenerOwner, owner_of_listener};

/// User id of root, who can read every token of the machine anyway.
const ROOT: u32 = 0;

/// A token and the rule for which servers it may be sent to.
#[derive(Clone)]
pub struct Credential {
    token: Arc<OnceLock<String>>,
    /// Looks for a missing token.
    find: Option<fn() -> Option<String>>,
    is_explicit: bool,
    /// Another user of this machine whose servers are trusted.
    server_user: Option<u32>,
}

impl Credential {
    /// Returns the token that a person passed for this server. It is sent to that server on any machine. A server of
    /// another user of this machine is refused, because it could have taken the port before the right server started.
    pub fn explicit(token: impl Into<String>) -> Self {
        Self {
            token: Arc::new(OnceLock::from(token.into())),
            find: None,
            is_explicit: true,
            server_user: None,
        }
    }

    /// Returns the token in the user's own folder, if there is one. It is sent over TLS, and on this machine to servers
    /// of the same user. A server of another user of this machine is refused with and without a token.
    pub fn of_user(token: Option<String>) -> Self {
        Self {
            token: Arc::new(token.map_or_else(OnceLock::new, OnceLock::from)),
            find: None,
            is_explicit: false,
            server_user: None,
        }
    }

    /// Returns the token in the user's own folder, as [`Credential::of_user`], if the first server of the account has yet
    /// to make it: each request calls `find` until there is one.
    pub fn awaited(find: fn() -> Option<String>) -> Self {
        Self {
            find: Some(find),
            ..Self::of_user(None)
        }
    }

    fn token(&self) -> Option<&str> {
        if self.token.get().is_none()
            && let Some(token) = self.find.and_then(|find| find())
        {
            // Another thread may have found it first.
            self.token.get_or_init(|| token);
        }
        self.token.get().map(String::as_str)
    }

    /// Also trusts the servers of another user of this machine.
    #[must_use]
    pub fn trusting(mut self, user: Option<u32>) -> Self {
        self.server_user = user;
        self
    }

    /// Returns the other user of this machine whose servers are trusted.
    pub fn server_user(&self) -> Option<u32> {
        self.server_user
    }

    /// Returns the same rule for a token that a person entered for this server.
    #[must_use]
    pub fn with_entered(&self, token: impl Into<String>) -> Self {
        Self::explicit(token).trusting(self.server_user)
    }

    /// Returns the token to send to the server at a URL. Looks up the host, if it is a name.
    ///
    /// # Errors
    /// As text, if the server belongs to another user of this machine.
    pub fn for_server(&self, url: &Uri) -> Result<Option<&str>, String> {
        let owner = if is_encrypted(url) {
            ListenerOwner::Unknown
        } else {
            self.owner_of_any(&addresses(url))?
        };
        Ok(self.token().filter(|_| match owner {
            ListenerOwner::Trusted | ListenerOwner::Unknown => true,
            ListenerOwner::OtherMachine => self.is_explicit,
            ListenerOwner::Absent => false,
        }))
    }

    /// Returns the token to send after [`owner_of_server`](Self::owner_of_server) has passed, for clients that connect
    /// later.
    pub(crate) fn after_check(&self, url: &Uri) -> Option<&str> {
        let is_sent = self.is_explicit || is_encrypted(url) || is_loopback(url);
        self.token().filter(|_| is_sent)
    }

    /// Returns the owner of the server at the other end of a connection.
    ///
    /// # Errors
    /// As text, if the server belongs to another user of this machine.
    pub(crate) fn owner_of_server(
        &self,
        local: SocketAddr,
        peer: SocketAddr,
    ) -> Result<ListenerOwner, String> {
        if local.ip() == peer.ip() || peer.ip().to_canonical().is_loopback() {
            owner_of_listener(peer, &self.trusted())
        } else {
            Ok(ListenerOwner::OtherMachine)
        }
    }

    fn owner_of_any(&self, addresses: &[SocketAddr]) -> Result<ListenerOwner, String> {
        let mut owner = ListenerOwner::OtherMachine;
        for &address in addresses {
            if let Some(local) = local_end(address) {
                match self.owner_of_server(local, address)? {
                    ListenerOwner::OtherMachine => {}
                    ListenerOwner::Absent if owner != ListenerOwner::OtherMachine => {}
                    found => owner = found,
                }
            }
        }
        Ok(owner)
    }

    /// Returns the other users of this machine whose servers may have the token.
    fn trusted(&self) -> Vec<u32> {
        let root = self.is_explicit.then_some(ROOT);
        root.into_iter().chain(self.server_user).collect()
    }
}

/// Returns whether the server of a URL proves its identity by a certificate.
pub(crate) fn is_encrypted(url: &Uri) -> bool {
    url.scheme_str() == Some("https")
}

fn is_loopback(url: &Uri) -> bool {
    let host = host_of(url);
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

fn host_of(url: &Uri) -> &str {
    url.host().unwrap_or_default().trim_matches(['[', ']'])
}

/// Returns the addresses of the server of a URL; none if its name is unknown, so that it cannot be reached either.
fn addresses(url: &Uri) -> Vec<SocketAddr> {
    let address = (host_of(url), url.port_u16().unwrap_or(80));
    address.to_socket_addrs().into_iter().flatten().collect()
}

/// Returns the end at this machine of a connection to an address, without connecting.
fn local_end(address: SocketAddr) -> Option<SocketAddr> {
    let any: IpAddr = if address.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    // A datagram socket that is connected sends nothing.
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(address).ok()?;
    socket.local_addr().ok()
}

impl fmt::Debug for Credential {
    /// Omits the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("has_token", &self.token.get().is_some())
            .field("is_explicit", &self.is_explicit)
            .field("server_user", &self.server_user)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn url(text: &str) -> Uri {
        text.parse().expect(text)
    }

    #[test]
    fn an_explicit_token_is_sent_to_every_machine() {
        let explicit = Credential::explicit("secret-of-the-site");
        for server in ["http://192.0.2.7:5559", "https://node7:5559"] {
            let sent = explicit.for_server(&url(server)).expect(server);
            assert_eq!(sent, Some("secret-of-the-site"), "{server}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_server_on_an_address_of_this_machine_is_found() {
        let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let explicit = Credential::explicit("secret-of-the-site");
        // An address of this machine that is no loopback address, if it has one.
        let outside = SocketAddr::from(([192, 0, 2, 7], 9));
        let own = local_end(outside).map_or(IpAddr::from([127, 0, 0, 1]), |it| it.ip());
        let server = SocketAddr::new(own, port);
        let local = local_end(server).expect("a route");
        assert_eq!(
            explicit.owner_of_server(local, server),
            Ok(ListenerOwner::Trusted)
        );
        assert_eq!(
            explicit.owner_of_any(&[outside, server]),
            Ok(ListenerOwner::Trusted)
        );
        drop(listener);
        assert_eq!(explicit.owner_of_any(&[server]), Ok(ListenerOwner::Absent));
        assert_eq!(
            explicit.owner_of_any(&[outside]),
            Ok(ListenerOwner::OtherMachine)
        );
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
            ("http://192.0.2.7:5559".to_owned(), false),
            ("http://10.0.0.1:5559".to_owned(), false),
        ] {
            let server = url(&server);
            let sent = own.for_server(&server).expect("no other user");
            assert_eq!(sent.is_some(), is_sent, "{server}");
            assert_eq!(own.after_check(&server).is_some(), is_sent, "{server}");
        }
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
    fn a_token_that_is_made_later_is_found() {
        static MADE: OnceLock<String> = OnceLock::new();
        let own = Credential::awaited(|| MADE.get().cloned());
        let server = url("https://node7:5559");
        assert_eq!(own.for_server(&server), Ok(None));
        MADE.set("secret-of-the-user".to_owned()).expect("once");
        assert_eq!(own.for_server(&server), Ok(Some("secret-of-the-user")));
        assert_eq!(own.after_check(&server), Some("secret-of-the-user"));
    }

    #[test]
    fn a_token_is_not_printed() {
        let credential = Credential::explicit("secret-of-the-site");
        assert!(!format!("{credential:?}").contains("secret-of-the-site"));
    }
}
