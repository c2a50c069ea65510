//! The size of an incident's card.

use callgrove_session::{RunCauses, Snapshot};
use callgrove_widgets::delay::trees_hit;

/// Distance from the left edge of a card to its text, in points.
pub(super) const LEFT: f32 = 30.0;
/// Distance from the text to the right edge of a card, in points.
pub(super) const RIGHT: f32 = 8.0;
/// Height of a line of the description, in points.
pub(super) const LINE_HEIGHT: f32 = 16.0;
/// Height of the buttons, in points.
pub(super) const BUTTONS_HEIGHT: f32 = 28.0;
/// Maximum number of lines of the description.
const MAX_LINES: usize = 3;
/// Approximate width of a letter, in points.
const LETTER: f32 = 6.6;
/// Height of a card without its description, in points.
const HEIGHT: f32 = 51.0;
/// Height of the line about similar incidents, in points.
const SIMILAR_HEIGHT: f32 = 17.0;

/// Returns the number of lines of a description on a card of some width.
pub(super) fn num_lines(text: &str, width: f32) -> usize {
    let max_letters = ((width - LEFT - RIGHT) / LETTER) as usize;
    let (mut lines, mut used) = (1, 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > max_letters {
            (lines, used) = (lines + 1, length);
        } else {
            used += usize::from(used > 0) + length;
        }
    }
    lines.min(MAX_LINES)
}

/// Returns the height of the card of an incident on a list of some width.
pub(super) fn height(snapshot: &Snapshot, causes: &RunCauses, number: usize, width: f32) -> f32 {
    let incident = causes.incident(number);
    let words = incident.map_or_else(String::new, |incident| causes.incident_sentence(incident));
    let words = num_lines(&words, width) as f32 * LINE_HEIGHT;
    let recurs = causes
        .similar(number)
        .is_some_and(|similar| similar.incidents.len() > 1);
    let similar = if recurs { SIMILAR_HEIGHT } else { 0.0 };
    let has_buttons =
        snapshot.inspected.incident == Some(number) && !trees_hit(snapshot, number).is_empty();
    let buttons = if has_buttons { BUTTONS_HEIGHT } else { 0.0 };
    HEIGHT + words + similar + buttons
}
