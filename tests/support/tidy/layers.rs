//! Which crate may use which, as the crate map in `docs/architecture.md` has it. A new edge is a change of the
//! architecture: give the reason, and change that table.

use super::purity::PURE;
use super::{Finding, Member, TextFile};

/// The document with the crate map.
pub const CRATE_MAP: &str = "docs/architecture.md";

/// The last column of the crate map.
const MAY_USE: &str = "| may use |";

/// Edges against the table that must be removed, each with its issue. This list may only shrink.
const DEBT: &[Debt] = &[];

/// Third-party packages that belong to a layer, and the folders that may use them.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("arrow-array", &["app/python"]),
    ("axum", &["app/server"]),
    ("eframe", &["app/cli", "app/gui", "wasm"]),
    (
        "egui",
        &[
            "app/actions",
            "app/canvas",
            "app/cli",
            "app/gui",
            "app/picture",
            "app/views*",
            "app/widgets",
            "benches",
            "wasm",
        ],
    ),
    ("libloading", &["core/*-sys"]),
    ("pyo3", &["app/python"]),
    ("web-sys", &["wasm"]),
];

/// A row of the crate map: a crate's folder and the folders that it may use; `*` matches any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrateRow {
    folder: String,
    uses: Vec<String>,
}

/// An edge that is tolerated temporarily.
struct Debt {
    from: &'static str,
    to: &'static str,
    issue: u32,
}

/// Returns the rows of the crate map: of the table whose last column is "may use". The first cell of a row is a folder,
/// the last cell names folders, each in backquotes.
pub fn crate_rows(map: &TextFile) -> Vec<CrateRow> {
    let lines = map.text.lines().skip_while(|line| !line.ends_with(MAY_USE));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|');
        let quoted = |cell: &str| -> Vec<String> {
            let names = cell.split('`').skip(1).step_by(2);
            names.map(str::to_owned).collect()
        };
        let folder = quoted(cells.next()?).into_iter().next()?;
        let uses = quoted(cells.next_back()?);
        Some(CrateRow { folder, uses })
    })
    .collect()
}

/// Returns edges between crates that are not in the crate map, and debts that are no longer needed.
pub fn unknown_edges(members: &[Member], rows: &[CrateRow]) -> Vec<Finding> {
    check_edges(members, rows, DEBT)
}

/// Returns names in the crate map, in the tables of this file and in `PURE` that name no member.
pub fn absent_members(members: &[Member], rows: &[CrateRow]) -> Vec<Finding> {
    let pure = PURE.iter().map(|folder| folder.trim_end_matches('/'));
    let may_use = rows
        .iter()
        .flat_map(|row| std::iter::once(&row.folder).chain(&row.uses));
    let only_in = ONLY_IN.iter().flat_map(|(_, folders)| *folders);
    let of_code = only_in.copied().chain(pure);
    let named = may_use.map(String::as_str).map(|name| (name, CRATE_MAP));
    let named = named.chain(of_code.map(|name| (name, "tests/support/tidy/layers.rs")));
    let absent =
        named.filter(|(name, _)| !members.iter().any(|it| matches_any(&[name], &it.folder)));
    absent
        .map(|(name, file)| {
            let message =
                format!("{name} is not a member of the workspace: remove it from the table");
            Finding::new(file, 1, message)
        })
        .collect()
}

/// Returns uses of a layer's package by another layer.
pub fn strayed_packages(members: &[Member]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        for (package, folders) in ONLY_IN {
            let used = member.third_party.iter().any(|name| name == package);
            if used && !matches_any(folders, &member.folder) {
                let message = format!("{package} belongs to {}: do without it", folders.join(", "));
                findings.push(Finding::new(&manifest(member), 1, message));
            }
        }
    }
    findings
}

fn check_edges(members: &[Member], rows: &[CrateRow], debts: &[Debt]) -> Vec<Finding> {
    let is_debt =
        |from: &str, to: &str| debts.iter().any(|debt| debt.from == from && debt.to == to);
    let mut findings = Vec::new();
    for member in members {
        let Some(row) = rows.iter().find(|row| row.folder == member.folder) else {
            let message = format!("the crate is not in the crate map: add it to {CRATE_MAP}");
            findings.push(Finding::new(&manifest(member), 1, message));
            continue;
        };
        for used in &member.uses {
            if !matches_any(&row.uses, used) && !is_debt(&member.folder, used) {
                let message = format!(
                    "{} may not use {used}: move the code down, or pass the value in from above",
                    member.folder
                );
                findings.push(Finding::new(&manifest(member), 1, message));
            }
        }
    }
    for debt in debts {
        let exists = |member: &Member| {
            member.folder == debt.from && member.uses.iter().any(|it| it == debt.to)
        };
        if !members.iter().any(exists) {
            let message = format!(
                "the debt of issue {} is paid: remove {} → {}",
                debt.issue, debt.from, debt.to
            );
            findings.push(Finding::new("tests/support/tidy/layers.rs", 1, message));
        }
    }
    findings
}

fn manifest(member: &Member) -> String {
    format!("{}/Cargo.toml", member.folder)
}

fn matches_any(patterns: &[impl AsRef<str>], text: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.as_ref().split_once('*') {
            Some((start, end)) => {
                text.len() >= start.len() + end.len()
                    && text.starts_with(start)
                    && text.ends_with(end)
            }
            None => pattern.as_ref() == text,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(folder: &str, uses: &[&str], third_party: &[&str]) -> Member {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Member {
            name: folder.replace('/', "-"),
            folder: folder.to_owned(),
            uses: owned(uses),
            third_party: owned(third_party),
        }
    }

    /// The crate map of the repository: what it forbids must stay forbidden.
    fn rows() -> Vec<CrateRow> {
        let text = include_str!("../../../docs/architecture.md");
        crate_rows(&TextFile::new(CRATE_MAP, text))
    }

    #[test]
    fn the_crate_map_is_the_table_with_the_column_may_use() {
        let text = "| a | b |\n|---|---|\n| `x` | `y` |\n\n| folder | what | may use |\n|---|---|---|\n\
                    | `core/a` | reads `b` | – |\n| `ml` | learns | `core/a`, `core/*` |\n\n| `z` | | `y` |\n";
        let row = |folder: &str, uses: &[&str]| CrateRow {
            folder: folder.to_owned(),
            uses: uses.iter().map(ToString::to_string).collect(),
        };
        let expected = [row("core/a", &[]), row("ml", &["core/a", "core/*"])];
        assert_eq!(crate_rows(&TextFile::new("map.md", text)), expected);
    }

    #[test]
    fn downward_edges_pass() {
        let members = [
            member("ml/trees", &["core/model"], &[]),
            member("app/session", &["core/detect", "ml/learn"], &[]),
            member("tests", &["app/cli", "xtask"], &[]),
        ];
        assert_eq!(unknown_edges(&members, &rows()), []);
    }

    #[test]
    fn upward_and_sideways_edges_are_found() {
        for (from, to) in [
            ("core/model", "core/trace"),
            ("core/trace", "ml/trees"),
            ("core/ad", "ml/judge"),
            ("core/pserver", "ml/judge"),
            ("core/pserver", "core/pserver/net"),
            ("core/incidents", "core/pserver"),
            ("core/provdb", "core/provdb/stores"),
            ("core/provdb/net", "core/provdb/stores"),
            ("ml/judge", "app/session"),
            ("ml/trees", "ml/learn"),
            ("ml/learn", "ml/map"),
            ("app/query", "app/session"),
            ("app/session", "ml/evaluate"),
            ("app/gui", "core/trace"),
            ("app/session", "app/gui"),
        ] {
            let findings = unknown_edges(&[member(from, &[to], &[])], &rows());
            assert_eq!(findings.len(), 1, "{from} → {to}");
            assert_eq!(findings[0].path, format!("{from}/Cargo.toml"));
        }
    }

    #[test]
    fn a_crate_outside_the_table_is_found() {
        let misc = member("core/misc", &[], &[]);
        assert_eq!(unknown_edges(&[misc], &rows()).len(), 1);
    }

    #[test]
    fn a_table_entry_without_a_member_is_found() {
        let rows = rows();
        let folders = rows.iter().map(|row| &row.folder);
        let all: Vec<Member> = folders.map(|folder| member(folder, &[], &[])).collect();
        assert_eq!(absent_members(&all, &rows), []);
        let without_trees: Vec<Member> = all
            .into_iter()
            .filter(|it| it.folder != "ml/trees")
            .collect();
        let findings = absent_members(&without_trees, &rows);
        assert!(!findings.is_empty());
        assert!(
            findings
                .iter()
                .all(|it| it.message.starts_with("ml/trees is not a member"))
        );
    }

    #[test]
    fn a_debt_is_tolerated_until_it_is_paid() {
        let debts = [Debt {
            from: "ml/trees",
            to: "core/trace",
            issue: 7,
        }];
        assert_eq!(
            check_edges(&[member("ml/trees", &["core/trace"], &[])], &rows(), &debts),
            []
        );
        let findings = check_edges(&[member("ml/trees", &[], &[])], &rows(), &debts);
        assert!(findings[0].message.contains("issue 7"), "{findings:?}");
    }

    #[test]
    fn a_package_outside_its_layer_is_found() {
        let members = [
            member("core/adios2-sys", &[], &["libloading"]),
            member("app/session", &[], &["egui"]),
        ];
        let findings = strayed_packages(&members);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "app/session/Cargo.toml");
    }
}
