//! Tables of settings, without labels: the choices, and the sensitivity around the defaults.

use std::error::Error;

use callgrove_judge::detector::DetectorParams;
use callgrove_learn::features::{ExcessParams, Prior, Representation};
use callgrove_trees::wl::{Signature, WlParams};

use crate::case::{Case, average_precision};
use callgrove_benches::markdown_table::{MarkdownTable, share};

/// Settings with a name.
type Variant = (String, DetectorParams);

/// Table A: the effect of each choice of the defaults.
pub(crate) fn choices(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let default = DetectorParams::default();
    let uniform = |nu| DetectorParams {
        nu,
        prior: Prior::Uniform,
        ..default
    };
    let variants = [
        ("`paper()`", DetectorParams::paper()),
        (
            "`paper()`, ν = 0.2",
            DetectorParams {
                nu: 0.2,
                ..DetectorParams::paper()
            },
        ),
        ("excess + rarity, u = 1, ν = 0.02", uniform(0.02)),
        ("excess + rarity, u = 1, ν = 0.1", uniform(0.1)),
        ("excess + rarity, u = 1, ν = 0.3", uniform(0.3)),
        ("default", default),
        (
            "default, each tree a window",
            with_excess(|excess| excess.windows_per_lane = u32::MAX),
        ),
        (
            "default, no rarity",
            with_excess(|excess| excess.rarity_weight = 0.0),
        ),
        (
            "default, exact signatures",
            DetectorParams {
                wl: WlParams {
                    signature: Signature::Exact,
                    ..default.wl
                },
                ..default
            },
        ),
    ];
    let variants = variants.map(|(name, params)| (name.to_owned(), params));
    let mut table = table(
        "A. Representation and weights",
        "Area under the ROC curve / average precision",
        cases,
    );
    fill(&mut table, cases, &variants, Case::rank)?;
    // The norms alone are no method.
    let mut row = vec!["no SVM: norms of the default's rows".to_owned()];
    let mut precisions = Vec::new();
    for case in cases {
        let embedding = case.embed(default)?;
        let norms = embedding.rows().squared_norms();
        let scores: Vec<f64> = norms.iter().map(|norm| -norm).collect();
        precisions.extend(average_precision(&case.truth, &scores));
        row.push(if case.is_clean() {
            "-".to_owned()
        } else {
            case.rank(&scores)
        });
    }
    row.push(share(mean(&precisions)));
    table.push(row);
    Ok(table)
}

/// Table B: one setting changed at a time.
pub(crate) fn sensitivity(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let default = DetectorParams::default();
    let mut variants: Vec<Variant> = vec![("default".to_owned(), default)];
    let mut add = |name: &str, values: &[f64], change: &dyn Fn(f64) -> DetectorParams| {
        for &value in values {
            variants.push((format!("{name} {value}"), change(value)));
        }
    };
    add("ν", &[0.005, 0.02, 0.05], &|nu| DetectorParams {
        nu,
        ..default
    });
    add("factor of γ", &[0.05, 0.1, 1.0, 2.0], &|factor| {
        DetectorParams {
            gamma: default.gamma.with_factor(factor),
            ..default
        }
    });
    add("gain", &[5.0, 10.0, 15.0, 40.0], &|gain| {
        with_excess(|excess| excess.gain = gain)
    });
    add("weight of rarity", &[2.5, 3.0, 4.0, 5.0, 8.0], &|weight| {
        with_excess(|excess| excess.rarity_weight = weight)
    });
    add("windows", &[8.0, 12.0, 24.0, 32.0, 64.0], &|count| {
        with_excess(|excess| excess.windows_per_lane = count as u32)
    });
    add("minimum class size", &[4.0, 16.0], &|count| {
        with_excess(|excess| excess.min_class_size = count as usize)
    });
    let mut table = table("B. Sensitivity to each setting", "Average precision", cases);
    fill(&mut table, cases, &variants, Case::precision)?;
    Ok(table)
}

/// Returns the default with other settings of its rows.
fn with_excess(change: impl FnOnce(&mut ExcessParams)) -> DetectorParams {
    let mut params = DetectorParams::default();
    if let Representation::ExcessRarity(excess) = &mut params.representation {
        change(excess);
    }
    params
}

fn table(title: &str, cells: &str, cases: &[Case]) -> MarkdownTable {
    let legend = format!(
        "{cells}; on a clean trace the trees called abnormal: rare by design + others (of these at least \
         2 and 3 times as long as the median of their class). Last: mean average precision."
    );
    let mut header = vec!["settings".to_owned()];
    header.extend(cases.iter().map(|case| case.name.clone()));
    header.push("mean".to_owned());
    MarkdownTable::new(title, &legend, header)
}

fn fill(
    table: &mut MarkdownTable,
    cases: &[Case],
    variants: &[Variant],
    cell: fn(&Case, &[f64]) -> String,
) -> Result<(), Box<dyn Error>> {
    for (name, params) in variants {
        let mut row = vec![name.clone()];
        let mut precisions = Vec::new();
        for case in cases {
            let scores = case.scores(*params)?;
            precisions.extend(average_precision(&case.truth, &scores));
            row.push(cell(case, &scores));
        }
        row.push(share(mean(&precisions)));
        table.push(row);
    }
    Ok(())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
