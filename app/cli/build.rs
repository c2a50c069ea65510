//! Embeds the page in the program, if it was built: `cargo xtask web` puts it into the target folder.
//!
//! Without the page the program is built all the same, and `callgrove serve` reports what is missing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// The variable with the folder of the bundle, for builds with another location.
const VARIABLE: &str = "CALLGROVE_WEB";
/// The list of the bundle's files, with hashes.
const LIST: &str = "bundle.txt";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let folder = env::var_os(VARIABLE).map_or_else(|| in_target(&out), |path| Some(path.into()));
    let mut code = String::from("&[\n");
    if let Some(folder) = folder {
        // Cargo watches the folder for changes, so it has to exist.
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error.to_string()))?;
        println!("cargo::rerun-if-changed={}", folder.display());
        if let Ok(list) = fs::read_to_string(folder.join(LIST)) {
            add(&mut code, &folder, &list)?;
        }
    }
    code.push(']');
    fs::write(out.join("page.rs"), code).map_err(|error| failed(&out, &error.to_string()))
}

/// Returns the bundle's folder in the target folder. Cargo gives only `[TRIPLE/]PROFILE/build/PACKAGE/out` in it.
fn in_target(out: &Path) -> Option<PathBuf> {
    let above = out.ancestors().nth(4)?;
    let is_of_triple = env::var_os("TARGET").is_some_and(|triple| above.ends_with(triple));
    let target = if is_of_triple { above.parent()? } else { above };
    Some(target.join("page"))
}

/// Adds the files of the list: each name, with its brotli form and its gzip form.
fn add(code: &mut String, folder: &Path, list: &str) -> Result<(), String> {
    let files = list.lines().filter_map(|line| line.split_once(' '));
    for (hash, file) in files {
        let path = folder.join(file);
        let content = fs::read(&path).map_err(|error| failed(&path, &error.to_string()))?;
        let found = Sha256::digest(&content)
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        if found != hash {
            return Err(failed(&path, "the file is damaged"));
        }
        let Some(name) = file.strip_suffix(".br") else {
            continue;
        };
        let [path, gzip] =
            [path, folder.join(format!("{name}.gz"))].map(|file| file.display().to_string());
        writeln!(
            code,
            "({name:?}, include_bytes!({path:?}).as_slice(), include_bytes!({gzip:?}).as_slice()),"
        )
        .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn failed(path: &Path, cause: &str) -> String {
    format!("{cause}: {}; run `cargo xtask web` again", path.display())
}
