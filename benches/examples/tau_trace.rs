//! Writes a generated trace in TAU's format, and the positions of its outliers to `truth.csv` next to it: `cargo run
//! --release -p callgrove-benches --example tau_trace -- OUT [--events N] [--steps N] [--threads N] [--ranks N] [--seed
//! N] [--outlier-share X] [--engine BP4|BP5] [--gpu]`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use callgrove_adios2_sys::{Library, default_candidates};
use callgrove_benches::tau_trace::{Outlier, TauTraceSpec, write_trace};
use callgrove_tau::WriterEngine;

fn main() -> Result<(), Box<dyn Error>> {
    let (out, spec) = parse(std::env::args().skip(1))?;
    fs::create_dir_all(&out)?;
    let summary = write_trace(spec, &out, &Library::load(&default_candidates())?)?;
    write_truth(&out.join("truth.csv"), &summary.outliers)?;
    println!(
        "{} function events, {} messages, {} counter rows, {} outliers: {}",
        summary.num_events,
        summary.num_messages,
        summary.num_counter_rows,
        summary.outliers.len(),
        out.display()
    );
    Ok(())
}

fn parse(
    mut args: impl Iterator<Item = String>,
) -> Result<(PathBuf, TauTraceSpec), Box<dyn Error>> {
    let out = args
        .next()
        .ok_or("no output folder: pass it as the first argument")?;
    let mut spec = TauTraceSpec::default();
    while let Some(key) = args.next() {
        if key == "--gpu" {
            spec.has_gpu = true;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{key} needs a value"))?;
        match key.as_str() {
            "--events" => spec.num_events = value.parse()?,
            "--steps" => spec.num_steps = value.parse()?,
            "--threads" => spec.num_threads = value.parse()?,
            "--ranks" => spec.num_ranks = value.parse()?,
            "--seed" => spec.seed = value.parse()?,
            "--outlier-share" => spec.outlier_share = value.parse()?,
            "--engine" => spec.engine = engine(&value)?,
            _ => return Err(format!("{key} is not an option").into()),
        }
    }
    if spec.num_steps == 0 || spec.num_threads == 0 {
        return Err("at least one step and one thread".into());
    }
    Ok((out.into(), spec))
}

fn engine(name: &str) -> Result<WriterEngine, String> {
    match name {
        "BP4" => Ok(WriterEngine::Bp4),
        "BP5" => Ok(WriterEngine::Bp5),
        _ => Err(format!("{name} is not BP4 or BP5")),
    }
}

fn write_truth(path: &Path, outliers: &[Outlier]) -> Result<(), Box<dyn Error>> {
    let mut table = csv::Writer::from_path(path)?;
    table.write_record([
        "rank",
        "step",
        "row",
        "event_id",
        "thread",
        "function",
        "exclusive_us",
    ])?;
    for outlier in outliers {
        let Outlier {
            rank,
            step,
            row,
            thread,
            function,
            exclusive_us,
        } = outlier;
        table.write_record(&[
            rank.to_string(),
            step.to_string(),
            row.to_string(),
            format!("{rank}:{step}:{row}"),
            thread.to_string(),
            function.clone(),
            exclusive_us.to_string(),
        ])?;
    }
    table.flush()?;
    Ok(())
}
