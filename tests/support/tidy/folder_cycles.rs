//! Import cycles between the folders of a crate. They can exist where no two files need each other.
//!
//! A folder is a module directly below the root of the crate, with all files below it. An edge is a path from one to
//! another: `crate::a::…` in `use`, in `pub use` or anywhere in the code. A path through the facade of the crate leads
//! to the folder that declares its item.

use std::collections::{BTreeMap, BTreeSet};
use std::slice::from_ref;

use super::import_cycles::{ModulePath, Modules, arrows, beginning, declared_in, groups, modules};
use super::{Finding, Member, TextFile};

/// Returns the crates with folders that need each other.
pub fn folder_cycles(files: &[TextFile], members: &[Member]) -> Vec<Finding> {
    let of_member = |member: &Member| match modules(files, member) {
        Ok(modules) => check(&modules, &member.folder),
        Err(finding) => Some(finding),
    };
    members.iter().filter_map(of_member).collect()
}

fn check(modules: &Modules, folder: &str) -> Option<Finding> {
    let uses = folder_uses(modules);
    let groups = groups(&uses);
    let cycles: Vec<String> = groups.iter().map(|group| arrows(&uses, group)).collect();
    (!cycles.is_empty()).then(|| {
        let message = format!(
            "these folders need each other: {}. Move what several need to a folder below them",
            cycles.join("; ")
        );
        Finding::new(&format!("{folder}/src"), 1, message)
    })
}

/// Returns the folders that each folder names.
fn folder_uses(modules: &Modules) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, module) in modules {
        // The root is the facade, in no folder.
        let Some(folder) = path.first() else {
            continue;
        };
        let paths = module.needed.union(&module.passed_on);
        let folders = paths.filter_map(|named| folder_of(modules, path, named));
        uses.entry(folder)
            .or_default()
            .extend(folders.filter(|named| named != folder));
    }
    uses
}

/// Returns the folder that a path in `module` leads to; `None` for items of the root and outside the crate.
fn folder_of<'a>(modules: &'a Modules, module: &ModulePath, path: &[String]) -> Option<&'a str> {
    let (place, rest) = beginning(modules, module, path)?;
    let first = place.iter().chain(rest).next()?;
    let named = modules.get_key_value(from_ref(first));
    let (folder, _) = named.or_else(|| {
        let declaring = declared_in(modules, module, path)?;
        modules.get_key_value(declaring.get(..1)?)
    })?;
    folder.first().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile::new(format!("a/src/{path}"), *text))
            .collect();
        let member = Member {
            name: "callgrove-a".to_owned(),
            folder: "a".to_owned(),
            uses: Vec::new(),
            third_party: Vec::new(),
        };
        let modules = modules(&files, &member).unwrap();
        check(&modules, "a").map(|finding| finding.message)
    }

    /// No two of these files need each other, but two of their folders do.
    const CYCLE: [(&str, &str); 5] = [
        ("lib.rs", "mod low;\nmod x;\nmod y;\npub use x::X;\n"),
        ("low.rs", "pub struct Low;\n"),
        ("x/mod.rs", "mod item;\nmod user;\npub use item::X;\n"),
        ("x/user.rs", "use crate::y::Y;\nfn f(_: Y) {}\n"),
        ("x/item.rs", "pub struct X(crate::low::Low);\n"),
    ];

    #[test]
    fn two_folders_that_need_each_other_are_found() {
        for text in [
            "use crate::x::X;\npub struct Y(X);\n",
            "pub struct Y;\nfn f(_: super::x::X) {}\n",
            "pub struct Y;\npub use crate::x::X as Z;\n",
            "use crate::X;\npub struct Y(X);\n",
        ] {
            let files = [&CYCLE[..], &[("y.rs", text)]].concat();
            let found = found(&files).expect(text);
            assert!(found.contains("x → y; y → x"), "{found}");
        }
    }

    #[test]
    fn arrows_down_tests_and_external_names_close_no_cycle() {
        let text = "use x::X;\npub struct Y(crate::low::Low);\n\
                    #[cfg(test)]\nmod tests {\n    use crate::x::X;\n}\n";
        let tests = ("y/tests.rs", "use crate::x::X;\n");
        let files = [&CYCLE[..], &[("y.rs", text), tests]].concat();
        assert_eq!(found(&files), None);
    }
}
