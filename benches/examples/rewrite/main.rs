//! Rewrites a run in another format, to compare how its reader costs: `cargo run --release -p callgrove-benches
//! --example rewrite -- RUN otf2|chrome|perfetto OUT`. Chrome JSON and Perfetto have one file per rank here; `callgrove
//! export` writes one file of all ranks.

mod archive;
mod location;

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use callgrove_export::{write_chrome, write_perfetto};
use callgrove_formats::load;
use callgrove_model::{Lane, Progress, Trace};

use crate::archive::write_archive;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, format, out] = &arguments[..] else {
        return Err("usage: rewrite RUN otf2|chrome|perfetto OUT".into());
    };
    let trace = load(Path::new(run), Progress::none())?;
    let out = Path::new(out);
    fs::create_dir_all(out)?;
    match format.as_str() {
        "otf2" => write_archive(&trace, out)?,
        "chrome" | "perfetto" => write_ranks(trace, format, out)?,
        _ => return Err(format!("{format} is not otf2, chrome or perfetto").into()),
    }
    Ok(())
}

/// Writes a file for each rank.
fn write_ranks(mut trace: Trace, format: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let lanes = std::mem::take(&mut trace.lanes);
    let metadata = std::mem::take(&mut trace.metadata);
    // What refers to lanes by index would refer to others.
    trace.messages.clear();
    trace.writes.clear();
    for of_rank in lanes.chunk_by(|a, b| (a.program, a.rank) == (b.program, b.rank)) {
        let Some(Lane { rank, .. }) = of_rank.first() else {
            continue;
        };
        trace.lanes = of_rank.to_vec();
        for lane in &mut trace.lanes {
            lane.comms.mate.fill(None);
        }
        let of_rank = metadata.iter().filter(|it| it.rank == *rank);
        trace.metadata = of_rank.cloned().collect();
        let extension = if format == "chrome" {
            "json"
        } else {
            "pftrace"
        };
        let path = folder.join(format!("rank-{rank}.{extension}"));
        let mut file = BufWriter::new(File::create(path)?);
        if format == "chrome" {
            write_chrome(&trace, None, &mut file, Progress::none())?;
        } else {
            write_perfetto(&trace, None, &mut file, Progress::none())?;
        }
        file.flush()?;
    }
    Ok(())
}
