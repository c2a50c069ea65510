//! Draws a view of a snapshot: as the window shows it, with its zoom, colours and selection, or as a new window would.

use callgrove_session::Snapshot;

use super::draw::{ViewDrawing, check_size};
use super::error::PictureError;
use super::offscreen::DrawnPicture;
use super::picture_request::ViewPicture;
use crate::states::ViewStates;

/// Maximum number of frames in the window: a view shows what it knows, for the window must not wait.
const MAX_FRAMES: usize = 120;
/// Maximum number of frames outside the window.
const MAX_UNSHOWN_FRAMES: usize = 5_000;
/// Number of equal frames after which a picture is complete.
const STILL_FRAMES: usize = 3;

/// Draws a view with the states of the window. Answers that are missing after a few frames are left out.
///
/// # Errors
/// If the size is impossible.
pub fn draw_shown(
    snapshot: &Snapshot,
    wanted: &ViewPicture,
    states: &mut ViewStates,
) -> Result<DrawnPicture, PictureError> {
    let (drawing, _) = draw(snapshot, wanted, states, MAX_FRAMES)?;
    Ok(drawing.into_picture())
}

/// Draws a view of a snapshot outside the window. The calls must be in this process, and their query cache unused.
///
/// # Errors
/// If the size is impossible, or if the view never stops changing.
pub fn draw_snapshot(
    snapshot: &Snapshot,
    wanted: &ViewPicture,
) -> Result<DrawnPicture, PictureError> {
    let mut states = ViewStates::default();
    match draw(snapshot, wanted, &mut states, MAX_UNSHOWN_FRAMES)? {
        (drawing, true) => Ok(drawing.into_picture()),
        (_, false) => Err(PictureError::Unsettled),
    }
}

/// Draws frames until nothing changes, at most `max_frames`. Returns whether nothing changed at last.
fn draw<'a>(
    snapshot: &Snapshot,
    wanted: &'a ViewPicture,
    states: &mut ViewStates,
    max_frames: usize,
) -> Result<(ViewDrawing<'a>, bool), PictureError> {
    check_size(wanted)?;
    if snapshot.calls().is_none() && !wanted.view.is_of_watch() {
        return Err(PictureError::NoTrace);
    }
    let mut drawing = ViewDrawing::new(wanted, snapshot);
    let mut num_still = 0;
    for _ in 0..max_frames {
        let calls = snapshot.calls();
        if let Some(calls) = calls {
            calls.begin_frame();
        }
        let is_still = drawing.frame(snapshot, states, drop);
        let is_working = calls.is_some_and(|calls| calls.is_working());
        num_still = if is_still && !is_working {
            num_still + 1
        } else {
            0
        };
        if num_still == STILL_FRAMES {
            return Ok((drawing, true));
        }
    }
    Ok((drawing, false))
}
