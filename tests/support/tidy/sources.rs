//! Rules for Rust files: their shape, and forbidden constructs.

use super::tokens::{Token, reads, text, tokens};
use super::{Finding, TextFile};

/// Names of files that may distinguish the browser from the desktop: the two sides, and the shim that unites them.
const PLATFORM_FILES: &[&str] = &["web.rs", "native.rs", "platform.rs"];

const INTEGERS: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
];

/// Names of quantities that do not state their unit.
const BARE_QUANTITIES: &[&str] = &["time", "ts", "timestamp", "duration", "size"];

/// Returns files that do not begin with a description.
pub fn missing_docs(file: &TextFile) -> Vec<Finding> {
    if file.text.starts_with("//!") {
        return Vec::new();
    }
    let message = "the file has no description: begin it with `//!`";
    vec![Finding::new(&file.path, 1, message)]
}

/// Returns `unsafe` outside the crates that call C libraries.
pub fn stray_unsafe(file: &TextFile) -> Vec<Finding> {
    let is_sys = |folder: &str| {
        folder
            .strip_prefix("core/")
            .is_some_and(|it| it.ends_with("-sys"))
            || folder == "tests/interrupt"
    };
    if file
        .path
        .match_indices('/')
        .any(|(end, _)| is_sys(&file.path[..end]))
    {
        return Vec::new();
    }
    let message =
        "`unsafe` is allowed in core/*-sys and tests/interrupt only: give it a safe function there";
    check_tokens(file, |tokens, at| {
        (text(tokens, at) == "unsafe").then(|| message.to_owned())
    })
}

/// Returns tests that do not run or expect any panic, missing code, examples that are not compiled, and reminders
/// without an issue.
pub fn unfinished(file: &TextFile) -> Vec<Finding> {
    let mut findings = check_tokens(file, |tokens, at| {
        let remedies: [(&[&str], &str); 4] = [
            (
                &["#", "[", "ignore"],
                "assert the current behaviour, and describe what is wrong with it",
            ),
            (
                &["#", "[", "should_panic"],
                "return an error and assert on it",
            ),
            (&["todo", "!"], "finish it, or leave it out"),
            (&["unimplemented", "!"], "finish it, or leave it out"),
        ];
        remedies
            .iter()
            .find(|(words, _)| reads(tokens, at, words))
            .map(|(words, remedy)| format!("`{}`: {remedy}", words.concat()))
    });
    let reminder = concat!("FIX", "ME");
    for (index, line) in file.text.lines().enumerate() {
        let code = line.trim_start();
        if line.contains(reminder) {
            let message = format!("{reminder}: fix it, or open an issue");
            findings.push(Finding::new(&file.path, index + 1, message));
        }
        let fence = code
            .strip_prefix("///")
            .or_else(|| code.strip_prefix("//!"));
        if fence.is_some_and(|it| it.trim_start().starts_with("```ignore")) {
            let message = "an example that is not compiled: make it runnable, or `text`";
            findings.push(Finding::new(&file.path, index + 1, message));
        }
    }
    findings
}

/// Returns code that distinguishes the browser from the desktop outside the files made for that. `#[cfg(…)]` before
/// `mod` and `use` selects such files, and so is allowed anywhere.
pub fn scattered_platforms(file: &TextFile) -> Vec<Finding> {
    if PLATFORM_FILES.contains(&file.name()) {
        return Vec::new();
    }
    check_tokens(file, |tokens, at| {
        let found =
            reads(tokens, at, &["target_arch", "=", "\"wasm32\""]) && !chooses_a_module(tokens, at);
        found.then(|| {
            format!(
                "a difference between platforms: move it to {}",
                PLATFORM_FILES.join(", ")
            )
        })
    })
}

/// Returns fields and parameters with a quantity as a plain integer whose name does not state its unit.
pub fn missing_units(file: &TextFile) -> Vec<Finding> {
    check_tokens(file, |tokens, at| {
        let name = text(tokens, at);
        let is_bare = BARE_QUANTITIES.iter().any(|bare| {
            name.strip_suffix(bare)
                .is_some_and(|rest| rest.is_empty() || (rest.ends_with('_') && *bare != "size"))
        });
        let is_local = at > 0
            && (text(tokens, at - 1) == "let"
                || (at > 1 && text(tokens, at - 1) == "mut" && text(tokens, at - 2) == "let"));
        let found = is_bare && !is_local && has_integer_type(tokens, at + 1);
        found.then(|| {
            format!(
                "`{name}` names no unit: add one (`_ns`, `_bytes`), count something (`num_rows`), or use a newtype"
            )
        })
    })
}

/// Returns whether a file contains only tests and their support.
pub(super) fn is_test_file(file: &TextFile) -> bool {
    let name = file.name();
    let folders = format!("/{}", file.path);
    file.path.starts_with("tests/")
        || folders.contains("/tests/")
        || folders.contains("/benches/benches/")
        || name.ends_with("tests.rs")
        || name == "test_support.rs"
}

/// Returns the number of lines before a file's inline tests.
pub(super) fn production_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let begins_tests = |at: usize| {
        let module = lines[at + 1..].iter().find(|line| !line.starts_with("#["));
        lines[at] == "#[cfg(test)]"
            && module.is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    };
    (0..lines.len())
        .find(|&at| begins_tests(at))
        .unwrap_or(lines.len())
}

/// Applies a rule to each token of a file; the rule returns a message where it is violated.
pub(super) fn check_tokens(
    file: &TextFile,
    rule: impl Fn(&[Token], usize) -> Option<String>,
) -> Vec<Finding> {
    let tokens = match tokens(file) {
        Ok(tokens) => tokens,
        Err(finding) => return vec![finding],
    };
    (0..tokens.len())
        .filter_map(|at| {
            Some(Finding::new(
                &file.path,
                tokens[at].line,
                rule(&tokens, at)?,
            ))
        })
        .collect()
}

/// Returns whether the condition at `at` belongs to a `#[cfg(…)]` before `mod` or `use`.
fn chooses_a_module(tokens: &[Token], at: usize) -> bool {
    let Some(start) = (0..at).rev().find(|&before| text(tokens, before) == "#") else {
        return false;
    };
    let Some(end) = (at..tokens.len()).find(|&after| text(tokens, after) == "]") else {
        return false;
    };
    let is_attribute = reads(tokens, start, &["#", "[", "cfg", "("])
        && (start..at).all(|between| text(tokens, between) != "]");
    let item = (end + 1..tokens.len())
        .map(|after| text(tokens, after))
        .find(|word| !matches!(*word, "pub" | "(" | "crate" | "super" | ")"));
    is_attribute && matches!(item, Some("mod" | "use"))
}

/// Returns whether a `: type` begins at `at` whose type is an integer, alone, borrowed, optional or in a list.
fn has_integer_type(tokens: &[Token], at: usize) -> bool {
    if text(tokens, at) != ":" {
        return false;
    }
    let wrapping = ["&", "mut", "Option", "Vec", "<", "["];
    let Some(place) = (at + 1..tokens.len()).find(|&it| !wrapping.contains(&text(tokens, it)))
    else {
        return false;
    };
    INTEGERS.contains(&text(tokens, place)) && text(tokens, place + 1) != ":"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> TextFile {
        TextFile::new("core/model/src/a.rs", text)
    }

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_without_docs_is_found() {
        assert_eq!(missing_docs(&rust("//! What it is.\n")), []);
        assert_eq!(
            lines(&missing_docs(&rust("use std::fmt;\n//! Late.\n"))),
            [1]
        );
        assert_eq!(lines(&missing_docs(&rust(""))), [1]);
    }

    #[test]
    fn only_lines_before_the_inline_tests_count() {
        assert_eq!(production_lines("a\nb\n#[cfg(test)]\nmod tests {\n}\n"), 2);
        assert_eq!(
            production_lines("a\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests {\n}\n"),
            1
        );
        assert_eq!(production_lines("a\n#[cfg(test)]\nmod tests;\nb\n"), 4);
        assert_eq!(production_lines("a\n#[cfg(test)]\nuse x;\nmod y {\n}\n"), 5);
    }

    #[test]
    fn unsafe_is_found_outside_sys_crates_and_only_in_code() {
        let text = "// unsafe\nfn f() {\n    unsafe { g(\"unsafe\") }\n}\n";
        assert_eq!(lines(&stray_unsafe(&rust(text))), [3]);
        assert_eq!(
            stray_unsafe(&TextFile::new("core/adios2-sys/src/a.rs", text)),
            []
        );
        assert_eq!(
            lines(&stray_unsafe(&TextFile::new("app/x-sys/src/a.rs", text))),
            [3]
        );
    }

    #[test]
    fn unfinished_work_is_found_also_inside_macros() {
        let text = "#[test]\n#[ignore = \"slow\"]\nfn f() {\n    x!(todo!());\n}\n#[should_panic]\nfn g() {\n    unimplemented!()\n}\n";
        assert_eq!(lines(&unfinished(&rust(text))), [2, 4, 6, 8]);
        let reminder = format!("fn todo() {{}}\n// {}: later\n", ["FIX", "ME"].concat());
        assert_eq!(lines(&unfinished(&rust(&reminder))), [2]);
        let fence = "/// ```ignore\n/// f()\n/// ```\nfn f() {}\n";
        assert_eq!(lines(&unfinished(&rust(fence))), [1]);
    }

    #[test]
    fn platforms_differ_by_whole_files() {
        let chosen = "#[cfg(target_arch = \"wasm32\")]\npub(crate) mod web;\n#[cfg(not(target_arch = \"wasm32\"))]\nuse native as it;\n";
        assert_eq!(scattered_platforms(&rust(chosen)), []);
        let scattered = "fn f() {\n    #[cfg(target_arch = \"wasm32\")]\n    g();\n    if cfg!(target_arch = \"wasm32\") {}\n}\n";
        assert_eq!(lines(&scattered_platforms(&rust(scattered))), [2, 4]);
        assert_eq!(
            scattered_platforms(&TextFile::new("app/gui/src/web.rs", scattered)),
            []
        );
    }

    #[test]
    fn integers_without_a_unit_are_found() {
        let bad = "struct A {\n    time: u64,\n    start_ts: Option<i64>,\n}\nfn f(\n    mut duration: &[u64],\n    size: usize,\n) {}\n";
        assert_eq!(lines(&missing_units(&rust(bad))), [2, 3, 6, 7]);
        let good = "struct A {\n    time_ns: u64,\n    time: TimeNs,\n    batch_size: usize,\n    runtime: u64,\n}\n\
                    fn f(size: Vec2) -> A {\n    let size: usize = 1;\n    B { size: usize::MAX };\n}\n";
        assert_eq!(missing_units(&rust(good)), []);
    }
}
