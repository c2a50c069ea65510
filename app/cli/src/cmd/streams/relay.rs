//! `callgrove relay`: copies the streams of a running job to files for AD instances.

use std::time::Duration;

use anyhow::{Result, anyhow};
use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_model::{Progress, thousands};
use callgrove_pipeline::live_streams;
use callgrove_tau::{RelayOptions, relay};

use crate::exit::Exit;
use crate::output::{print, print_damage, warn};
use crate::stop::StopSignal;
use callgrove_args::RelayArgs;

pub(crate) fn run(args: &RelayArgs) -> Result<Exit> {
    let stop = StopSignal::listen()?;
    let streams = live_streams(&args.sst)?;
    let options = RelayOptions {
        out: args.out.clone(),
        connect_timeout: Duration::from_secs(args.connect_timeout),
        max_bytes: args
            .max_mb
            .map(|megabytes| megabytes.saturating_mul(1_000_000)),
        adios2: LibraryOnDemand::of_this_machine(),
    };
    warn(&format!(
        "relaying {} streams; follow them with: callgrove ad {} --follow",
        streams.len(),
        args.out.display()
    ));
    let ask = |_: f32| stop.flow();
    let summary = relay(&streams, &options, Progress::new(&ask))
        .map_err(|error| anyhow!(error.with_causes()))?;
    print_damage(&summary.warnings);
    let num_steps = thousands(summary.num_steps);
    print(|out| {
        writeln!(
            out,
            "relayed {num_steps} steps of {} streams",
            streams.len()
        )
    })?;
    if summary.num_dropped == 0 {
        return Ok(Exit::after(&summary.warnings));
    }
    warn(&format!(
        "{} steps were dropped, because the files had no space for them; the job was not delayed",
        thousands(summary.num_dropped)
    ));
    Ok(Exit::Partial)
}
