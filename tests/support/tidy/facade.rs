//! Imports through the facade of a crate: `crate::Item` leads to `lib.rs`, which passes the item on, so a reader does not
//! see which file it is from, and the file seems to need the whole crate.

use super::import_cycles::{Modules, modules};
use super::{Finding, Member, TextFile};

/// Returns the files that name an item by its path in `lib.rs` instead of that of the module that declares it.
pub fn through_facade(files: &[TextFile], members: &[Member]) -> Vec<Finding> {
    let of_member = |member: &Member| match modules(files, member) {
        Ok(modules) => check(&modules),
        Err(finding) => vec![finding],
    };
    members.iter().flat_map(of_member).collect()
}

fn check(modules: &Modules) -> Vec<Finding> {
    let Some(facade) = modules.get(&Vec::new()) else {
        return Vec::new();
    };
    let is_module = |name: &String| modules.contains_key(std::slice::from_ref(name));
    let passed_on = |name: &String| facade.names.get(name).filter(|_| !is_module(name));
    let inner = modules.iter().filter(|(path, _)| !path.is_empty());
    inner
        .flat_map(|(_, module)| {
            let named = module.needed.iter().filter_map(|path| match &path[..] {
                [root, name, ..] if root == "crate" => Some((name, passed_on(name)?)),
                _ => None,
            });
            named.map(|(name, path)| {
                let message = format!(
                    "`crate::{name}` leads through lib.rs: write `{}`",
                    path.join("::")
                );
                Finding::new(&module.file, 1, message)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(user: &str) -> Vec<String> {
        let files = [
            ("lib.rs", "mod x;\nmod y;\npub use x::X;\n"),
            ("x.rs", "pub struct X;\n"),
            ("y.rs", user),
        ];
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
        let findings = through_facade(&files, &[member]);
        findings.into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn an_item_of_the_facade_is_found() {
        let expected = ["`crate::X` leads through lib.rs: write `x::X`"];
        assert_eq!(found("use crate::X;\npub struct Y(X);\n"), expected);
        assert_eq!(found("pub struct Y(crate::X);\n"), expected);
    }

    #[test]
    fn siblings_and_tests_may_be_named() {
        assert!(found("use crate::x::X;\npub struct Y(X);\n").is_empty());
        let tests = "pub struct Y;\n#[cfg(test)]\nmod tests {\n    use crate::X;\n}\n";
        assert!(found(tests).is_empty());
    }
}
