//! Crates without access to the outside, so that they run the same in a browser, in a test and on a cluster.

use super::sources::{check_tokens, production_lines};
use super::tokens::{Token, reads, text};
use super::{Finding, TextFile};

/// Folders of the crates whose callers pass in bytes, executors, seeds and time.
pub(super) const PURE: &[&str] = &[
    "core/model/",
    "core/source/",
    "core/formats/chrome/",
    "core/formats/events_csv/",
    "core/formats/forest/",
    "core/formats/otf2/",
    "core/formats/packed/",
    "core/formats/perfetto/",
    "core/formats/xplane/",
    "core/detect/",
    "core/segments/",
    "core/causes/",
    "core/patterns/",
    "core/trends/",
    "core/compare/",
    "core/incidents/",
    "core/export/",
    "ml/trees/",
    "ml/map/",
    "ml/learn/",
    "ml/judge/",
    "ml/evaluate/",
    "app/query/",
    "app/evaluation_report/",
    "app/report/",
    "app/watch/",
    "app/edits/",
    "app/session/",
    "app/wire/",
    "app/tables/",
    "app/picture/",
];

/// Modules of `std` that access files, processes, sockets, threads and the environment.
const OUTSIDE: &[&str] = &["env", "fs", "net", "process", "thread"];

/// The clocks of `std::time`.
const CLOCKS: &[&str] = &["Instant", "SystemTime"];

/// Returns accesses to the outside in a pure crate; its tests are exempt.
pub fn reaches_outside(file: &TextFile) -> Vec<Finding> {
    let is_pure = PURE
        .iter()
        .any(|folder| file.path.starts_with(&format!("{folder}src/")));
    if !is_pure {
        return Vec::new();
    }
    let last_line = production_lines(&file.text);
    let mut findings = check_tokens(file, |tokens, at| {
        reached(tokens, at)
            .map(|what| format!("`{what}` accesses the outside: let the caller pass in the value"))
    });
    findings.retain(|finding| finding.line <= last_line);
    findings
}

/// Returns what the token at `at` accesses: a clock, `std::fs`, or `fs` of `use std::{fs, io}`.
fn reached(tokens: &[Token], at: usize) -> Option<&str> {
    let word = text(tokens, at);
    if CLOCKS.contains(&word) {
        return Some(word);
    }
    if !OUTSIDE.contains(&word) {
        return None;
    }
    let begins_at = |start: usize| reads(tokens, start, &["std", ":", ":"]);
    let named_directly = at >= 3 && begins_at(at - 3);
    (named_directly
        || opening_brace(tokens, at).is_some_and(|brace| brace >= 3 && begins_at(brace - 3)))
    .then_some(word)
}

/// Returns the position of the `{` of the innermost pair of braces around `at`.
fn opening_brace(tokens: &[Token], at: usize) -> Option<usize> {
    let mut closed = 0;
    for before in (0..at).rev() {
        match text(tokens, before) {
            "}" => closed += 1,
            "{" if closed == 0 => return Some(before),
            "{" => closed -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let findings = reaches_outside(&TextFile::new(path, text));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn files_threads_and_clocks_are_found_in_pure_crates_only() {
        let text = "use std::fs;\nuse std::{fmt::{self}, thread};\nfn f() -> std::time::Instant {\n    std::env::var(\"A\")\n}\n";
        assert_eq!(lines("ml/trees/src/a.rs", text), [1, 2, 3, 4]);
        assert_eq!(lines("app/cli/src/a.rs", text), [0; 0]);
    }

    #[test]
    fn own_names_and_tests_are_exempt() {
        let text = "mod env;\nuse crate::{process, net};\nfn f(thread: u32) { std::fmt::x(thread); }\n\
                    #[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(lines("core/model/src/a.rs", text), [0; 0]);
    }
}
