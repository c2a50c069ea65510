//! Draws a view as the window shows it: with its zoom, colours and selection.

use callgrove_session::Snapshot;

use super::draw::{ViewDrawing, check_size};
use super::error::PictureError;
use super::page::ViewStates;
use super::sheet::DrawnPicture;
use super::wanted::ViewPicture;

/// Maximum number of frames: a view shows what it knows, for the window must not wait.
const MAX_FRAMES: usize = 120;
/// Number of equal frames after which a picture is complete.
const STILL_FRAMES: usize = 3;

/// Draws a view with the states of the window. Answers that are missing after a few frames are left out.
pub(crate) fn draw_shown(
    snapshot: &Snapshot,
    wanted: &ViewPicture,
    mut states: ViewStates<'_>,
) -> Result<DrawnPicture, PictureError> {
    check_size(wanted)?;
    if snapshot.calls.is_none() {
        return Err(PictureError::NoTrace);
    }
    let mut drawing = ViewDrawing::new(wanted, snapshot);
    let mut num_still = 0;
    for _ in 0..MAX_FRAMES {
        let calls = snapshot.calls.as_ref();
        if let Some(calls) = calls {
            calls.begin_frame();
        }
        let is_still = drawing.frame(snapshot, &mut states, drop);
        let is_working = calls.is_some_and(|calls| calls.is_working());
        num_still = if is_still && !is_working {
            num_still + 1
        } else {
            0
        };
        if num_still == STILL_FRAMES {
            break;
        }
    }
    Ok(drawing.into_picture())
}
