//! Who looks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Letters of a name; what is longer is cut.
const MAX_NAME_LETTERS: usize = 40;

/// One of several who look at a session at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ViewerId(pub u32);

/// Whether a viewer is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Presence {
    /// It is.
    Here {
        /// What it calls itself.
        name: String,
    },
    /// Its connection is lost; it may come back.
    Lost,
    /// It has gone, and what was known of it goes.
    Gone,
}

/// A viewer, as the others see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PresentViewer {
    /// What it calls itself.
    pub name: Arc<str>,
    /// Whether it is the one who sees this.
    pub is_you: bool,
}

/// A name as it is kept: in one line, and not too long; `None` if nothing is left of it.
pub(crate) fn viewer_name(text: &str) -> Option<Arc<str>> {
    let words: Vec<&str> = text
        .split(|letter: char| letter.is_whitespace() || letter.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let name: String = words.join(" ").chars().take(MAX_NAME_LETTERS).collect();
    (!name.is_empty()).then(|| name.into())
}

/// What a viewer is called who has no name; `key` tells it from all others.
pub(crate) fn guest_name(key: u64) -> String {
    format!("guest {:04x}", key & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_in_one_line_and_cut_where_it_is_too_long() {
        assert_eq!(viewer_name(" ana\n\t lópez "), Some("ana lópez".into()));
        assert_eq!(viewer_name(" \u{7} \n"), None);
        let long = viewer_name(&"é".repeat(500)).unwrap();
        assert_eq!(long.chars().count(), MAX_NAME_LETTERS);
        assert_eq!(guest_name(0x1_00ab), "guest 00ab");
    }
}
