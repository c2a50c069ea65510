//! Who uses a server.

use std::time::Duration;

use super::{Client, ClientError};
use crate::access::TokenUse;

impl Client {
    /// Returns how each token of the server is used.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses: it needs the role `write`.
    pub fn token_uses(&self) -> Result<Vec<TokenUse>, ClientError> {
        self.get("/api/tokens", &[], Duration::ZERO)
    }
}
