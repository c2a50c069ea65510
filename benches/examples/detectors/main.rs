//! Compares the detectors, each in a complete AD instance over all ranks: the tables in `docs/method.md`.
//!
//! `cargo run --release -p callgrove-benches --example detectors -- [RUN…]`
//!
//! Each RUN is a folder with a recorded run. Its truth is read from files next to the streams, if they exist:
//! `injections.json` and `ground_truth.csv` (`data/README.md` describes their columns), or `truth.csv` of the example
//! `tau_trace`. Generated programs follow.

mod generated;
mod truth;

use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use callgrove_ad::{AdOptions, Instance, Pacing, Stream};
use callgrove_benches::recorded_run::recorded_streams;
use callgrove_detect::{Algorithm, Params};
use callgrove_provdb::{AccessMode, Collection, Query};
use callgrove_provdb_net::RemoteOptions;
use callgrove_provdb_stores::OpenOptions;
use callgrove_pserver::{Retention, ServerState, StateOptions};
use serde_json::Value;

use generated::PROGRAMS;
use truth::{RecordedFind, RunTruth};

/// Seeds of the generated programs; no setting was chosen on them.
const SEEDS: std::ops::Range<u64> = 101..106;

fn main() -> Result<(), Box<dyn Error>> {
    let runs: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    println!(
        "| run | {} |",
        Algorithm::ALL.map(Algorithm::name).join(" | ")
    );
    println!("|---|{}", "---|".repeat(Algorithm::ALL.len()));
    for run in &runs {
        let truth = RunTruth::read(run)?;
        let name = run.file_name().unwrap_or(run.as_os_str()).to_string_lossy();
        row(&name, |algorithm| {
            Ok(truth.rate(&detect(recorded_streams(run)?, algorithm)?))
        })?;
    }
    for program in PROGRAMS {
        row(program.name, |algorithm| {
            let mut all = truth::Hits::default();
            for seed in SEEDS {
                let (streams, anomalies) = program.run(seed);
                all.add(&anomalies, &detect(streams, algorithm)?);
            }
            Ok(all.to_string())
        })?;
    }
    Ok(())
}

fn row(
    name: &str,
    rate: impl Fn(Algorithm) -> Result<String, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let rated = Algorithm::ALL.into_iter().map(rate);
    let rated = rated.collect::<Result<Vec<_>, _>>()?;
    println!("| {name} | {} |", rated.join(" | "));
    Ok(())
}

/// Returns the anomalies that a detector finds.
fn detect(streams: Vec<Stream>, algorithm: Algorithm) -> Result<Vec<RecordedFind>, Box<dyn Error>> {
    let params = Params {
        algorithm,
        ..Params::default()
    };
    let mut options = AdOptions::new(params, Pacing::Lockstep)?;
    options.window = 0;
    let server = Arc::new(ServerState::new(StateOptions {
        retention: Retention::Process,
        fold_on_sync: true,
        ..StateOptions::default()
    }));
    let folder = tempfile::tempdir()?;
    let url = folder.path().to_string_lossy().into_owned();
    let open = OpenOptions {
        mode: AccessMode::ReadWrite,
        num_shards: None,
        remote: RemoteOptions::default(),
    };
    let mut store = callgrove_provdb_stores::open(&url, &open)?;
    let written = callgrove_provdb_stores::open(&url, &open)?;
    let session = Box::new(server.session());
    Instance::start(streams, options, session, Some(written), "detectors")?
        .run(|_| ControlFlow::Continue(()))?;
    let documents = store.find(&Query::all(Collection::Anomalies))?;
    let found = documents.iter().map(|json| {
        let record: Value = serde_json::from_str(json)?;
        Ok(RecordedFind::of(&record))
    });
    found.collect()
}
