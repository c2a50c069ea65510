//! Trainings that would move many executions: asked about before they take effect.

use std::sync::Arc;

use callgrove_model::{Label, TreeIdx};
use callgrove_session::{Command, Selection, Snapshot, TimeRange, TrainingAnswer};

use crate::support::*;

/// Labels that teach the model that what nearly all trees are is abnormal.
fn provoke(session: &mut Session) -> Arc<Snapshot> {
    session.run(Command::SetLabel {
        trees: misled(),
        label: Some(Label::Abnormal),
    })
}

fn misled() -> Vec<TreeIdx> {
    (0..40).map(|step| TreeIdx(step * 4)).collect()
}

fn answer(session: &mut Session, answer: TrainingAnswer) -> Arc<Snapshot> {
    session.run(Command::Answer(answer))
}

#[test]
fn explore() {
    for n in [1_u32, 2, 4, 8, 16, 24, 40, 60, 80] {
        for which in 0..3 {
            let mut session = Session::opened(&Disk::default());
            let before = session.seen();
            let trees: Vec<TreeIdx> = (0..n)
                .map(|i| match which {
                    0 => TreeIdx(i),
                    1 => TreeIdx(i * 160 / n),
                    _ => before.detection.as_ref().unwrap().order[i as usize],
                })
                .collect();
            let seen = session.run(Command::SetLabel {
                trees,
                label: Some(Label::Abnormal),
            });
            let d = seen.detection.as_ref().unwrap();
            let q = seen
                .question
                .as_ref()
                .map(|q| (q.num_moved(), q.num_labels));
            eprintln!(
                "n {n} which {which}: before {} now {} q {q:?} err {:?}",
                before.detection.as_ref().unwrap().num_abnormal,
                d.num_abnormal,
                errors(&seen)
            );
        }
    }
    panic!("look");
}
