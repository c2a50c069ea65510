//! The configuration of a server: address, token, certificate and limits.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use callgrove_access::{Token, TokenFile};

use crate::error::ServerError;
use crate::tls::TlsCertificate;

/// The default port of servers.
pub const DEFAULT_PORT: u16 = 7880;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The address to listen on. Any other than a loopback address needs a token. Port 0 selects a free port. Default:
    /// 127.0.0.1:7880.
    pub listen: SocketAddr,
    /// The token that every request must carry; `None` accepts requests without one. Default: `None`.
    pub token: Option<Token>,
    /// The list of further tokens, each with a role. It is read again when it changes, and empty as long as there is no
    /// file. Without [`token`](Self::token) it has no effect. Default: `None`.
    pub tokens: Option<TokenFile>,
    /// The certificate for TLS. Default: `None`.
    pub tls: Option<TlsCertificate>,
    /// Allows an address that other machines can reach without TLS. Default: false.
    pub allows_plain_http: bool,
    /// Limits on what clients can use.
    pub limits: Limits,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            token: None,
            tokens: None,
            tls: None,
            allows_plain_http: false,
            limits: Limits::default(),
        }
    }
}

impl ServerConfig {
    /// Returns the configuration if it is safe to run a server with it.
    ///
    /// # Errors
    /// If the address can be reached from other machines and there is no token or no TLS, or if a limit is 0.
    pub(crate) fn check(self) -> Result<Self, ServerError> {
        let listen = self.listen;
        let is_local = listen.ip().to_canonical().is_loopback();
        if self.token.is_none() && !is_local {
            return Err(ServerError::Unguarded { listen });
        }
        if self.tls.is_none() && !is_local && !self.allows_plain_http {
            return Err(ServerError::Unencrypted { listen });
        }
        let Limits {
            max_body_bytes,
            max_arriving_bytes,
            max_connections,
            max_pending,
            ..
        } = self.limits;
        for (name, bound) in [
            ("max_body_bytes", max_body_bytes),
            ("max_arriving_bytes", max_arriving_bytes),
            ("max_connections", max_connections),
            ("max_pending", max_pending),
        ] {
            if bound == 0 {
                return Err(ServerError::ZeroLimit { name });
            }
        }
        Ok(self)
    }
}

/// Limits on what one client, or all of them, can use of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one request to the JSON interface; a larger one is answered by 413. The gRPC services limit their
    /// messages themselves. Default: 32 MiB.
    pub max_body_bytes: usize,
    /// Bytes of all requests that have not arrived completely, over all connections; a request that does not fit is
    /// answered by 503. Default: 512 MiB.
    pub max_arriving_bytes: usize,
    /// Connections of clients that have made a valid request. Further ones are refused with a remedy once they have
    /// waited for [`Limits::slot_timeout`]. Lower if the system allows the process fewer open files. Default: 4096.
    pub max_connections: usize,
    /// Timeout of a request that waits for a connection slot. Default: 5 s.
    pub slot_timeout: Duration,
    /// Connections without a valid request yet. If there are more, the oldest is closed. Default: 512.
    pub max_pending: usize,
    /// Timeout from the start of a connection to its first request with a valid token, TLS included, and later for the
    /// headers of each HTTP/1.1 request. Default: 15 s.
    pub header_timeout: Duration,
    /// Timeout for a client that reads nothing of its answer, or leaves an HTTP/2 ping unanswered. Default: 60 s.
    pub stall_timeout: Duration,
    /// Time that running requests have to finish when the server stops. Default: 5 s.
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 32 << 20,
            max_arriving_bytes: 512 << 20,
            max_connections: 4096,
            slot_timeout: Duration::from_secs(5),
            max_pending: 512,
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
    fn other_machines_need_a_token_and_tls() {
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
            let refused = guarded.clone().check().expect_err(address).to_string();
            assert!(refused.contains("--announce"), "{refused}");
            for safe in [
                ServerConfig {
                    tls: Some(TlsCertificate::Generated),
                    ..guarded.clone()
                },
                ServerConfig {
                    allows_plain_http: true,
                    ..guarded
                },
            ] {
                assert!(safe.check().is_ok(), "{address}");
            }
        }
    }

    #[test]
    fn this_machine_needs_no_token() {
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
    fn limits_of_zero_are_rejected_by_name() {
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
