//! The exercises of section 6.5.1 of the paper by keys alone, in the whole window with a working session.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use callgrove_app_tests::demo_run::demo_trace;
use callgrove_model::{Progress, RunIdentity, TimeNs, Trace, TreeIdx};
use callgrove_session::{
    Command, DifferenceKind, Engine, Host, HostError, JournalWriter, Label, LearnSettings,
    MapMethod, OpenJournal, Selection, Session, SessionHandle, Snapshot, SnapshotCell,
};
use egui::{Event, Key, Modifiers, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::CallgroveApp;
use crate::platform::NoDialogs;

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A file system with one trace.
struct Disk(Files);

/// A journal that discards its lines.
struct Unread;

impl JournalWriter for Unread {
    fn append(&mut self, _line: &str) -> Result<(), HostError> {
        Ok(())
    }
}

impl Host for Disk {
    fn load_trace(&mut self, _: &str, _: Progress<'_>) -> Result<Trace, HostError> {
        Ok(demo_trace(4, 30))
    }

    fn open_journal(&mut self, _: &str, _: &RunIdentity) -> Result<OpenJournal, HostError> {
        Ok(OpenJournal {
            lines: Vec::new(),
            place: "nowhere".to_owned(),
            writer: Box::new(Unread),
        })
    }

    fn now(&self) -> TimeNs {
        TimeNs(0)
    }

    fn user(&self) -> Option<String> {
        None
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        Err(HostError::Failed(format!("cannot read {path}")))
    }

    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError> {
        let mut files = self.0.lock().unwrap();
        files.insert(path.to_owned(), content.to_owned());
        Ok(())
    }
}

/// A user at the keyboard.
struct Person {
    harness: Harness<'static, CallgroveApp>,
    engine: Engine,
    commands: Receiver<Command>,
    files: Files,
}

impl Person {
    /// Opens a trace whose trees are ranked.
    fn at_trace() -> Self {
        let files = Files::default();
        let cell = SnapshotCell::default();
        let host = Box::new(Disk(Arc::clone(&files)));
        let settings = LearnSettings::with_seed(1);
        let mut engine = Engine::new(host, settings, cell.clone(), Arc::new(|| ()));
        engine.handle(Command::OpenTrace {
            source: "run".to_owned(),
            function: Some("compute".to_owned()),
        });
        let (sender, commands) = sync_channel(64);
        let session = Session::new(SessionHandle::new(sender, cell), None);
        let builder = Harness::builder()
            .with_size(Vec2::new(1280.0, 800.0))
            .with_max_steps(400);
        let harness = builder
            .build_eframe(|creation| CallgroveApp::new(creation, session, Box::new(NoDialogs)));
        let mut person = Self {
            harness,
            engine,
            commands,
            files,
        };
        person.wait();
        person
    }

    /// Waits until the session has answered everything.
    fn wait(&mut self) {
        self.harness.run();
        loop {
            let commands: Vec<Command> = self.commands.try_iter().collect();
            if commands.is_empty() {
                return;
            }
            for command in commands {
                self.engine.handle(command);
            }
            while self.engine.is_forming() {
                self.engine.advance();
            }
            self.harness.run();
        }
    }

    fn press(&mut self, keys: &[Key]) {
        for &key in keys {
            self.press_with(Modifiers::NONE, key);
        }
    }

    fn press_with(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.wait();
    }

    fn type_text(&mut self, text: &str) {
        self.harness.event(Event::Text(text.to_owned()));
        self.wait();
    }

    fn seen(&self) -> Arc<Snapshot> {
        Arc::clone(self.harness.state().session.snapshot())
    }

    fn reads(&self, text: &str) -> bool {
        let mut found = self.harness.query_all_by_label_contains(text);
        found.next().is_some()
    }

    fn code(&self, tree: TreeIdx) -> String {
        let analysis = self.seen().analysis().cloned().unwrap();
        analysis.forest.code(tree).to_string()
    }
}

#[test]
fn the_most_anomalous_tree_is_selected() {
    let mut person = Person::at_trace();
    person.press(&[Key::Num1]);
    // The run opens at its first incident, somewhere in the list.
    let seen = person.seen();
    let order = &seen.detection().unwrap().order;
    for _ in 0..order.len() {
        person.press(&[Key::Comma]);
        if person.seen().selection == Selection::One(order[0]) {
            break;
        }
    }
    let seen = person.seen();
    let top = seen.detection().unwrap().order[0];
    assert_eq!(seen.selection, Selection::One(top));
    assert!(person.reads(&format!("Tree {}", person.code(top))));
}

#[test]
fn a_normal_tree_is_selected_by_its_code() {
    let mut person = Person::at_trace();
    let seen = person.seen();
    let order = &seen.detection().unwrap().order;
    let middle = order[order.len() / 2];
    let code = person.code(middle);
    person.press_with(Modifiers::COMMAND, Key::P);
    person.type_text(&code);
    person.press(&[Key::Enter]);
    assert_eq!(person.seen().selection, Selection::One(middle));
}

#[test]
fn a_group_is_selected_on_the_map_and_its_centre_named() {
    let mut person = Person::at_trace();
    person.press(&[Key::Num1, Key::Period, Key::Num2, Key::U]);
    let seen = person.seen();
    let Selection::Group(trees) = &seen.selection else {
        panic!("{:?}", seen.selection)
    };
    assert!(trees.len() > 1);
    let centre = seen.focus().expect("a group has a centre");
    assert!(trees.contains(&centre));
    assert!(person.reads(&format!("Tree {}", person.code(centre))));
}

#[test]
fn the_map_is_drawn_by_another_method() {
    let mut person = Person::at_trace();
    person.press_with(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Num3);
    let map = person.seen().map().cloned().unwrap();
    assert_eq!((map.method, map.fraction), (MapMethod::Tsne, 1.0));
}

#[test]
fn the_findings_of_the_most_abnormal_execution_have_their_times() {
    let mut person = Person::at_trace();
    person.press(&[Key::Num1, Key::Period, Key::Num3]);
    let seen = person.seen();
    let findings = &seen.explanation.as_ref().unwrap().findings;
    assert_eq!(findings[0].kind, DifferenceKind::Longer);
    // Findings of low importance are hidden by default.
    let listed: Vec<_> = findings.iter().filter(|it| it.importance >= 0.05).collect();
    for finding in &listed {
        assert!(person.reads(seen.trace().unwrap().names.name(finding.func)));
    }
    let (excess, usual) = (findings[0].excess, findings[0].usual_time);
    assert!(person.reads(&format!("{excess} longer than usual ({usual})")));
    assert!(person.reads(&format!("{} of {}", listed.len(), findings.len())));
}

#[test]
fn the_longest_wait_fills_the_timeline_and_its_peer_is_named() {
    let mut person = Person::at_trace();
    person.press(&[Key::Num1, Key::Period]);
    person.press(&[Key::Num3, Key::ArrowRight, Key::ArrowRight, Key::Enter]);
    let seen = person.seen();
    let call = seen.inspected.call.expect("a call is selected");
    assert_eq!(seen.trace().unwrap().function_name(call), "MPI_Wait");
    let rank = seen.trace().unwrap().lane(call.lane).rank.0;
    assert!(person.reads(&format!("From rank {}", (rank + 3) % 4)));
    person.press(&[Key::Num4, Key::F]);
    assert!(
        person.reads("24 ms in view"),
        "the wait and a tenth on both sides"
    );
}

#[test]
fn a_label_is_given_taken_back_and_exported() {
    let mut person = Person::at_trace();
    person.press(&[Key::Num1, Key::Period]);
    let tree = person.seen().focus().unwrap();
    person.press(&[Key::X]);
    assert_eq!(person.seen().label(tree), Some(Label::Abnormal));
    person.press_with(Modifiers::COMMAND, Key::Z);
    assert_eq!(person.seen().label(tree), None);
    person.press_with(Modifiers::COMMAND, Key::Y);
    person.press_with(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::P);
    person.type_text("export labels");
    person.press(&[Key::Enter]);
    person.type_text("found");
    person.press(&[Key::Enter]);
    let files = person.files.lock().unwrap();
    let (name, content) = files.first_key_value().expect("a file was written");
    let code = person.code(tree).replace('-', ",");
    assert!(name.starts_with("found"), "{name}");
    let content = String::from_utf8_lossy(content);
    assert!(
        content.contains(&format!("{},abnormal", &code[1..])),
        "{content}"
    );
}
