//! Which crate may use which. A new edge is a change of the architecture: give the reason, and change this table and
//! the README together.

use super::purity::PURE;
use super::{Finding, Member};

/// The folder of each crate, and the folders that it may use; `*` matches any text.
const MAY_USE: &[(&str, &[&str])] = &[
    ("core/model", &[]),
    ("core/adios2-sys", &[]),
    ("core/trace", &["core/model", "core/adios2-sys"]),
    ("core/detect", &["core/model"]),
    ("core/patterns", &["core/model"]),
    ("core/net", &[]),
    ("core/provdb", &["core/model", "core/net"]),
    (
        "core/pserver",
        &["core/model", "core/detect", "core/patterns", "core/net"],
    ),
    (
        "core/ad",
        &[
            "core/model",
            "core/trace",
            "core/detect",
            "core/pserver",
            "core/provdb",
        ],
    ),
    ("ml", &["core/model"]),
    ("app/session", &["core/*", "ml"]),
    ("app/gui", &["app/session", "core/model"]),
    ("app/server", &["core/*", "ml", "app/session", "app/gui"]),
    ("app/cli", &["core/*", "ml", "app/*"]),
    ("wasm", &["app/gui", "app/session", "core/model"]),
    ("tests", &["*"]),
    ("benches", &["*"]),
    ("xtask", &[]),
    ("xtask/tasks", &["core/adios2-sys"]),
];

/// Edges against the table that must be removed, each with its issue. This list may only shrink.
const DEBT: &[Debt] = &[];

/// Third-party packages that belong to a layer, and the folders that may use them.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("axum", &["app/server"]),
    ("eframe", &["app/cli", "app/gui", "wasm"]),
    ("egui", &["app/cli", "app/gui", "benches", "wasm"]),
    ("libloading", &["core/*-sys"]),
    ("web-sys", &["wasm"]),
];

/// An edge that is tolerated temporarily.
struct Debt {
    from: &'static str,
    to: &'static str,
    issue: u32,
}

/// Returns edges between crates that are not in the table, and debts that are no longer needed.
pub fn unknown_edges(members: &[Member]) -> Vec<Finding> {
    check_edges(members, DEBT)
}

/// Returns entries of the tables of this file and of `PURE` that name no member.
pub fn absent_members(members: &[Member]) -> Vec<Finding> {
    let pure = PURE.iter().map(|folder| folder.trim_end_matches('/'));
    let may_use = MAY_USE
        .iter()
        .flat_map(|(folder, uses)| std::iter::once(folder).chain(*uses));
    let only_in = ONLY_IN.iter().flat_map(|(_, folders)| *folders);
    let named = may_use.chain(only_in).copied().chain(pure);
    let absent = named.filter(|name| !members.iter().any(|it| matches_any(&[name], &it.folder)));
    absent
        .map(|name| {
            let message =
                format!("{name} is not a member of the workspace: remove it from the table");
            Finding::new("tests/support/tidy/layers.rs", 1, message)
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

fn check_edges(members: &[Member], debts: &[Debt]) -> Vec<Finding> {
    let is_debt =
        |from: &str, to: &str| debts.iter().any(|debt| debt.from == from && debt.to == to);
    let mut findings = Vec::new();
    for member in members {
        let Some((_, allowed)) = MAY_USE.iter().find(|(folder, _)| *folder == member.folder) else {
            let message =
                "the crate is not in the table of layers.rs: add it there and to the README";
            findings.push(Finding::new(&manifest(member), 1, message));
            continue;
        };
        for used in &member.uses {
            if !matches_any(allowed, used) && !is_debt(&member.folder, used) {
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

fn matches_any(patterns: &[&str], text: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.split_once('*') {
            Some((start, end)) => {
                text.len() >= start.len() + end.len()
                    && text.starts_with(start)
                    && text.ends_with(end)
            }
            None => *pattern == text,
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

    #[test]
    fn downward_edges_pass() {
        let members = [
            member("ml", &["core/model"], &[]),
            member("app/session", &["core/detect", "ml"], &[]),
            member("tests", &["app/cli", "xtask"], &[]),
        ];
        assert_eq!(unknown_edges(&members), []);
    }

    #[test]
    fn upward_and_sideways_edges_are_found() {
        for (from, to) in [
            ("core/model", "core/trace"),
            ("core/trace", "ml"),
            ("core/ad", "ml"),
            ("core/pserver", "ml"),
            ("ml", "app/session"),
            ("app/gui", "core/trace"),
            ("app/session", "app/gui"),
        ] {
            let findings = unknown_edges(&[member(from, &[to], &[])]);
            assert_eq!(findings.len(), 1, "{from} → {to}");
            assert_eq!(findings[0].path, format!("{from}/Cargo.toml"));
        }
    }

    #[test]
    fn a_crate_outside_the_table_is_found() {
        assert_eq!(unknown_edges(&[member("core/misc", &[], &[])]).len(), 1);
    }

    #[test]
    fn a_table_entry_without_a_member_is_found() {
        let folders = MAY_USE.iter().map(|(folder, _)| *folder);
        let all: Vec<Member> = folders.map(|folder| member(folder, &[], &[])).collect();
        assert_eq!(absent_members(&all), []);
        let without_ml: Vec<Member> = all.into_iter().filter(|it| it.folder != "ml").collect();
        let findings = absent_members(&without_ml);
        assert!(!findings.is_empty());
        assert!(
            findings
                .iter()
                .all(|it| it.message.starts_with("ml is not a member"))
        );
    }

    #[test]
    fn a_debt_is_tolerated_until_it_is_paid() {
        let debts = [Debt {
            from: "ml",
            to: "core/trace",
            issue: 7,
        }];
        assert_eq!(
            check_edges(&[member("ml", &["core/trace"], &[])], &debts),
            []
        );
        let findings = check_edges(&[member("ml", &[], &[])], &debts);
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
