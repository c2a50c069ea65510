//! The tree models of a run: versions with notes, which of them is in force, and what instances are told of that.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::PserverError;

/// Most bytes of a model.
pub const MAX_TREE_MODEL_BYTES: usize = 2 << 20;
/// Most models, each with its versions.
const MAX_MODELS: usize = 64;
/// Versions of a model that are kept; the oldest that is not in force goes first.
const MAX_VERSIONS: usize = 16;
/// Most bytes of a name or a note.
const MAX_TEXT_BYTES: usize = 4096;

/// What is said of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeModelVersion {
    /// Counts the versions of the model from 1.
    pub version: u32,
    /// Why it was made, in words.
    pub note: String,
    /// Who published it.
    pub by: String,
    /// When, in microseconds since the epoch.
    pub time_us: u64,
    /// Its size.
    pub num_bytes: usize,
}

/// A model with its versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeModelInfo {
    /// Its name: by default the function that it is for.
    pub name: String,
    /// The version in force; none where it was taken out of force.
    pub in_force: Option<u32>,
    /// Ascending.
    pub versions: Vec<TreeModelVersion>,
}

/// The tree models of a run, and which AD instances have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeModelList {
    /// In order of their names.
    pub models: Vec<TreeModelInfo>,
    /// The AD instances that were heard of, and how far each is.
    pub instances: Vec<InstanceModels>,
}

/// How far an AD instance is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceModels {
    /// Its name.
    pub instance: String,
    /// Whether it has all that is in force.
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
    /// Who publishes it.
    #[serde(default)]
    pub by: String,
}

/// Which version of a tree model is to be in force, or was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelInForce {
    /// Name of the model.
    pub name: String,
    /// The version; none to take the model out of force.
    pub version: Option<u32>,
}

/// What came into force, or went out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeModelUpdate {
    /// Name of the model.
    pub name: String,
    /// Its version and what it holds; none where no version is in force any more.
    pub model: Option<(u32, Arc<[u8]>)>,
}

/// All tree models of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeModelBook {
    /// Grows with every change.
    generation: u64,
    models: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    in_force: Option<u32>,
    /// The generation in which that changed last.
    changed_in: u64,
    next_version: u32,
    versions: Vec<Kept>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    about: TreeModelVersion,
    /// The model: text, as all models are.
    model: Arc<str>,
    /// The functions that it judges; unknown in states of earlier releases.
    #[serde(default)]
    functions: Vec<String>,
}

/// The book of a server, and up to which generation it is on disk.
#[derive(Debug, Default)]
pub(crate) struct SharedTreeModels {
    pub(crate) book: Mutex<TreeModelBook>,
    pub(crate) saved: AtomicU64,
    /// Whether the run is over; changed under the lock of the book.
    pub(crate) is_closed: AtomicBool,
    /// The generation that each instance had when it asked last.
    pub(crate) told: Mutex<BTreeMap<String, u64>>,
}

impl TreeModelBook {
    /// Grows with every change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Takes a model of these functions in as the next version of its name, and in force. The answer is its number.
    ///
    /// # Errors
    /// [`PserverError::Limit`] for what is too large or too many; [`PserverError::UnfitTreeModel`] where a model of another
    /// name is in force for one of the functions.
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
            return limit(what, MAX_TEXT_BYTES, "say it in fewer words");
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
        entry.versions.push(Kept {
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

    /// Whether no model of another name is in force for one of these functions: a function is judged by one model.
    fn check_free(&self, name: &str, functions: &[String]) -> Result<(), PserverError> {
        for (other, entry) in self.models.iter().filter(|(other, _)| *other != name) {
            let mut kept = entry.versions.iter();
            let in_force = kept.find(|kept| Some(kept.about.version) == entry.in_force);
            let judged = in_force.map_or(&[][..], |kept| &kept.functions);
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

    /// Puts a version in force again, or takes the model out of force. The answer is the version that was.
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
            let mut kept = self
                .models
                .get(name)
                .into_iter()
                .flat_map(|it| &it.versions);
            let wanted = kept.find(|kept| kept.about.version == version);
            self.check_free(name, wanted.map_or(&[][..], |kept| &kept.functions))?;
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

    /// A model and its number: a version, or the one in force.
    ///
    /// # Errors
    /// [`PserverError::UnknownTreeModel`].
    pub fn model(&self, name: &str, version: Option<u32>) -> Result<(u32, &str), PserverError> {
        let entry = self.models.get(name);
        let wanted = version.or(entry.and_then(|entry| entry.in_force));
        entry
            .into_iter()
            .flat_map(|entry| &entry.versions)
            .find(|kept| Some(kept.about.version) == wanted)
            .map(|kept| (kept.about.version, &*kept.model))
            .ok_or_else(|| unknown(name, version))
    }

    /// All models in order of their names.
    pub fn list(&self) -> Vec<TreeModelInfo> {
        let info = |(name, entry): (&String, &Entry)| TreeModelInfo {
            name: name.clone(),
            in_force: entry.in_force,
            versions: entry
                .versions
                .iter()
                .map(|kept| kept.about.clone())
                .collect(),
        };
        self.models.iter().map(info).collect()
    }

    /// What changed since a generation, the first changes first, as far as it fits into about `max_bytes`, but at least
    /// one; and the generation up to which that is.
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

    /// The book as a file.
    ///
    /// # Errors
    /// [`PserverError::Damaged`]; never, as far as is known.
    pub fn to_json(&self) -> Result<String, PserverError> {
        serde_json::to_string(self).map_err(|error| damaged(&error))
    }

    /// The book of a file.
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

    fn told(book: &TreeModelBook, since: u64) -> (Vec<(String, Option<u32>)>, u64) {
        let (updates, until) = book.since(since, 100);
        let of = |it: TreeModelUpdate| (it.name, it.model.map(|(version, _)| version));
        (updates.into_iter().map(of).collect(), until)
    }

    #[test]
    fn versions_come_into_force_and_back_and_each_change_is_told_once() {
        let mut book = TreeModelBook::default();
        assert_eq!(told(&book, 0), (vec![], 0));
        assert_eq!(
            [publish(&mut book, "a", "1"), publish(&mut book, "a", "2")],
            [1, 2]
        );
        assert_eq!(publish(&mut book, "b", "3"), 1);
        let (all, until) = told(&book, 0);
        assert_eq!(all, [("a".to_owned(), Some(2)), ("b".to_owned(), Some(1))]);
        assert_eq!(told(&book, until), (vec![], until));
        assert_eq!(book.put_in_force("a", Some(1)), Ok(Some(2)));
        assert_eq!(told(&book, until).0, [("a".to_owned(), Some(1))]);
        assert_eq!(book.model("a", None), Ok((1, "1")));
        assert_eq!(book.put_in_force("a", None), Ok(Some(1)));
        assert_eq!(told(&book, until).0, [("a".to_owned(), None)]);
        assert_eq!(
            publish(&mut book, "a", "4"),
            3,
            "a number is never used again"
        );
        assert!(book.put_in_force("a", Some(9)).is_err());
        assert!(book.put_in_force("c", None).is_err());
        let again = TreeModelBook::from_json(&book.to_json().expect("text")).expect("a book");
        assert_eq!(again.list(), book.list());
        assert_eq!(told(&again, 0), told(&book, 0));
    }

    #[test]
    fn what_does_not_fit_into_one_answer_comes_with_the_next() {
        let mut book = TreeModelBook::default();
        for name in ["a", "b", "c"] {
            publish(&mut book, name, &"x".repeat(60));
        }
        let mut generation = 0;
        for name in ["a", "b", "c"] {
            let (updates, until) = told(&book, generation);
            assert_eq!(updates, [(name.to_owned(), Some(1))]);
            generation = until;
        }
        assert_eq!(told(&book, generation), (vec![], generation));
    }

    #[test]
    fn what_is_too_much_is_refused() {
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
