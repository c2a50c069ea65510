//! Files may have any content: they are read or refused without a panic.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use std::sync::Arc;

use callgrove_model::{
    Forest, FuncEventKind, NameTable, ProgramId, Progress, RankBuilder, RankId, StepBatch, StepId,
    ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_session::{LabelSet, LearnSettings, LearningError, SavedModel, TreeScores, analyze};
use proptest::prelude::*;

fn forest() -> Forest {
    let mut names = NameTable::default();
    let (root, leaf) = (names.intern("f(int)"), names.intern("g()"));
    let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(0));
    for call in 0..30_i64 {
        let times = [0, 10, 20 + call % 3, 40 + call % 5].map(|after| TimeNs(call * 100 + after));
        let events = [
            (FuncEventKind::Entry, root),
            (FuncEventKind::Entry, leaf),
            (FuncEventKind::Exit, leaf),
            (FuncEventKind::Exit, root),
        ];
        for (time, (kind, func)) in times.into_iter().zip(events) {
            let row = batch.funcs.len() as u32;
            batch.funcs.push(ThreadId(0), kind, func, time, row);
        }
    }
    let mut rank = RankBuilder::new(ProgramId(0), RankId(0));
    rank.push(batch);
    let trace = Trace::assemble(
        vec![rank.finish(names, NameTable::default())],
        Warnings::default(),
    );
    Forest::grow(Arc::new(trace), &[root])
}

fn model(settings: &LearnSettings) -> String {
    let (_, mut learned) = analyze(forest(), "f".into(), settings, Progress::none()).unwrap();
    learned.train(&[None; 30], Progress::none()).unwrap();
    learned.model_text().unwrap()
}

proptest! {
    #[test]
    fn any_bytes_are_labels_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let parsed = LabelSet::from_csv(&bytes);
        if let Ok(labels) = parsed {
            prop_assert_eq!(LabelSet::from_csv(labels.to_csv().as_bytes()), Ok(labels));
        }
    }

    #[test]
    fn nearly_valid_labels_are_labels_or_an_error(text in "rank,index,label\n([0-9]{0,12},[0-9-]{0,3},(normal|abnormal|\"|x),?\n){0,5}") {
        let parsed = LabelSet::from_csv(text.as_bytes());
        prop_assert!(parsed.is_ok() || !parsed.unwrap_err().to_string().is_empty());
    }
}

fn score_with_model(forest: &Forest, model: &[u8]) -> Result<TreeScores, LearningError> {
    let tree_scores = SavedModel::read(model)?
        .judge(forest, false, Progress::none())?
        .tree_scores;
    Ok(tree_scores)
}

/// Cuts the model at many positions, and replaces its digits by other numbers.
#[test]
fn a_damaged_model_is_refused_or_gives_scores() {
    let forest = forest();
    for settings in [LearnSettings::with_seed(1), LearnSettings::paper(1)] {
        let model = model(&settings);
        assert!(
            score_with_model(&forest, model.as_bytes()).is_ok(),
            "the whole model is good"
        );
        for cut in (0..model.len()).step_by(model.len() / 50 + 1) {
            assert!(
                score_with_model(&forest, &model.as_bytes()[..cut]).is_err(),
                "a part of a model is refused"
            );
        }
        let digits: Vec<usize> = (0..model.len())
            .filter(|&at| model.as_bytes()[at].is_ascii_digit())
            .collect();
        for &at in digits.iter().step_by(digits.len() / 100 + 1) {
            for number in ["7", "99999", "-3", "1e308", "null"] {
                let damaged = format!("{}{number}{}", &model[..at], &model[at + 1..]);
                if let Ok(tree_scores) = score_with_model(&forest, damaged.as_bytes()) {
                    assert_eq!(tree_scores.scores.len(), forest.len(), "{number} at {at}");
                }
            }
        }
    }
}
