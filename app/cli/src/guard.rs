//! The formats of traces that this program reads, and the process of its own that reads a stream first.

use std::path::Path;

use anyhow::Result;
use callgrove_formats::{GuardProgram, local_registry};
use callgrove_source::Registry;

/// Name of the hidden subcommand.
const READ_THROUGH: &str = "read-through";

/// Path of the running program on Linux, valid even after the file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Returns a guard that runs this program to read a stream before this process does.
pub(crate) fn guard() -> Option<GuardProgram> {
    let own = Path::new(OWN_PROGRAM);
    let program = if own.exists() {
        own.to_owned()
    } else {
        std::env::current_exe().ok()?
    };
    Some(GuardProgram {
        program,
        arguments: vec![READ_THROUGH.into()],
    })
}

/// Returns the known formats of traces, with this program as the guard of those that need one.
pub(crate) fn registry() -> Registry {
    local_registry(guard())
}

/// Runs in the process of the guard.
pub(crate) fn read_through(stream: &Path) -> Result<()> {
    Ok(callgrove_formats::read_through(stream)?)
}
