//! The complete models: all ranks of the program contribute to them before any rank is judged by them.

use std::sync::Arc;

use callgrove_detect::{FuncModel, Judge};
use callgrove_model::FuncId;

use super::Instance;
use super::status::OnStatus;
use crate::compiled_model::{CompleteModels, compile_models};
use crate::error::AdError;

impl Instance {
    /// Reports that this instance has contributed all its times, waits for the other instances, and takes the complete
    /// models. A live instance without a store does not wait.
    pub(super) fn complete(&mut self, watch: &mut impl OnStatus) -> Result<(), AdError> {
        let is_live = self.streams.recorded_ranks().is_none();
        let reporter = &mut self.reporter;
        reporter.exchange.end_ranks(&reporter.hello.ranks);
        reporter.exchange.sync_and_report(Vec::new(), &[])?;
        if is_live && !self.recorder.is_recording() {
            return Ok(());
        }
        let learnt_in = reporter.wait_for_others(&self.recorder, &mut self.status, watch)?;
        self.take_complete(learnt_in, is_live)
    }

    /// Takes the current models of the parameter server.
    pub(super) fn take_complete(&mut self, learnt_in: u64, is_live: bool) -> Result<(), AdError> {
        let params = &self.options.params;
        let parts = self
            .functions
            .iter()
            .map(|it| (it.fid, it.new_part(params)));
        let parts: Vec<(FuncId, FuncModel)> = parts.collect();
        let synced = self.reporter.exchange.sync_and_report(parts.clone(), &[])?;
        let mut compiled = compile_models(synced.models, &self.functions, params, Judge::new);
        // The models carry the threshold that was used.
        let mut used = Vec::new();
        for ((fid, mut part), compiled) in parts.into_iter().zip(&mut compiled) {
            if let Some(compiled) = compiled {
                let threshold = compiled.judge.threshold();
                Arc::make_mut(&mut compiled.model).raise_threshold(threshold);
                part.raise_threshold(threshold);
                used.push((fid, part));
            }
        }
        self.reporter.exchange.sync_and_report(used, &[])?;
        self.complete = Some(CompleteModels {
            compiled,
            learnt_in,
            is_live,
        });
        Ok(())
    }
}
