//! Table of the effect of the tracer's own writes, without labels.

use std::error::Error;
use std::sync::Arc;

use callgrove_evaluate::evaluate::{Alarms, Class};
use callgrove_judge::detector::{Detector, DetectorParams, causes, listed_scores};
use callgrove_learn::cause::{WriteShare, write_shares};
use callgrove_model::{Comms, DurationNs, Forest, Trace, TracerWrite};
use callgrove_trees::Progress;

use crate::case::{Case, average_precision};
use callgrove_benches::markdown_table::{MarkdownTable, share, texts};

/// A set of writes that count, and the function that removes the data about other writes from the trace.
type Scope = (&'static str, fn(&mut Trace));

const SCOPES: [Scope; 4] = [
    ("none", |trace| trace.writes.clear()),
    ("own rank", |trace| {
        trace.metadata.clear();
        for lane in &mut trace.lanes {
            lane.comms = Comms::default();
        }
    }),
    ("and partners", |trace| trace.metadata.clear()),
    ("and same host (default)", |_| ()),
];

/// Table I: alarms, errors and ranking with no writes, those of the tree's rank, and those of others.
pub(crate) fn tracer(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let mut table = MarkdownTable::new(
        "I. The tracer's own writes",
        "By whose writes count. False alarms and missed: the list leaves tagged trees out of the alarms, so a \
         tagged anomaly is missed. Tagged: trees of those called abnormal that are normal; anomalies of each \
         kind, of all that are called abnormal.",
        texts(&[
            &"trace",
            &"writes",
            &"in all",
            &"whose",
            &"false alarms",
            &"missed",
            &"average precision",
            &"tagged: normal",
            &"anomalies",
            &"of these stopped, victim, hog or fsync, structure",
        ]),
    );
    for case in cases {
        let embedding = case.embed(DetectorParams::default())?;
        let labels = vec![None; embedding.num_trees()];
        let detector = Detector::train(&embedding, &labels, None, Progress::none())?;
        let (scores, abnormal) = (detector.scores(), detector.abnormal());
        let (bags, reference) = (&embedding.subtrees().bags, embedding.reference());
        let trace = case.forest().trace();
        let written = trace
            .writes
            .iter()
            .map(TracerWrite::duration)
            .sum::<DurationNs>();
        for (whose, forget) in SCOPES {
            let forest = forgetful(case.forest(), forget);
            let shares: Vec<Option<WriteShare>> = write_shares(&forest, bags, reference);
            let causes = causes(abnormal, &labels, &shares);
            let listed = listed_scores(scores, abnormal, &causes);
            let alarms = Alarms::of(&case.truth, &listed);
            let classes = || case.truth.classes().iter().zip(&causes).zip(abnormal);
            let tagged = |wanted: &dyn Fn(Class) -> bool| {
                let tagged =
                    classes().filter(|((class, cause), _)| wanted(**class) && cause.is_some());
                tagged.count()
            };
            let is_positive = |class: Class| matches!(class, Class::Positive(_));
            let num_found = classes()
                .filter(|((class, _), is_abnormal)| is_positive(**class) && **is_abnormal)
                .count();
            let by_kind = (0..case.truth.kinds().len())
                .map(|kind| tagged(&|class| class == Class::Positive(kind)).to_string());
            table.push(texts(&[
                &case.name,
                &trace.writes.len(),
                &written,
                &whose,
                &alarms.num_false,
                &alarms.num_missed,
                &share(average_precision(&case.truth, &listed)),
                &tagged(&|class| class == Class::Negative),
                &format!("{} of {num_found}", tagged(&is_positive)),
                &by_kind.collect::<Vec<_>>().join(", "),
            ]));
        }
    }
    Ok(table)
}

/// Returns the same trees in a trace from which something is removed.
fn forgetful(forest: &Forest, forget: fn(&mut Trace)) -> Forest {
    let mut trace = Trace::clone(forest.trace());
    forget(&mut trace);
    Forest::grow(Arc::new(trace), forest.functions())
}
