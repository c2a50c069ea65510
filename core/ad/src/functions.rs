//! The functions of an instance, and what it knows of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::{FuncModel, RunningThreshold, ValidParams};
use callgrove_model::{FuncId, NameTable};

use crate::rules::FunctionRules;

/// A function of an instance.
#[derive(Debug)]
pub(crate) struct InstanceFunction {
    /// The global index.
    pub(crate) fid: FuncId,
    /// The function's own threshold, if it has one.
    pub(crate) threshold: Option<f64>,
    /// True if the function is not judged.
    pub(crate) is_ignored: bool,
    /// The newest known model.
    pub(crate) model: Option<Arc<FuncModel>>,
    /// The highest threshold of scores so far, which the models carry.
    pub(crate) reached: RunningThreshold,
}

/// The functions of all streams of an instance. The index of a function is its number in this instance.
#[derive(Debug, Default)]
pub(crate) struct InstanceFunctions {
    names: NameTable<FuncId>,
    /// By number. The newest names have no entry until their global indices are known.
    functions: Vec<InstanceFunction>,
}

impl InstanceFunction {
    /// Returns an empty part of the function's model.
    pub(crate) fn new_part(&self, params: &ValidParams) -> FuncModel {
        let model = self.model.as_ref();
        model.map_or_else(|| FuncModel::new(params), |model| model.new_part())
    }
}

impl InstanceFunctions {
    /// Returns the number of a function.
    pub(crate) fn intern(&mut self, name: &str) -> FuncId {
        self.names.intern(name)
    }

    /// Returns the names by number.
    pub(crate) fn names(&self) -> &NameTable<FuncId> {
        &self.names
    }

    /// Returns the names without a global index.
    pub(crate) fn new_names(&self) -> Vec<String> {
        let new = (self.functions.len()..self.names.len()).map(FuncId::from_index);
        new.map(|number| self.names.name(number).to_owned())
            .collect()
    }

    /// Adds the global indices of the names that have none yet.
    pub(crate) fn extend(&mut self, fids: Vec<FuncId>, rules: &FunctionRules) {
        let names = self.names.iter().skip(self.functions.len());
        let new = names.zip(fids).map(|((_, name), fid)| InstanceFunction {
            fid,
            threshold: rules.threshold(name),
            is_ignored: rules.is_ignored(name),
            model: None,
            reached: RunningThreshold::default(),
        });
        self.functions.extend(new);
    }

    /// Returns the number of functions with a global index.
    pub(crate) fn len(&self) -> usize {
        self.functions.len()
    }

    /// Returns the function with a number, which must exist.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &InstanceFunction {
        &self.functions[FuncId(number).index()]
    }

    /// Returns the functions by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &InstanceFunction> {
        self.functions.iter()
    }

    /// Returns the functions by number.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut InstanceFunction> {
        self.functions.iter_mut()
    }

    /// Takes newer models, by global index.
    pub(crate) fn take_models(&mut self, models: Vec<(FuncId, Arc<FuncModel>)>) {
        let newest: BTreeMap<_, _> = models.into_iter().collect();
        for function in &mut self.functions {
            if let Some(newer) = newest.get(&function.fid) {
                function.model = Some(Arc::clone(newer));
            }
        }
    }
}
