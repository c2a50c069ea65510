//! The models of a round, compiled for judging.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use callgrove_detect::{CallerKey, FuncModel, Judge, ValidParams};
use callgrove_model::FuncId;
use serde_json::value::RawValue;

use crate::functions::{InstanceFunction, InstanceFunctions};
use crate::tree_models::TreeModels;

/// The model of one function, compiled for the verdicts of a round.
#[derive(Debug)]
pub(crate) struct CompiledModel {
    pub(crate) judge: Judge,
    pub(crate) model: Arc<FuncModel>,
    /// The model as JSON for provenance records, by context; made when the first record needs it.
    json: Vec<OnceLock<Arc<RawValue>>>,
}

/// The signature of [`Judge::new`], for complete runs, and of [`Judge::of_recent`], for runs in progress.
pub(crate) type MakeJudge = fn(&FuncModel, &ValidParams, Option<f64>) -> Judge;

impl CompiledModel {
    /// Compiles the newest model of a function.
    fn new(
        model: Arc<FuncModel>,
        params: &ValidParams,
        threshold: Option<f64>,
        judge: MakeJudge,
    ) -> Self {
        let judge = judge(&model, params, threshold);
        Self {
            json: vec![OnceLock::new(); judge.num_contexts()],
            judge,
            model,
        }
    }

    /// Returns the model as JSON for records of executions with this caller.
    pub(crate) fn json(&self, caller: CallerKey) -> Arc<RawValue> {
        let context = self.judge.context(caller);
        let state = || {
            let json = self.judge.algo_params(&self.model, context).to_string();
            Arc::from(RawValue::from_string(json).expect("what was just written is JSON"))
        };
        Arc::clone(self.json[context].get_or_init(state))
    }
}

/// Models with the times of all ranks, compiled.
#[derive(Debug)]
pub(crate) struct CompleteModels {
    /// The models by function number.
    pub(crate) compiled: Vec<Option<CompiledModel>>,
    /// Identifies the state of the models.
    pub(crate) learnt_in: u64,
    /// True if the steps were already judged live, by the models of that time.
    pub(crate) is_live: bool,
}

/// The models that a round judges by.
pub(crate) struct RoundModels<'a> {
    /// The models by function number.
    pub(crate) compiled: &'a [Option<CompiledModel>],
    pub(crate) functions: &'a InstanceFunctions,
    pub(crate) trees: &'a TreeModels,
}

impl<'a> RoundModels<'a> {
    /// Returns the complete models, if there are any.
    pub(crate) fn complete(
        models: Option<&'a CompleteModels>,
        functions: &'a InstanceFunctions,
        trees: &'a TreeModels,
    ) -> Self {
        let compiled = models.map_or(&[][..], |it| &it.compiled);
        Self {
            compiled,
            functions,
            trees,
        }
    }
}

/// Compiles the newest models. The result is indexed by function number.
pub(crate) fn compile_models(
    models: Vec<(FuncId, Arc<FuncModel>)>,
    functions: &InstanceFunctions,
    params: &ValidParams,
    judge: MakeJudge,
) -> Vec<Option<CompiledModel>> {
    let by_fid: BTreeMap<FuncId, Arc<FuncModel>> = models.into_iter().collect();
    let compile = |function: &InstanceFunction| {
        let model = Arc::clone(by_fid.get(&function.fid)?);
        let threshold = function.threshold;
        Some(CompiledModel::new(model, params, threshold, judge))
    };
    functions.iter().map(compile).collect()
}
