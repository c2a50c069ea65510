//! All formats of traces.
//!
//! ```text
//! formats (one line each) ───────────────┐
//! files of this machine, or of a page ───┴─ Registry ─ Run ─ Trace
//! ```
//!
//! To add a format, write a crate in a folder next to `events_csv` and give it a line in `formats`.

#[cfg(not(target_family = "wasm"))]
mod local;

use std::sync::Arc;

use callgrove_chrome::ChromeFormat;
use callgrove_events_csv::EventsCsvFormat;
use callgrove_forest::ForestFormat;
use callgrove_otf2::Otf2Format;
use callgrove_packed::PackedFormat;
use callgrove_perfetto::PerfettoFormat;
use callgrove_source::{FileSystem, Format, Registry};

#[cfg(not(target_family = "wasm"))]
pub use local::{GuardProgram, load, local_registry, read_through};

/// Returns the formats that this build reads anywhere.
fn formats() -> Vec<Box<dyn Format>> {
    vec![
        Box::new(Otf2Format),
        Box::new(PackedFormat),
        Box::new(PerfettoFormat),
        Box::new(ChromeFormat),
        Box::new(ForestFormat),
        Box::new(EventsCsvFormat),
    ]
}

/// Returns the formats that a page reads, from its files.
pub fn page_registry(files: Arc<dyn FileSystem>) -> Registry {
    Registry::new(files, formats())
}
