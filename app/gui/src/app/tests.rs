//! Tests of the whole window against a session that only records the commands it gets.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use callgrove_actions::{FilePurpose, LayoutName};
use callgrove_app_tests::demo_run::{demo_snapshot, with_focus, with_label};
use callgrove_app_tests::{changed, forest_in};
use callgrove_model::TreeIdx;
use callgrove_session::{
    Command, Doubt, Label, MapMethod, Notice, QueryStrategy, Selection, Session, SessionHandle,
    Severity, Snapshot, SnapshotCell, TreeMap, Work,
};
use callgrove_view_tests::{DrawnText, written};
use callgrove_widgets::theme::SMALLEST_TEXT;
use egui::{Key, Modifiers, Vec2};
use egui_kittest::{Harness, kittest::Queryable};

use super::CallgroveApp;
use crate::platform::{NoDialogs, Platform};

/// The window, and the commands that it sent.
pub(super) struct Window {
    pub(super) harness: Harness<'static, CallgroveApp>,
    commands: Receiver<Command>,
    cell: SnapshotCell,
}

impl Window {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self::with_platform(snapshot, Box::new(NoDialogs))
    }

    pub(super) fn with_platform(snapshot: Snapshot, platform: Box<dyn Platform>) -> Self {
        let (sender, commands) = sync_channel(64);
        let cell = SnapshotCell::default();
        cell.publish(Arc::new(snapshot));
        let session = Session::new(SessionHandle::new(sender, cell.clone()), None);
        let builder = Harness::builder()
            .with_size(Vec2::new(1400.0, 900.0))
            .with_max_steps(200);
        let mut harness =
            builder.build_eframe(|creation| CallgroveApp::new(creation, session, platform));
        harness.run();
        Self {
            harness,
            commands,
            cell,
        }
    }

    pub(super) fn press(&mut self, key: Key) {
        self.harness.key_press(key);
        self.harness.run();
    }

    pub(super) fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.harness.run();
    }

    pub(super) fn sent(&self) -> Vec<Command> {
        self.commands.try_iter().collect()
    }

    pub(super) fn publish(&mut self, snapshot: Snapshot) {
        self.cell.publish(Arc::new(snapshot));
        self.harness.run();
    }
}

pub(super) fn order(snapshot: &Snapshot) -> Vec<TreeIdx> {
    snapshot.detection().unwrap().order.clone()
}

fn code(snapshot: &Snapshot, tree: TreeIdx) -> String {
    snapshot.analysis().unwrap().forest.code(tree).to_string()
}

pub(super) fn select(tree: TreeIdx) -> Command {
    Command::Select(Selection::One(tree))
}

pub(super) fn set_label(tree: TreeIdx, label: Label) -> Command {
    Command::SetLabel {
        trees: vec![tree],
        label: Some(label),
    }
}

/// Returns the paths of saved sessions, each saved with the layout of the views.
fn saved_to(commands: &[Command]) -> Vec<&str> {
    let paths = commands.iter().map(|command| match command {
        Command::SaveSession { path, view } if view["tiles"].is_object() => path.as_str(),
        other => panic!("not a session with its view: {other:?}"),
    });
    paths.collect()
}

fn notice(severity: Severity, text: &str) -> Notice {
    Notice {
        id: 7,
        severity,
        text: text.to_owned(),
    }
}

#[test]
fn n_and_x_label_successive_candidates_without_waiting_for_the_session() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let mut window = Window::new(with_focus(&snapshot, order[0]));
    window.press(Key::N);
    window.press(Key::X);
    let expected = [
        set_label(order[0], Label::Normal),
        select(order[1]),
        set_label(order[1], Label::Abnormal),
        select(order[2]),
    ];
    assert_eq!(window.sent(), expected);
}

#[test]
fn a_click_on_a_card_selects_and_shows_it_before_the_session_answers() {
    let snapshot = demo_snapshot();
    let third = order(&snapshot)[2];
    let mut window = Window::new(snapshot.clone());
    let card = format!("Candidate {}", code(&snapshot, third));
    window.harness.get_by_label(&card).click_accesskit();
    window.harness.run();
    assert_eq!(window.sent(), [select(third)]);
    assert_eq!(
        window.harness.state().session.snapshot().selection,
        Selection::One(third)
    );
}

#[test]
fn the_session_decides_the_selection() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let mut window = Window::new(snapshot.clone());
    window.press(Key::Period);
    window.press(Key::Period);
    window.publish(with_focus(&snapshot, order[0]));
    assert_eq!(
        window.harness.state().session.snapshot().selection,
        Selection::One(order[1]),
        "the second request is still pending"
    );
    window.publish(with_focus(&snapshot, order[9]));
    assert_eq!(
        window.harness.state().session.snapshot().selection,
        Selection::One(order[9]),
        "the session chose another"
    );
}

#[test]
fn the_buttons_of_a_card_show_and_change_its_label() {
    let snapshot = demo_snapshot();
    let first = order(&snapshot)[0];
    let mut window = Window::new(with_label(&snapshot, first, Label::Abnormal));
    window.click(&format!("Abnormal {}", code(&snapshot, first)));
    window.click(&format!("Normal {}", code(&snapshot, first)));
    let removal = Command::SetLabel {
        trees: vec![first],
        label: None,
    };
    assert_eq!(window.sent(), [removal, set_label(first, Label::Normal)]);
}

#[test]
fn a_group_is_labelled_at_once_and_the_button_shows_its_size() {
    let group = vec![TreeIdx(2), TreeIdx(3), TreeIdx(8)];
    let mut window = Window::new(Snapshot {
        selection: Selection::Group(group.clone()),
        ..demo_snapshot()
    });
    window.click("Label abnormal (3)");
    assert_eq!(
        window.sent(),
        [Command::SetLabel {
            trees: group,
            label: Some(Label::Abnormal)
        }]
    );
}

#[test]
fn no_text_is_too_small_to_read() {
    let snapshot = demo_snapshot();
    let window = Window::new(with_focus(&snapshot, order(&snapshot)[0]));
    for DrawnText { text, size, .. } in written(&window.harness) {
        assert!(size >= SMALLEST_TEXT, "{text} has {size} points");
    }
}

#[test]
fn a_call_of_the_tree_is_selected_by_keys_alone() {
    let mut window = Window::new(with_focus(&demo_snapshot(), TreeIdx(3)));
    for key in [Key::Num3, Key::ArrowRight, Key::ArrowRight, Key::Enter] {
        window.press(key);
    }
    let snapshot = Arc::clone(window.harness.state().session.snapshot());
    let call = snapshot.inspected.call.expect("a call is selected");
    let trace = snapshot.trace().unwrap();
    assert_eq!(trace.function_name(call), "MPI_Wait");
}

#[test]
fn keys_undo_redo_and_train() {
    let mut window = Window::new(changed(demo_snapshot(), |it| {
        it.edits.undo = Some("label #0-1 normal".to_owned());
        it.edits.redo = Some("train".to_owned());
    }));
    window.press(Key::Backspace);
    window
        .harness
        .key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.harness.run();
    window
        .harness
        .key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    window.harness.run();
    window.press(Key::R);
    assert_eq!(
        window.sent(),
        [Command::Undo, Command::Undo, Command::Redo, Command::Train]
    );
}

#[test]
fn text_typed_into_a_field_triggers_no_actions() {
    let snapshot = demo_snapshot();
    let mut window = Window::new(with_focus(&snapshot, TreeIdx(0)));
    window.press(Key::Slash);
    assert!(window.harness.get_by_label("Find a candidate").is_focused());
    window.press(Key::N);
    assert_eq!(window.sent(), []);
    let control = Modifiers::COMMAND;
    for (key, layout) in [
        (Key::Num2, LayoutName::Watch),
        (Key::Num1, LayoutName::Analyse),
    ] {
        window.harness.key_press_modifiers(control, key);
        window.harness.run();
        assert_eq!(window.harness.state().preferences.layout, layout);
    }
    window.press(Key::Slash);
    window
        .harness
        .get_by_label("Find a candidate")
        .type_text("1-3");
    window.harness.run();
    window.press(Key::Enter);
    let found = snapshot
        .analysis()
        .unwrap()
        .forest
        .trees()
        .iter()
        .position(|tree| tree.code.to_string() == "#1-3");
    let found = TreeIdx::from_index(found.unwrap());
    assert_eq!(window.sent(), [select(found)]);
    // The whole list is back and continues from there.
    window.press(Key::Period);
    let order = order(&snapshot);
    let at = order.iter().position(|&tree| tree == found).unwrap();
    assert_eq!(window.sent(), [select(order[at + 1])]);
}

#[test]
fn escape_closes_the_search_and_never_empties_the_views() {
    let snapshot = demo_snapshot();
    let first = order(&snapshot)[0];
    let mut window = Window::new(with_focus(&snapshot, first));
    window.press(Key::Slash);
    window
        .harness
        .get_by_label("Find a candidate")
        .type_text("1-3");
    window.harness.run();
    window.harness.get_by_label("1 of 40");
    for _ in 0..3 {
        window.press(Key::Escape);
        assert!(window.harness.query_by_label("1 of 40").is_none());
    }
    assert_eq!(window.sent(), []);
    assert_eq!(
        window.harness.state().session.snapshot().selection,
        Selection::One(first)
    );
    let clear = Modifiers::COMMAND | Modifiers::SHIFT;
    window.harness.key_press_modifiers(clear, Key::A);
    window.harness.run();
    assert_eq!(window.sent(), [Command::Select(Selection::None)]);
}

#[test]
fn escape_leaves_the_centre_of_a_group_selected() {
    let snapshot = with_focus(&demo_snapshot(), TreeIdx(3));
    let mut window = Window::new(Snapshot {
        selection: Selection::Group(vec![TreeIdx(2), TreeIdx(3), TreeIdx(8)]),
        ..snapshot
    });
    window.press(Key::Escape);
    assert_eq!(window.sent(), [select(TreeIdx(3))]);
    window.press(Key::Escape);
    assert_eq!(window.sent(), []);
}

#[test]
fn shift_removes_the_label_and_the_same_key_labels_the_next() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let labelled = with_label(&snapshot, order[0], Label::Abnormal);
    let mut window = Window::new(with_focus(&labelled, order[0]));
    window.harness.key_press_modifiers(Modifiers::SHIFT, Key::X);
    window.harness.run();
    let removal = Command::SetLabel {
        trees: vec![order[0]],
        label: None,
    };
    assert_eq!(window.sent(), [removal]);
    window.press(Key::X);
    window.press(Key::X);
    let expected = [
        select(order[1]),
        set_label(order[1], Label::Abnormal),
        select(order[2]),
    ];
    assert_eq!(window.sent(), expected);
}

#[test]
fn an_empty_window_says_what_to_do() {
    let mut window = Window::new(Snapshot::default());
    window.harness.get_by_label("Open a run");
    window.harness.get_by_label("Demo");
    window
        .harness
        .get_by_label("Trace, records or address")
        .focus();
    window.harness.run();
    window
        .harness
        .get_by_label("Trace, records or address")
        .type_text("runs/lammps");
    window.harness.run();
    window.click("Open");
    assert_eq!(
        window.sent(),
        [Command::OpenTrace {
            source: "runs/lammps".to_owned(),
            function: None
        }]
    );
}

#[test]
fn a_failed_opening_shows_its_cause_and_can_be_retried() {
    let text = "no such folder: runs/lamps; check the spelling";
    let snapshot = Snapshot {
        source: Some("runs/lamps".to_owned()),
        notices: Arc::new([notice(Severity::Error, text)]),
        ..Snapshot::default()
    };
    let mut window = Window::new(snapshot);
    window.harness.get_by_label("Could not open runs/lamps");
    window.harness.get_by_label(text);
    window.harness.get_by_label("Trace, records or address");
    window.click("Dismiss");
    assert_eq!(window.sent(), [Command::Dismiss { notice: 7 }]);
}

#[test]
fn opening_shows_its_progress_and_can_be_cancelled() {
    let work = Work {
        stage: "Reading rank 3 of 16".to_owned(),
        fraction: 0.2,
    };
    let mut window = Window::new(Snapshot {
        source: Some("runs/lammps".to_owned()),
        work: Some(work),
        ..Snapshot::default()
    });
    window.harness.get_by_label("Opening runs/lammps");
    window.harness.get_by_label("Reading rank 3 of 16");
    window.click("Cancel");
    assert!(window.cell.is_cancelled());
}

#[test]
fn a_notice_over_the_views_can_be_dismissed() {
    let text = "the model is of another function; load one of `compute`";
    let mut window = Window::new(Snapshot {
        notices: Arc::new([notice(Severity::Error, text)]),
        ..demo_snapshot()
    });
    window.harness.get_by_label(text);
    window.click("Dismiss");
    assert_eq!(window.sent(), [Command::Dismiss { notice: 7 }]);
}

#[test]
fn a_success_notice_disappears_and_is_dismissed_once() {
    let notices = Arc::new([notice(
        Severity::Info,
        "412 labels were written to labels.csv",
    )]);
    let mut window = Window::new(Snapshot {
        notices,
        ..demo_snapshot()
    });
    assert_eq!(window.sent(), []);
    window.harness.input_mut().time = Some(60.0);
    window.harness.run();
    window.harness.run();
    assert_eq!(window.sent(), [Command::Dismiss { notice: 7 }]);
}

#[test]
fn a_question_mark_opens_the_help_and_escape_closes_it() {
    let mut window = Window::new(demo_snapshot());
    window.press(Key::Questionmark);
    window.harness.get_by_label("How it works");
    window.press(Key::Escape);
    assert!(window.harness.query_by_label("How it works").is_none());
}

#[test]
fn without_native_dialogs_the_window_asks_for_the_path() {
    let mut window = Window::new(demo_snapshot());
    window
        .harness
        .key_press_modifiers(Modifiers::COMMAND, Key::S);
    window.harness.run();
    assert!(window.harness.get_by_label("Path").is_focused());
    // The name is selected, its extension is not.
    window.harness.get_by_label("Path").type_text("stops");
    window.harness.run();
    window.click("Save");
    assert_eq!(saved_to(&window.sent()), ["stops.json"]);
    assert!(window.harness.query_by_label("Path").is_none());
}

#[test]
fn the_answer_of_a_native_dialog_becomes_a_command() {
    struct AnswersAtOnce;
    impl Platform for AnswersAtOnce {
        fn pick(
            &self,
            purpose: FilePurpose,
            _: &str,
            reply: Box<dyn FnOnce(Option<String>) + Send>,
        ) -> bool {
            reply(Some(format!("run/{}", purpose.suggested_name())));
            true
        }

        fn report_origin(&self) -> callgrove_report::ReportOrigin {
            NoDialogs.report_origin()
        }
    }
    let mut window = Window::with_platform(demo_snapshot(), Box::new(AnswersAtOnce));
    window
        .harness
        .key_press_modifiers(Modifiers::COMMAND, Key::S);
    window.harness.run();
    assert_eq!(saved_to(&window.sent()), ["run/callgrove-session.json"]);
}

#[test]
fn a_window_that_cannot_watch_does_not_offer_it() {
    let mut window = Window::new(Snapshot::default());
    assert!(
        window
            .harness
            .query_by_label("Attach a running job…")
            .is_none()
    );
    window.click("File");
    assert!(window.harness.query_by_label("Connect…").is_none());
}

#[test]
fn another_root_function_is_one_click_away() {
    let mut window = Window::new(demo_snapshot());
    window.click("Root function");
    window.click("Use ev_tally");
    assert_eq!(
        window.sent(),
        [Command::SetRoot {
            function: "ev_tally".to_owned()
        }]
    );
}

#[test]
fn typing_filters_the_functions_and_enter_takes_the_first() {
    let mut window = Window::new(demo_snapshot());
    window.click("Root function");
    window.harness.get_by_label("Use compute");
    window.harness.get_by_label("Function pattern").focus();
    window.harness.run();
    window
        .harness
        .get_by_label("Function pattern")
        .type_text("TALL");
    window.harness.run();
    assert!(window.harness.query_by_label("Use compute").is_none());
    window.harness.get_by_label("Use ev_tally");
    window.press(Key::Enter);
    let function = "ev_tally".to_owned();
    assert_eq!(window.sent(), [Command::SetRoot { function }]);
}

#[test]
fn warnings_of_the_trace_are_listed_and_tracer_conventions_are_notes() {
    let mut window = Window::new(demo_snapshot());
    window.harness.get_by_label("Warnings");
    window.click("Warnings");
    window.harness.get_by_label("SEND without RECV");
    window
        .harness
        .get_by_label("first: rank 1, tag 7 to rank 9");
    window
        .harness
        .get_by_label_contains("Note: receives report another size");
}

#[test]
fn commands_that_the_session_cannot_take_yet_are_sent_later_in_order() {
    let snapshot = changed(demo_snapshot(), |it| {
        it.edits.undo = Some("train".to_owned());
    });
    let (sender, commands) = sync_channel(1);
    let cell = SnapshotCell::default();
    cell.publish(Arc::new(snapshot));
    let handle = SessionHandle::new(sender, cell);
    let mut harness: Harness<'_, CallgroveApp> = Harness::new_eframe(|creation| {
        CallgroveApp::new(creation, Session::new(handle, None), Box::new(NoDialogs))
    });
    for key in [Key::R, Key::Backspace, Key::R] {
        harness.key_press(key);
        harness.step();
    }
    let mut received = Vec::new();
    for _ in 0..3 {
        received.extend(commands.try_recv());
        harness.step();
    }
    assert_eq!(received, [Command::Train, Command::Undo, Command::Train]);
}

#[test]
fn after_a_label_the_next_query_of_the_session_is_selected() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let asked = changed(with_focus(&snapshot, order[0]), |it| {
        it.model.query = QueryStrategy::MostUncertain;
        it.model.queue = vec![order[0], order[17], order[3]].into();
    });
    let mut window = Window::new(asked);
    window.press(Key::X);
    let label = Command::SetLabel {
        trees: vec![order[0]],
        label: Some(Label::Abnormal),
    };
    let next = Command::Select(Selection::One(order[17]));
    assert_eq!(window.sent(), [label, next]);
}

#[test]
fn the_strategy_can_be_chosen() {
    let mut window = Window::new(demo_snapshot());
    window.click("Next to label");
    window.click("one of each kind");
    assert_eq!(window.sent(), [Command::SetQuery(QueryStrategy::Diverse)]);
}

#[test]
fn a_doubtful_label_is_listed_and_leads_to_its_tree() {
    let snapshot = demo_snapshot();
    let doubt = Doubt {
        tree: TreeIdx(5),
        label: Label::Normal,
        strength: 0.7,
        witness: TreeIdx(9),
    };
    let mut window = Window::new(changed(
        with_label(&snapshot, TreeIdx(5), Label::Normal),
        |it| it.model.doubts = vec![doubt].into(),
    ));
    window.click("1 doubtful");
    window.harness.get_by_label("1 label may be wrong");
    let code = code(&snapshot, TreeIdx(9));
    window
        .harness
        .get_all_by_label(&code)
        .last()
        .unwrap()
        .click();
    window.harness.run();
    let select = Command::Select(Selection::One(TreeIdx(9)));
    assert!(window.sent().contains(&select));
}

#[test]
fn learning_a_label_moves_nothing_in_the_training_panel() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let mut window = Window::new(snapshot.clone());
    let places = |window: &Window| {
        [
            "Label normal",
            "Train",
            "Next to label",
            "Model settings",
            "Save the session",
        ]
        .map(|label| window.harness.get_by_label(label).rect())
    };
    let before = places(&window);
    let labelled = with_label(&with_focus(&snapshot, order[1]), order[0], Label::Abnormal);
    let change = callgrove_session::Change {
        became_abnormal: order[..9].to_vec(),
        ..callgrove_session::Change::default()
    };
    let detection = callgrove_session::Detection {
        change: Some(change),
        ..callgrove_session::Detection::clone(labelled.detection().unwrap())
    };
    window.publish(changed(labelled, |it| {
        forest_in(it).detection = Some(Arc::new(detection));
        it.edits.num_untrained = 1;
    }));
    window.harness.get_by_label("The last training changed");
    assert_eq!(places(&window), before);
}

#[test]
fn settings_are_sent_when_they_change_and_go_back_to_the_defaults() {
    let settings = callgrove_session::ModelSettings {
        nu: 0.01,
        gamma: 0.3,
        rate: 0.1,
    };
    let mut window = Window::new(changed(demo_snapshot(), |it| {
        it.model.settings = settings;
        it.model.default_settings = callgrove_session::ModelSettings {
            nu: 0.02,
            ..settings
        };
    }));
    window.click("Model settings");
    window.harness.get_by_label("Defaults").scroll_to_me();
    window.harness.run();
    window.click("Defaults");
    assert_eq!(window.sent(), [Command::Tune(None)]);
}

#[test]
fn the_map_is_drawn_by_the_chosen_method_and_can_be_paused() {
    let snapshot = demo_snapshot();
    let mut window = Window::new(snapshot.clone());
    window.click("Method of the map");
    window.click("t-SNE");
    assert_eq!(window.sent(), [Command::SetMap(MapMethod::Tsne)]);
    let forming = TreeMap {
        method: MapMethod::Tsne,
        fraction: 0.4,
        trustworthiness: None,
        ..TreeMap::clone(snapshot.map().unwrap())
    };
    window.publish(changed(snapshot, |it| {
        it.revision += 1;
        forest_in(it).map = Some(Arc::new(forming));
    }));
    window.harness.get_by_label("40 %");
    window.click("Pause");
    assert_eq!(window.sent(), [Command::PauseMap(true)]);
}
