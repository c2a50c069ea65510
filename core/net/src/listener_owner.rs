//! The user that owns a server on this machine.
//!
//! Linux lists the listening sockets of a network namespace with their owners in `/proc/net/tcp` and `/proc/net/tcp6`
//! (proc(5)). On other systems the owner is unknown.

#[cfg(target_os = "linux")]
use std::net::IpAddr;
use std::net::SocketAddr;

/// The owner of the server at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListenerOwner {
    /// All sockets that listen there belong to the user of this process, or to users who are trusted.
    Trusted,
    /// The address is one of another machine.
    OtherMachine,
    /// No socket listens on the port.
    Absent,
    /// The operating system does not report it.
    Unknown,
}

/// Returns the owner of the sockets that listen at an address of this machine. `trusted` are users besides that of this
/// process.
///
/// # Errors
/// As text, if a socket belongs to another user, or the list cannot be read.
#[cfg(target_os = "linux")]
pub(crate) fn owner_of_listener(
    address: SocketAddr,
    trusted: &[u32],
) -> Result<ListenerOwner, String> {
    use std::os::unix::fs::MetadataExt as _;

    let unreadable = |error: std::io::Error| {
        format!("{error}: could not find the owner of the server at {address}; use https")
    };
    let own = std::fs::metadata("/proc/self").map_err(unreadable)?.uid();
    let trusted = [&[own], trusted].concat();
    let mut table = std::fs::read_to_string("/proc/net/tcp").map_err(unreadable)?;
    // Systems without IPv6 have no such file.
    table += &std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    owner_in_table(&table, address, &trusted)
}

/// Returns the owner of the sockets that listen at an address of this machine.
///
/// # Errors
/// None on this system; the Linux version has some.
#[cfg(not(target_os = "linux"))]
pub(crate) fn owner_of_listener(
    _address: SocketAddr,
    _trusted: &[u32],
) -> Result<ListenerOwner, String> {
    Ok(ListenerOwner::Unknown)
}

#[cfg(target_os = "linux")]
fn owner_in_table(
    table: &str,
    address: SocketAddr,
    trusted: &[u32],
) -> Result<ListenerOwner, String> {
    let mut owner = ListenerOwner::Absent;
    for socket in table.lines().filter_map(ListeningSocket::parse) {
        if socket.port != address.port() || !socket.accepts(address.ip()) {
            continue;
        }
        if !trusted.contains(&socket.uid) {
            return Err(format!(
                "the server on port {} of this machine belongs to another user (uid {uid}): it gets neither your \
                 token nor your data. Use another port; if you trust the servers of that user, pass --server-uid {uid}",
                socket.port,
                uid = socket.uid
            ));
        }
        owner = ListenerOwner::Trusted;
    }
    Ok(owner)
}

/// A line of the table for a listening socket.
#[cfg(target_os = "linux")]
struct ListeningSocket {
    address: IpAddr,
    port: u16,
    uid: u32,
}

#[cfg(target_os = "linux")]
impl ListeningSocket {
    /// Parses `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid …`. Addresses are hexadecimal
    /// 32-bit integers in native byte order.
    fn parse(line: &str) -> Option<Self> {
        const LISTEN: &str = "0A";
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (address, port) = fields.next()?.split_once(':')?;
        let _peer = fields.next()?;
        if fields.next()? != LISTEN {
            return None;
        }
        let uid = fields.nth(3)?.parse().ok()?;
        Some(Self {
            port: u16::from_str_radix(port, 16).ok()?,
            address: ip_address(address)?,
            uid,
        })
    }

    /// Returns whether connections to an address may reach the socket. All loopback addresses count as one.
    fn accepts(&self, address: IpAddr) -> bool {
        let (own, asked) = (self.address, address.to_canonical());
        own.is_unspecified() || own == asked || own.is_loopback() && asked.is_loopback()
    }
}

/// Returns an address of the table.
#[cfg(target_os = "linux")]
fn ip_address(address: &str) -> Option<IpAddr> {
    use std::net::Ipv6Addr;

    let words = address.as_bytes().chunks(8).map(|word| {
        let word = str::from_utf8(word).ok()?;
        u32::from_str_radix(word, 16).ok().map(u32::to_ne_bytes)
    });
    let words: Vec<[u8; 4]> = words.collect::<Option<_>>()?;
    Some(match &words[..] {
        [word] => IpAddr::from(*word),
        [a, b, c, d] => {
            let bytes = [a, b, c, d].map(|word| u32::from_be_bytes(*word));
            let bits = bytes
                .iter()
                .fold(0, |bits, &word| bits << 32 | u128::from(word));
            IpAddr::V6(Ipv6Addr::from_bits(bits)).to_canonical()
        }
        _ => return None,
    })
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    /// The table as a little-endian Linux machine prints it: 127.0.0.1:5559 of user 1000, 0.0.0.0:5560 of user 1001,
    /// 10.0.0.5:5561 of user 1002, a connection from port 5562 of user 1003, and [::1]:5563 of user 1004.
    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:15B7 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1683 1 0 100 0 0 10 0
   1: 00000000:15B8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1684 1 0 100 0 0 10 0
   2: 0500000A:15B9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 1685 1 0 100 0 0 10 0
   3: 0100007F:15BA 0100007F:15B7 01 00000000:00000000 00:00000000 00000000  1003        0 1686 1 0 100 0 0 10 0
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:15BB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1004 0 1687 1 0 100 0 0 10 0
   a line of something else
";

    #[cfg(target_endian = "little")]
    #[test]
    fn the_owner_of_each_listening_socket_is_read() {
        let owner = |address: &str, trusted: &[u32]| {
            owner_in_table(TABLE, address.parse().expect(address), trusted)
        };
        for (address, uid) in [
            ("127.0.0.1:5559", 1000),
            ("127.0.0.1:5560", 1001),
            ("10.0.0.5:5560", 1001),
            ("10.0.0.5:5561", 1002),
            ("[::1]:5563", 1004),
        ] {
            assert_eq!(owner(address, &[1, uid]), Ok(ListenerOwner::Trusted));
            let refused = owner(address, &[1]).expect_err("another user");
            assert!(refused.contains(&format!("uid {uid}")), "{refused}");
            assert!(
                refused.contains(&format!("--server-uid {uid}")),
                "{refused}"
            );
        }
        for absent in [
            "127.0.0.1:5561",
            "10.0.0.5:5559",
            "127.0.0.1:5562",
            "[::1]:80",
        ] {
            assert_eq!(owner(absent, &[1]), Ok(ListenerOwner::Absent), "{absent}");
        }
    }
}
