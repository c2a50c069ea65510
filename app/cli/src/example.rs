//! The example trace, which is embedded in the program, so that a window can open it on any machine.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use callgrove_session::Command;

use callgrove_headless::{Readers, replace_file, user_folder};

macro_rules! example_files {
    ($($rank:literal)*) => {
        [$(
            example_files!(@file $rank "data.0"),
            example_files!(@file $rank "md.0"),
            example_files!(@file $rank "md.idx"),
            example_files!(@file $rank "mmd.0"),
        )*]
    };
    (@file $rank:literal $file:literal) => {
        (
            concat!("tau-metrics-lmp_tau-", $rank, ".bp"),
            $file,
            include_bytes!(concat!(
                "../../../assets/lammps-4r-small/bp/tau-metrics-lmp_tau-", $rank, ".bp/", $file
            ))
            .as_slice(),
        )
    };
}

/// Folder, file and content of each file of the example trace (see `assets/lammps-4r-small/README.md`).
const FILES: [(&str, &str, &[u8]); 16] = example_files!(0 1 2 3);

/// Returns the command that opens the example trace, after unpacking it.
pub(crate) fn open_example() -> Result<Command> {
    Ok(Command::OpenTrace {
        source: unpack()?.to_string_lossy().into_owned(),
        function: Some("PairEAM::compute".to_owned()),
    })
}

/// Writes the example trace to the user's cache, unless it is there already.
fn unpack() -> Result<PathBuf> {
    let folder = cache_folder()?.join(concat!("lammps-4r-small-", env!("CARGO_PKG_VERSION")));
    for (bp, file, content) in FILES {
        let bp = folder.join(bp);
        let path = bp.join(file);
        if fs::metadata(&path).is_ok_and(|found| found.len() == content.len() as u64) {
            continue;
        }
        fs::create_dir_all(&bp)
            .and_then(|()| replace_file(&path, content, Readers::ByMask))
            .with_context(|| format!("cannot unpack the example trace to {}", path.display()))?;
    }
    Ok(folder)
}

fn cache_folder() -> Result<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache").context(
        "neither XDG_CACHE_HOME nor HOME is set; set one of them to a folder for the example trace",
    )
}
