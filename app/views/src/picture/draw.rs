//! Draws a view of a session that has no window.

use std::sync::Arc;

use callgrove_actions::PictureView;
use callgrove_actions::context::ViewContext;
use callgrove_session::{Session, Snapshot};
use callgrove_widgets::ViewNotes;
use callgrove_widgets::theme::Theme;

use super::error::PictureError;
use super::offscreen::{DrawnPicture, Sheet};
use super::page::page_ui;
use super::picture_request::ViewPicture;
use super::select::select_subject;
use crate::states::ViewStates;

/// Number of frames after which a picture that still changes is given up.
const MAX_FRAMES: usize = 5_000;
/// Number of equal frames after which a picture is complete.
const STILL_FRAMES: usize = 4;

/// Draws a view of a session whose run is open and analysed: selects the subject, and draws frames until no answer is
/// missing and nothing moves.
///
/// `wait` is called while the session works on something. It waits a moment, and returns `false` to give up.
///
/// # Errors
/// If the size is impossible, the session lacks what the view shows, the subject does not exist, or `wait` gave up.
pub fn draw_view(
    session: &mut Session,
    wanted: &ViewPicture,
    mut wait: impl FnMut(&mut Session) -> bool,
) -> Result<DrawnPicture, PictureError> {
    check_size(wanted)?;
    select_subject(session, wanted, &mut wait)?;
    let mut states = ViewStates::default();
    if wanted.time.is_some() {
        states.timeline.restore(wanted.time);
    }
    let mut drawing = ViewDrawing::new(wanted, session.snapshot());
    let mut num_still = 0;
    for _ in 0..MAX_FRAMES {
        session.update();
        let snapshot = Arc::clone(session.snapshot());
        let is_still = drawing.frame(&snapshot, &mut states, |command| session.send(command));
        if is_still && is_complete(&snapshot, wanted.view) {
            num_still += 1;
            if num_still == STILL_FRAMES {
                return Ok(drawing.into_picture());
            }
            continue;
        }
        num_still = 0;
        if is_answered_elsewhere(&snapshot, wanted.view) && !wait(session) {
            return Err(PictureError::Cancelled);
        }
    }
    Err(PictureError::Unsettled)
}

/// Checks the size of a picture.
pub(super) fn check_size(wanted: &ViewPicture) -> Result<(), PictureError> {
    let [width, height] = wanted.size;
    let is_possible = (0..2).all(|axis| {
        let range = ViewPicture::MIN_SIZE[axis]..=ViewPicture::MAX_SIZE[axis];
        range.contains(&wanted.size[axis])
    });
    is_possible
        .then_some(())
        .ok_or(PictureError::Size { width, height })
}

fn is_map_forming(snapshot: &Snapshot, view: PictureView) -> bool {
    let map = snapshot.map();
    view == PictureView::Map && map.is_some_and(|map| map.fraction < 1.0 && !map.is_paused)
}

fn is_complete(snapshot: &Snapshot, view: PictureView) -> bool {
    let is_waiting = snapshot.calls().is_some_and(|calls| calls.is_waiting());
    snapshot.work.is_none() && !is_waiting && !is_map_forming(snapshot, view)
}

/// Returns whether the data comes from another thread or process.
fn is_answered_elsewhere(snapshot: &Snapshot, view: PictureView) -> bool {
    let calls = snapshot.calls();
    let is_remote = calls.is_some_and(|calls| calls.is_waiting() && !calls.is_working());
    snapshot.work.is_some() || is_remote || is_map_forming(snapshot, view)
}

/// The frames of one picture.
pub(super) struct ViewDrawing<'a> {
    wanted: &'a ViewPicture,
    sheet: Sheet,
    theme: Theme,
    notes: ViewNotes,
}

impl<'a> ViewDrawing<'a> {
    pub(super) fn new(wanted: &'a ViewPicture, snapshot: &Snapshot) -> Self {
        Self {
            wanted,
            sheet: Sheet::new(wanted.size, wanted.scale, wanted.is_dark),
            theme: Theme::new(wanted.is_dark, snapshot.trace()).for_picture(),
            notes: ViewNotes::default(),
        }
    }

    /// Draws a frame; `send` gets the commands of the view. Returns whether the next frame would be the same.
    pub(super) fn frame(
        &mut self,
        snapshot: &Snapshot,
        states: &mut ViewStates,
        send: impl FnMut(callgrove_session::UserCommand),
    ) -> bool {
        let trace = snapshot.trace();
        if !self.theme.is_of(self.wanted.is_dark, trace) {
            self.theme = Theme::new(self.wanted.is_dark, trace).for_picture();
        }
        let mut notes = ViewNotes::default();
        let mut commands = Vec::new();
        let (theme, wanted, known) = (&self.theme, self.wanted, &self.notes);
        let wants_more = self.sheet.frame(|ui| {
            commands = ViewContext::alone(snapshot, theme, |ctx| {
                notes = page_ui(ctx, states, (wanted, known), ui);
            });
        });
        let is_same = is_same(&self.notes, &notes) && commands.is_empty();
        self.notes = notes;
        commands.into_iter().for_each(send);
        is_same && !wants_more
    }

    pub(super) fn into_picture(self) -> DrawnPicture {
        let title = self.notes.title;
        self.sheet
            .into_picture(&self.theme, title, &self.wanted.id_prefix)
    }
}

fn is_same(a: &ViewNotes, b: &ViewNotes) -> bool {
    let texts = |notes: &ViewNotes| -> Vec<String> {
        let legend = notes.legend.iter();
        legend.map(|item| item.text().to_owned()).collect()
    };
    a.title == b.title && a.facts == b.facts && texts(a) == texts(b)
}
