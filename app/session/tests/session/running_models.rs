//! The models of a running job: compared with the trained one, published, reverted.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use callgrove_model::{Forest, Label, ProgramId, TreeIdx};
use callgrove_session::{
    Command, Engine, EventKey, LearnSettings, ModelInForce, ModelTrial, RunningModels, Selection,
    SnapshotCell,
};

use callgrove_app_tests::small_session::*;

fn fetch_models() -> Command {
    let server = JOB.to_owned();
    Command::FetchRunningModels { server }
}

fn publish(note: &str) -> Command {
    Command::PublishModel {
        server: JOB.to_owned(),
        note: note.to_owned(),
    }
}

fn seen(session: &SmallSession) -> RunningModels {
    let seen = session.seen();
    assert_eq!(errors(&seen), Vec::<String>::new());
    RunningModels::clone(seen.model.running_models.as_ref().unwrap())
}

#[test]
fn a_model_is_compared_published_and_reverted() {
    let mut session = SmallSession::opened(&Disk::default());
    session.run(fetch_models());
    let num_trees = (NUM_RANKS * NUM_STEPS) as usize;
    let first = ModelTrial {
        name: "Pair::compute".to_owned(),
        in_force: None,
        num_trees,
        num_abnormal: 1,
        num_new: 1,
        ..ModelTrial::default()
    };
    assert_eq!(seen(&session).trial, Some(first.clone()));
    session.run(publish("the slow one"));
    let models = seen(&session);
    let version = &models.list.models[0].versions[0];
    assert_eq!(
        (version.note.as_str(), version.by.as_str()),
        ("the slow one", "ana")
    );
    let known = ModelTrial {
        in_force: Some(1),
        num_new: 0,
        ..first
    };
    assert_eq!(models.trial, Some(known.clone()));
    // A label changes the model, and the next publication changes the active one.
    session.label(SLOW_TREE, Label::Normal);
    session.run(fetch_models());
    let labelled = ModelTrial {
        num_abnormal: 0,
        num_gone: 1,
        ..known
    };
    assert_eq!(seen(&session).trial, Some(labelled));
    session.run(publish(""));
    assert_eq!(seen(&session).list.models[0].in_force, Some(2));
    let wanted = ModelInForce {
        name: "Pair::compute".to_owned(),
        version: Some(1),
    };
    let server = JOB.to_owned();
    session.run(Command::PutModelInForce { server, wanted });
    assert_eq!(seen(&session).list.models[0].in_force, Some(1));
}

#[test]
fn a_slow_acknowledgement_is_shown_as_work_in_progress() {
    let cell = SnapshotCell::default();
    let stages = Arc::<Mutex<BTreeSet<String>>>::default();
    let (watched, seen) = (cell.clone(), Arc::clone(&stages));
    let wake = move || {
        let work = watched.newest().work.clone();
        seen.lock().unwrap().extend(work.map(|work| work.stage));
    };
    let host = Box::new(DiskHost(Disk::default()));
    let settings = LearnSettings::with_seed(1);
    let engine = Engine::new(host, settings, cell.clone(), Arc::new(wake));
    let mut session = SmallSession { engine, cell };
    session.run(open("run", "compute"));
    stages.lock().unwrap().clear();
    session.run(publish("the slow one"));
    let wanted = ModelInForce {
        name: "Pair::compute".to_owned(),
        version: None,
    };
    let server = JOB.to_owned();
    session.run(Command::PutModelInForce { server, wanted });
    assert_eq!(self::seen(&session).list.models[0].in_force, None);
    let expected = ["Changing the model in force", "Publishing the model"];
    assert_eq!(*stages.lock().unwrap(), expected.map(str::to_owned).into());
}

#[test]
fn an_unreachable_job_is_reported_and_changes_nothing() {
    let mut session = SmallSession::opened(&Disk::default());
    let server = "http://elsewhere:1".to_owned();
    let seen = session.run(Command::FetchRunningModels { server });
    assert_eq!(errors(&seen).len(), 1);
    assert_eq!(seen.model.running_models, None);
}

#[test]
fn new_recorded_trees_are_counted_and_loaded_with_labels_and_selection_kept() {
    let disk = Disk {
        abnormal: [(2, 17), (1, 31), (3, 33)].map(event).into(),
        ..Disk::default()
    };
    *disk.num_recorded.lock().unwrap() = 20;
    let mut session = SmallSession::on(&disk);
    session.run(open("recorded", "compute"));
    let forest_of =
        |session: &SmallSession| session.seen().analysis().cloned().unwrap().forest.clone();
    let forest = forest_of(&session);
    assert_eq!(forest.len(), 4 * 10);
    let tree_of = |forest: &Forest, key: EventKey| {
        let mut trees = (0..forest.len()).map(TreeIdx::from_index);
        trees
            .find(|&tree| EventKey::of(forest, tree) == key)
            .unwrap()
    };
    let slow = event(SLOW);
    session.label(tree_of(&forest, slow), Label::Abnormal);
    session.run(Command::Select(Selection::One(tree_of(&forest, slow))));
    *disk.num_recorded.lock().unwrap() = NUM_STEPS;
    session.run(fetch_models());
    assert_eq!(seen(&session).num_new_trees, 2);
    let seen = session.run(Command::Reload);
    assert_eq!(errors(&seen), Vec::<String>::new());
    assert_eq!(last_notice(&seen), "40 new executions.");
    let forest = forest_of(&session);
    let now = tree_of(&forest, slow);
    assert_eq!(
        seen.edits.labels_by_tree[now.index()],
        Some(Label::Abnormal)
    );
    assert_eq!(seen.edits.labels_by_tree.iter().flatten().count(), 1);
    assert_eq!(seen.selection, Selection::One(now));
    session.run(fetch_models());
    assert_eq!(self::seen(&session).num_new_trees, 0);
    // In the whole trace the same execution has the label.
    let seen = session.run(open("run", "compute"));
    let labels = seen.edits.labels_by_tree.iter().enumerate();
    let labelled: Vec<usize> = labels
        .filter(|(_, label)| label.is_some())
        .map(|(tree, _)| tree)
        .collect();
    assert_eq!(labelled, [SLOW_TREE.index()]);
}

/// Returns the key of an execution of `compute`, by rank and index on it. Each has six events, the first after that of
/// `main`.
fn event((rank, index): (u32, u32)) -> EventKey {
    EventKey::parse(ProgramId(0), &format!("{rank}:0:{}", 1 + 6 * index)).unwrap()
}
