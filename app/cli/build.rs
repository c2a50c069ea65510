//! Takes the page into the program, if it was built: `cargo xtask web` leaves it in the target folder.
//!
//! Without it the program is built all the same, and says at `callgrove serve` what is missing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// Names the folder of the bundle, for builds that have it elsewhere.
const VARIABLE: &str = "CALLGROVE_WEB";
/// The list of what belongs to the bundle, with hashes.
const LIST: &str = "bundle.txt";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let folder = env::var_os(VARIABLE).map_or_else(|| in_target(&out), |path| Some(path.into()));
    let mut code = String::from("&[\n");
    if let Some(folder) = folder {
        // Cargo looks again when something in the folder changes, so it has to be there.
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error.to_string()))?;
        println!("cargo::rerun-if-changed={}", folder.display());
        if let Ok(list) = fs::read_to_string(folder.join(LIST)) {
            add(&mut code, &folder, &list)?;
        }
    }
    code.push(']');
    fs::write(out.join("page.rs"), code).map_err(|error| failed(&out, &error.to_string()))
}

/// The bundle's place in the target folder, of which cargo tells only `[TRIPLE/]PROFILE/build/PACKAGE/out` in it.
fn in_target(out: &Path) -> Option<PathBuf> {
    let above = out.ancestors().nth(4)?;
    let is_of_triple = env::var_os("TARGET").is_some_and(|triple| above.ends_with(triple));
    let target = if is_of_triple { above.parent()? } else { above };
    Some(target.join("page"))
}

/// Adds what the list names: each name, with its brotli form and its gzip form.
fn add(code: &mut String, folder: &Path, list: &str) -> Result<(), String> {
    let files = list.lines().filter_map(|line| line.split_once(' '));
    for (hash, file) in files {
        let path = folder.join(file);
        let content = fs::read(&path).map_err(|error| failed(&path, &error.to_string()))?;
        if format!("{:x}", Sha256::digest(&content)) != hash {
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
