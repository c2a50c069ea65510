//! Trends on the command line: a run with a slow rank as input, a finding as output.

use std::fs::File;

use anyhow::{Context, Result};
use callgrove_model::{
    FuncEventKind, NameTable, ProgramId, Progress, RankBuilder, RankId, StepBatch, StepId,
    ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_packed::write_trace_file;
use callgrove_tests::shell::{data, error_output, example, stdout};
use serde_json::Value;
use tempfile::TempDir;

const NUM_RANKS: u32 = 6;
const NUM_STEPS: i64 = 200;
const SENTENCE: &str =
    "rank 4 1.30 times its peers in Solver::kernel throughout; peers: ranks 0 to 3 and 5";

/// Writes a run in which one rank of six needs 1,300 µs per step, and its peers 1,000.
fn slow_rank() -> Result<(TempDir, String)> {
    let ranks = (0..NUM_RANKS).map(|number| {
        let (mut names, mut time_us) = (NameTable::default(), 0);
        let mut builder = RankBuilder::new(ProgramId(0), RankId(number));
        let mut batch = StepBatch::empty(ProgramId(0), RankId(number), StepId(0));
        let mut event = |kind, name: &str, time_us: i64| {
            let (func, row) = (names.intern(name), batch.funcs.len() as u32);
            let time = TimeNs(time_us * 1_000);
            batch.funcs.push(ThreadId(0), kind, func, time, row);
        };
        for step in 0..NUM_STEPS {
            let noise_us = (step * 7 + i64::from(number) * 3) % 11 - 5;
            let kernel_us = if number == 4 { 1_300 } else { 1_000 } + noise_us;
            event(FuncEventKind::Entry, "Solver::step", time_us);
            event(FuncEventKind::Entry, "Solver::kernel", time_us + 5);
            event(
                FuncEventKind::Exit,
                "Solver::kernel",
                time_us + 5 + kernel_us,
            );
            event(
                FuncEventKind::Entry,
                "MPI_Barrier()",
                time_us + 10 + kernel_us,
            );
            time_us += 1_400;
            event(FuncEventKind::Exit, "MPI_Barrier()", time_us);
            event(FuncEventKind::Exit, "Solver::step", time_us);
        }
        builder.push(batch);
        builder.finish(names, NameTable::default())
    });
    let trace = Trace::assemble(ranks.collect(), Warnings::default());
    let disk = tempfile::tempdir()?;
    let path = disk.path().join("run.callgrove");
    write_trace_file(&trace, &mut File::create(&path)?, Progress::none())?;
    Ok((disk, path.to_string_lossy().into_owned()))
}

#[test]
fn a_slow_rank_is_named_as_text_and_in_records() -> Result<()> {
    let (_disk, run) = slow_rank()?;
    let table = stdout(&["trends", &run])?;
    assert!(table.contains(SENTENCE), "{table}");
    let json = stdout(&["trends", &run, "--format", "json"])?;
    let rows: Vec<Value> = json
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let [row] = rows.as_slice() else {
        panic!("one finding: {json}");
    };
    assert_eq!(row["kind"], "slow");
    assert_eq!(row["ranks"], serde_json::json!([4]));
    assert_eq!(row["peers"], serde_json::json!([0, 1, 2, 3, 5]));
    assert_eq!(row["function"], "Solver::kernel");
    assert_eq!(row["words"], SENTENCE);
    let factor = row["factor"].as_f64().context("no factor")?;
    assert!((factor - 1.3).abs() < 0.01, "{row}");
    let csv = stdout(&["trends", &run, "--format", "csv"])?;
    let header = csv.lines().next().context("no header")?;
    assert!(
        header.starts_with("trend,kind,ranks,threads,host,function,"),
        "{header}"
    );
    assert_eq!(csv.lines().count(), 2, "{csv}");
    Ok(())
}

#[test]
fn tables_of_analyze_and_incidents_end_with_the_trend_but_their_records_lack_it() -> Result<()> {
    let (_disk, run) = slow_rank()?;
    let line = format!("throughout the run: {SENTENCE}\n");
    let analyze = ["analyze", &run, "--function", "Solver::step"];
    for command in [&analyze[..], &["incidents", &run]] {
        let table = stdout(command)?;
        assert!(table.ends_with(&line), "{table}");
        let json = stdout(&[command, &["--format", "json"]].concat())?;
        for row in json.lines() {
            let row: Value = serde_json::from_str(row)?;
            assert!(row.get("trend").is_none(), "{row}");
        }
        assert!(!json.contains("throughout the run"), "{json}");
    }
    Ok(())
}

#[test]
fn a_run_without_trends_gives_a_sentence_and_no_records() -> Result<()> {
    for trace in ["assets/lammps-4r-small", "tests/data/lammps-4r-small-bp4"] {
        let table = stdout(&["trends", &data(trace).to_string_lossy()])?;
        assert!(table.starts_with("no rank is slower"), "{table}");
    }
    let json = stdout(&["trends", &example().to_string_lossy(), "--format", "json"])?;
    assert_eq!(json, "");
    Ok(())
}

#[test]
fn a_file_of_trees_has_no_trends() -> Result<()> {
    let trees = example().join("pair-eam-compute.jsonl");
    let text = error_output(&["trends", &trees.to_string_lossy()])?;
    assert!(text.contains("this needs a trace"), "{text}");
    Ok(())
}
