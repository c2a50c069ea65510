//! Opens the store that a URL names.

use callgrove_net::AddressFile;
use callgrove_provdb::{ProvDbError, Store, without_secrets};
use callgrove_provdb_net::RemoteStore;

use crate::options::OpenOptions;
use crate::postgres::PostgresStore;
use crate::sqlite::SqliteStore;

/// Opens the database at `url`: `postgres://…` or `postgresql://…` (PostgreSQL), `http://host:port` or
/// `https://host:port` or an address file (another process with a store), or else a folder (SQLite).
///
/// # Errors
/// The location is invalid or cannot be reached.
pub fn open(url: &str, options: &OpenOptions) -> Result<Box<dyn Store>, ProvDbError> {
    Ok(match url.split_once("://") {
        Some(("postgres" | "postgresql", _)) => Box::new(PostgresStore::open(url, options)?),
        Some(("http" | "https", _)) => {
            Box::new(RemoteStore::open(url, options.mode, &options.remote)?)
        }
        Some((scheme, _)) => {
            return Err(ProvDbError::BadUrl {
                cause: format!("no store supports {scheme}"),
                url: without_secrets(url),
            });
        }
        None if AddressFile::named(url).is_some() => {
            Box::new(RemoteStore::open(url, options.mode, &options.remote)?)
        }
        None => Box::new(SqliteStore::open(url.as_ref(), options)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_schemes_are_refused() {
        let error = open("mysql://db", &OpenOptions::default())
            .err()
            .expect("no such store");
        assert!(error.to_string().contains("mysql"), "{error}");
    }
}
