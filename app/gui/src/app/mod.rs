//! The application: state and frame loop. `logic` decides, `ui` draws.

#[cfg(test)]
mod compare_tests;
mod dock;
#[cfg(test)]
mod exercise_tests;
mod exporting;
mod go_to;
mod help;
#[cfg(test)]
mod incident_tests;
mod incidents;
mod layouts;
mod logic;
mod overlay;
mod overlay_ui;
mod paths;
mod picker;
mod place;
mod preferences;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod tests;
mod ui;
#[cfg(test)]
mod watch_tests;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use callgrove_actions::{Action, FilePurpose, View};
use callgrove_session::{Command, ComparedWith, RunCauses, Session, Snapshot};
use callgrove_views::ViewStates;
use callgrove_watch::Page;
use callgrove_widgets::focus_ring;
use callgrove_widgets::theme::Theme;

use crate::background::ExportJob;
use crate::panels::{ConnectForm, PublicationDraft, RootChooser, SettingsDraft, Start, StatusBar};
use crate::platform::Platform;
use layouts::Layout;
use overlay::Overlay;
use place::Destination;
pub use place::Place;
use preferences::Preferences;
pub use preferences::stored_window_size;

/// Capacity of the queue for answers of native dialogs; the user opens one dialog at a time.
const MAX_ANSWERS: usize = 8;

/// The application window.
pub struct CallgroveApp {
    session: Session,
    platform: Box<dyn Platform>,
    theme: Theme,
    /// Actions to carry out after the frame.
    actions: Vec<Action>,
    answers: (SyncSender<Answer>, Receiver<Answer>),
    preferences: Preferences,
    /// The preferences as stored last.
    stored: String,
    layout: Layout,
    /// The view with the keyboard focus.
    focus: Option<View>,
    /// The overlay over the views.
    overlay: Option<Overlay>,
    /// True if the user moves the focus by Tab, since the last click.
    is_tabbing: bool,
    handled: HandledState,
    states: States,
    /// The file that is being made.
    export: Option<ExportJob>,
    /// The location that the window is navigating to.
    destination: Option<Destination>,
}

/// The path that a native dialog returned, and its purpose.
type Answer = (FilePurpose, String);

/// The state that the window has already reacted to.
#[derive(Default)]
struct HandledState {
    page: Page,
    has_trees: bool,
    /// The causes of delays, once those of the trees are known.
    causes: Option<Arc<RunCauses>>,
    has_watch: bool,
    has_call: bool,
    comparison: Option<Arc<ComparedWith>>,
    source: Option<String>,
    address: String,
    /// The layout of the session opened last.
    view: Option<Arc<serde_json::Value>>,
}

/// States of views and panels.
#[derive(Default)]
struct States {
    views: ViewStates,
    chooser: RootChooser,
    start: Start,
    connect: ConnectForm,
    status: StatusBar,
    settings: SettingsDraft,
    publication: PublicationDraft,
}

impl CallgroveApp {
    /// Creates a window on a session. The owner of the session and of its transports wakes the window with
    /// [`egui::Context::request_repaint`] whenever there is new data.
    pub fn new(
        creation: &eframe::CreationContext<'_>,
        session: Session,
        platform: Box<dyn Platform>,
    ) -> Self {
        let ctx = &creation.egui_ctx;
        Theme::install(ctx);
        let stored = platform.load_preferences().unwrap_or_default();
        let preferences = Preferences::from_text(&stored);
        if let Some(is_dark) = preferences.is_dark {
            ctx.set_theme(egui::Theme::from_dark_mode(is_dark));
        }
        if let Some(zoom) = preferences.zoom {
            ctx.set_zoom_factor(zoom);
        }
        let size = ctx.content_rect().size();
        let mut session = session;
        if let Some(name) = &preferences.name {
            session.send(Command::SetName(name.clone()));
        }
        Self {
            session,
            platform,
            theme: Theme::new(ctx.theme() == egui::Theme::Dark, None),
            actions: Vec::new(),
            answers: sync_channel(MAX_ANSWERS),
            layout: preferences.layout(size),
            preferences,
            stored,
            focus: None,
            overlay: None,
            is_tabbing: false,
            handled: HandledState::default(),
            states: States::default(),
            export: None,
            destination: None,
        }
    }

    /// Returns the snapshot that the window shows.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        self.session.snapshot()
    }
}

impl eframe::App for CallgroveApp {
    fn logic(&mut self, ctx: &egui::Context, _: &mut eframe::Frame) {
        let longest_click = longest_click(ctx.input(egui::InputState::any_touches));
        ctx.options_mut(|options| options.input_options.max_click_duration = longest_click);
        self.update(ctx);
        let name = self.snapshot().viewers.name.clone();
        if name.is_some() && self.preferences.name.as_deref() != name.as_deref() {
            // The next start must show the same, wherever the run is then.
            self.preferences.name = name.as_deref().map(str::to_owned);
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        let mut commands = Vec::new();
        self.take_keys(ui.ctx(), &mut commands);
        self.draw(ui, &mut commands);
        focus_ring(ui.ctx(), &self.theme);
        self.carry_out(ui.ctx(), commands);
    }

    fn on_exit(&mut self, _: Option<&eframe::glow::Context>) {
        self.store_preferences();
    }
}

/// Returns the seconds after which a press no longer counts as a click. There is no limit for a mouse: with slow frames
/// much time can pass between the frame of the press and that of the release. A long touch opens a menu after egui's
/// default time.
fn longest_click(is_touch: bool) -> f64 {
    if is_touch {
        egui::InputOptions::default().max_click_duration
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod click_tests {
    use callgrove_app_tests::demo_run::demo_snapshot;
    use egui::Modifiers;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::CallgroveApp;
    use super::tests::Window;

    #[test]
    fn a_press_is_a_click_however_long_a_frame_takes() {
        let mut window = Window::new(demo_snapshot());
        let file = window.harness.get_by_label("File").rect().center();
        let later = |harness: &mut Harness<'_, CallgroveApp>| {
            let time = harness.input().time.unwrap_or_default();
            harness.input_mut().time = Some(time + 3.0);
            harness.step();
        };
        for pressed in [true, false] {
            window.harness.event(egui::Event::PointerButton {
                pos: file,
                button: egui::PointerButton::Primary,
                pressed,
                modifiers: Modifiers::NONE,
            });
            later(&mut window.harness);
        }
        window.harness.run();
        window.harness.get_by_label_contains("Save the model…");
    }
}
