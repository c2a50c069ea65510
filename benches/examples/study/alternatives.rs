//! Tables of the detector compared with simple alternatives: one-line rules, and other methods on its rows.

use std::error::Error;

use callgrove_evaluate::baselines::{Baseline, BaselineParams, Rule};
use callgrove_evaluate::evaluate::{Method, Quality, RowsOf, Truth, Workbench};
use callgrove_judge::detector::DetectorParams;
use callgrove_model::Forest;
use callgrove_trees::Progress;

use callgrove_benches::markdown_table::{MarkdownTable, share};

/// The seed of everything random in a method.
const SEED: u64 = 1;
/// Other methods in the comparison: neighbours and isolation on the detector's rows.
const OTHERS: [Baseline; 3] = [Baseline::Lof, Baseline::Knn, Baseline::Iforest];

/// Forests of one kind, whose truths have the same kinds of anomalies; the results are their means.
pub(crate) struct Subject<'a> {
    pub(crate) name: String,
    pub(crate) forests: Vec<(&'a Forest, &'a Truth)>,
}

/// Area under the ROC curve and average precision.
#[derive(Clone, Copy)]
struct Areas {
    roc_auc: f64,
    average_precision: f64,
}

/// Returns a table with a row for each subject and kind of anomaly, and one for all kinds together: our detector, each
/// rule, the other methods, and the margin over the best rule.
pub(crate) fn alternatives_table(
    title: &str,
    about: &str,
    subjects: &[Subject<'_>],
) -> Result<MarkdownTable, Box<dyn Error>> {
    let rules = Rule::ALL.iter().map(|&rule| Method::Rule(rule));
    let others = OTHERS.map(|other| Method::Baseline(RowsOf::Excess, other));
    let methods: Vec<Method> = [Method::Ours]
        .into_iter()
        .chain(rules)
        .chain(others)
        .collect();
    let mut header = vec!["forest".to_owned(), "anomalies".to_owned()];
    header.extend(methods.iter().map(|method| format!("`{method}`")));
    header.push("margin".to_owned());
    let legend = format!(
        "{about} Each kind against all normal trees: area under the ROC curve / average precision. Margin: \
         average precision of `ours` less that of the best one-line rule, which is named."
    );
    let mut table = MarkdownTable::new(title, &legend, header);
    for subject in subjects {
        let kinds = subject.forests.first().map(|(_, truth)| truth.kinds());
        let kinds = kinds.unwrap_or_default();
        // Areas by forest, method and kind; the last kind is all of them together.
        let mut rated: Vec<Vec<Vec<Option<Areas>>>> = Vec::new();
        for (forest, truth) in &subject.forests {
            rated.push(rate(forest, truth, &methods)?);
        }
        for kind in std::iter::once(kinds.len()).chain(0..kinds.len()) {
            let means: Vec<Option<Areas>> = (0..methods.len())
                .map(|method| mean(rated.iter().filter_map(|forest| forest[method][kind])))
                .collect();
            if means.iter().all(Option::is_none) {
                continue;
            }
            let name = kinds.get(kind).map_or("all", String::as_str);
            let mut row = vec![subject.name.clone(), name.to_owned()];
            row.extend(means.iter().map(|&areas| cell(areas)));
            row.push(margin(&methods, &means));
            table.push(row);
        }
    }
    Ok(table)
}

fn rate(
    forest: &Forest,
    truth: &Truth,
    methods: &[Method],
) -> Result<Vec<Vec<Option<Areas>>>, Box<dyn Error>> {
    let (ours, others) = (
        DetectorParams::default(),
        BaselineParams::default().check()?,
    );
    let mut workbench = Workbench::new(forest, truth, ours, others, SEED)?;
    let areas = |quality: Option<Quality>| {
        quality.map(|quality| Areas {
            roc_auc: quality.ranking.roc_auc,
            average_precision: quality.ranking.average_precision,
        })
    };
    let mut rated = Vec::new();
    for &method in methods {
        let scores = workbench.scores(method, Progress::none())?;
        let of_kind = |kind| areas(Quality::of_kind(truth, &scores, kind));
        let mut kinds: Vec<Option<Areas>> = (0..truth.kinds().len()).map(of_kind).collect();
        kinds.push(areas(Quality::of_all(truth, &scores)));
        rated.push(kinds);
    }
    Ok(rated)
}

fn mean(areas: impl Iterator<Item = Areas>) -> Option<Areas> {
    let areas: Vec<Areas> = areas.collect();
    let mean = |of: fn(&Areas) -> f64| areas.iter().map(of).sum::<f64>() / areas.len() as f64;
    (!areas.is_empty()).then(|| Areas {
        roc_auc: mean(|areas| areas.roc_auc),
        average_precision: mean(|areas| areas.average_precision),
    })
}

fn cell(areas: Option<Areas>) -> String {
    let (roc_auc, precision) = (
        areas.map(|areas| areas.roc_auc),
        areas.map(|areas| areas.average_precision),
    );
    format!("{} / {}", share(roc_auc), share(precision))
}

fn margin(methods: &[Method], means: &[Option<Areas>]) -> String {
    let precision = |wanted: fn(&Method) -> bool| {
        let found = methods
            .iter()
            .zip(means)
            .filter(move |(method, _)| wanted(method));
        found.filter_map(|(method, areas)| Some((areas.as_ref()?.average_precision, method)))
    };
    let best = precision(|method| matches!(method, Method::Rule(_)));
    // The first one of equals.
    let best = best.min_by(|a, b| b.0.total_cmp(&a.0));
    let ours = precision(|method| *method == Method::Ours).next();
    ours.zip(best).map_or_else(
        || "-".to_owned(),
        |((ours, _), (best, rule))| format!("{:+.3} (`{rule}`)", ours - best),
    )
}
