//! Measures the cost of an AD instance on a recorded run, with the models in the same process: CPU time and memory of
//! the process.
//!
//! `cargo run --release -p callgrove-benches --example ad -- RUN [ALGORITHM [FOLDER]]`
//!
//! With a FOLDER, the anomalies are recorded there in SQLite.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use callgrove_ad::{AdOptions, Instance, Pacing};
use callgrove_benches::meter::{cpu_ns, peak_memory_bytes};
use callgrove_benches::recorded_run::recorded_streams;
use callgrove_detect::Params;
use callgrove_provdb::AccessMode;
use callgrove_provdb_net::RemoteOptions;
use callgrove_provdb_stores::OpenOptions;
use callgrove_pserver::{ServerState, StateOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((run, rest)) = arguments.split_first() else {
        return Err("usage: ad RUN [ALGORITHM [FOLDER]]".into());
    };
    let mut params = Params::default();
    if let Some(algorithm) = rest.first() {
        params.algorithm = algorithm.parse()?;
    }
    let open = OpenOptions {
        mode: AccessMode::ReadWrite,
        num_shards: None,
        remote: RemoteOptions::default(),
    };
    let store = rest
        .get(1)
        .map(|url| callgrove_provdb_stores::open(url, &open));
    let options = AdOptions::new(params, Pacing::Lockstep)?;
    let server = Arc::new(ServerState::new(StateOptions {
        fold_on_sync: true,
        ..StateOptions::default()
    }));
    let (streams, session) = (
        recorded_streams(Path::new(run))?,
        Box::new(server.session()),
    );
    let instance = Instance::start(streams, options, session, store.transpose()?, "ad")?;
    let status = instance.run(|_| ControlFlow::Continue(()))?;
    let (num_events, seconds) = (status.num_events, cpu_ns() as f64 * 1e-9);
    println!(
        "{num_events} events, {} executions, {} anomalies, {seconds:.3} CPU s, {:.2} M events per CPU s, {:.0} MB",
        status.num_executions,
        status.num_anomalies,
        num_events as f64 / seconds * 1e-6,
        peak_memory_bytes() as f64 * 1e-6,
    );
    Ok(())
}
