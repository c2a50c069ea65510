//! The models of a running job: tried out beside the learned one, published, taken back.

use callgrove_model::Label;
use callgrove_session::{Command, ModelInForce, ModelTrial, RunningModels};

use crate::support::*;

fn look() -> Command {
    let server = JOB.to_owned();
    Command::LookAtRunningModels { server }
}

fn publish(note: &str) -> Command {
    Command::PublishModel {
        server: JOB.to_owned(),
        note: note.to_owned(),
    }
}

fn seen(session: &Session) -> RunningModels {
    let seen = session.seen();
    assert_eq!(errors(&seen), Vec::<String>::new());
    RunningModels::clone(seen.running_models.as_ref().unwrap())
}

#[test]
fn a_model_is_tried_out_published_and_taken_back() {
    let mut session = Session::opened(&Disk::default());
    session.run(look());
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
    // A label changes the model, and the next publication what is in force.
    session.label(SLOW_TREE, Label::Normal);
    session.run(look());
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
fn a_job_that_cannot_be_reached_is_told_and_changes_nothing() {
    let mut session = Session::opened(&Disk::default());
    let server = "http://elsewhere:1".to_owned();
    let seen = session.run(Command::LookAtRunningModels { server });
    assert_eq!(errors(&seen).len(), 1);
    assert_eq!(seen.running_models, None);
}
