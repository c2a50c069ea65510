//! Arbitrary commands of viewers: the session survives them, and their results survive the session.

use callgrove_model::{ExecLabel, ProgramId, RankId, StepId, TimeNs, TreeIdx};
use callgrove_query::TimeRange;
use callgrove_session::{ModelAnswer, ModelInForce, TrainingAnswer, ViewerId};
use callgrove_wire::{SnapshotMirror, SnapshotSender, ViewerMessage};
use proptest::prelude::*;
use serde_json::Value;

use callgrove_app_tests::small_session::*;
use callgrove_model::Label;
use callgrove_session::{Command, MapMethod, ModelSettings, Selection, Snapshot};

/// Generates a valid index, or an arbitrary one.
fn place() -> impl Strategy<Value = u32> {
    prop_oneof![0..NUM_RANKS * NUM_STEPS, any::<u32>()]
}

fn trees() -> impl Strategy<Value = Vec<TreeIdx>> {
    prop::collection::vec(place().prop_map(TreeIdx), 0..5)
}

fn label() -> impl Strategy<Value = Option<Label>> {
    let labels = prop_oneof![Just(Label::Normal), Just(Label::Abnormal)];
    prop::option::of(labels)
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1.0_f64, any::<f64>(), Just(f64::NAN)]
}

/// Generates numbers of marks, mostly from a few.
fn mark() -> impl Strategy<Value = u64> {
    prop_oneof![0..4_u64, Just(u64::MAX), any::<u64>()]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,20}",
        Just("run".to_owned()),
        Just("Pair::compute".to_owned()),
        Just("session.json".to_owned()),
        Just("x".repeat(100_000)),
    ]
}

/// Generates nested values, deeper than JSON readers accept.
fn view() -> impl Strategy<Value = Value> {
    let nested = |depth| (0..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    prop_oneof![Just(Value::Null), (0..600_usize).prop_map(nested)]
}

fn edit() -> impl Strategy<Value = Command> {
    let range = || (any::<i64>(), any::<i64>()).prop_map(|(from, to)| (TimeNs(from), TimeNs(to)));
    let settings = (number(), number(), number()).prop_map(|(nu, gamma, rate)| ModelSettings {
        nu,
        gamma,
        rate,
    });
    let event = (place(), place(), place()).prop_map(|(rank, step, row)| ExecLabel {
        rank: RankId(rank),
        step: StepId(step),
        row,
    });
    prop_oneof![
        (trees(), label()).prop_map(|(trees, label)| Command::SetLabel { trees, label }),
        (event, text(), label()).prop_map(|(event, func, label)| Command::SetRecordLabel {
            program: ProgramId(0),
            event,
            func,
            label,
        }),
        (prop::option::of(mark()), range(), text()).prop_map(|(id, (from, to), text)| {
            let range = TimeRange { from, to };
            Command::SetMark { id, range, text }
        }),
        mark().prop_map(|id| Command::DeleteMark { id }),
        prop::option::of(settings).prop_map(Command::Tune),
        any::<bool>().prop_map(Command::SetAutoTrain),
        Just(Command::Train),
        Just(Command::LearnHeld),
        Just(Command::Undo),
        Just(Command::Redo),
    ]
}

fn other() -> impl Strategy<Value = Command> {
    let selection = prop_oneof![
        place().prop_map(|tree| Selection::One(TreeIdx(tree))),
        trees().prop_map(Selection::Group),
    ];
    prop_oneof![
        (text(), prop::option::of(text()))
            .prop_map(|(source, function)| Command::OpenTrace { source, function }),
        text().prop_map(|function| Command::SetRoot { function }),
        selection.prop_map(Command::Select),
        text().prop_map(Command::SetName),
        text().prop_map(|path| Command::ImportLabels { path }),
        text().prop_map(|path| Command::LoadModel { path }),
        text().prop_map(|path| Command::SaveModel { path }),
        (text(), view()).prop_map(|(path, view)| Command::SaveSession { path, view }),
        text().prop_map(|path| Command::LoadSession { path }),
        any::<u64>().prop_map(|notice| Command::Dismiss { notice }),
        (text(), text()).prop_map(|(server, note)| Command::PublishModel { server, note }),
        (text(), text(), prop::option::of(any::<u32>())).prop_map(|(server, name, version)| {
            let wanted = ModelInForce { name, version };
            Command::PutModelInForce { server, wanted }
        }),
        Just(Command::Answer(TrainingAnswer::OnlyThese)),
        Just(Command::AnswerModel(ModelAnswer::Refit)),
        Just(Command::SetMap(MapMethod::Tsne)),
        Just(Command::Reload),
    ]
}

/// Returns the part of a session that survives it.
fn made(seen: &Snapshot) -> String {
    format!("{:?} {:?}", seen.edits.labels, seen.edits.marks)
}

#[test]
fn new_marks_get_free_numbers_next_to_the_last_one() {
    let mut session = SmallSession::opened(&Disk::default());
    let mark = |id, from, to| Command::SetMark {
        id,
        range: TimeRange {
            from: TimeNs(from),
            to: TimeNs(to),
        },
        text: String::new(),
    };
    session.run(mark(Some(u64::MAX), 1, 2));
    session.run(mark(None, 9, 3));
    let seen = session.run(mark(None, 4, 5));
    let ranges: Vec<_> = seen.edits.marks.iter().map(|mark| mark.range).collect();
    let range = |from, to| TimeRange::between(TimeNs(from), TimeNs(to));
    assert_eq!(ranges, [range(3, 9), range(4, 5), range(1, 2)]);
}

proptest! {
    #[test]
    fn the_session_survives_any_commands(
        commands in prop::collection::vec(prop_oneof![edit(), other()], 1..9),
    ) {
        let disk = Disk::default();
        let mut session = SmallSession::opened(&disk);
        let viewer = ViewerId(3);
        for (command, number) in commands.into_iter().zip(1..) {
            let said = ViewerMessage::Command { number, command: Box::new(command) };
            let heard = ViewerMessage::from_bytes(&said.to_bytes().unwrap()).unwrap();
            let ViewerMessage::Command { number, command } = heard else {
                panic!("{heard:?}");
            };
            session.run(Command::ForViewer { viewer, number, command });
        }
        // Other viewers see the result,
        let (mut sender, mut mirror) = (SnapshotSender::new(viewer), SnapshotMirror::default());
        while let Some(frame) = sender.next_frame(&session.seen()).unwrap() {
            mirror.take(&frame).unwrap();
        }
        // and so does a session after a crash.
        session.run(open("run", "compute"));
        let before = session.seen();
        prop_assert!(before.analysis().is_some());
        drop(session);
        prop_assert_eq!(made(&before), made(&SmallSession::opened(&disk).seen()));
    }
}
