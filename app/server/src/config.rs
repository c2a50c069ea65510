//! What a server may be told: address, token, certificate and bounds.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::{ServerError, TlsFiles, Token};

/// The port that servers listen on unless told otherwise.
pub const DEFAULT_PORT: u16 = 7880;

/// Where and for whom a server listens.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The address; any other than a loopback address needs a token. Port 0 takes a free one. Default: 127.0.0.1:7880.
    pub listen: SocketAddr,
    /// Demanded from every request to every endpoint if there is one. Default: none.
    pub token: Option<Token>,
    /// Certificate and key, for TLS. Default: none.
    pub tls: Option<TlsFiles>,
    /// What a client may use up.
    pub limits: Limits,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            token: None,
            tls: None,
            limits: Limits::default(),
        }
    }
}

impl ServerConfig {
    /// The configuration, if a server can safely run with it.
    ///
    /// # Errors
    /// If the address can be reached from other machines and there is no token, or if a bound is 0.
    pub(crate) fn check(self) -> Result<Self, ServerError> {
        if self.token.is_none() && !self.listen.ip().to_canonical().is_loopback() {
            return Err(ServerError::Unguarded {
                listen: self.listen,
            });
        }
        let Limits {
            max_body_bytes,
            max_connections,
            max_newcomers,
            ..
        } = self.limits;
        for (name, bound) in [
            ("max_body_bytes", max_body_bytes),
            ("max_connections", max_connections),
            ("max_newcomers", max_newcomers),
        ] {
            if bound == 0 {
                return Err(ServerError::ZeroLimit { name });
            }
        }
        Ok(self)
    }
}

/// Bounds on what one client, or all of them, can take from the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one request to the JSON interface; more is answered by 413. Messages of gRPC are bounded by their
    /// services. Default: 32 MiB.
    pub max_body_bytes: usize,
    /// Connections of clients that have made a valid request; a further one is refused, with what to do, once it has
    /// waited for [`Limits::place_timeout`]. Fewer where the system allows the process fewer open files. Default: 4096.
    pub max_connections: usize,
    /// How long a request waits until its connection may stay. Default: 5 s.
    pub place_timeout: Duration,
    /// Connections without a valid request yet; if there are more, the oldest is cut off. Default: 512.
    pub max_newcomers: usize,
    /// From the connection to its first request with a valid token, TLS included, and from then on for the headers of
    /// each request of HTTP/1.1: whoever takes longer is cut off. Default: 15 s.
    pub header_timeout: Duration,
    /// A client that takes nothing of its answer for so long is cut off, and so is one that leaves a ping of HTTP/2
    /// unanswered. Default: 60 s.
    pub stall_timeout: Duration,
    /// What is under way when the server is told to stop may end within this time. Default: 5 s.
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 32 << 20,
            max_connections: 4096,
            place_timeout: Duration::from_secs(5),
            max_newcomers: 512,
            header_timeout: Duration::from_secs(15),
            stall_timeout: Duration::from_mins(1),
            shutdown_grace: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(on: &str) -> ServerConfig {
        ServerConfig {
            listen: on.parse().unwrap(),
            ..ServerConfig::default()
        }
    }

    #[test]
    fn other_machines_are_served_with_a_token_only() {
        for address in [
            "0.0.0.0:0",
            "[::]:0",
            "192.168.1.5:80",
            "[::ffff:10.0.0.1]:80",
        ] {
            let refused = listening(address).check().expect_err(address).to_string();
            assert!(refused.contains("--token-file"), "{refused}");
            let token = Token::new("0123456789abcdef", "the test").unwrap();
            let guarded = ServerConfig {
                token: Some(token),
                ..listening(address)
            };
            assert!(guarded.check().is_ok(), "{address}");
        }
    }

    #[test]
    fn the_machine_itself_is_served_without_a_token() {
        for address in [
            "127.0.0.1:0",
            "[::1]:0",
            "127.8.8.8:80",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(listening(address).check().is_ok(), "{address}");
        }
        assert!(ServerConfig::default().check().is_ok());
    }

    #[test]
    fn bounds_of_zero_are_refused_by_name() {
        let limits = Limits {
            max_connections: 0,
            ..Limits::default()
        };
        let refused = ServerConfig {
            limits,
            ..ServerConfig::default()
        }
        .check()
        .expect_err("zero");
        assert!(refused.to_string().starts_with("max_connections is 0"));
    }
}
