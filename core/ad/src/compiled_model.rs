//! The models of a round, compiled for judging.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use callgrove_detect::{CallerKey, FuncModel, Judge, ValidParams};
use callgrove_model::FuncId;
use serde_json::value::RawValue;

use crate::AdOptions;
use crate::tree_models::TreeModels;

/// The model of one function, compiled for the verdicts of this round.
#[derive(Debug)]
pub(crate) struct CompiledModel {
    pub(crate) judge: Judge,
    pub(crate) model: Arc<FuncModel>,
    /// The model as records state it, by its contexts, made when the first record needs it.
    stated: Vec<OnceLock<Arc<RawValue>>>,
}

/// [`Judge::new`] for a run that is complete, [`Judge::of_late`] for one that goes on.
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
            stated: vec![OnceLock::new(); judge.num_contexts()],
            judge,
            model,
        }
    }

    /// The model as records of executions with this caller state it.
    pub(crate) fn stated(&self, caller: CallerKey) -> Arc<RawValue> {
        let context = self.judge.context(caller);
        let state = || {
            let json = self.judge.stated(&self.model, context).to_string();
            Arc::from(RawValue::from_string(json).expect("what was just written is JSON"))
        };
        Arc::clone(self.stated[context].get_or_init(state))
    }
}

/// Models that hold what all ranks told, ready to judge.
#[derive(Debug)]
pub(crate) struct CompleteModels {
    /// By number of the function.
    pub(crate) compiled: Vec<Option<CompiledModel>>,
    /// Names their state.
    pub(crate) learnt_in: u64,
    /// Whether the steps were judged before, by what the models held then.
    pub(crate) is_live: bool,
}

/// What a round judges by.
pub(crate) struct RoundModels<'a> {
    /// By number of the function.
    pub(crate) compiled: &'a [Option<CompiledModel>],
    /// Global indices, by number of the function.
    pub(crate) fids: &'a [FuncId],
    pub(crate) trees: &'a TreeModels,
}

impl<'a> RoundModels<'a> {
    /// Those that hold what all ranks told, if there are any.
    pub(crate) fn complete(
        models: Option<&'a CompleteModels>,
        fids: &'a [FuncId],
        trees: &'a TreeModels,
    ) -> Self {
        let compiled = models.map_or(&[][..], |it| &it.compiled);
        Self {
            compiled,
            fids,
            trees,
        }
    }
}

/// Compiles the newest models; the answer is by number of the function.
pub(crate) fn compile_models(
    models: Vec<(FuncId, Arc<FuncModel>)>,
    fids: &[FuncId],
    thresholds: &[Option<f64>],
    options: &AdOptions,
    judge: MakeJudge,
) -> Vec<Option<CompiledModel>> {
    let by_fid: BTreeMap<FuncId, Arc<FuncModel>> = models.into_iter().collect();
    let compile = |(number, fid): (usize, &FuncId)| {
        let model = by_fid.get(fid)?;
        Some(CompiledModel::new(
            Arc::clone(model),
            &options.params,
            thresholds[number],
            judge,
        ))
    };
    fids.iter().enumerate().map(compile).collect()
}
