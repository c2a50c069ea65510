//! Rules for `Cargo.toml` files.

use super::{Finding, Member, TextFile};

/// A `key = value` line of a manifest.
struct Entry<'a> {
    /// The section header above it, without brackets.
    section: &'a str,
    key: &'a str,
    value: &'a str,
    /// The line, from 1.
    line: usize,
}

/// Returns members that do not inherit the workspace's lints.
pub fn own_lints(manifest: &TextFile) -> Vec<Finding> {
    let inherits = entries(&manifest.text)
        .iter()
        .any(|entry| entry.section == "lints" && entry.key == "workspace" && entry.value == "true");
    if inherits {
        return Vec::new();
    }
    let message =
        "no `[lints]` with `workspace = true`: the workspace's lints apply to every crate";
    vec![Finding::new(&manifest.path, 1, message)]
}

/// Returns members' dependencies that are not in the root manifest.
pub fn own_dependencies(manifest: &TextFile) -> Vec<Finding> {
    entries(&manifest.text)
        .iter()
        .filter(|entry| entry.section.split('.').any(|part| part.ends_with("dependencies")))
        .filter(|entry| {
            let from_workspace = entry.key.ends_with(".workspace") || entry.value.contains("workspace = true");
            !from_workspace
        })
        .map(|entry| {
            let message = format!(
                "`{}`: write it with its reason under [workspace.dependencies] of the root, and `{}.workspace = true` here",
                entry.key, entry.key
            );
            Finding::new(&manifest.path, entry.line, message)
        })
        .collect()
}

/// Returns third-party dependencies of the root manifest without a comment above or at the end of the line.
pub fn unexplained_dependencies(root: &TextFile) -> Vec<Finding> {
    let lines: Vec<&str> = root.text.lines().collect();
    entries(&root.text)
        .iter()
        .filter(|entry| {
            entry.section == "workspace.dependencies" && !entry.value.contains("path =")
        })
        .filter(|entry| {
            let above = lines
                .get(entry.line.wrapping_sub(2))
                .copied()
                .unwrap_or_default();
            !above.trim_start().starts_with('#') && !entry.value.contains('#')
        })
        .map(|entry| {
            let message = format!("`{}`: state its reason in a comment above it", entry.key);
            Finding::new(&root.path, entry.line, message)
        })
        .collect()
}

/// Returns browser crates of the root manifest that are not members.
pub fn absent_browser_crates(root: &TextFile, members: &[Member]) -> Vec<Finding> {
    let lines = root.text.lines().enumerate();
    let listed = lines
        .skip_while(|(_, line)| !line.starts_with("browser-crates"))
        .take_while(|(_, line)| *line != "]")
        .filter_map(|(index, line)| Some((index, line.split('"').nth(1)?)));
    let absent = listed.filter(|(_, name)| !members.iter().any(|member| member.name == *name));
    absent
        .map(|(index, name)| {
            let message =
                format!("{name} is not a member of the workspace: remove it from browser-crates");
            Finding::new(&root.path, index + 1, message)
        })
        .collect()
}

/// Returns the entries of a manifest, in order; continuation lines of a value are part of none.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut section = "";
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let is_key = |key: &str| {
            !key.is_empty()
                && key
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = header.0.trim_start_matches('[');
        } else if let Some((key, value)) = line.split_once('=')
            && is_key(key.trim())
        {
            entries.push(Entry {
                section,
                key: key.trim(),
                value: value.trim(),
                line: index + 1,
            });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_member_without_the_workspace_lints_is_found() {
        let with = TextFile::new("a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n");
        assert_eq!(own_lints(&with), []);
        for text in [
            "[package]\nname = \"a\"\n",
            "[lints.clippy]\nall = \"allow\"\n",
        ] {
            assert_eq!(own_lints(&TextFile::new("a/Cargo.toml", text)).len(), 1);
        }
    }

    #[test]
    fn a_members_own_version_is_found() {
        let manifest = TextFile::new(
            "a/Cargo.toml",
            "[dependencies]\nrand.workspace = true\nserde = { workspace = true, features = [\"rc\"] }\n\
             csv = \"1.3\"\n[target.'cfg(unix)'.dev-dependencies]\nlibc = { version = \"0.2\" }\n\
             [dependencies.glob]\nversion = \"0.3\"\n[features]\ndefault = []\n",
        );
        assert_eq!(lines(&own_dependencies(&manifest)), [4, 6, 8]);
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let root = TextFile::new(
            "Cargo.toml",
            "[workspace.dependencies]\nown = { path = \"own\" }\n# Why.\nserde = \"1\"\nrand = { version = \"1\", features = [\n    \"std\",\n] }\n\
             csv = \"1\" # Why.\n[profile.dev]\nopt-level = 1\n",
        );
        assert_eq!(lines(&unexplained_dependencies(&root)), [5]);
    }

    #[test]
    fn an_unknown_browser_crate_is_found() {
        let root = TextFile::new(
            "Cargo.toml",
            "[workspace.metadata.callgrove]\nbrowser-crates = [\n    \"callgrove-learn\",\n    \"callgrove-gone\",\n]\nother = [\"x\"]\n",
        );
        let ml = Member {
            name: "callgrove-learn".to_owned(),
            folder: "ml".to_owned(),
            uses: Vec::new(),
            third_party: Vec::new(),
        };
        assert_eq!(lines(&absent_browser_crates(&root, &[ml])), [4]);
    }
}
