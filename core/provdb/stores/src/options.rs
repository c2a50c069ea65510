//! The options to open a store.

use callgrove_provdb::AccessMode;
use callgrove_provdb_net::RemoteOptions;

/// Options for opening a store.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The access mode.
    pub mode: AccessMode,
    /// Number of SQLite shards, 1 to 64. `None` adopts that of an existing database, and creates a new one with a
    /// single shard. An existing database with another number is refused. Servers ignore it.
    pub num_shards: Option<u32>,
    /// For servers: `http(s)://`; the certificates also for `postgres://`.
    pub remote: RemoteOptions,
}
