//! The formats of traces that this program reads, and its processes that read a stream first or publish one.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_formats::{GuardProgram, local_registry};
use callgrove_source::Registry;
use callgrove_tau::PublisherProgram;

use crate::stop::StopSignal;

/// Name of the hidden subcommand that reads a stream.
const READ_THROUGH: &str = "read-through";
/// Name of the hidden subcommand that publishes a stream.
const PUBLISH: &str = "publish-stream";

/// Path of the running program on Linux, valid even after the file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Returns a guard that runs this program to read a stream before this process does.
pub(crate) fn guard() -> Option<GuardProgram> {
    Some(GuardProgram {
        program: own_program().ok()?,
        arguments: vec![READ_THROUGH.into()],
    })
}

/// Returns this program as the one that publishes the streams of a replay.
pub(crate) fn publisher() -> io::Result<PublisherProgram> {
    Ok(PublisherProgram {
        program: own_program()?,
        arguments: vec![PUBLISH.into()],
    })
}

fn own_program() -> io::Result<PathBuf> {
    let own = Path::new(OWN_PROGRAM);
    if own.exists() {
        return Ok(own.to_owned());
    }
    std::env::current_exe()
}

/// Returns the known formats of traces, with this program as the guard of those that need one.
pub(crate) fn registry() -> Registry {
    local_registry(guard())
}

/// Runs in the process of the guard.
pub(crate) fn read_through(stream: &Path) -> Result<()> {
    Ok(callgrove_formats::read_through(stream)?)
}

/// Runs in the process of a stream of a replay.
pub(crate) fn publish(arguments: &[OsString]) -> Result<()> {
    // A terminal or batch system also interrupts this process, which ends when the replay asks it to.
    let _stop = StopSignal::listen()?;
    let published = callgrove_tau::publish(arguments, &LibraryOnDemand::of_this_machine());
    published.map_err(|error| anyhow!(error.with_causes()))
}
