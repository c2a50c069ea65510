//! The files from which a report is made.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use callgrove_model::{Progress, hex};
use callgrove_report::InputFile;
use callgrove_source::Registry;
use sha2::{Digest, Sha256};

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Returns all files of a source, in order of path. `with_hashes` reads them wholly.
///
/// # Errors
/// There is no such source, or a file cannot be read; the user cancels.
pub fn input_files(
    registry: &Registry,
    source: &str,
    with_hashes: bool,
    progress: Progress<'_>,
) -> Result<Vec<InputFile>> {
    let mut paths = Vec::new();
    match registry.find(Path::new(source)) {
        Ok(found) => found
            .iter()
            .try_for_each(|path| add_files(path, &mut paths))?,
        // A saved session, which names its trace.
        Err(_) if Path::new(source).is_file() => paths.push(source.into()),
        Err(error) => return Err(error.into()),
    }
    paths.sort();
    paths.dedup();
    let num_files = paths.len();
    let files = paths.into_iter().enumerate().map(|(number, path)| {
        progress.at(number as f32 / num_files as f32)?;
        let sha256 = with_hashes.then(|| hash(&path)).transpose();
        let in_file = || format!("cannot read {}", path.display());
        Ok(InputFile {
            num_bytes: std::fs::metadata(&path).with_context(in_file)?.len(),
            sha256: sha256.with_context(in_file)?,
            path: path.display().to_string(),
        })
    });
    files.collect()
}

fn add_files(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = path.read_dir();
    for entry in entries.with_context(|| format!("cannot list {}", path.display()))? {
        add_files(&entry?.path(), files)?;
    }
    Ok(())
}

fn hash(path: &Path) -> std::io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let num_bytes = file.read(&mut chunk)?;
        if num_bytes == 0 {
            break;
        }
        hash.update(&chunk[..num_bytes]);
    }
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_sha256() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(
            hash(&path).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
