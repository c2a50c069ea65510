//! Tables of the effect of labels: a simulated expert who knows the truth labels the suggested trees.

use std::error::Error;

use callgrove_evaluate::evaluate::{CurveParams, CurvePoint, Quality, learning_curve};
use callgrove_judge::active::QueryStrategy;
use callgrove_judge::detector::{DetectorParams, LabelRule};
use callgrove_trees::Progress;

use crate::case::Case;
use callgrove_benches::markdown_table::{MarkdownTable, share};

/// Meaning of a cell.
const CELL: &str = "average precision over all / over the trees without a label, anomalies called normal + \
                    normal trees called abnormal, doubtful labels";
/// Meaning of a cell for a clean trace.
const CLEAN_CELL: &str = "normal trees called abnormal, doubtful labels";

/// Table D for one trace: rules, strategies, and numbers of labels.
pub(crate) fn curves(case: &Case) -> Result<MarkdownTable, Box<dyn Error>> {
    let checkpoints = vec![0, 5, 10, 20, 50, 100];
    let mut header = vec!["rule".to_owned(), "question".to_owned()];
    header.extend(checkpoints.iter().map(|count| format!("{count} labels")));
    let mut table = MarkdownTable::new(
        &format!("D. Labels: {}", case.name),
        &format!(
            "After this number of labels: {}.",
            if case.is_clean() { CLEAN_CELL } else { CELL }
        ),
        header,
    );
    let rules = [
        ("weights only", LabelRule::Weights { normal: 1.5 }),
        ("reach", DetectorParams::default().labels),
    ];
    for (name, labels) in rules {
        for query in QueryStrategy::ALL {
            let mut row = vec![name.to_owned(), query.name().to_owned()];
            let points = learn(case, labels, query, checkpoints.clone())?;
            row.extend(points.iter().map(|point| cell(case, point)));
            table.push(row);
        }
    }
    Ok(table)
}

fn learn(
    case: &Case,
    labels: LabelRule,
    query: QueryStrategy,
    checkpoints: Vec<usize>,
) -> Result<Vec<CurvePoint>, Box<dyn Error>> {
    let embedding = case.embed(DetectorParams {
        labels,
        ..DetectorParams::default()
    })?;
    let params = CurveParams { checkpoints }.check()?;
    let points = learning_curve(&embedding, &case.truth, &params, query, Progress::none())?;
    Ok(points)
}

fn cell(case: &Case, point: &CurvePoint) -> String {
    let (alarms, num_doubtful) = (point.alarms, point.num_doubtful);
    if case.is_clean() {
        return format!("{}, {num_doubtful}", alarms.num_false);
    }
    let precision =
        |quality: Option<Quality>| share(quality.map(|quality| quality.ranking.average_precision));
    format!(
        "{} / {}, {} + {}, {num_doubtful}",
        precision(point.all),
        precision(point.unlabelled),
        alarms.num_missed,
        alarms.num_false,
    )
}
