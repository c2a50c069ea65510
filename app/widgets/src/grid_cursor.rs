//! A cursor on a painted grid.

use egui::{EventFilter, Key, Response, Ui};

/// Returns where the arrow keys move a cursor (row, column) on a focused grid of the given size, which must not be
/// empty; the grid consumes the arrow keys.
pub fn move_by_arrows(
    (row, column): (usize, usize),
    (num_rows, num_columns): (usize, usize),
    response: &Response,
    ui: &Ui,
) -> (usize, usize) {
    let filter = EventFilter {
        horizontal_arrows: true,
        vertical_arrows: true,
        ..EventFilter::default()
    };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let pressed = |key| ui.input(|input| input.key_pressed(key));
    let moved = [
        (Key::ArrowUp, (row.saturating_sub(1), column)),
        (Key::ArrowDown, (row + 1, column)),
        (Key::ArrowLeft, (row, column.saturating_sub(1))),
        (Key::ArrowRight, (row, column + 1)),
    ];
    let at = moved
        .into_iter()
        .find_map(|(key, at)| pressed(key).then_some(at));
    let (row, column) = at.unwrap_or((row, column));
    (row.min(num_rows - 1), column.min(num_columns - 1))
}
