//! Table of the kinds of anomalies, without labels.

use std::error::Error;

use callgrove_evaluate::evaluate::{Alarms, Class, Truth};
use callgrove_judge::detector::DetectorParams;

use crate::case::{Case, ranking};
use callgrove_benches::markdown_table::{MarkdownTable, texts};

/// Table C: each kind of anomaly against all normal trees, for the paper's settings and the defaults.
pub(crate) fn kinds(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let mut table = MarkdownTable::new(
        "C. Kinds of anomalies",
        "Each kind against all normal trees: area under the ROC curve / average precision; errors: \
         anomalies called normal + normal trees called abnormal.",
        texts(&[
            &"trace",
            &"anomalies",
            &"trees",
            &"`paper()`",
            &"its errors",
            &"default",
            &"its errors",
        ]),
    );
    for case in cases.iter().filter(|case| !case.is_clean()) {
        let paper = case.scores(DetectorParams::paper())?;
        let ours = case.scores(DetectorParams::default())?;
        let mut push = |what: &str, truth: &Truth| {
            let mut row = texts(&[&case.name, &what, &truth.num_positive()]);
            for scores in [&paper, &ours] {
                let alarms = Alarms::of(truth, scores);
                row.push(ranking(truth, scores));
                row.push(format!("{} + {}", alarms.num_missed, alarms.num_false));
            }
            table.push(row);
        };
        push("all", &case.truth);
        let without_slow = case.truth_without(|tree, _| case.is_slow_negative(tree))?;
        push("all, slow normal trees left out", &without_slow);
        for (kind, name) in case.truth.kinds().iter().enumerate() {
            if case.truth.num_of_kind(kind) > 0 {
                let is_other_kind =
                    |_, class| matches!(class, Class::Positive(other) if other != kind);
                push(name, &case.truth_without(is_other_kind)?);
            }
        }
    }
    Ok(table)
}
