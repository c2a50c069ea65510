//! Subcommands of the program, run to their end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use crate::program;

/// The usual root function of the LAMMPS traces.
pub const COMPUTE: &str = "PairEAM::compute";

/// Returns the path of a file or folder of the repository.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Returns the example trace: 4 ranks, two engines.
pub fn example() -> PathBuf {
    data("assets/lammps-4r-small")
}

/// Copies the streams of a LAMMPS run on 4 ranks, to be damaged.
///
/// # Errors
/// A file cannot be copied.
pub fn copy_of(run: &Path) -> Result<TempDir> {
    let disk = tempfile::tempdir()?;
    for rank in 0..4 {
        let name = format!("bp/tau-metrics-lmp_tau-{rank}.bp");
        let stream = disk.path().join(&name);
        fs::create_dir_all(&stream)?;
        for entry in fs::read_dir(run.join(&name))? {
            let entry = entry?;
            fs::copy(entry.path(), stream.join(entry.file_name()))?;
        }
    }
    Ok(disk)
}

/// Runs the program.
///
/// # Errors
/// It does not start.
pub fn callgrove(args: &[&str]) -> Result<Output> {
    program::command()?
        .args(args)
        .output()
        .context("callgrove does not start")
}

/// Returns the standard output of a run that must succeed.
///
/// # Errors
/// It does not start.
///
/// # Panics
/// If it fails.
pub fn stdout(args: &[&str]) -> Result<String> {
    let output = callgrove(args)?;
    let error_output = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?} failed: {error_output}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the standard error of a run that must fail with exit code 1 and print nothing else.
///
/// # Errors
/// It does not start.
///
/// # Panics
/// If it does not.
pub fn error_output(args: &[&str]) -> Result<String> {
    let output = callgrove(args)?;
    assert_eq!(
        output.status.code(),
        Some(1),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(
        output.stdout.is_empty(),
        "{args:?} printed a result and failed"
    );
    Ok(String::from_utf8(output.stderr)?)
}

/// Returns the rows of `analyze --format json` for the usual root function.
///
/// # Errors
/// It does not start, or prints no JSON.
pub fn analyze(trace: &Path, more: &[&str]) -> Result<Vec<Value>> {
    analyze_function(trace, COMPUTE, more)
}

/// Returns the rows of `analyze --format json` for any root function.
///
/// # Errors
/// It does not start, or prints no JSON.
pub fn analyze_function(trace: &Path, function: &str, more: &[&str]) -> Result<Vec<Value>> {
    let trace = trace.to_string_lossy();
    let args = [
        &[
            "analyze",
            &trace,
            "--function",
            function,
            "--format",
            "json",
        ],
        more,
    ]
    .concat();
    stdout(&args)?
        .lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

/// Returns rank, index and label (0 to 5, see the README of the example) of every execution.
///
/// # Errors
/// It cannot be read.
pub fn ground_truth(trace: &Path) -> Result<Vec<(u64, u64, u8)>> {
    let text = fs::read_to_string(trace.join("ground_truth.csv"))?;
    let rows = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        Ok((
            fields[0].parse()?,
            fields[1].parse()?,
            fields[fields.len() - 1].parse()?,
        ))
    });
    rows.collect()
}
