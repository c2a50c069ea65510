//! Who looks.

use serde::{Deserialize, Serialize};

/// One of several who look at a session at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ViewerId(pub u32);
