//! The JSON interface, `/api/…`.

mod error;

pub use error::ApiError;
