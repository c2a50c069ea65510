//! Recorded runs as input of an AD instance.

use std::error::Error;
use std::path::Path;

use callgrove_ad::{OpenStream, Stream};
use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_model::{ProgramId, RankId};
use callgrove_trace::{find_streams, open_stream, rank_in_name};

/// Returns the streams of a run: those in its folder `bp`, if it has one.
///
/// # Errors
/// If there are no streams.
pub fn recorded_streams(run: &Path) -> Result<Vec<Stream>, Box<dyn Error>> {
    let adios2 = LibraryOnDemand::of_this_machine();
    let within = run.join("bp");
    let folder = if within.is_dir() { &within } else { run };
    let streams = find_streams(folder)?.into_iter().map(|path| {
        let open = || -> OpenStream {
            let (path, adios2) = (path.clone(), adios2.clone());
            Box::new(move || open_stream(&path, ProgramId(0), &adios2))
        };
        Stream {
            rank: RankId(rank_in_name(&path).unwrap_or(0)),
            open: open(),
            path: path.display().to_string(),
            reopen: Some(open()),
        }
    });
    Ok(streams.collect())
}
