//! Every edit can be undone, whatever came before it.

use callgrove_model::{Label, ProgramId, RankId, TimeNs};
use callgrove_query::TimeRange;
use proptest::prelude::*;

use super::root_state::ModelChoice;
use super::*;
use crate::edit::{LabelChange, ModelFile};
use crate::label::TreeKey;
use crate::model::{ModelSettings, ModelUse};

fn label(index: u32, label: Option<Label>) -> Edit {
    let key = LabelKey::Tree(TreeKey {
        program: ProgramId(0),
        rank: RankId(0),
        index,
    });
    Edit::SetLabels(vec![LabelChange { key, label }])
}

fn mark(id: u64, text: &str) -> Edit {
    let range = TimeRange::between(TimeNs(1), TimeNs(2));
    Edit::SetMark(Mark {
        id,
        range,
        text: text.to_owned(),
    })
}

fn of(root: &str, edit: Edit) -> HistoryStep {
    HistoryStep::Edit {
        root: Some(root.to_owned()),
        edit,
    }
}

fn do_in(history: &mut History, root: &str, edit: Edit) {
    history.apply(&of(root, edit));
}

/// Returns the visible state of a history, without its steps.
pub(crate) fn state(history: &History) -> (BTreeMap<Arc<str>, RootState>, BTreeMap<u64, Mark>) {
    let mut roots = history.roots.clone();
    roots.retain(|_, state| *state != RootState::default());
    (roots, history.marks.clone())
}

fn edits() -> impl Strategy<Value = Edit> {
    let value = prop_oneof![
        Just(None),
        Just(Some(Label::Normal)),
        Just(Some(Label::Abnormal))
    ];
    let tune = Edit::Tune(Some(ModelSettings {
        nu: 0.1,
        gamma: 1.0,
        rate: 0.2,
    }));
    prop_oneof![
        4 => (0..4_u32, value).prop_map(|(index, value)| label(index, value)),
        1 => Just(Edit::Train),
        1 => any::<bool>().prop_map(Edit::AutoTrain),
        1 => Just(Edit::Hold),
        1 => Just(Edit::LearnHeld),
        1 => Just(Edit::LoadModel("m.json".into())),
        1 => Just(Edit::UseModel(ModelFile { path: "m.json".into(), fit: ModelUse::Anyway })),
        1 => Just(tune),
        1 => (0..3_u64, "[ab]").prop_map(|(id, text)| mark(id, &text)),
        1 => (0..3_u64).prop_map(Edit::DeleteMark),
        1 => (0..4_u32, any::<bool>()).prop_map(|(index, trained)| {
            let mut saved = RootState::default();
            let LabelChange { key, .. } = changes(label(index, None)).remove(0);
            let given = Some(Label::Normal);
            let learned = given.filter(|_| trained);
            let is_held = !trained && index > 2;
            let origin = LabelOrigin::default();
            saved.label_states.insert(key, LabelState { given, origin, learned, is_held });
            Edit::Restore(SavedState { marks: Some(Vec::new()), ..saved.save() })
        }),
    ]
}

fn changes(edit: Edit) -> Vec<LabelChange> {
    let Edit::SetLabels(changes) = edit else {
        panic!("{edit:?} sets no labels");
    };
    changes
}

pub(crate) fn actions() -> impl Strategy<Value = Vec<HistoryStep>> {
    let root = prop_oneof![Just("f"), Just("g")];
    let action = prop_oneof![
        5 => (root, edits()).prop_map(|(root, edit)| of(root, edit)),
        2 => Just(HistoryStep::Undo),
        1 => Just(HistoryStep::Redo),
        2 => Just(HistoryStep::Ask),
    ];
    proptest::collection::vec(action, 0..30)
}

proptest! {
    #[test]
    fn undo_reverses_an_edit_and_redo_repeats_it(before in actions(), edit in edits()) {
        let mut history = History::default();
        for action in &before {
            history.apply(action);
        }
        let start = state(&history);
        do_in(&mut history, "f", edit);
        let end = state(&history);
        history.apply(&HistoryStep::Undo);
        prop_assert_eq!(&state(&history), &start);
        history.apply(&HistoryStep::Redo);
        prop_assert_eq!(&state(&history), &end);
    }

    #[test]
    fn undo_reverses_an_edit_that_waits_for_an_answer_and_redo_asks_again(before in actions(), edit in edits()) {
        let mut history = History::default();
        for action in &before {
            history.apply(action);
        }
        let start = state(&history);
        do_in(&mut history, "f", edit);
        history.apply(&HistoryStep::Ask);
        let asked = state(&history);
        history.apply(&HistoryStep::Undo);
        prop_assert_eq!(&state(&history), &start);
        history.apply(&HistoryStep::Redo);
        prop_assert_eq!(&state(&history), &asked);
    }

    #[test]
    fn undoing_everything_restores_the_start_and_redoing_it_the_end(before in actions()) {
        let mut history = History::default();
        for action in &before {
            history.apply(action);
        }
        while history.can_apply(&HistoryStep::Redo) {
            history.apply(&HistoryStep::Redo);
        }
        let end = state(&history);
        let mut num_undone = 0;
        while history.can_apply(&HistoryStep::Undo) {
            history.apply(&HistoryStep::Undo);
            num_undone += 1;
        }
        prop_assert_eq!(state(&history), state(&History::default()));
        for _ in 0..num_undone {
            history.apply(&HistoryStep::Redo);
        }
        prop_assert_eq!(state(&history), end);
    }

    #[test]
    fn untrained_labels_are_those_that_differ_from_the_learned_ones_and_are_not_held(before in actions()) {
        let mut history = History::default();
        for action in &before {
            history.apply(action);
            for state in history.roots.values() {
                let differ = state.label_states.iter().filter(|(_, it)| it.given != it.learned && !it.is_held);
                prop_assert!(differ.map(|(key, _)| key).eq(&state.untrained));
            }
        }
    }
}

#[test]
fn without_auto_training_labels_wait_for_training() {
    let mut history = History::default();
    do_in(&mut history, "f", Edit::AutoTrain(false));
    do_in(&mut history, "f", label(1, Some(Label::Abnormal)));
    let counts = |history: &History| {
        let state = history.of_root("f");
        (state.labels().len(), state.num_untrained())
    };
    assert_eq!(counts(&history), (1, 1));
    do_in(&mut history, "f", Edit::Train);
    assert_eq!(counts(&history), (1, 0));
}

#[test]
fn labels_in_question_wait_are_held_and_can_be_learned_later() {
    let mut history = History::default();
    do_in(&mut history, "f", label(1, Some(Label::Normal)));
    do_in(&mut history, "f", label(2, Some(Label::Abnormal)));
    history.apply(&HistoryStep::Ask);
    let counts = |history: &History| {
        let state = history.of_root("f");
        (state.num_untrained(), state.num_held(), state.is_asking())
    };
    assert_eq!(counts(&history), (1, 0, true));
    do_in(&mut history, "f", Edit::Hold);
    assert_eq!(counts(&history), (0, 1, false));
    do_in(&mut history, "f", label(3, Some(Label::Normal)));
    assert_eq!(
        counts(&history),
        (0, 1, false),
        "only the new label is trained"
    );
    do_in(&mut history, "f", Edit::LearnHeld);
    assert_eq!(counts(&history), (0, 0, false));
    assert_eq!(history.num_labels(), 3);
}

#[test]
fn a_new_edit_discards_the_undone_ones() {
    let mut history = History::default();
    do_in(&mut history, "f", label(1, Some(Label::Abnormal)));
    history.apply(&HistoryStep::Undo);
    do_in(&mut history, "f", label(2, Some(Label::Normal)));
    assert!(
        !history.can_apply(&HistoryStep::Redo),
        "the undone label is gone"
    );
    assert_eq!(
        history.undo_text(Some("f")).as_deref(),
        Some("label #0-2 normal")
    );
    assert_eq!(
        history.undo_text(Some("g")).as_deref(),
        Some("label #0-2 normal (f)")
    );
}

/// Returns the bytes of the map entries and of the steps with their values.
fn num_bytes(history: &History) -> usize {
    let steps = history.undo_steps.iter().chain(&history.redo_steps);
    let of_steps: usize = steps
        .map(|step| {
            let values = &step.values;
            size_of::<UndoStep>()
                + step.description.len()
                + size_of_val(&*values.of_root.label_states)
                + size_of_val(&*values.marks)
                + values
                    .of_root
                    .choice
                    .as_ref()
                    .map_or(0, |_| size_of::<ModelChoice>())
        })
        .sum();
    let of_roots: usize = history
        .roots
        .values()
        .map(|state| {
            state.label_states.len() * size_of::<(LabelKey, LabelState)>()
                + state.untrained.len() * size_of::<LabelKey>()
        })
        .sum();
    of_steps + of_roots
}

#[test]
fn ten_thousand_labels_and_their_undo_take_few_megabytes() {
    let mut history = History::default();
    for index in 0..10_000 {
        do_in(&mut history, "f", label(index, Some(Label::Abnormal)));
    }
    let full = num_bytes(&history);
    assert!(full < 3 << 20, "{full} bytes with all labels");
    for _ in 0..10_000 {
        history.apply(&HistoryStep::Undo);
    }
    assert_eq!(history.num_labels(), 0);
    let undone = num_bytes(&history);
    assert!(undone < 3 << 20, "{undone} bytes with all undone");
}

#[test]
fn undo_restores_who_gave_a_label_and_when() {
    let mut history = History::default();
    let give = |history: &mut History, who, at, value| {
        let step = of("f", label(0, value));
        history.with_origin(who, Some(TimeNs(at))).apply(&step);
    };
    let origin = |history: &History| {
        let labels = history.of_root("f").labels();
        let (key, _) = labels.iter().next()?;
        let LabelOrigin { by, at } = labels.origin(key)?;
        Some((by.as_deref().map(str::to_owned), at.map(|at| at.0)))
    };
    let ana = Some((Some("ana".to_owned()), Some(1)));
    let ben = Some((Some("ben".to_owned()), Some(2)));
    give(&mut history, Some("ana"), 1, Some(Label::Normal));
    give(&mut history, Some("ben"), 2, Some(Label::Abnormal));
    assert_eq!(origin(&history), ben);
    history
        .with_origin(Some("eve"), Some(TimeNs(3)))
        .apply(&HistoryStep::Undo);
    assert_eq!(origin(&history), ana);
    history.apply(&HistoryStep::Redo);
    assert_eq!(origin(&history), ben);
    give(&mut history, None, 4, Some(Label::Normal));
    assert_eq!(origin(&history), Some((None, Some(4))));
}
