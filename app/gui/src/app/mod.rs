//! The application: state and frame loop. `logic` decides, `ui` draws.

mod keys;
mod logic;
#[cfg(test)]
mod tests;
mod ui;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use callgrove_session::{Command, Selection, SessionHandle, Snapshot};

use crate::monitor::MonitorView;
use crate::panels::{PathDialog, RootChooser, SettingsDraft, Start, StatusBar, Wish};
use crate::platform::{FilePurpose, Platform};
use crate::theme::Theme;
use crate::views::candidates::CandidatesState;
use crate::views::scatter::ScatterState;
use crate::views::timeline::TimelineState;
use crate::views::tree::TreeState;
use crate::widgets::focus_ring;
pub(crate) use keys::{KEYS, VIEW_KEYS};

/// Answers of native dialogs that may wait; a person opens one dialog at a time.
const MAX_ANSWERS: usize = 8;

/// The window.
pub struct CallgroveApp {
    handle: SessionHandle,
    platform: Box<dyn Platform>,
    /// The newest snapshot with the person's own selection, which the session may not know yet.
    shown: Arc<Snapshot>,
    newest: Arc<Snapshot>,
    /// Selections that the session has not answered yet, oldest first.
    unanswered: VecDeque<Selection>,
    /// Commands that the session could not take yet, oldest first.
    unsent: VecDeque<Command>,
    theme: Theme,
    wishes: Vec<Wish>,
    answers: (SyncSender<Answer>, Receiver<Answer>),
    path_dialog: Option<PathDialog>,
    /// The live view, once the person has asked for it.
    monitor: Option<MonitorView>,
    /// Whether it is shown in place of the traces.
    is_monitoring: bool,
    is_help_open: bool,
    /// Whether the person goes from widget to widget by Tab, since the last click.
    is_tabbing: bool,
    panels: Panels,
}

/// The path that a native dialog was given, and what for.
type Answer = (FilePurpose, String);

/// States of views and panels.
#[derive(Default)]
struct Panels {
    candidates: CandidatesState,
    scatter: ScatterState,
    tree: TreeState,
    timeline: TimelineState,
    chooser: RootChooser,
    start: Start,
    status: StatusBar,
    settings: SettingsDraft,
}

impl CallgroveApp {
    /// A window on the session behind `handle`. Who runs the session wakes the window with
    /// [`egui::Context::request_repaint`] whenever there is a new snapshot.
    pub fn new(
        creation: &eframe::CreationContext<'_>,
        handle: SessionHandle,
        platform: Box<dyn Platform>,
    ) -> Self {
        Theme::install(&creation.egui_ctx);
        let newest = handle.snapshot();
        Self {
            platform,
            shown: Arc::clone(&newest),
            newest,
            handle,
            unanswered: VecDeque::new(),
            unsent: VecDeque::new(),
            theme: Theme::new(creation.egui_ctx.theme() == egui::Theme::Dark, None),
            wishes: Vec::new(),
            answers: sync_channel(MAX_ANSWERS),
            path_dialog: None,
            monitor: None,
            is_monitoring: false,
            is_help_open: false,
            is_tabbing: false,
            panels: Panels::default(),
        }
    }
}

impl eframe::App for CallgroveApp {
    fn logic(&mut self, ctx: &egui::Context, _: &mut eframe::Frame) {
        self.update(ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        if self.is_monitoring
            && let Some(monitor) = &mut self.monitor
        {
            monitor.ui(ui);
            self.is_monitoring = !monitor.take_wish_to_leave();
            return;
        }
        let mut commands = Vec::new();
        self.take_keys(ui.ctx(), &mut commands);
        self.draw(ui, &mut commands);
        focus_ring(ui.ctx(), &self.theme);
        self.carry_out(ui.ctx(), commands);
    }
}
