//! Folders where the system has no owners and permissions like those of Unix.

use std::fs;
use std::io;
use std::path::Path;

/// Creates a folder, if it does not exist.
///
/// # Errors
/// Those of the operating system.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
