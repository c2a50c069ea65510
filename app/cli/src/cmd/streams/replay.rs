//! `callgrove replay`: publishes a recorded trace again.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use callgrove_model::{Progress, thousands};
use callgrove_tau::{ReplayOptions, SstWriter, StreamGuard, WriterEngine, replay};

use crate::guard::{guard, publisher, registry};
use crate::output::{print, warn};
use crate::stop::StopSignal;
use callgrove_args::{ReplayArgs, ReplayEngine};

/// Valid speeds as multiples of the recorded one. A speed of 0, as fast as possible, is also valid.
const SPEEDS: RangeInclusive<f64> = 1e-3..=1e6;

pub(crate) fn run(args: &ReplayArgs) -> Result<()> {
    ensure!(
        args.speed == 0.0 || SPEEDS.contains(&args.speed),
        "--speed {:?} must be 0 or from 0.001 to 1000000",
        args.speed
    );
    let stop = StopSignal::listen()?;
    let streams = registry().find(Path::new(&args.trace))?;
    let engine = match args.engine {
        ReplayEngine::Sst => WriterEngine::Sst(SstWriter::default()),
        ReplayEngine::Bp4 => WriterEngine::Bp4,
        ReplayEngine::Bp5 => WriterEngine::Bp5,
    };
    let publisher = publisher().context("cannot find this program, which publishes the streams")?;
    let mut options = ReplayOptions::new(&args.out, engine, publisher);
    options.speed = args.speed;
    if let Some(guard) = guard() {
        let guard = StreamGuard::new(guard.program, guard.arguments);
        let check = |path| guard.check_for_adios2(path, &options.adios2);
        let checked = streams.iter().map(PathBuf::as_path).try_for_each(check);
        checked.map_err(|error| anyhow!(error.with_causes()))?;
    }
    if args.engine == ReplayEngine::Sst {
        let names = streams.iter().filter_map(|path| path.file_name());
        let names: Vec<String> = names
            .map(|name| args.out.join(name).display().to_string())
            .collect();
        warn(&format!(
            "waiting for a reader of each stream: callgrove run --sst {}",
            names.join(" ")
        ));
    }
    let ask = |_: f32| stop.flow();
    let summary = replay(&streams, &options, Progress::new(&ask))
        .map_err(|error| anyhow!(error.with_causes()))?;
    for warning in summary.warnings.iter() {
        warn(&format!("{}: {}", warning.kind, warning.first.since(None)));
    }
    let steps = thousands(summary.num_steps);
    print(|out| writeln!(out, "published {steps} steps of {} streams", streams.len()))
}
