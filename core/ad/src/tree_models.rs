//! The tree models in force, and which functions' trees are looked at: the same for all ranks of an instance.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::{TreeJudge, TreeModelReader};
use callgrove_model::{FuncId, FunctionName, FunctionPattern, NameTable};
use callgrove_pserver::TreeModelUpdate;

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
                    self.models.insert(name, model);
                }
                Err(cause) => {
                    let what = format!("version {version} of the tree model {name}");
                    refused = Some(format!("{what}: {cause}"));
                }
            }
        }
        self.wishes.clear();
        let names = functions.iter().map(|(_, name)| name);
        self.name_functions(names, options);
        refused
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
