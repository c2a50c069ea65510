//! Numbers that may only improve. Lower a limit when you can; raising one needs its reason in a comment next to it.

use std::collections::{BTreeMap, BTreeSet};

use super::prose::banned_words;
use super::sources::{is_test_file, production_lines};
use super::tokens::{Token, reads, text, tokens};
use super::{Finding, Repository, TextFile};

/// The limits, each at the value when it was last set.
const RATCHETS: &[Ratchet] = &[
    Ratchet {
        what: "lines of a file before its tests",
        limit: 473,
        remedy: "split it by concepts",
        measure: longest_file,
    },
    Ratchet {
        what: "lines of a test file",
        // The walks through the window in app/gui/src/app/tests.rs, until they are split by view.
        limit: 695,
        remedy: "split it by what is tested",
        measure: longest_tests,
    },
    Ratchet {
        what: "lines of a function",
        limit: 84,
        remedy: "give a part of it a name",
        measure: longest_function,
    },
    Ratchet {
        what: "source files in one folder",
        // The core of app/session/src, next to the engine.
        limit: 20,
        remedy: "group them into folders",
        measure: fullest_folder,
    },
    Ratchet {
        what: "lines of code of a crate, without tests",
        // app/query.
        limit: 5_459,
        remedy: "split it by subjects",
        measure: largest_crate,
    },
    Ratchet {
        what: "packages locked in several versions",
        // One of them since the client of the message bus, which reads the certificates of macOS by another release of
        // core-foundation than the window does.
        limit: 47,
        remedy: "use the version that is already locked (`cargo tree --duplicates`)",
        measure: repeated_packages,
    },
    Ratchet {
        what: "numeric `as` in core and ml",
        limit: 305,
        remedy: "use `From`, `try_from` or a newtype: `as` truncates silently",
        measure: casts,
    },
    Ratchet {
        what: "`expect` outside tests",
        // Layouts have strings as keys, so writing them cannot fail.
        limit: 23,
        remedy: "return the error, or make the state impossible",
        measure: expects,
    },
    Ratchet {
        what: "words of the private language",
        // Names that are stored or sent, tables that programs print, and words in their plain sense.
        limit: 34,
        remedy: "say it as engineers of the field do (tests/support/tidy/prose.rs)",
        measure: private_words,
    },
];

/// The list of the words, which has each of them.
const PROSE: &str = "tests/support/tidy/prose.rs";

/// Minimum relative improvement that requires a lower limit.
const SLACK: f64 = 0.05;

const NUMBERS: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64",
];

struct Ratchet {
    what: &'static str,
    limit: usize,
    remedy: &'static str,
    measure: fn(&Repository) -> Measured,
}

/// A value and its place; for sums, the file that adds most.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Measured {
    value: usize,
    path: String,
    line: usize,
}

/// Returns values above their limits, and limits that can be lowered.
pub fn loosened(repository: &Repository) -> Vec<Finding> {
    RATCHETS
        .iter()
        .filter_map(|ratchet| check(ratchet, &(ratchet.measure)(repository)))
        .collect()
}

fn check(ratchet: &Ratchet, found: &Measured) -> Option<Finding> {
    let Ratchet {
        what,
        limit,
        remedy,
        ..
    } = ratchet;
    let value = found.value;
    if value > *limit {
        let message = format!("{value} {what}, {limit} at most: {remedy}");
        return Some(Finding::new(&found.path, found.line, message));
    }
    ((value as f64) < *limit as f64 * (1.0 - SLACK)).then(|| {
        let message = format!("{value} {what} now: lower the limit from {limit} to {value}");
        Finding::new("tests/support/tidy/ratchets.rs", 1, message)
    })
}

fn longest_file(repository: &Repository) -> Measured {
    longest(repository.rust_files().filter(|file| !is_test_file(file)))
}

fn longest_tests(repository: &Repository) -> Measured {
    longest(repository.rust_files().filter(|file| is_test_file(file)))
}

fn longest<'a>(files: impl Iterator<Item = &'a TextFile>) -> Measured {
    let measured = files.map(|file| {
        let value = production_lines(&file.text);
        Measured {
            value,
            path: file.path.clone(),
            line: value,
        }
    });
    measured.max().unwrap_or_default()
}

fn longest_function(repository: &Repository) -> Measured {
    let measured = production(repository).flat_map(|(file, tokens)| {
        functions(&tokens)
            .into_iter()
            .map(|(first, last)| Measured {
                value: last - first + 1,
                path: file.path.clone(),
                line: first,
            })
            .collect::<Vec<_>>()
    });
    measured.max().unwrap_or_default()
}

fn fullest_folder(repository: &Repository) -> Measured {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for file in repository.rust_files() {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    let measured = folders.into_iter().map(|(folder, value)| Measured {
        value,
        path: folder.to_owned(),
        line: 1,
    });
    measured.max().unwrap_or_default()
}

fn largest_crate(repository: &Repository) -> Measured {
    let mut crates: BTreeMap<&str, usize> = BTreeMap::new();
    for file in repository.rust_files().filter(|file| !is_test_file(file)) {
        let Some((folder, _)) = file.path.split_once("/src/") else {
            continue;
        };
        let lines = file.text.lines().take(production_lines(&file.text));
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        *crates.entry(folder).or_default() += lines.filter(is_code).count();
    }
    let measured = crates.into_iter().map(|(folder, value)| Measured {
        value,
        path: folder.to_owned(),
        line: 1,
    });
    measured.max().unwrap_or_default()
}

fn repeated_packages(repository: &Repository) -> Measured {
    Measured {
        value: repeated(repository.lock.lines()),
        path: "Cargo.lock".to_owned(),
        line: 1,
    }
}

/// Returns the number of names that occur in several packages of a lock file.
fn repeated<'a>(lock: impl Iterator<Item = &'a str>) -> usize {
    let mut once = BTreeSet::new();
    let mut several = BTreeSet::new();
    for name in lock.filter(|line| line.starts_with("name = ")) {
        if !once.insert(name) {
            several.insert(name);
        }
    }
    several.len()
}

fn casts(repository: &Repository) -> Measured {
    let is_cast = |tokens: &[Token], at: usize| {
        text(tokens, at) == "as" && NUMBERS.contains(&text(tokens, at + 1))
    };
    sum(
        repository,
        |path| path.starts_with("core/") || path.starts_with("ml/"),
        is_cast,
    )
}

fn expects(repository: &Repository) -> Measured {
    sum(
        repository,
        |_| true,
        |tokens, at| reads(tokens, at, &[".", "expect", "("]),
    )
}

fn private_words(repository: &Repository) -> Measured {
    let is_prose = |file: &&TextFile| {
        let kind = file.name().rsplit('.').next();
        matches!(kind, Some("rs" | "md" | "toml")) && file.path != PROSE
    };
    let mut total = Measured::default();
    let mut most = 0;
    for file in repository.files.iter().filter(is_prose) {
        let found = banned_words(file);
        total.value += found.len();
        if found.len() > most {
            most = found.len();
            total.path.clone_from(&file.path);
            total.line = found[0];
        }
    }
    total
}

/// Counts tokens in production code.
fn sum(
    repository: &Repository,
    belongs: impl Fn(&str) -> bool,
    counts: impl Fn(&[Token], usize) -> bool,
) -> Measured {
    let mut total = Measured::default();
    let mut most = 0;
    for (file, tokens) in production(repository).filter(|(file, _)| belongs(&file.path)) {
        let found: Vec<usize> = (0..tokens.len())
            .filter(|&at| counts(&tokens, at))
            .collect();
        total.value += found.len();
        if found.len() > most {
            most = found.len();
            total.path.clone_from(&file.path);
            total.line = tokens[found[0]].line;
        }
    }
    total
}

/// Returns Rust files other than tests, with the tokens before their inline tests.
fn production(repository: &Repository) -> impl Iterator<Item = (&TextFile, Vec<Token>)> {
    repository
        .rust_files()
        .filter(|file| !is_test_file(file))
        .map(|file| {
            let last_line = production_lines(&file.text);
            let mut tokens = tokens(file).unwrap_or_default();
            tokens.retain(|token| token.line <= last_line);
            (file, tokens)
        })
}

/// Returns the first and last line of each function with a body.
fn functions(tokens: &[Token]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|&at| text(tokens, at) == "fn") {
        // `fn(…)` is a type; a method without a body ends in `;`.
        let mut depth = 0_i32;
        let body = (at + 1..tokens.len()).find(|&next| {
            depth += match text(tokens, next) {
                "(" | "[" => 1,
                ")" | "]" => -1,
                _ => 0,
            };
            depth < 0 || (depth == 0 && matches!(text(tokens, next), "{" | ";"))
        });
        let Some(start) =
            body.filter(|&start| text(tokens, start) == "{" && text(tokens, at + 1) != "(")
        else {
            continue;
        };
        let mut depth = 0_usize;
        let end = (start..tokens.len()).find(|&next| {
            match text(tokens, next) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        if let Some(end) = end {
            found.push((tokens[at].line, tokens[end].line));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(files: &[(&str, &str)]) -> Repository {
        Repository {
            root: std::path::PathBuf::new(),
            files: files
                .iter()
                .map(|(path, text)| TextFile::new(*path, *text))
                .collect(),
            members: Vec::new(),
            lock: String::new(),
        }
    }

    fn ratchet(limit: usize) -> Ratchet {
        Ratchet {
            what: "things",
            limit,
            remedy: "have fewer",
            measure: casts,
        }
    }

    #[test]
    fn a_value_above_its_limit_and_a_limit_that_is_too_high_are_found() {
        let measured = |value| Measured {
            value,
            path: "a.rs".to_owned(),
            line: 7,
        };
        let above = check(&ratchet(100), &measured(101)).unwrap();
        assert_eq!((above.path.as_str(), above.line), ("a.rs", 7));
        assert_eq!(check(&ratchet(100), &measured(100)), None);
        assert_eq!(check(&ratchet(100), &measured(95)), None);
        let below = check(&ratchet(100), &measured(94)).unwrap();
        assert!(
            below.message.contains("from 100 to 94"),
            "{}",
            below.message
        );
    }

    #[test]
    fn functions_are_measured_from_fn_to_their_brace() {
        let text = "trait T {\n    fn a(&self, f: fn(u8) -> u8);\n}\nfn b(\n    x: [u8; 2],\n) -> impl Fn() {\n    if x {\n    }\n}\n";
        let functions = functions(&tokens(&TextFile::new("a.rs", text)).unwrap());
        assert_eq!(functions, [(4, 9)]);
    }

    #[test]
    fn casts_and_expects_of_tests_do_not_count() {
        let code = "use a as b;\nfn f() { x as u32; x as Own; y.expect(\"why\"); }\n";
        let tested = format!("{code}#[cfg(test)]\nmod tests {{\n{code}}}\n");
        let repository = repository(&[
            ("core/a/src/x.rs", &tested),
            ("core/a/tests/it.rs", code),
            ("app/a/src/x.rs", code),
        ]);
        assert_eq!(casts(&repository).value, 1);
        assert_eq!(expects(&repository).value, 2);
    }

    #[test]
    fn packages_in_several_versions_are_counted_once() {
        let lock = "name = \"a\"\nname = \"b\"\nname = \"a\"\nname = \"a\"\n";
        assert_eq!(repeated(lock.lines()), 1);
    }

    #[test]
    fn the_code_of_a_crate_is_counted_without_comments_and_tests() {
        let code = "//! x\n\nfn a() {}\n// why\nfn b() {}\n#[cfg(test)]\nmod tests {\n}\n";
        let files = [
            ("core/a/src/x.rs", code),
            ("core/a/src/y/z.rs", "//! z\nfn c() {}\n"),
            ("core/a/tests/it.rs", code),
            ("core/b/src/lib.rs", code),
        ];
        let largest = largest_crate(&repository(&files));
        assert_eq!((largest.path.as_str(), largest.value), ("core/a", 3));
    }

    #[test]
    fn the_longest_files_and_the_fullest_folder_are_found() {
        let repository = repository(&[
            ("a/x.rs", "//! x\n"),
            ("a/y.rs", "//! y\n\n"),
            ("b/z.rs", "//! z\n"),
        ]);
        assert_eq!(
            (
                longest_file(&repository).value,
                fullest_folder(&repository).value
            ),
            (2, 2)
        );
    }
}
