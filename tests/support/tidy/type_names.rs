//! No two public types of the workspace have the same name.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{is_test_file, production_lines};
use super::tokens::{Token, is_word, text, tokens};
use super::{Finding, TextFile};

/// Names of std types that each crate may use for its own.
const OF_STD: &[&str] = &["Result"];

/// Returns public types (of any visibility but private) with the name of another; tests are ignored.
pub fn repeated_types<'a>(files: impl IntoIterator<Item = &'a TextFile>) -> Vec<Finding> {
    let mut places: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for file in files.into_iter().filter(|file| !is_test_file(file)) {
        for (name, line) in public_types(file) {
            places
                .entry(name)
                .or_default()
                .push((file.path.clone(), line));
        }
    }
    let mut findings = Vec::new();
    for (name, places) in &places {
        let (first, others) = places.split_first().expect("each name was found somewhere");
        findings.extend(others.iter().map(|(path, line)| {
            let message = format!(
                "another {name} is in {}:{}: rename each after its difference (core/GLOSSARY.md has the terms)",
                first.0, first.1
            );
            Finding::new(path, *line, message)
        }));
    }
    findings
}

/// Returns types in the last column of the glossary's tables that are not declared.
pub fn unknown_terms<'a>(
    glossary: &TextFile,
    files: impl IntoIterator<Item = &'a TextFile>,
) -> Vec<Finding> {
    let declared: BTreeSet<String> = files
        .into_iter()
        .flat_map(public_types)
        .map(|(name, _)| name)
        .collect();
    let mut findings = Vec::new();
    for (index, line) in glossary.text.lines().enumerate() {
        let last_column = line.trim_end_matches([' ', '|']).rsplit('|').next();
        let types = last_column
            .filter(|_| line.starts_with('|'))
            .into_iter()
            .flat_map(|column| column.split('`').skip(1).step_by(2));
        for name in types.filter(|name| !declared.contains(*name)) {
            let message = format!("no public type is called {name}: name the type of the term");
            findings.push(Finding::new(&glossary.path, index + 1, message));
        }
    }
    findings
}

/// Returns the public types that a file declares before its tests, with their lines.
fn public_types(file: &TextFile) -> Vec<(String, usize)> {
    let last_line = production_lines(&file.text);
    let Ok(tokens) = tokens(file) else {
        return Vec::new();
    };
    let declares = |at: usize| {
        matches!(
            text(&tokens, at),
            "struct" | "enum" | "trait" | "type" | "union"
        ) && tokens[at].line <= last_line
            && is_word(text(&tokens, at + 1))
            && is_public(&tokens, at)
    };
    (0..tokens.len())
        .filter(|&at| declares(at))
        .map(|at| (text(&tokens, at + 1).to_owned(), tokens[at].line))
        .filter(|(name, _)| !OF_STD.contains(&name.as_str()))
        .collect()
}

/// Returns whether `pub` or `pub(…)` is before the item whose keyword is at `at`.
pub(super) fn is_public(tokens: &[Token], at: usize) -> bool {
    let before = |steps: usize| {
        at.checked_sub(steps)
            .map_or("", |place| text(tokens, place))
    };
    match before(1) {
        "pub" => true,
        "unsafe" => before(2) == "pub",
        ")" => (3..9)
            .find(|&steps| before(steps) == "(")
            .is_some_and(|steps| before(steps + 1) == "pub"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<(&str, usize)> {
        findings
            .iter()
            .map(|it| (it.path.as_str(), it.line))
            .collect()
    }

    #[test]
    fn the_second_public_type_of_a_name_is_found() {
        let files = [
            TextFile::new(
                "a/src/x.rs",
                "pub struct Place;\nstruct Own;\npub type Result<T> = T;\n",
            ),
            TextFile::new(
                "b/src/y.rs",
                "//! y\npub(crate) enum Place {}\nstruct Own;\npub type Result<T> = T;\n",
            ),
            TextFile::new(
                "b/src/z.rs",
                "pub(in crate::net) trait Place {}\nfn f(pub_type: Place) {}\n",
            ),
        ];
        assert_eq!(
            lines(&repeated_types(&files)),
            [("b/src/y.rs", 2), ("b/src/z.rs", 1)]
        );
    }

    #[test]
    fn a_term_whose_type_is_gone_is_found() {
        let text = "`Loose`\n| term | what | type |\n|---|---|---|\n| a | `Not` asked | `Here`, `Gone` |\n";
        let glossary = TextFile::new("core/GLOSSARY.md", text);
        let files = [TextFile::new(
            "a/src/x.rs",
            "pub struct Here;\nstruct Gone;\n",
        )];
        assert_eq!(
            lines(&unknown_terms(&glossary, &files)),
            [("core/GLOSSARY.md", 4)]
        );
    }

    #[test]
    fn tests_may_use_a_name_again() {
        let files = [
            TextFile::new(
                "a/src/x.rs",
                "pub struct Place;\n#[cfg(test)]\nmod tests {\n    pub struct Place;\n}\n",
            ),
            TextFile::new("a/tests/it.rs", "pub struct Place;\n"),
            TextFile::new("a/src/tests.rs", "pub struct Place;\n"),
        ];
        assert_eq!(repeated_types(&files), []);
    }
}
