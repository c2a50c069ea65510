//! Table of other methods on the same trees, without labels.

use std::error::Error;

use callgrove_evaluate::baselines::{Baseline, BaselineParams, Rule};
use callgrove_evaluate::evaluate::{Method, RowsOf};
use callgrove_trees::{MlError, Progress};

use crate::alternatives::{Subject, alternatives_table};
use crate::case::{Case, ranking};
use callgrove_benches::markdown_table::MarkdownTable;

/// Table F: the methods of `callgrove evaluate`, each with its own settings. Clean traces are left out, since most
/// methods have no decision boundary.
pub(crate) fn methods(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let cases: Vec<&Case> = cases.iter().filter(|case| !case.is_clean()).collect();
    let mut header = vec!["method".to_owned()];
    header.extend(cases.iter().map(|case| case.name.clone()));
    let mut table = MarkdownTable::new(
        "F. Other methods",
        "Area under the ROC curve / average precision. After a plus sign the method, before it the rows; \
         without one, our rows. Rules have no rows. `ours` has the tracer's writes taken out (I). `svm` learns from four \
         fifths of the truth at a time. A dash: too few anomalies to learn from.",
        header,
    );
    let baseline = |rows| move |&baseline: &Baseline| Method::Baseline(rows, baseline);
    let others = [
        Method::Baseline(RowsOf::Stack2vec, Baseline::Lof),
        Method::Baseline(RowsOf::Time, Baseline::Lof),
        Method::Baseline(RowsOf::Time, Baseline::Ocsvm),
    ];
    let methods: Vec<Method> = [Method::Ours, Method::Paper]
        .into_iter()
        .chain(Rule::ALL.iter().map(|&rule| Method::Rule(rule)))
        .chain(others)
        .chain(Baseline::ALL.iter().map(baseline(RowsOf::Excess)))
        .collect();
    let params = BaselineParams::default().check()?;
    let mut workbenches = Vec::new();
    for case in &cases {
        workbenches.push(case.workbench(params)?);
    }
    for method in methods {
        let mut row = vec![format!("`{method}`")];
        for (case, workbench) in cases.iter().zip(&mut workbenches) {
            row.push(match workbench.scores(method, Progress::none()) {
                Ok(scores) => ranking(&case.truth, &scores),
                Err(MlError::TooFewExamples { .. } | MlError::PeerFailed(_)) => "-".to_owned(),
                Err(error) => return Err(error.into()),
            });
        }
        table.push(row);
    }
    Ok(table)
}

/// Table H: the margin over the best one-line rule on each trace with anomalies.
pub(crate) fn margins(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let cases = cases.iter().filter(|case| !case.is_clean());
    let subjects: Vec<Subject<'_>> = cases
        .map(|case| Subject {
            name: case.name.clone(),
            forests: vec![(case.forest(), &case.truth)],
        })
        .collect();
    alternatives_table("H. Margin over one-line rules", "Traces.", &subjects)
}
