//! The tree models of a run: versions with notes, which version is in force, and the changes to send to instances.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::error::PserverError;

/// Maximum size of a model in bytes.
pub const MAX_TREE_MODEL_BYTES: usize = 2 << 20;
/// Maximum number of models, each with its versions.
const MAX_MODELS: usize = 64;
/// Maximum number of versions kept of a model; the oldest one is dropped first.
const MAX_VERSIONS: usize = 16;
/// Maximum length of a name or a note in bytes.
const MAX_TEXT_BYTES: usize = 4096;

/// The description of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeModelVersion {
    /// Counts the versions of the model from 1.
    pub version: u32,
    /// Why it was made, as text.
    pub note: String,
    /// The publisher.
    pub by: String,
    /// Time of publication, in microseconds since the epoch.
    pub time_us: u64,
    /// Size of the model in bytes.
    pub num_bytes: usize,
}

/// A model with its versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeModelInfo {
    /// Its name: by default its function.
    pub name: String,
    /// The version in force; `None` if it was taken out of force.
    pub in_force: Option<u32>,
    /// Ascending.
    pub versions: Vec<TreeModelVersion>,
}

/// The tree models of a run, and which AD instances have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeModelList {
    /// In order of their names.
    pub models: Vec<TreeModelInfo>,
    /// The AD instances heard of, and whether each is up to date.
    pub instances: Vec<InstanceModels>,
}

/// The state of the tree models of an AD instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceModels {
    /// Its name.
    pub instance: String,
    /// True if it has all models in force.
    pub is_current: bool,
}

/// A tree model to be published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPublication {
    /// Name of the model.
    pub name: String,
    /// The model file.
    pub model: String,
    /// Why it was made.
    #[serde(default)]
    pub note: String,
    /// The publisher.
    #[serde(default)]
    pub by: String,
}

/// The version of a tree model to put in force, or the one that was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelInForce {
    /// Name of the model.
    pub name: String,
    /// The version; `None` to take the model out of force.
    pub version: Option<u32>,
}

/// A model that was put in force or taken out of force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeModelUpdate {
    /// Name of the model.
    pub name: String,
    /// Its version and encoded model; `None` if no version is in force any more.
    pub model: Option<(u32, Arc<[u8]>)>,
}

/// All tree models of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeModelBook {
    /// Incremented with every change.
    generation: u64,
    models: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    in_force: Option<u32>,
    /// The generation of the last change of `in_force`.
    changed_in: u64,
    next_version: u32,
    versions: Vec<StoredVersion>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredVersion {
    about: TreeModelVersion,
    /// The model as text.
    model: Arc<str>,
    /// The functions that it judges; unknown in states of earlier releases.
    #[serde(default)]
    functions: Vec<String>,
}

/// The book of a server, and the last saved generation.
#[derive(Debug, Default)]
pub(crate) struct SharedTreeModels {
    pub(crate) book: Mutex<TreeModelBook>,
    pub(crate) saved: AtomicU64,
    /// True if the run is over; changed under the lock of the book.
    pub(crate) is_closed: AtomicBool,
    /// The generation sent to each instance when it last asked.
    pub(crate) sent_generations: Mutex<BTreeMap<String, u64>>,
}

impl TreeModelBook {
    /// Returns the generation, which is incremented with every change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Adds a model of these functions as the next version of its name, and puts it in force. Returns its version.
    ///
    /// # Errors
    /// [`PserverError::Limit`] if a limit is exceeded; [`PserverError::UnfitTreeModel`] if a model of another name is
    /// in force for one of the functions.
    pub fn publish(
        &mut self,
        publication: &ModelPublication,
        functions: &[String],
        time_us: u64,
    ) -> Result<u32, PserverError> {
        let ModelPublication {
            name,
            model,
            note,
            by,
        } = publication;
        let limit = |what: String, limit, remedy| {
            Err(PserverError::Limit {
                what,
                limit,
                remedy,
            })
        };
        if model.len() > MAX_TREE_MODEL_BYTES {
            let what = format!("the tree model {name} with {} bytes", model.len());
            return limit(what, MAX_TREE_MODEL_BYTES, "learn it from fewer trees");
        }
        if [name, note, by]
            .iter()
            .any(|text| text.len() > MAX_TEXT_BYTES)
            || name.is_empty()
        {
            let what = "an empty name, or a name or note of a tree model".to_owned();
            return limit(what, MAX_TEXT_BYTES, "shorten it");
        }
        self.check_free(name, functions)?;
        if !self.models.contains_key(name) && self.models.len() >= MAX_MODELS {
            let what = format!("the tree model {name}");
            return limit(what, MAX_MODELS, "publish it under the name of another");
        }
        self.generation += 1;
        let entry = self.models.entry(name.to_owned()).or_insert(Entry {
            in_force: None,
            changed_in: 0,
            next_version: 1,
            versions: Vec::new(),
        });
        let version = entry.next_version;
        entry.next_version += 1;
        entry.in_force = Some(version);
        entry.changed_in = self.generation;
        if entry.versions.len() >= MAX_VERSIONS {
            entry.versions.remove(0);
        }
        entry.versions.push(StoredVersion {
            about: TreeModelVersion {
                version,
                note: note.clone(),
                by: by.clone(),
                time_us,
                num_bytes: model.len(),
            },
            model: model.as_str().into(),
            functions: functions.to_vec(),
        });
        Ok(version)
    }

    /// Returns an error if a model of another name is in force for one of these functions: one model judges a function.
    fn check_free(&self, name: &str, functions: &[String]) -> Result<(), PserverError> {
        for (other, entry) in self.models.iter().filter(|(other, _)| *other != name) {
            let mut stored = entry.versions.iter();
            let in_force = stored.find(|stored| Some(stored.about.version) == entry.in_force);
            let judged = in_force.map_or(&[][..], |stored| &stored.functions);
            if let Some(function) = functions.iter().find(|it| judged.contains(it)) {
                return Err(PserverError::UnfitTreeModel {
                    name: name.to_owned(),
                    cause: format!(
                        "the tree model {other} is in force for {function}; publish under that name (without --name), or \
                         take it out of force first (`callgrove model rollback '{other}' --off`)"
                    ),
                });
            }
        }
        Ok(())
    }

    /// Puts a version in force again, or takes the model out of force. Returns the version that was in force.
    ///
    /// # Errors
    /// [`PserverError::UnknownTreeModel`]; [`PserverError::UnfitTreeModel`] as [`TreeModelBook::publish`].
    pub fn put_in_force(
        &mut self,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<u32>, PserverError> {
        if let Some(version) = version {
            self.model(name, Some(version))?;
            let mut stored = self
                .models
                .get(name)
                .into_iter()
                .flat_map(|it| &it.versions);
            let wanted = stored.find(|stored| stored.about.version == version);
            self.check_free(name, wanted.map_or(&[][..], |stored| &stored.functions))?;
        }
        let unknown = || unknown(name, None);
        let entry = self.models.get_mut(name).ok_or_else(unknown)?;
        let before = std::mem::replace(&mut entry.in_force, version);
        if before != version {
            self.generation += 1;
            entry.changed_in = self.generation;
        }
        Ok(before)
    }

    /// Returns a model and its version: a given version, or the one in force.
    ///
    /// # Errors
    /// [`PserverError::UnknownTreeModel`].
    pub fn model(&self, name: &str, version: Option<u32>) -> Result<(u32, &str), PserverError> {
        let entry = self.models.get(name);
        let wanted = version.or(entry.and_then(|entry| entry.in_force));
        entry
            .into_iter()
            .flat_map(|entry| &entry.versions)
            .find(|stored| Some(stored.about.version) == wanted)
            .map(|stored| (stored.about.version, &*stored.model))
            .ok_or_else(|| unknown(name, version))
    }

    /// Returns all models, ordered by name.
    pub fn list(&self) -> Vec<TreeModelInfo> {
        let info = |(name, entry): (&String, &Entry)| TreeModelInfo {
            name: name.clone(),
            in_force: entry.in_force,
            versions: entry
                .versions
                .iter()
                .map(|stored| stored.about.clone())
                .collect(),
        };
        self.models.iter().map(info).collect()
    }

    /// Returns the changes since a generation, earliest first, up to about `max_bytes` but at least one; and the
    /// generation that they reach.
    pub(crate) fn since(&self, generation: u64, max_bytes: usize) -> (Vec<TreeModelUpdate>, u64) {
        let mut changed: Vec<(&String, &Entry)> = self.models.iter().collect();
        changed.retain(|(_, entry)| entry.changed_in > generation);
        changed.sort_by_key(|(_, entry)| entry.changed_in);
        let mut updates: Vec<TreeModelUpdate> = Vec::new();
        let (mut num_bytes, mut until) = (0, generation);
        for (name, entry) in changed {
            let model = entry.in_force.and_then(|version| {
                let (version, model) = self.model(name, Some(version)).ok()?;
                Some((version, Arc::from(model.as_bytes())))
            });
            num_bytes += model
                .as_ref()
                .map_or(0, |(_, bytes): &(u32, Arc<[u8]>)| bytes.len());
            if num_bytes > max_bytes && !updates.is_empty() {
                return (updates, until);
            }
            until = entry.changed_in;
            updates.push(TreeModelUpdate {
                name: name.clone(),
                model,
            });
        }
        (updates, self.generation.max(until))
    }

    /// Returns the book as JSON.
    ///
    /// # Errors
    /// [`PserverError::Damaged`]; no known book causes it.
    pub fn to_json(&self) -> Result<String, PserverError> {
        serde_json::to_string(self).map_err(|error| damaged(&error))
    }

    /// Parses a book from JSON.
    ///
    /// # Errors
    /// [`PserverError::Damaged`].
    pub fn from_json(json: &str) -> Result<Self, PserverError> {
        serde_json::from_str(json).map_err(|error| damaged(&error))
    }
}

fn damaged(error: &serde_json::Error) -> PserverError {
    PserverError::Damaged {
        what: "the saved tree models",
        cause: error.to_string(),
        remedy: "name another provenance database, and publish them again",
    }
}

fn unknown(name: &str, version: Option<u32>) -> PserverError {
    PserverError::UnknownTreeModel {
        name: name.to_owned(),
        version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(book: &mut TreeModelBook, name: &str, model: &str) -> u32 {
        let of_name = [format!("function {name}")];
        book.publish(&publication(name, model), &of_name, 7)
            .expect("it fits")
    }

    fn publication(name: &str, model: &str) -> ModelPublication {
        ModelPublication {
            name: name.to_owned(),
            model: model.to_owned(),
            note: "note".to_owned(),
            by: "me".to_owned(),
        }
    }

    #[test]
    fn a_function_is_judged_by_one_model() {
        let mut book = TreeModelBook::default();
        publish(&mut book, "a", "1");
        let of_a = ["function a".to_owned()];
        let refused = book.publish(&publication("b", "2"), &of_a, 7);
        let cause = refused.expect_err("a judges it").to_string();
        assert!(
            cause.contains("the tree model a is in force for function a"),
            "{cause}"
        );
        assert_eq!(book.put_in_force("a", None), Ok(Some(1)));
        assert_eq!(book.publish(&publication("b", "2"), &of_a, 7), Ok(1));
        assert!(book.put_in_force("a", Some(1)).is_err());
        assert_eq!(publish(&mut book, "c", "3"), 1);
    }

    fn changes_since(book: &TreeModelBook, since: u64) -> (Vec<(String, Option<u32>)>, u64) {
        let (updates, until) = book.since(since, 100);
        let of = |it: TreeModelUpdate| (it.name, it.model.map(|(version, _)| version));
        (updates.into_iter().map(of).collect(), until)
    }

    #[test]
    fn versions_are_put_in_force_and_back_and_each_change_is_sent_once() {
        let mut book = TreeModelBook::default();
        assert_eq!(changes_since(&book, 0), (vec![], 0));
        assert_eq!(
            [publish(&mut book, "a", "1"), publish(&mut book, "a", "2")],
            [1, 2]
        );
        assert_eq!(publish(&mut book, "b", "3"), 1);
        let (all, until) = changes_since(&book, 0);
        assert_eq!(all, [("a".to_owned(), Some(2)), ("b".to_owned(), Some(1))]);
        assert_eq!(changes_since(&book, until), (vec![], until));
        assert_eq!(book.put_in_force("a", Some(1)), Ok(Some(2)));
        assert_eq!(changes_since(&book, until).0, [("a".to_owned(), Some(1))]);
        assert_eq!(book.model("a", None), Ok((1, "1")));
        assert_eq!(book.put_in_force("a", None), Ok(Some(1)));
        assert_eq!(changes_since(&book, until).0, [("a".to_owned(), None)]);
        assert_eq!(
            publish(&mut book, "a", "4"),
            3,
            "a number is never used again"
        );
        assert!(book.put_in_force("a", Some(9)).is_err());
        assert!(book.put_in_force("c", None).is_err());
        let again = TreeModelBook::from_json(&book.to_json().expect("text")).expect("a book");
        assert_eq!(again.list(), book.list());
        assert_eq!(changes_since(&again, 0), changes_since(&book, 0));
    }

    #[test]
    fn changes_that_do_not_fit_into_one_reply_come_with_the_next() {
        let mut book = TreeModelBook::default();
        for name in ["a", "b", "c"] {
            publish(&mut book, name, &"x".repeat(60));
        }
        let mut generation = 0;
        for name in ["a", "b", "c"] {
            let (updates, until) = changes_since(&book, generation);
            assert_eq!(updates, [(name.to_owned(), Some(1))]);
            generation = until;
        }
        assert_eq!(changes_since(&book, generation), (vec![], generation));
    }

    #[test]
    fn publications_beyond_a_limit_are_refused() {
        let mut book = TreeModelBook::default();
        let large = "x".repeat(MAX_TREE_MODEL_BYTES + 1);
        assert!(book.publish(&publication("a", &large), &[], 0).is_err());
        assert!(book.publish(&publication("", "m"), &[], 0).is_err());
        for at in 0..MAX_MODELS {
            publish(&mut book, &at.to_string(), "m");
        }
        assert!(book.publish(&publication("one more", "m"), &[], 0).is_err());
        for _ in 0..2 * MAX_VERSIONS {
            publish(&mut book, "0", "m");
        }
        assert_eq!(book.list()[0].versions.len(), MAX_VERSIONS);
    }
}
