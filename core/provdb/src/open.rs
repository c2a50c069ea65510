//! Opens the store that a URL names.

use crate::store::without_secrets;
use crate::{OpenOptions, ProvDbError, Store};

/// Opens the database at `url`: `postgres://…` or `postgresql://…` (PostgreSQL), `http://host:port` or
/// `https://host:port` (another process with a store), or else a folder (SQLite).
///
/// # Errors
/// The location is invalid or cannot be reached, or the program was built without that kind of store.
pub fn open(url: &str, options: &OpenOptions) -> Result<Box<dyn Store>, ProvDbError> {
    match url.split_once("://") {
        Some(("postgres" | "postgresql", _)) => open_postgres(url, options),
        Some(("http" | "https", _)) => open_remote(url, options),
        Some((scheme, _)) => Err(ProvDbError::BadUrl {
            cause: format!("no store supports {scheme}"),
            url: without_secrets(url),
        }),
        None => open_sqlite(url, options),
    }
}

#[cfg(feature = "sqlite")]
fn open_sqlite(folder: &str, options: &OpenOptions) -> Result<Box<dyn Store>, ProvDbError> {
    Ok(Box::new(crate::sqlite::SqliteStore::open(
        folder.as_ref(),
        options,
    )?))
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(folder: &str, _: &OpenOptions) -> Result<Box<dyn Store>, ProvDbError> {
    Err(ProvDbError::NotBuilt {
        feature: "sqlite",
        url: folder.to_owned(),
    })
}

#[cfg(feature = "postgres")]
fn open_postgres(url: &str, options: &OpenOptions) -> Result<Box<dyn Store>, ProvDbError> {
    Ok(Box::new(crate::postgres::PostgresStore::open(
        url, options,
    )?))
}

#[cfg(not(feature = "postgres"))]
fn open_postgres(url: &str, _: &OpenOptions) -> Result<Box<dyn Store>, ProvDbError> {
    Err(ProvDbError::NotBuilt {
        feature: "postgres",
        url: without_secrets(url),
    })
}

#[cfg(feature = "net")]
fn open_remote(url: &str, options: &OpenOptions) -> Result<Box<dyn Store>, ProvDbError> {
    Ok(Box::new(crate::net::RemoteStore::open(url, options)?))
}

#[cfg(not(feature = "net"))]
fn open_remote(url: &str, _: &OpenOptions) -> Result<Box<dyn Store>, ProvDbError> {
    Err(ProvDbError::NotBuilt {
        feature: "net",
        url: without_secrets(url),
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
