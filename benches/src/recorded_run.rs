//! Recorded runs as input of an AD instance.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use callgrove_ad::{OpenStream, Stream, WriterGone};
use callgrove_formats::local_registry;
use callgrove_model::RankId;
use callgrove_source::{Part, Projection, Ranks};

/// Returns the streams of a run: those in its folder `bp`, if it has one.
///
/// # Errors
/// If there are no streams.
pub fn recorded_streams(run: &Path) -> Result<Vec<Stream>, Box<dyn Error>> {
    let within = run.join("bp");
    let folder = if within.is_dir() { &within } else { run };
    let parts = local_registry(None).open(folder)?.into_parts()?;
    let streams = parts.into_iter().map(|part| {
        let part: Arc<dyn Part> = Arc::from(part);
        let open = || -> OpenStream {
            let part = Arc::clone(&part);
            let projection = Projection {
                ranks: Ranks::Own,
                ..Projection::default()
            };
            Box::new(move || part.open(&projection))
        };
        Stream {
            rank: part.named_rank().unwrap_or(RankId(0)),
            open: open(),
            path: part.path().display().to_string(),
            reopen: Some(open()),
            writer_gone: WriterGone::default(),
        }
    });
    Ok(streams.collect())
}
