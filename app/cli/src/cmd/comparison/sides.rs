//! The runs of the two sides of a comparison.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, Result};
use callgrove_check::{CheckedRun, RunBaseline};
use callgrove_query::ComparedRun;

use super::super::forest::trace_of;
use crate::exit::Exit;
use crate::output::{Clock, with_progress};

/// Reads the runs of a side, each from a trace or as one of a baseline. Returns the exit code for the damage of the traces,
/// too.
pub(super) fn read_side(sources: &[String], clock: &mut Clock) -> Result<(Vec<CheckedRun>, Exit)> {
    let (mut runs, mut exit) = (Vec::new(), Exit::Success);
    for source in sources {
        if let Some(baseline) = read_if_baseline(Path::new(source))? {
            runs.extend(baseline.runs().iter().map(CheckedRun::of_baseline));
            continue;
        }
        let (run, of_run) = read(source, clock)?;
        exit = exit.and(of_run);
        runs.push(CheckedRun {
            samples: with_progress("Sampling the calls", |progress| run.samples(progress))?,
            of_trace: Some(run),
            commit: None,
        });
    }
    Ok((runs, exit))
}

/// Reads a run, and finds its iterations and incidents.
pub(in crate::cmd) fn read(source: &str, clock: &mut Clock) -> Result<(ComparedRun, Exit)> {
    let trace = trace_of(source, clock)?;
    let run = with_progress("Searching for iterations and incidents", |progress| {
        ComparedRun::new(&trace, progress)
    })?;
    clock.lap("iterations and incidents");
    Ok((run, Exit::after(&trace.warnings)))
}

/// Reads a file of runs.
pub(super) fn read_baseline(file: &Path) -> Result<RunBaseline> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    RunBaseline::from_bytes(&bytes).with_context(|| format!("cannot use {}", file.display()))
}

/// Reads a file of runs, if it is one.
fn read_if_baseline(file: &Path) -> Result<Option<RunBaseline>> {
    let mut begin = [0; 32];
    let is_one = file.is_file()
        && File::open(file).is_ok_and(|mut file| {
            let read = file.read(&mut begin);
            read.is_ok_and(|num| RunBaseline::is_one(&begin[..num]))
        });
    is_one.then(|| read_baseline(file)).transpose()
}
