//! Import cycles between the files of a crate: two files that need each other are really one, or lack a third.
//!
//! An edge is a path in the code: `use`, or `crate::…`, `super::…`, `self::…` and `child::…` anywhere. A path leads to
//! the file that declares its item, through re-exports; declaring a module or re-exporting its items is not a use.
//! Tests are ignored.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{is_test_file, production_lines};
use super::tokens::{Token, is_word, reads, text, tokens};
use super::type_names::is_public;
use super::{Finding, Member, TextFile};

/// Returns the cycles of all members, one finding each.
pub fn import_cycles(files: &[TextFile], members: &[Member]) -> Vec<Finding> {
    let of_member = |member: &Member| match modules(files, member) {
        Ok(modules) => in_crate(&modules),
        Err(finding) => vec![finding],
    };
    members.iter().flat_map(of_member).collect()
}

/// A module's path from the root of its crate.
pub(super) type ModulePath = Vec<String>;

/// A module with its own file.
pub(super) struct Module {
    pub(super) file: String,
    /// Names that `use` imports, with their paths.
    pub(super) names: BTreeMap<String, ModulePath>,
    /// Paths that the code needs.
    pub(super) needed: BTreeSet<ModulePath>,
    /// Paths that `pub use` passes on.
    pub(super) passed_on: BTreeSet<ModulePath>,
}

pub(super) type Modules = BTreeMap<ModulePath, Module>;

/// Returns the modules of a crate, without tests, or a finding if a file is not valid Rust.
pub(super) fn modules(files: &[TextFile], member: &Member) -> Result<Modules, Finding> {
    let folder = format!("{}/src/", member.folder);
    let sources: BTreeMap<ModulePath, &TextFile> = files
        .iter()
        .filter(|file| !is_test_file(file))
        .filter_map(|file| Some((module_path(file.path.strip_prefix(&folder)?)?, file)))
        .collect();
    let mut modules = Modules::new();
    for (path, file) in &sources {
        let is_child = |name: &str| sources.contains_key(&child(path, name));
        modules.insert(path.clone(), module(file, tokens(file)?, is_child));
    }
    Ok(modules)
}

fn in_crate(modules: &Modules) -> Vec<Finding> {
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, module) in modules {
        let files = module.needed.iter().filter_map(|needed| {
            let declaring = modules.get(&declared_in(modules, path, needed)?)?;
            Some(declaring.file.as_str())
        });
        uses.entry(&module.file)
            .or_default()
            .extend(files.filter(|file| *file != module.file));
    }
    groups(&uses)
        .iter()
        .map(|group| {
            let message = format!(
                "these files need each other: {}. Move what several need to a file of its own",
                arrows(&uses, group)
            );
            Finding::new(group[0], 1, message)
        })
        .collect()
}

/// Returns the path of the module in a file of a crate; `None` for `build.rs` and the like.
fn module_path(file: &str) -> Option<ModulePath> {
    let path = file.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") {
        return Some(Vec::new());
    }
    Some(path.split('/').map(str::to_owned).collect())
}

fn child(path: &[String], name: &str) -> ModulePath {
    let mut path = path.to_vec();
    path.push(name.to_owned());
    path
}

/// Reads a file. Names of a `pub use` count only if the file itself uses them.
fn module(file: &TextFile, mut tokens: Vec<Token>, is_child: impl Fn(&str) -> bool) -> Module {
    let last_line = production_lines(&file.text);
    tokens.retain(|token| token.line <= last_line);
    let mut module = Module {
        file: file.path.clone(),
        names: BTreeMap::new(),
        needed: BTreeSet::new(),
        passed_on: BTreeSet::new(),
    };
    let mut passed_on: Vec<(String, ModulePath)> = Vec::new();
    let mut words: BTreeSet<&str> = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        if text(&tokens, at) == "use" {
            let mut imports = Vec::new();
            let end = import(&tokens, at + 1, &mut Vec::new(), &mut imports);
            if !(at > 0 && is_for_tests(&tokens, at)) {
                let is_public = is_public(&tokens, at);
                for (name, path) in imports {
                    if is_public {
                        passed_on.push((name.clone(), path.clone()));
                    } else {
                        module.needed.insert(path.clone());
                    }
                    module.names.insert(name, path);
                }
            }
            at = end;
            continue;
        }
        // `mod a;` declares a module and uses nothing.
        if at == 0 || text(&tokens, at - 1) != "mod" {
            words.insert(text(&tokens, at));
        }
        let path = path_from(&tokens, at);
        let is_start = at < 2 || !reads(&tokens, at - 2, &[":", ":"]);
        if is_start && path.len() > 1 && (is_relative(&path[0]) || is_child(&path[0])) {
            module.needed.insert(path);
        }
        at += 1;
    }
    for (name, path) in passed_on {
        if words.contains(name.as_str()) {
            module.needed.insert(path.clone());
        }
        module.passed_on.insert(path);
    }
    module
}

fn is_relative(word: &str) -> bool {
    matches!(word, "crate" | "super" | "self")
}

/// Returns the words of `a::b::C` from `at` on.
fn path_from(tokens: &[Token], at: usize) -> ModulePath {
    let mut path = vec![text(tokens, at).to_owned()];
    let mut next = at + 1;
    while reads(tokens, next, &[":", ":"]) && is_word(text(tokens, next + 2)) {
        path.push(text(tokens, next + 2).to_owned());
        next += 3;
    }
    path
}

/// Reads one branch of a `use` from `at` on: names with their paths, and the position of its end.
fn import(
    tokens: &[Token],
    mut at: usize,
    prefix: &mut ModulePath,
    found: &mut Vec<(String, ModulePath)>,
) -> usize {
    let depth = prefix.len();
    loop {
        match text(tokens, at) {
            "{" => {
                at += 1;
                while !matches!(text(tokens, at), "}" | "") {
                    at = import(tokens, at, prefix, found);
                    at += usize::from(text(tokens, at) == ",");
                }
                at += 1;
                break;
            }
            "*" => {
                found.push((format!("*{}", prefix.join("::")), prefix.clone()));
                at += 1;
                break;
            }
            "self" if !prefix.is_empty() && text(tokens, at + 1) != ":" => {
                at = named(tokens, at, prefix, found);
                break;
            }
            word => {
                prefix.push(word.to_owned());
                if reads(tokens, at + 1, &[":", ":"]) {
                    at += 3;
                } else {
                    at = named(tokens, at, prefix, found);
                    break;
                }
            }
        }
        if at >= tokens.len() {
            break;
        }
    }
    prefix.truncate(depth);
    at
}

/// Returns the last word of an import, with `as` if there is one.
fn named(
    tokens: &[Token],
    at: usize,
    path: &ModulePath,
    found: &mut Vec<(String, ModulePath)>,
) -> usize {
    let renamed = text(tokens, at + 1) == "as";
    let name = if renamed {
        text(tokens, at + 2)
    } else {
        path.last().map_or("", |it| it)
    };
    found.push((name.to_owned(), path.clone()));
    at + if renamed { 3 } else { 1 }
}

/// Returns whether `#[cfg(test)]` is directly before the item at `at`.
fn is_for_tests(tokens: &[Token], at: usize) -> bool {
    at >= 7 && reads(tokens, at - 7, &["#", "[", "cfg", "(", "test", ")", "]"])
}

/// Returns the module that declares the target of a path in `module`; `None` outside the crate.
pub(super) fn declared_in(
    modules: &Modules,
    module: &ModulePath,
    path: &[String],
) -> Option<ModulePath> {
    let mut seen = BTreeSet::new();
    resolve(modules, module, path, &mut seen)
}

fn resolve(
    modules: &Modules,
    module: &ModulePath,
    path: &[String],
    seen: &mut BTreeSet<(ModulePath, ModulePath)>,
) -> Option<ModulePath> {
    if !seen.insert((module.clone(), path.to_vec())) {
        return None;
    }
    let (mut place, mut rest) = beginning(modules, module, path)?;
    while let Some((name, further)) = rest.split_first() {
        let inner = child(&place, name);
        if modules.contains_key(&inner) {
            place = inner;
        } else if let Some(stands_for) = modules.get(&place)?.names.get(name) {
            let mut whole = stands_for.clone();
            whole.extend_from_slice(further);
            return resolve(modules, &place, &whole, seen);
        } else {
            break;
        }
        rest = further;
    }
    Some(place)
}

/// Returns the module in which a path in `module` begins, and the words that follow; `None` outside the crate.
pub(super) fn beginning<'p>(
    modules: &Modules,
    module: &ModulePath,
    path: &'p [String],
) -> Option<(ModulePath, &'p [String])> {
    let (first, mut rest) = path.split_first()?;
    let mut place = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.clone(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        name if modules.contains_key(&child(module, name)) => child(module, name),
        _ => return None,
    };
    while let Some(further) = rest.strip_prefix(&["super".to_owned()]) {
        place.pop()?;
        rest = further;
    }
    Some((place, rest))
}

/// Returns the groups of two or more files or folders that reach each other.
pub(super) fn groups<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = uses
        .keys()
        .map(|&file| (file, reachable(uses, file)))
        .collect();
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for (&file, reach) in &reached {
        if !reach.contains(file) || groups.iter().any(|group| group.contains(&file)) {
            continue;
        }
        groups.push(
            reach
                .iter()
                .copied()
                .filter(|other| reached[other].contains(file))
                .collect(),
        );
    }
    groups
}

fn reachable<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>, file: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = uses[file].iter().copied().collect();
    while let Some(next) = waiting.pop() {
        if reached.insert(next) {
            waiting.extend(&uses[next]);
        }
    }
    reached
}

/// Returns the edges within a group as text.
pub(super) fn arrows(uses: &BTreeMap<&str, BTreeSet<&str>>, group: &[&str]) -> String {
    let arrows = group.iter().map(|&file| {
        let targets: Vec<&str> = group
            .iter()
            .copied()
            .filter(|target| uses[file].contains(target))
            .map(short)
            .collect();
        format!("{} → {}", short(file), targets.join(", "))
    });
    let arrows: Vec<String> = arrows.collect();
    arrows.join("; ")
}

/// Returns a path below `src`.
fn short(path: &str) -> &str {
    path.split_once("/src/").map_or(path, |(_, inside)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Vec<Member> {
        vec![Member {
            name: "callgrove-a".to_owned(),
            folder: "a".to_owned(),
            uses: Vec::new(),
            third_party: Vec::new(),
        }]
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile::new(format!("a/src/{path}"), *text))
            .collect();
        let findings = import_cycles(&files, &member());
        findings
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn two_files_that_need_each_other_are_found() {
        let found = found(&[
            ("lib.rs", "mod x;\nmod y;\n"),
            ("x.rs", "use crate::y::Y;\npub struct X(Y);\n"),
            ("y.rs", "pub struct Y;\nfn f(_: super::x::X) {}\n"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("x.rs → y.rs; y.rs → x.rs"), "{found:?}");
    }

    #[test]
    fn a_cycle_behind_a_facade_is_found() {
        let found = found(&[
            ("lib.rs", "mod a;\npub mod b;\npub use a::A;\n"),
            (
                "a.rs",
                "use crate::b::{B as Other, c};\npub struct A(Other);\n",
            ),
            ("b/mod.rs", "pub mod c;\npub use c::B;\n"),
            ("b/c.rs", "pub struct B;\nfn f(_: &crate::A) {}\n"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("a.rs → b/c.rs; b/c.rs → a.rs"),
            "{found:?}"
        );
    }

    #[test]
    fn a_parent_that_uses_a_child_which_uses_it_is_found() {
        let parent = "mod child;\npub struct P(child::C);\n";
        let needs_parent = "pub struct C;\nfn f(_: &super::P) {}\n";
        assert_eq!(
            found(&[
                ("lib.rs", "mod p;\n"),
                ("p.rs", parent),
                ("p/child.rs", needs_parent)
            ])
            .len(),
            1
        );
        let facade = "mod child;\npub use child::C;\npub struct P;\n";
        let files = [
            ("lib.rs", "mod p;\n"),
            ("p.rs", facade),
            ("p/child.rs", needs_parent),
        ];
        assert_eq!(found(&files), [""; 0], "a re-export is not a use");
    }

    #[test]
    fn tests_and_external_names_close_no_cycle() {
        let files = [
            ("lib.rs", "mod x;\nmod y;\n"),
            (
                "x.rs",
                "use crate::y::Y;\nuse serde::x;\npub struct X(Y);\n",
            ),
            (
                "y.rs",
                "pub struct Y;\n#[cfg(test)]\nmod tests {\n    use crate::x::X;\n}\n",
            ),
            ("x/tests.rs", "use crate::x::X;\n"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
