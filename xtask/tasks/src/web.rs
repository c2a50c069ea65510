//! Builds the page into the target folder, where the build of `callgrove` finds and embeds it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use wasm_bindgen_cli_support::Bindgen;

use crate::workspace::Workspace;
use crate::{shell, wasm};

const PACKAGE: &str = "callgrove-web";
/// Name of the list of files in the bundle. It is written last, so that a bundle with a list is complete.
const LIST: &str = "bundle.txt";
/// Maximum number of bytes sent to a browser that opens the page for the first time.
const MAX_BROTLI_BYTES: u64 = 3 << 20;
/// Number of hash digits in the names of files.
const NAME_DIGITS: usize = 16;

/// A finished bundle.
pub(crate) struct Bundle {
    folder: PathBuf,
    brotli_bytes: u64,
    gzip_bytes: u64,
}

impl Bundle {
    /// Returns its location and size as text.
    pub(crate) fn summary(&self) -> String {
        let [brotli, gzip] = [self.brotli_bytes, self.gzip_bytes].map(|bytes| bytes as f64 / 1e6);
        format!(
            "{}: {brotli:.2} MB by brotli, {gzip:.2} MB by gzip",
            self.folder.display()
        )
    }
}

/// Builds the page. Unchanged files are not compressed again.
///
/// # Errors
/// The page does not compile, the target's standard library is not available, or the bundle is too large.
pub(crate) fn build(workspace: &Workspace) -> Result<Bundle> {
    shell::run(&mut compilation(workspace)?)?;
    bundle(workspace)
}

/// Returns the command that compiles the page.
///
/// # Errors
/// The target's standard library is not available.
pub(crate) fn compilation(workspace: &Workspace) -> Result<Command> {
    let mut cargo = wasm::cargo(workspace, &["rustc", "--package", PACKAGE, "--lib"])?;
    // As a library of both kinds it would not get link-time optimisation.
    cargo.args(["--profile", "web", "--crate-type", "cdylib"]);
    Ok(cargo)
}

/// Creates the bundle of the page that was compiled last.
///
/// # Errors
/// The page was not compiled, or the bundle is too large.
pub(crate) fn bundle(workspace: &Workspace) -> Result<Bundle> {
    let module = workspace
        .target_dir()
        .join(wasm::TARGET)
        .join("web")
        .join(format!("{}.wasm", PACKAGE.replace('-', "_")));
    let files = files(&module, &workspace.root().join("wasm").join("page"))?;
    let bundle = write(&files, &workspace.target_dir().join("page"))?;
    ensure!(
        bundle.brotli_bytes <= MAX_BROTLI_BYTES,
        "the page is too large: {}, the limit is {MAX_BROTLI_BYTES} bytes",
        bundle.summary()
    );
    Ok(bundle)
}

/// An uncompressed file of the page.
struct File {
    name: String,
    content: Vec<u8>,
}

/// Returns all files of the page, under the names that browsers see.
fn files(module: &Path, page: &Path) -> Result<Vec<File>> {
    let mut output = Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .omit_default_module_path(true)
        .generate_output()
        .with_context(|| format!("cannot bind {}", module.display()))?;
    let script = output.js().to_owned();
    let wasm = output.wasm_mut().emit_wasm();
    let read = |name: &str| {
        let path = page.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let [index, boot, worker, style, icon] = [
        "index.html",
        "boot.js",
        "worker.js",
        "style.css",
        "icon.svg",
    ]
    .map(read);
    // A file comes after all files that it refers to.
    let mut files = vec![
        hashed("callgrove.wasm", wasm),
        hashed("callgrove.js", script.into_bytes()),
        hashed("style.css", style?.into_bytes()),
        hashed("icon.svg", icon?.into_bytes()),
    ];
    let worker = with_hashes(&worker?, &files);
    files.push(hashed("worker.js", worker.into_bytes()));
    let boot = with_hashes(&boot?, &files);
    files.push(hashed("boot.js", boot.into_bytes()));
    let index = with_hashes(&index?, &files);
    files.push(File {
        name: "index.html".to_owned(),
        content: index.into_bytes(),
    });
    Ok(files)
}

/// Returns the file with a part of its hash in its name, so that a browser may cache it forever.
fn hashed(name: &str, content: Vec<u8>) -> File {
    let hash = hash_of(&content);
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    File {
        name: format!("{stem}-{}.{extension}", &hash[..NAME_DIGITS]),
        content,
    }
}

fn hash_of(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Replaces the names of `files` in a text by their hashed ones; names are quoted, with or without `./`.
fn with_hashes(text: &str, files: &[File]) -> String {
    files.iter().fold(text.to_owned(), |text, file| {
        let (stem, rest) = file
            .name
            .split_at(file.name.len() - extension_len(&file.name));
        let plain = format!("{}{rest}", &stem[..stem.len() - NAME_DIGITS - 1]);
        text.replace(&format!("\"{plain}\""), &format!("\"{}\"", file.name))
            .replace(&format!("\"./{plain}\""), &format!("\"./{}\"", file.name))
    })
}

/// Returns the length of the extension with its dot.
fn extension_len(name: &str) -> usize {
    name.len() - name.rfind('.').unwrap_or(name.len())
}

/// Writes the compressed files and their list; removes files of earlier bundles.
fn write(files: &[File], folder: &Path) -> Result<Bundle> {
    let failed = || format!("cannot write the page to {}", folder.display());
    fs::create_dir_all(folder).with_context(failed)?;
    let mut list = String::new();
    let mut current = BTreeSet::from([LIST.to_owned()]);
    let mut bundle = Bundle {
        folder: folder.to_owned(),
        brotli_bytes: 0,
        gzip_bytes: 0,
    };
    for file in files {
        let forms = [
            ("br", &mut bundle.brotli_bytes, brotli as Compressor),
            ("gz", &mut bundle.gzip_bytes, gzip),
        ];
        for (form, total, compress) in forms {
            let name = format!("{}.{form}", file.name);
            let path = folder.join(&name);
            // The name determines the content, except for the index, which is small.
            let known = fs::read(&path).ok().filter(|_| file.name != "index.html");
            let known = known.filter(|content| is_listed(folder, &name, content));
            let packed = match known {
                Some(packed) => packed,
                None => compress(&file.content)?,
            };
            *total += packed.len() as u64;
            list.push_str(&format!("{} {name}\n", hash_of(&packed)));
            replace(&path, &packed).with_context(failed)?;
            current.insert(name);
        }
    }
    replace(&folder.join(LIST), list.as_bytes()).with_context(failed)?;
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        if !current.contains(&*entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path()).with_context(failed)?;
        }
    }
    Ok(bundle)
}

/// Returns whether the list of the last bundle has the file with this content.
fn is_listed(folder: &Path, name: &str, content: &[u8]) -> bool {
    let list = fs::read_to_string(folder.join(LIST)).unwrap_or_default();
    let wanted = format!("{} {name}", hash_of(content));
    list.lines().any(|line| line == wanted)
}

/// Writes a file unless it already has this content, so that dependent builds see no change.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    fs::write(path, content)
}

type Compressor = fn(&[u8]) -> Result<Vec<u8>>;

fn brotli(content: &[u8]) -> Result<Vec<u8>> {
    let mut packed = Vec::new();
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 24,
        size_hint: content.len(),
        ..Default::default()
    };
    brotli::BrotliCompress(&mut &*content, &mut packed, &params)?;
    Ok(packed)
}

fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_call_files_by_their_hashed_names() {
        let files = [
            hashed("callgrove.js", b"1".to_vec()),
            hashed("style.css", b"2".to_vec()),
        ];
        let [script, style] = files.each_ref().map(|file| &file.name);
        assert!(
            script.len() == "callgrove-.js".len() + NAME_DIGITS,
            "{script}"
        );
        let text = with_hashes(
            r#"import("./callgrove.js"); <link href="style.css"> callgrove.js"#,
            &files,
        );
        let expected = format!(r#"import("./{script}"); <link href="{style}"> callgrove.js"#);
        assert_eq!(text, expected);
    }

    #[test]
    fn a_bundle_is_written_once_and_left_alone_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let index = |text: &str| File {
            name: "index.html".to_owned(),
            content: text.as_bytes().to_vec(),
        };
        let script = |text: &str| hashed("boot.js", text.as_bytes().to_vec());
        let names = || {
            let entries = fs::read_dir(folder.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect::<BTreeSet<_>>()
        };
        write(&[script("old"), index("old")], folder.path()).unwrap();
        let before = names();
        let written = fs::metadata(folder.path().join(LIST))
            .unwrap()
            .modified()
            .unwrap();
        let bundle = write(&[script("old"), index("old")], folder.path()).unwrap();
        assert!(bundle.brotli_bytes > 0 && bundle.gzip_bytes > bundle.brotli_bytes);
        assert_eq!(names(), before);
        assert_eq!(
            fs::metadata(folder.path().join(LIST))
                .unwrap()
                .modified()
                .unwrap(),
            written
        );
        // A truncated file is created again.
        let cut = folder.path().join(format!("{}.br", script("old").name));
        fs::write(&cut, b"").unwrap();
        write(&[script("old"), index("old")], folder.path()).unwrap();
        assert!(!fs::read(&cut).unwrap().is_empty());
        write(&[script("new"), index("new")], folder.path()).unwrap();
        let after = names();
        assert_eq!(after.len(), 5);
        assert!(after.contains(&format!("{}.gz", script("new").name)));
    }
}
