//! Tables of what labels add: a simulated person who knows the truth answers what is asked.

use std::error::Error;

use callgrove_ml::Progress;
use callgrove_ml::active::QueryStrategy;
use callgrove_ml::detector::{CorrectionParams, DetectorParams, LabelRule};
use callgrove_ml::evaluate::{CurveParams, CurvePoint, Quality, learning_curve};

use crate::case::Case;
use crate::table::{MarkdownTable, share};

/// What a cell means,
const CELL: &str = "average precision over all / over the trees without a label, anomalies called normal + \
                    normal trees called abnormal, doubtful labels";
/// and on a clean trace.
const CLEAN_CELL: &str = "normal trees called abnormal, doubtful labels";

/// Table D for one trace: rules, strategies, and numbers of labels.
pub(crate) fn curves(case: &Case) -> Result<MarkdownTable, Box<dyn Error>> {
    let checkpoints = vec![0, 5, 10, 20, 50, 100];
    let mut header = vec!["rule".to_owned(), "question".to_owned()];
    header.extend(checkpoints.iter().map(|count| format!("{count} labels")));
    let mut table = MarkdownTable::new(
        &format!("D. Labels: {}", case.name),
        &format!(
            "After so many labels: {}.",
            if case.is_clean() { CLEAN_CELL } else { CELL }
        ),
        header,
    );
    let rules = [
        ("weights only", LabelRule::Weights { normal: 1.5 }),
        ("correction", DetectorParams::default().labels),
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

/// Table E: settings of the correction.
pub(crate) fn correction(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let checkpoints = vec![20, 50];
    let mut header = vec!["settings".to_owned(), "labels".to_owned()];
    header.extend(cases.iter().map(|case| case.name.clone()));
    let mut table = MarkdownTable::new(
        "E. Settings of the correction",
        &format!(
            "After labels for the most uncertain trees: {CELL}; on a clean trace {CLEAN_CELL}."
        ),
        header,
    );
    let default = CorrectionParams::default();
    let sharpness = |sharpness| CorrectionParams {
        sharpness,
        ..default
    };
    let noise = |noise| CorrectionParams { noise, ..default };
    let variants = [
        ("default", default),
        ("sharpness 4", sharpness(4.0)),
        ("sharpness 16", sharpness(16.0)),
        ("noise 0.01", noise(0.01)),
        ("noise 0.2", noise(0.2)),
    ];
    for (name, params) in variants {
        let mut rows: Vec<Vec<String>> = checkpoints
            .iter()
            .map(|count| vec![name.to_owned(), count.to_string()])
            .collect();
        for case in cases {
            let labels = LabelRule::Correction(params);
            let points = learn(
                case,
                labels,
                QueryStrategy::MostUncertain,
                checkpoints.clone(),
            )?;
            for (row, point) in rows.iter_mut().zip(&points) {
                row.push(cell(case, point));
            }
        }
        for row in rows {
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
