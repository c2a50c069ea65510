//! The tree models in force, and the functions whose trees are judged or sampled; the same for all ranks of an
//! instance.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::{TreeJudge, TreeModelReader, TreeVerdict};
use callgrove_model::{FuncId, FunctionName, FunctionPattern, NameTable};
use callgrove_pserver::TreeModelUpdate;

/// Number of trees after which it is decided whether a model fits the run at all.
const NUM_FIT_TREES: u64 = 20;
/// Number of trees after which it is decided whether a model can distinguish trees.
const NUM_CONTRAST_TREES: u64 = 200;
/// The p-value that a fifth of normal trees reach. If none of [`NUM_CONTRAST_TREES`] trees does, the model was not
/// trained on such trees.
const COMMON_P_VALUE: f64 = 0.2;

/// Options for the judgement of trees.
#[derive(Clone, Debug, Default)]
pub struct TreeOptions {
    /// Reads models; without it no tree is judged.
    pub reader: Option<Arc<dyn TreeModelReader>>,
    /// Functions whose trees are sampled for training.
    pub sampled: Vec<FunctionPattern>,
}

/// A model in force.
#[derive(Clone, Debug)]
pub(crate) struct TreeModelInForce {
    pub(crate) name: Arc<str>,
    pub(crate) version: u32,
    pub(crate) judge: Arc<dyn TreeJudge>,
}

/// How well a model fits the trees of a step.
#[derive(Clone, Debug)]
pub(crate) struct ModelFit {
    name: Arc<str>,
    version: u32,
    num_trees: u64,
    /// Number of trees that are unlike the training.
    num_unlike: u64,
    /// Number of abnormal trees.
    num_abnormal: u64,
    /// Number of trees with a p-value of at most [`COMMON_P_VALUE`].
    num_distinct: u64,
    /// Share of its training trees that the model calls abnormal.
    share_in_training: f64,
    /// Why the model could not judge or explain trees, if so.
    failure: Option<String>,
}

/// The verdict on a new model.
enum Trial {
    /// Too few trees to decide.
    Open,
    Good,
    /// The reason why the model is not used.
    Bad(String),
}

impl TreeModelInForce {
    /// Returns how well the model fits trees. `failure` is the error of judging or explaining them, if there is one.
    pub(crate) fn fit(&self, verdicts: &[TreeVerdict], failure: Option<String>) -> ModelFit {
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
            failure,
        }
    }
}

impl ModelFit {
    /// Adds further trees.
    fn add(&mut self, other: &Self) {
        self.num_trees += other.num_trees;
        self.num_unlike += other.num_unlike;
        self.num_abnormal += other.num_abnormal;
        self.num_distinct += other.num_distinct;
        self.failure = self.failure.take().or_else(|| other.failure.clone());
    }

    /// Returns whether most trees so far are like the training, and not nearly all of them are abnormal.
    fn is_good(&self) -> bool {
        self.failure.is_none() && 2 * self.num_unlike <= self.num_trees && !self.calls_nearly_all()
    }

    fn calls_nearly_all(&self) -> bool {
        self.num_trees >= NUM_FIT_TREES
            && 10 * self.num_abnormal >= 9 * self.num_trees
            && self.share_in_training < 0.5
    }

    fn trial(&self) -> Trial {
        let Self { num_trees, .. } = *self;
        if let Some(failure) = &self.failure {
            Trial::Bad(format!("it cannot judge an execution: {failure}"))
        } else if num_trees < NUM_FIT_TREES {
            Trial::Open
        } else if self.calls_nearly_all() {
            Trial::Bad(format!(
                "it calls {} of {num_trees} trees abnormal, but only {:.1} % of its training trees",
                self.num_abnormal,
                100.0 * self.share_in_training
            ))
        } else if !self.is_good() {
            Trial::Bad(format!(
                "{} of {num_trees} trees are unlike its training",
                self.num_unlike
            ))
        } else if num_trees < NUM_CONTRAST_TREES {
            Trial::Open
        } else if self.num_distinct == 0 {
            Trial::Bad(format!(
                "it finds none of {num_trees} trees even slightly unusual, although a fifth of normal trees are"
            ))
        } else {
            Trial::Good
        }
    }
}

/// A model that was put in force recently.
#[derive(Debug)]
struct TriedModel {
    /// The fit so far.
    fit: ModelFit,
    /// The model that was in force before.
    previous: Option<TreeModelInForce>,
}

/// The treatment of the trees of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeTask {
    /// The name of the model that judges the trees.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) is_sampled: bool,
}

impl TreeTask {
    pub(crate) fn is_watched(&self) -> bool {
        self.is_sampled || self.model.is_some()
    }
}

/// The tree models of an instance.
#[derive(Debug, Default)]
pub(crate) struct TreeModels {
    models: BTreeMap<Arc<str>, TreeModelInForce>,
    /// Models that have judged few trees so far.
    tried: BTreeMap<Arc<str>, TriedModel>,
    /// The tasks by function number in the instance.
    tasks: Vec<TreeTask>,
}

impl TreeModels {
    /// Takes models that were put in force or out of it. Returns a message if one cannot be used, in which case the
    /// previous version stays in force. `functions` are all functions with numbers.
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
                    let fit = model.fit(&[], None);
                    let last = self.models.insert(Arc::clone(&name), model);
                    // A model without a good fit so far is not worth returning to.
                    let previous = match self.tried.remove(&name) {
                        Some(tried) if !tried.fit.is_good() => tried.previous,
                        _ => last,
                    };
                    self.tried.insert(name, TriedModel { fit, previous });
                }
                Err(cause) => {
                    let model_version = format!("version {version} of the tree model {name}");
                    refused = Some(format!("{model_version}: {cause}"));
                }
            }
        }
        self.rename_functions(options, functions);
        refused
    }

    /// Adds the fits of models. A model is for another run if most of its first trees are unlike its training, if it
    /// calls nearly all of them abnormal, or if it cannot distinguish them. Then, or if it fails at any time, the previous
    /// model returns, and the result is a message.
    pub(crate) fn add_fits(
        &mut self,
        fits: impl Iterator<Item = ModelFit>,
        options: &TreeOptions,
        functions: &NameTable<FuncId>,
    ) -> Option<String> {
        for fit in fits {
            let model = self.models.get(&fit.name);
            let is_tried = fit.failure.is_some() || self.tried.contains_key(&fit.name);
            if is_tried && model.is_some_and(|model| model.version == fit.version) {
                let tried = self.tried.entry(Arc::clone(&fit.name));
                let tried = tried.and_modify(|tried| tried.fit.add(&fit));
                tried.or_insert(TriedModel {
                    fit,
                    previous: None,
                });
            }
        }
        let is_over =
            |_: &Arc<str>, tried: &mut TriedModel| !matches!(tried.fit.trial(), Trial::Open);
        let mut refused = None;
        for (name, TriedModel { fit, previous }) in self.tried.extract_if(.., is_over) {
            let Trial::Bad(cause) = fit.trial() else {
                continue;
            };
            refused = Some(format!(
                "version {} of the tree model {name} does not fit this run: {cause}; train one on this run",
                fit.version
            ));
            match previous {
                Some(previous) => drop(self.models.insert(name, previous)),
                None => drop(self.models.remove(&name)),
            }
        }
        if refused.is_some() {
            self.rename_functions(options, functions);
        }
        refused
    }

    fn rename_functions(&mut self, options: &TreeOptions, functions: &NameTable<FuncId>) {
        self.tasks.clear();
        let names = functions.iter().map(|(_, name)| name);
        self.name_functions(names, options);
    }

    /// Decides what to do with the trees of functions, which get the next numbers.
    pub(crate) fn name_functions<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str>,
        options: &TreeOptions,
    ) {
        for name in names {
            let parsed = FunctionName::parse(name);
            let judges =
                |model: &&TreeModelInForce| model.judge.functions().iter().any(|it| it == name);
            self.tasks.push(TreeTask {
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

    /// Returns the numbers of the functions whose trees are judged or sampled, ascending.
    pub(crate) fn watched(&self) -> impl Iterator<Item = u32> {
        let tasks = (0..).zip(&self.tasks);
        tasks.filter_map(|(number, task)| task.is_watched().then_some(number))
    }

    /// Returns what to do with the trees of a function, or `None` if they are ignored.
    pub(crate) fn task(&self, number: u32) -> Option<&TreeTask> {
        let task = self.tasks.get(usize::try_from(number).ok()?)?;
        task.is_watched().then_some(task)
    }

    pub(crate) fn model(&self, name: &str) -> Option<&TreeModelInForce> {
        self.models.get(name)
    }
}
