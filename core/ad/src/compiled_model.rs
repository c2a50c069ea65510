//! The models of a round, compiled for judging.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use callgrove_detect::{FuncModel, Judge, ValidParams};
use callgrove_model::FuncId;
use serde_json::value::RawValue;

use crate::AdOptions;

/// The model of one function, compiled for the verdicts of this round.
#[derive(Debug)]
pub(crate) struct CompiledModel {
    pub(crate) judge: Judge,
    pub(crate) model: Arc<FuncModel>,
    /// The model as records state it, made when the first record needs it.
    stated: OnceLock<Arc<RawValue>>,
}

impl CompiledModel {
    /// Compiles the newest model of a function.
    fn new(model: Arc<FuncModel>, params: &ValidParams, threshold: Option<f64>) -> Self {
        let judge = Judge::new(&model, params, threshold);
        Self {
            judge,
            model,
            stated: OnceLock::new(),
        }
    }

    /// The model as records state it.
    pub(crate) fn stated(&self) -> Arc<RawValue> {
        let state = || {
            let json = self.model.to_json().to_string();
            Arc::from(RawValue::from_string(json).expect("what was just written is JSON"))
        };
        Arc::clone(self.stated.get_or_init(state))
    }
}

/// Compiles the newest models; the answer is by number of the function.
pub(crate) fn compile_models(
    models: Vec<(FuncId, Arc<FuncModel>)>,
    fids: &[FuncId],
    thresholds: &[Option<f64>],
    options: &AdOptions,
) -> Vec<Option<CompiledModel>> {
    let by_fid: BTreeMap<FuncId, Arc<FuncModel>> = models.into_iter().collect();
    let compile = |(number, fid): (usize, &FuncId)| {
        let model = by_fid.get(fid)?;
        Some(CompiledModel::new(
            Arc::clone(model),
            &options.params,
            thresholds[number],
        ))
    };
    fids.iter().enumerate().map(compile).collect()
}
