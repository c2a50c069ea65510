//! Rules for texts around the code: the crate map, named paths, linked headings, data folders, machines and hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Finding, Member, TextFile};

/// First folders of paths that exist only on one machine.
const MACHINE_FOLDERS: &[&str] = &["home", "root", "tmp", "work", "Users"];

/// Hosts of package registries, in parts so that this file does not name them.
const REGISTRIES: &[&[&str]] = &[
    &["crates", "io"],
    &["pypi", "org"],
    &["pythonhosted", "org"],
    &["deb", "debian", "org"],
    &["registry", "npmjs", "org"],
];

/// Folders within a crate.
const FOLDERS_OF_CRATES: &[&str] = &["benches", "examples", "proto", "schema", "src", "tests"];

/// Returns members that are not in the crate map exactly once, and rows for missing folders. A row begins with the
/// folder: `` | `core/model` | … ``.
pub fn crate_map(
    map: &TextFile,
    members: &[Member],
    exists: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let (path, text) = (&map.path, &map.text);
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let folder = line
            .strip_prefix("| `")
            .and_then(|rest| rest.split_once('`'));
        if let Some((folder, _)) = folder {
            rows.entry(folder.trim_end_matches('/'))
                .or_default()
                .push(index + 1);
        }
    }
    let mut findings = Vec::new();
    for member in members {
        let found = rows
            .get(member.folder.as_str())
            .map_or(&[][..], Vec::as_slice);
        if found.len() != 1 {
            let message = format!(
                "the crate map has {} rows for {}: it needs one, beginning with | `{}` |",
                found.len(),
                member.folder,
                member.folder
            );
            findings.push(Finding::new(
                path,
                found.last().copied().unwrap_or(1),
                message,
            ));
        }
    }
    for (folder, lines) in rows {
        if folder.contains('/') && !exists(folder) {
            let message = format!("a row for {folder}, which does not exist: remove it");
            findings.push(Finding::new(path, lines[0], message));
        }
    }
    findings
}

/// Returns folders of data without a statement of origin: each folder directly below `data`, and `data` itself if it
/// has files, needs a README.md that states how the files were made and under which licence.
///
/// # Errors
/// A folder cannot be read.
pub fn unexplained_data(root: &Path, data: &str) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut holds_files = false;
    for entry in fs::read_dir(root.join(data)).with_context(|| data.to_owned())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            findings.extend(check_readme(root, &format!("{data}/{name}")));
        } else {
            holds_files |= name != "README.md";
        }
    }
    if holds_files {
        findings.extend(check_readme(root, data));
    }
    findings.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(findings)
}

/// Returns paths that exist only on one machine.
pub fn machine_paths(file: &TextFile) -> Vec<Finding> {
    check_lines(file, |line| {
        MACHINE_FOLDERS.iter().find_map(|folder| {
            let path = format!("/{folder}/");
            let is_path = |at: usize| {
                let before = line[..at].chars().next_back();
                before.is_none_or(|c| !c.is_alphanumeric() && !"._-~/}>".contains(c))
            };
            line.match_indices(&path).any(|(at, _)| is_path(at)).then(|| {
                format!("`{path}…` exists only on one machine: make it relative, or take it from the caller")
            })
        })
    })
}

/// Returns hosts of package registries. The ordinary clients know theirs, and sites have mirrors.
pub fn registry_hosts(file: &TextFile) -> Vec<Finding> {
    check_lines(file, |line| {
        let hosts = REGISTRIES.iter().map(|parts| parts.join("."));
        let named = hosts
            .into_iter()
            .find(|host| line.contains(host.as_str()))?;
        Some(format!(
            "`{named}` is a registry's host: name the package and its client instead"
        ))
    })
}

/// Returns paths that a text names but that do not exist, in `` `…` `` and as link targets. A path in backquotes begins
/// with one of the `top_folders`, or with a folder within a crate, and then is relative to the text's own folder, as a
/// link target always is.
pub fn missing_paths(
    file: &TextFile,
    top_folders: &BTreeSet<&str>,
    exists: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in prose(&file.text) {
        let code = line.split('`').skip(1).step_by(2);
        let named = code
            .filter(|text| is_path(text, top_folders))
            .filter(|path| !exists(path.trim_end_matches('/')) && !exists(&resolved(file, path)));
        let linked = links(line)
            .map(|target| target.split('#').next().unwrap_or(target))
            .filter(|path| !path.is_empty() && !exists(&resolved(file, path)));
        for path in named.chain(linked) {
            let message = format!("`{path}` does not exist: correct or remove it");
            findings.push(Finding::new(&file.path, number, message));
        }
    }
    findings
}

/// Returns links to headings that the target does not have: the text itself, or another one of `files`.
pub fn missing_headings(file: &TextFile, files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in prose(&file.text) {
        for (path, heading) in links(line).filter_map(|target| target.split_once('#')) {
            let path = match path {
                "" => file.path.clone(),
                path => resolved(file, path),
            };
            // `missing_paths` reports files that do not exist.
            let target = files.iter().find(|it| it.path == path);
            if target.is_some_and(|it| !anchors(&it.text).contains(heading)) {
                let message = format!("{path} has no heading `{heading}`: link to one that it has");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

/// Returns the lines outside code blocks, each with its number from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    let lines = text.lines().enumerate();
    lines.filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        (!is_fenced && !is_fence).then_some((index + 1, line))
    })
}

/// Returns the targets of the links of a line that lead to files of the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains(':'))
}

/// Returns a path that counts from the folder of a file as one from the root of the repository.
fn resolved(file: &TextFile, path: &str) -> String {
    let own = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = own.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the anchors of a text's headings, as forges make them: in lower case, without punctuation, with `-` for
/// blanks, and with a number where a heading comes again.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let letters = title.trim().chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            letter => (letter.is_alphanumeric() || "-_".contains(letter)).then_some(letter),
        });
        let anchor = letters.collect::<String>().to_lowercase();
        let repeats = (1..).map(|count| format!("{anchor}-{count}"));
        let mut all = std::iter::once(anchor.clone()).chain(repeats);
        anchors.extend(all.find(|it| !anchors.contains(it)));
    }
    anchors
}

fn is_path(text: &str, top_folders: &BTreeSet<&str>) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let first = text.split_once('/').map(|(first, _)| first);
    text.chars().all(is_plain)
        && first.is_some_and(|it| top_folders.contains(it) || FOLDERS_OF_CRATES.contains(&it))
}

fn check_readme(root: &Path, folder: &str) -> Option<Finding> {
    let path = format!("{folder}/README.md");
    let text = fs::read_to_string(root.join(&path)).unwrap_or_default();
    // Both spellings, and "licensed".
    let states_licence = text.to_lowercase().contains("licen");
    (!states_licence).then(|| {
        let message = "state how these files were made and under which licence they are";
        Finding::new(&path, 1, message)
    })
}

fn check_lines(file: &TextFile, rule: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    lines
        .filter_map(|(index, line)| Some(Finding::new(&file.path, index + 1, rule(line)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    fn member(folder: &str) -> Member {
        Member {
            name: folder.replace('/', "-"),
            folder: folder.to_owned(),
            uses: Vec::new(),
            third_party: Vec::new(),
        }
    }

    #[test]
    fn the_crate_map_names_every_member_once() {
        let map = TextFile::new(
            "map.md",
            "# A\n| folder | crate |\n|---|---|\n| `ml` | a |\n| `core/model` | b |\n| `core/model` | c |\n| `core/gone` | d |\n",
        );
        let members = [member("core/model"), member("core/trace"), member("ml")];
        let findings = crate_map(&map, &members, |folder| folder != "core/gone");
        assert_eq!(lines(&findings), [6, 1, 7]);
        let empty = TextFile::new("map.md", "");
        assert_eq!(crate_map(&empty, &members, |_| true).len(), 3);
        assert_eq!(crate_map(&map, &members[2..], |_| true), []);
    }

    #[test]
    fn missing_paths_are_found() {
        let text = "see `core/model` and `core/gone/`\n`src/a.rs`, `src/b.rs`, `run/x.bp`, `ml/<name>.rs`\n\
                    [study](STUDY.md), [gone](GONE.md#part), [web](https://example.org/x)\n\
                    ```\n`core/gone`\n```\n[up](../core/model), [not from the root](core/model)\n";
        let there = ["core/model", "ml/src/a.rs", "ml/STUDY.md"];
        let exists = |path: &str| there.contains(&path);
        let top = BTreeSet::from(["core", "ml"]);
        let findings = missing_paths(&TextFile::new("ml/README.md", text), &top, exists);
        assert_eq!(lines(&findings), [1, 2, 3, 7]);
    }

    #[test]
    fn headings_that_are_not_there_are_found() {
        let text = "# A guide\n## See `run`, and more\n## Twice\n## Twice\n```\n# A comment\n```\n#hash\n\
                    [own](#see-run-and-more), [again](#twice-1), [never](#twice-2)\n[code](#a-comment)\n\
                    [other](../README.md#files), [none](../README.md#folders)\n[absent](gone.md#part)\n";
        let guide = TextFile::new("docs/guide.md", text);
        let files = [TextFile::new("README.md", "## Files\n"), guide.clone()];
        assert_eq!(lines(&missing_headings(&guide, &files)), [9, 10, 11]);
    }

    #[test]
    fn data_without_origin_or_licence_is_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join("data").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("documented/README.md", "Recorded with x. Licence: MIT.");
        write("documented/deep/a.bin", "");
        write("silent/a.bin", "");
        write("half/README.md", "Recorded with x.");
        let paths = || {
            let findings = unexplained_data(root.path(), "data").unwrap();
            findings
                .into_iter()
                .map(|finding| finding.path)
                .collect::<Vec<_>>()
        };
        assert_eq!(paths(), ["data/half/README.md", "data/silent/README.md"]);
        write("loose.bin", "");
        assert_eq!(paths()[0], "data/README.md");
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let text = format!(
            "open(\"/{home}/ann/x\")\nsee /{tmp}/y\nhttps://example.org/{home}/z\n$HOME/{work}/a\n",
            home = "home",
            tmp = "tmp",
            work = "work"
        );
        assert_eq!(lines(&machine_paths(&TextFile::new("a.md", text))), [1, 2]);
    }

    #[test]
    fn hosts_of_registries_are_found() {
        let text = format!(
            "pip install adios2\nfrom https://{}/simple\n",
            ["pypi", "org"].join(".")
        );
        assert_eq!(lines(&registry_hosts(&TextFile::new("a.md", text))), [2]);
    }
}
