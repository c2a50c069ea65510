//! `callgrove evaluate` and the ways to define what is normal: models, references, parts of runs.

use std::fs;
use std::path::Path;

use anyhow::Result;
use callgrove_tests::shell::{
    COMPUTE, analyze, callgrove, error_output, example, ground_truth, stdout,
};
use serde_json::Value;

/// Returns the records of `evaluate` on the example trace with a truth file.
fn evaluate(truth: &Path, more: &[&str]) -> Result<Vec<Value>> {
    let (example, truth) = (example(), truth.to_string_lossy());
    let example = example.to_string_lossy();
    let args = [
        &["evaluate", &example, "-f", COMPUTE, "--truth", &truth][..],
        &["--format", "json"],
        more,
    ]
    .concat();
    stdout(&args)?
        .lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

#[test]
fn evaluate_measures_methods_by_kind_and_over_labels() -> Result<()> {
    let truth = example().join("ground_truth.csv");
    let folder = tempfile::tempdir()?;
    let plot = folder.path().join("curve.svg");
    let records = evaluate(
        &truth,
        &[
            "--methods",
            "ours,lof,time+lof,svm",
            "--labels-max",
            "10",
            "--strategy",
            "most-anomalous,most-uncertain",
            "--plot",
            &plot.to_string_lossy(),
        ],
    )?;
    let head = &records[0];
    assert_eq!(
        (&head["trees"], &head["positive"], &head["negative"]),
        (&196.into(), &6.into(), &190.into())
    );
    assert_eq!(head["kinds"], serde_json::json!({"1": 2, "2": 4}));
    let rows = |record: &'static str| records.iter().filter(move |row| row["record"] == record);
    let ours: Vec<&Value> = rows("method")
        .filter(|row| row["method"] == "ours")
        .collect();
    let kinds: Vec<_> = ours.iter().map(|row| row["kind"].as_str()).collect();
    assert_eq!(kinds, [None, Some("1"), Some("2")]);
    for row in &ours {
        assert!(row["roc_auc"].as_f64() > Some(0.9), "{row}");
        assert_eq!(row["negative"], 190);
    }
    assert_eq!(rows("method").count(), 4 * 3);
    let asked = |strategy: &'static str| {
        rows("labels").filter(move |row| row["trees"] == "all" && row["strategy"] == strategy)
    };
    assert_eq!(asked("most-uncertain").count(), 5);
    let all: Vec<&Value> = asked("most-anomalous").collect();
    let false_alarms = |row: &Value| row["false_alarms"].as_u64();
    assert!(false_alarms(all[4]) <= false_alarms(all[0]), "{all:?}");
    let labels: Vec<_> = all.iter().map(|row| row["labels"].as_u64()).collect();
    assert_eq!(labels, [0, 1, 2, 5, 10].map(Some));
    assert_eq!(all[0]["average_precision"], ours[0]["average_precision"]);
    assert!(all[4]["found"].as_u64() >= Some(4), "{}", all[4]);
    let picture = fs::read_to_string(plot)?;
    for text in [
        "Average precision",
        "ROC AUC",
        "time+lof",
        "ours, most-uncertain, unlabelled",
    ] {
        assert!(picture.contains(text), "{text} is not in the picture");
    }
    Ok(())
}

#[test]
fn evaluate_takes_a_minimal_truth_and_reports_mismatches() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("truth.csv");
    let text = path.to_string_lossy().into_owned();
    let mut rows = String::from("rank,index,label\n99,0,slow\n");
    for (rank, index, label) in ground_truth(&example())? {
        let label = if (1..=4).contains(&label) {
            "slow"
        } else {
            "Normal"
        };
        if index > 0 {
            rows += &format!("{rank},{index},{label}\n");
        }
    }
    fs::write(&path, &rows)?;
    let example = example().to_string_lossy().into_owned();
    let args = [
        "evaluate",
        &example,
        "-f",
        COMPUTE,
        "--truth",
        &text,
        "--methods",
        "ours,ecod",
    ];
    let output = callgrove(&[&args[..], &["--labels-max", "2"]].concat())?;
    let error_output = String::from_utf8(output.stderr)?;
    assert!(
        error_output.contains("labels of trees that this forest does not have: 1"),
        "{error_output}"
    );
    assert!(
        error_output.contains("trees without a label, which are not counted: 4"),
        "{error_output}"
    );
    let table = String::from_utf8(output.stdout)?;
    for text in [
        "196 trees, 6 anomalies, 186 normal, 4 unknown",
        "slow (6)",
        "ours with labels",
    ] {
        assert!(table.contains(text), "`{text}` is missing in:\n{table}");
    }

    let plot = folder.path().join("curve.png");
    evaluate(
        &path,
        &[
            "--methods",
            "ecod",
            "--labels-max",
            "0",
            "--plot",
            &plot.to_string_lossy(),
        ],
    )?;
    assert!(fs::read(plot)?.starts_with(b"\x89PNG"));

    let fails = |more: &[&str]| self::error_output(&[&args[..], more].concat());
    assert!(fails(&["--negative", "other"])?.contains("0 normal trees are known"));
    assert!(fails(&["--positive", "normal"])?.contains("cannot be both"));
    assert!(fails(&["--plot", "curve.jpg"])?.contains("must end in .svg or .png"));
    fs::write(&path, "rank,label\n0,1\n")?;
    assert!(fails(&[])?.contains("no column `index`"));
    let output = callgrove(&["evaluate", &example, "--truth", &text, "--methods", "lof,x"])?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr)?.contains("unknown method `x`"));
    Ok(())
}

#[test]
fn a_part_of_a_run_keeps_its_numbers_and_may_be_judged_by_another_part() -> Result<()> {
    let all = analyze(&example(), &[])?;
    let late = analyze(&example(), &["--between", "90%.."])?;
    assert!((40..140).contains(&late.len()), "{}", late.len());
    let index_of = |row: &Value| (row["rank"].as_u64(), row["index"].as_u64());
    for row in &late {
        let same = all.iter().find(|other| index_of(other) == index_of(row));
        assert_eq!(same.map(|same| &same["entry_us"]), Some(&row["entry_us"]));
    }
    let reference = example();
    let reference = reference.to_string_lossy();
    let judged = analyze(
        &example(),
        &["--between", "90%..", "--reference", &reference],
    )?;
    assert_eq!(judged.len(), late.len());
    let judged = analyze(&example(), &["--reference-between", "0%..97%"])?;
    assert_eq!(judged.len(), all.len());
    let output = callgrove(&["analyze", &reference, "--between", "60%..30%"])?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr)?.contains("such as 30%..60%"));
    Ok(())
}

#[test]
fn a_model_of_another_function_is_refused_unless_forced() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let model = folder.path().join("model.json");
    let (model, example) = (model.to_string_lossy(), example());
    let example = example.to_string_lossy();
    analyze(Path::new(&*example), &["--save-model", &model])?;
    let other = [
        "analyze",
        &example,
        "-f",
        "CommBrick::forward_comm_pair",
        "--model",
        &model,
    ];
    let refusal = error_output(&other)?;
    assert!(refusal.contains("it was trained for"), "{refusal}");
    assert!(refusal.contains("--force"), "{refusal}");
    let forced = stdout(&[&other[..], &["--force", "--format", "json"]].concat())?;
    assert!(forced.lines().count() > 100);
    Ok(())
}

#[test]
fn too_few_executions_are_not_judged() -> Result<()> {
    let rows = stdout(&[
        "analyze",
        &example().to_string_lossy(),
        "-f",
        COMPUTE,
        "--between",
        "98%..",
        "--format",
        "json",
    ])?;
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line)?;
        assert!(
            row["p_value"].is_null() && row["abnormal"] == false,
            "{row}"
        );
    }
    assert!(
        (1..30).contains(&rows.lines().count()),
        "{}",
        rows.lines().count()
    );
    Ok(())
}
