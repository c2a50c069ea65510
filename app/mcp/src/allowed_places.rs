//! The runs and databases that an assistant may name.
//!
//! Names of functions and records are texts of strangers, and an assistant may take them for requests. So it reaches only
//! what a person named when the server was started: these runs, databases and servers, and what is in these folders. A
//! token goes to no other server.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use callgrove_source::PATH_SEPARATOR;

/// What begins the name of the recorded trees of a job.
const TREES: &str = "trees:";

/// The places that were named when the server was started.
pub(crate) struct AllowedPlaces(Vec<String>);

impl AllowedPlaces {
    pub(crate) fn new(named: impl IntoIterator<Item = String>) -> Self {
        Self(named.into_iter().collect())
    }

    /// Checks that an assistant may name a run or database.
    ///
    /// # Errors
    /// It may not, or the name is empty.
    pub(crate) fn check(&self, named: &str) -> Result<()> {
        ensure!(
            !named.trim().is_empty(),
            "the name of a run or database is empty: leave it out for the run that the server was started with"
        );
        for part in named.split(PATH_SEPARATOR) {
            let place = part.strip_prefix(TREES).unwrap_or(part);
            if !self.has(part) && !self.has(place) {
                bail!(
                    "{place} is not among the places that this server was started with; a person can add it: \
                     callgrove mcp --allow {place}"
                );
            }
        }
        Ok(())
    }

    /// Returns whether a place is one of the named ones, or a file or folder in one of them. Links are followed first.
    fn has(&self, place: &str) -> bool {
        let without_end = |place: &str| place.trim_end_matches('/').to_owned();
        let is_same = |own: &String| without_end(own) == without_end(place);
        if self.0.iter().any(is_same) {
            return true;
        }
        let Ok(path) = fs::canonicalize(place) else {
            return false;
        };
        let folders = self.0.iter().filter_map(|own| fs::canonicalize(own).ok());
        folders.into_iter().any(|own| is_in(&path, &own))
    }
}

fn is_in(path: &Path, folder: &Path) -> bool {
    path.ancestors().any(|it| it == folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_places_and_what_is_in_them_are_allowed() {
        let disk = tempfile::tempdir().unwrap();
        let at = |path: &str| disk.path().join(path).to_string_lossy().into_owned();
        for folder in ["runs/a", "runs-of-others"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("runs-of-others/x.json"), "").unwrap();
        std::os::unix::fs::symlink(at("runs-of-others"), at("runs/link")).unwrap();
        let server = "http://node7:5560";
        let allowed = AllowedPlaces::new([at("runs"), server.to_owned(), "bp/*.bp".to_owned()]);
        for place in [
            at("runs"),
            at("runs/a"),
            at("runs/../runs/a"),
            format!("{server}/"),
            format!("trees:{server}"),
            "bp/*.bp".to_owned(),
            [at("runs/a"), at("runs")].join(PATH_SEPARATOR),
        ] {
            assert!(allowed.check(&place).is_ok(), "{place}");
        }
        for place in [
            at("runs-of-others"),
            at("runs/link/x.json"),
            at("runs/../runs-of-others"),
            at("runs/absent"),
            at("runs/*"),
            "http://127.0.0.1:9".to_owned(),
            "http://node7:5560@evil.example".to_owned(),
            "http://node7:55601".to_owned(),
            "https://node7:5560".to_owned(),
            "node7:5561".to_owned(),
            "postgres://node7/found".to_owned(),
            "trees:http://127.0.0.1:9".to_owned(),
            [at("runs/a"), at("runs-of-others")].join(PATH_SEPARATOR),
        ] {
            let refused = allowed.check(&place).unwrap_err().to_string();
            assert!(refused.contains("--allow"), "{refused}");
        }
        let refused = allowed.check(" ").unwrap_err().to_string();
        assert!(refused.contains("empty"), "{refused}");
    }
}
