//! The repository as the rules see it: hand-written files, and the workspace's members.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Extensions of hand-written files; style does not apply to recorded traces and images.
const WRITTEN: &[&str] = &[
    "css", "html", "js", "md", "py", "rs", "sh", "toml", "ts", "yml",
];

/// A hand-written file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// Its path from the root of the repository, with `/`.
    pub path: String,
    /// Its contents.
    pub text: String,
}

impl TextFile {
    /// Creates a file with the given path (from the root, with `/`) and contents.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// Returns its name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of its package.
    pub name: String,
    /// Its folder from the root, with `/`, such as `core/model`.
    pub folder: String,
    /// The folders of the members that it depends on in any way, sorted.
    pub uses: Vec<String>,
    /// The other packages that it depends on in any way, sorted.
    pub third_party: Vec<String>,
}

/// The input of the rules.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The folder of the root `Cargo.toml`.
    pub root: PathBuf,
    /// Every hand-written file, sorted by path.
    pub files: Vec<TextFile>,
    /// Every crate, sorted by folder.
    pub members: Vec<Member>,
    /// `Cargo.lock`.
    pub lock: String,
}

impl Repository {
    /// Reads the repository that this crate belongs to.
    ///
    /// # Errors
    /// A file cannot be read, or cargo cannot read a manifest.
    pub fn load() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("the tests' folder has no parent")?
            .to_owned();
        let mut files = Vec::new();
        collect(&root, &root, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let members = members(&metadata(&root)?)?;
        let lock = fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
        Ok(Self {
            root,
            files,
            members,
            lock,
        })
    }

    /// Returns the file at a path from the root.
    pub fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns the Rust files, sorted by path.
    pub fn rust_files(&self) -> impl Iterator<Item = &TextFile> {
        self.files
            .iter()
            .filter(|file| extension(&file.path) == Some("rs"))
    }

    /// Returns the members' manifests, sorted by path.
    pub fn member_manifests(&self) -> impl Iterator<Item = &TextFile> {
        let paths = self.members.iter();
        paths.filter_map(|member| self.file(&format!("{}/Cargo.toml", member.folder)))
    }
}

/// Adds the hand-written files below a folder, unordered.
fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let inside = path
            .strip_prefix(root)?
            .to_string_lossy()
            .replace('\\', "/");
        if path.is_symlink() || matches!(inside.as_str(), ".git" | "target") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if is_written(&inside) {
            let text = fs::read_to_string(&path).with_context(|| inside.clone())?;
            files.push(TextFile::new(inside, text));
        }
    }
    Ok(())
}

fn is_written(path: &str) -> bool {
    path.starts_with(".ci/") || extension(path).is_some_and(|it| WRITTEN.contains(&it))
}

fn extension(path: &str) -> Option<&str> {
    Path::new(path).extension()?.to_str()
}

/// Returns cargo's metadata of the workspace, without third-party packages.
fn metadata(root: &Path) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo metadata failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn members(metadata: &Value) -> Result<Vec<Member>> {
    let root = string(&metadata["workspace_root"])?;
    let inside = |path: &str| -> Result<String> {
        let relative = Path::new(path).strip_prefix(root)?;
        Ok(relative.to_string_lossy().replace('\\', "/"))
    };
    let mut members = Vec::new();
    for package in array(&metadata["packages"])? {
        let manifest = inside(string(&package["manifest_path"])?)?;
        let mut member = Member {
            name: string(&package["name"])?.to_owned(),
            folder: manifest.trim_end_matches("/Cargo.toml").to_owned(),
            uses: Vec::new(),
            third_party: Vec::new(),
        };
        for dependency in array(&package["dependencies"])? {
            match dependency["path"].as_str() {
                Some(path) => member.uses.push(inside(path)?),
                None => member
                    .third_party
                    .push(string(&dependency["name"])?.to_owned()),
            }
        }
        for names in [&mut member.uses, &mut member.third_party] {
            names.sort();
            names.dedup();
        }
        members.push(member);
    }
    members.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(members)
}

fn string(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("no text: {value}"))
}

fn array(value: &Value) -> Result<&Vec<Value>> {
    value
        .as_array()
        .with_context(|| format!("no list: {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_with_dependencies_of_every_kind() {
        let metadata = serde_json::json!({
            "workspace_root": "/src",
            "packages": [
                {"name": "callgrove-learn", "manifest_path": "/src/ml/learn/Cargo.toml", "dependencies": [
                    {"name": "rand", "kind": null},
                    {"name": "callgrove-trace", "kind": "dev", "path": "/src/core/trace"},
                    {"name": "callgrove-model", "kind": null, "path": "/src/core/model"},
                    {"name": "rand", "kind": "dev"},
                ]},
                {"name": "callgrove-model", "manifest_path": "/src/core/model/Cargo.toml", "dependencies": []},
            ],
        });
        let members = members(&metadata).unwrap();
        assert_eq!(members[0].folder, "core/model");
        assert_eq!(members[0].name, "callgrove-model");
        assert_eq!(members[1].uses, ["core/model", "core/trace"]);
        assert_eq!(members[1].third_party, ["rand"]);
    }

    #[test]
    fn this_repository_has_its_own_file_and_crate() {
        let repository = Repository::load().unwrap();
        let this = repository.file("tests/support/tidy/repository.rs").unwrap();
        assert!(
            this.text
                .contains("this_repository_has_its_own_file_and_crate")
        );
        assert!(repository.members.iter().any(|it| it.folder == "tests"));
        assert!(repository.file(".ci/run").is_some());
        assert_eq!(
            repository.member_manifests().count(),
            repository.members.len()
        );
    }
}
