//! The tree models in force, and which functions' trees are looked at: the same for all ranks of an instance.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::{TreeJudge, TreeModelReader, TreeVerdict};
use callgrove_model::{FuncId, FunctionName, FunctionPattern, NameTable};
use callgrove_pserver::TreeModelUpdate;

/// Trees that a model has judged when it is decided whether it is for such trees at all.
const NUM_TRIED: u64 = 20;
/// Trees that a model has judged when it is decided whether it knows a difference between them.
const NUM_COMPARED: u64 = 200;
/// A p-value that a fifth of usual trees have: of 200 without one, the model cannot have been fitted to such trees.
const COMMON_P_VALUE: f64 = 0.2;

/// Which trees are grown.
#[derive(Clone, Debug, Default)]
pub struct TreeOptions {
    /// Makes judges of models; without it no tree is judged.
    pub reader: Option<Arc<dyn TreeModelReader>>,
    /// Functions of whose trees a sample is recorded, to learn from.
    pub sampled: Vec<FunctionPattern>,
}

/// A model in force.
#[derive(Clone, Debug)]
pub(crate) struct TreeModelInForce {
    pub(crate) name: Arc<str>,
    pub(crate) version: u32,
    pub(crate) judge: Arc<dyn TreeJudge>,
}

/// How a model fared with the trees of a step.
#[derive(Clone, Debug)]
pub(crate) struct ModelFit {
    name: Arc<str>,
    version: u32,
    num_trees: u64,
    /// Those of which its training says little.
    num_unlike: u64,
    /// Those that it calls abnormal.
    num_abnormal: u64,
    /// Those that are as unusual as a fifth of usual ones, or more.
    num_distinct: u64,
    /// Share of its training that it calls abnormal.
    share_in_training: f64,
}

/// What a model that is tried has shown.
enum Trial {
    /// Too few trees for that.
    Open,
    Good,
    /// Why it is not used.
    Bad(String),
}

impl TreeModelInForce {
    /// How it fared with trees.
    pub(crate) fn fit(&self, verdicts: &[TreeVerdict]) -> ModelFit {
        let count = |is_it: fn(&TreeVerdict) -> bool| {
            let counted = verdicts.iter().filter(|it| is_it(it)).count();
            u64::try_from(counted).unwrap_or(u64::MAX)
        };
        ModelFit {
            name: Arc::clone(&self.name),
            version: self.version,
            num_trees: count(|_| true),
            num_unlike: count(|it| it.is_unlike_training),
            num_abnormal: count(|it| it.is_abnormal),
            num_distinct: count(|it| it.p_value <= COMMON_P_VALUE),
            share_in_training: self.judge.abnormal_share(),
        }
    }
}

impl ModelFit {
    /// Adds what it did with further trees.
    fn add(&mut self, other: &Self) {
        self.num_trees += other.num_trees;
        self.num_unlike += other.num_unlike;
        self.num_abnormal += other.num_abnormal;
        self.num_distinct += other.num_distinct;
    }

    /// Whether the training says enough of most trees so far, and does not call nearly all of them abnormal.
    fn is_good(&self) -> bool {
        2 * self.num_unlike <= self.num_trees && !self.calls_nearly_all()
    }

    fn calls_nearly_all(&self) -> bool {
        self.num_trees >= NUM_TRIED
            && 10 * self.num_abnormal >= 9 * self.num_trees
            && self.share_in_training < 0.5
    }

    fn trial(&self) -> Trial {
        let Self { num_trees, .. } = *self;
        if num_trees < NUM_TRIED {
            Trial::Open
        } else if self.calls_nearly_all() {
            Trial::Bad(format!(
                "it calls {} of {num_trees} trees abnormal, of its training {:.1} %",
                self.num_abnormal,
                100.0 * self.share_in_training
            ))
        } else if !self.is_good() {
            Trial::Bad(format!(
                "its training had nothing like {} of {num_trees} trees",
                self.num_unlike
            ))
        } else if num_trees < NUM_COMPARED {
            Trial::Open
        } else if self.num_distinct == 0 {
            Trial::Bad(format!(
                "it finds none of {num_trees} trees even slightly unusual, as one of five is where nothing is wrong"
            ))
        } else {
            Trial::Good
        }
    }
}

/// A model that has just come into force.
#[derive(Debug)]
struct TriedModel {
    /// How it fared so far.
    fit: ModelFit,
    /// What was in force before.
    former: Option<TreeModelInForce>,
}

/// What is done with the trees of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeWish {
    /// Name of the model that judges them.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) is_sampled: bool,
}

impl TreeWish {
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_sampled || self.model.is_some()
    }
}

/// The tree models of an instance.
#[derive(Debug, Default)]
pub(crate) struct TreeModels {
    models: BTreeMap<Arc<str>, TreeModelInForce>,
    /// Those that have judged few trees so far.
    tried: BTreeMap<Arc<str>, TriedModel>,
    /// By number of the function in the instance.
    wishes: Vec<TreeWish>,
}

impl TreeModels {
    /// Takes models that came into force, or went out of it. The answer says which cannot be used here, and why: the
    /// former version stays. `functions` are all that have numbers.
    pub(crate) fn take(
        &mut self,
        updates: Vec<TreeModelUpdate>,
        options: &TreeOptions,
        functions: &NameTable<FuncId>,
    ) -> Option<String> {
        let mut refused = None;
        for TreeModelUpdate { name, model } in updates {
            let name: Arc<str> = name.into();
            let Some((version, bytes)) = model else {
                self.models.remove(&name);
                self.tried.remove(&name);
                continue;
            };
            let read = match &options.reader {
                Some(reader) => reader.read(&bytes),
                None => Err("this instance has no reader for tree models".to_owned()),
            };
            match read {
                Ok(judge) => {
                    let model = TreeModelInForce {
                        name: Arc::clone(&name),
                        version,
                        judge,
                    };
                    let fit = model.fit(&[]);
                    let last = self.models.insert(Arc::clone(&name), model);
                    // What has not fitted itself so far is nothing to go back to.
                    let former = match self.tried.remove(&name) {
                        Some(tried) if !tried.fit.is_good() => tried.former,
                        _ => last,
                    };
                    self.tried.insert(name, TriedModel { fit, former });
                }
                Err(cause) => {
                    let what = format!("version {version} of the tree model {name}");
                    refused = Some(format!("{what}: {cause}"));
                }
            }
        }
        self.rename_functions(options, functions);
        refused
    }

    /// Takes note of how models fared. One that knows few of the first trees that it judged, calls nearly
    /// all of them abnormal, or makes no difference between them, is for another run: the former comes back, and the answer
    /// says so.
    pub(crate) fn note_fits(
        &mut self,
        fits: impl Iterator<Item = ModelFit>,
        options: &TreeOptions,
        functions: &NameTable<FuncId>,
    ) -> Option<String> {
        for fit in fits {
            let tried = self.tried.get_mut(&fit.name);
            if let Some(tried) = tried.filter(|tried| tried.fit.version == fit.version) {
                tried.fit.add(&fit);
            }
        }
        let is_over =
            |_: &Arc<str>, tried: &mut TriedModel| !matches!(tried.fit.trial(), Trial::Open);
        let mut refused = None;
        for (name, TriedModel { fit, former }) in self.tried.extract_if(.., is_over) {
            let Trial::Bad(cause) = fit.trial() else {
                continue;
            };
            refused = Some(format!(
                "version {} of the tree model {name} does not fit this run: {cause}; learn one from this run",
                fit.version
            ));
            match former {
                Some(former) => drop(self.models.insert(name, former)),
                None => drop(self.models.remove(&name)),
            }
        }
        if refused.is_some() {
            self.rename_functions(options, functions);
        }
        refused
    }

    fn rename_functions(&mut self, options: &TreeOptions, functions: &NameTable<FuncId>) {
        self.wishes.clear();
        let names = functions.iter().map(|(_, name)| name);
        self.name_functions(names, options);
    }

    /// Notes what is done with the trees of functions, the next numbers.
    pub(crate) fn name_functions<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str>,
        options: &TreeOptions,
    ) {
        for name in names {
            let parsed = FunctionName::parse(name);
            let judges =
                |model: &&TreeModelInForce| model.judge.functions().iter().any(|it| it == name);
            self.wishes.push(TreeWish {
                model: self
                    .models
                    .values()
                    .find(judges)
                    .map(|model| Arc::clone(&model.name)),
                is_sampled: options
                    .sampled
                    .iter()
                    .any(|pattern| pattern.matches(&parsed)),
            });
        }
    }

    /// Numbers of the functions whose trees are looked at, ascending.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = u32> {
        let wished = (0..).zip(&self.wishes);
        wished.filter_map(|(number, wish)| wish.is_wanted().then_some(number))
    }

    /// What is done with the trees of a function.
    pub(crate) fn wish(&self, number: u32) -> Option<&TreeWish> {
        let wish = self.wishes.get(usize::try_from(number).ok()?)?;
        wish.is_wanted().then_some(wish)
    }

    pub(crate) fn model(&self, name: &str) -> Option<&TreeModelInForce> {
        self.models.get(name)
    }
}
