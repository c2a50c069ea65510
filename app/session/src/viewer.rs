//! The viewers of a session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Largest number of letters in a name; longer names are cut.
const MAX_NAME_LETTERS: usize = 40;

/// Identifies one of several simultaneous viewers of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ViewerId(pub u32);

/// The connection state of a viewer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Presence {
    /// It is connected.
    #[serde(rename = "Here")]
    Connected {
        /// Name that it gave.
        name: String,
    },
    /// Its connection is lost; it may reconnect.
    Lost,
    /// It has left; its state is removed.
    Gone,
}

/// A connected viewer as the others see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PresentViewer {
    /// Its name.
    pub name: Arc<str>,
    /// True for the viewer that receives this snapshot.
    pub is_you: bool,
}

/// Returns a name on one line and of limited length; `None` if nothing is left of it.
pub(crate) fn viewer_name(text: &str) -> Option<Arc<str>> {
    let words: Vec<&str> = text
        .split(|letter: char| letter.is_whitespace() || letter.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let name: String = words.join(" ").chars().take(MAX_NAME_LETTERS).collect();
    (!name.is_empty()).then(|| name.into())
}

/// Returns a name for a viewer that gave none. `key` distinguishes it from other viewers.
pub fn guest_name(key: u64) -> String {
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
