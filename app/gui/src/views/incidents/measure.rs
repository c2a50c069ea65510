//! How much room the card of an incident needs.

use callgrove_session::{RunCauses, Snapshot};

use crate::delay::trees_hit;

/// From the edge of a card to its words, in points.
pub(super) const LEFT: f32 = 30.0;
pub(super) const RIGHT: f32 = 8.0;
/// Height of a line of the words.
pub(super) const LINE_HEIGHT: f32 = 16.0;
/// Height of the buttons.
pub(super) const BUTTONS_HEIGHT: f32 = 28.0;
/// Lines that the words may have.
const MAX_LINES: usize = 3;
/// About the width of a letter.
const LETTER: f32 = 6.6;
/// Height of a card without words, and of the line that says whether it comes back.
const HEIGHT: f32 = 51.0;
const LIKE_HEIGHT: f32 = 17.0;

/// Lines that words need on a card of some width.
pub(super) fn num_lines(words: &str, width: f32) -> usize {
    let room = ((width - LEFT - RIGHT) / LETTER) as usize;
    let (mut lines, mut used) = (1, 0);
    for word in words.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            (lines, used) = (lines + 1, length);
        } else {
            used += usize::from(used > 0) + length;
        }
    }
    lines.min(MAX_LINES)
}

/// Height of the card of an incident on a list of some width.
pub(super) fn height(snapshot: &Snapshot, causes: &RunCauses, number: usize, width: f32) -> f32 {
    let incident = causes.incident(number);
    let words = incident.map_or_else(String::new, |incident| causes.incident_words(incident));
    let words = num_lines(&words, width) as f32 * LINE_HEIGHT;
    let comes_back = causes
        .like(number)
        .is_some_and(|like| like.incidents.len() > 1);
    let like = if comes_back { LIKE_HEIGHT } else { 0.0 };
    let has_buttons = snapshot.incident == Some(number) && !trees_hit(snapshot, number).is_empty();
    let buttons = if has_buttons { BUTTONS_HEIGHT } else { 0.0 };
    HEIGHT + words + like + buttons
}
