//! The complete models: all ranks of the program contribute to them before any rank is judged by them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use callgrove_detect::{FuncModel, Judge};
use callgrove_model::FuncId;
use callgrove_pserver::PserverError;
use rayon::prelude::*;

use super::deltas::ModelDeltas;
use super::round::at_work;
use super::turn::{TurnLimit, TurnSteps, take_turns};
use super::{END_TIMEOUT, Instance, STATUS_DELAY, Status, pause};
use crate::AdError;
use crate::announcements::StreamAnnouncements;
use crate::compiled_model::{CompleteModels, compile_models};
use crate::rank_detector::RankDetector;
use crate::stream_reader::{Reading, StreamReader};

impl Instance {
    /// Reads recorded streams for the first time: the models learn, and nothing is judged.
    pub(super) fn learn_all(
        &mut self,
        watch: &mut impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, AdError> {
        let (mut unsent, mut is_stopped) = (ModelDeltas::default(), false);
        while !is_stopped && self.readers.iter().any(|reader| !reader.has_ended()) {
            let (options, functions) = (&self.options, &self.functions);
            let learn = |detector: &mut RankDetector, steps: &mut TurnSteps<'_>| {
                detector.learn_steps(steps, options, functions)
            };
            let limit = TurnLimit::LEARNING;
            let turns = take_turns(&mut self.readers, &mut self.detectors, limit, learn);
            let (mut learnt, waiting) = self.settle_turns(turns)?;
            let (options, functions) = (&self.options, &self.functions);
            let rest = at_work(&mut self.detectors, waiting).into_par_iter();
            learnt.par_extend(rest.map(|(position, detector, input)| {
                let learnt = detector.learn_steps(std::iter::once(input), options, functions);
                (position, learnt)
            }));
            learnt.sort_by_key(|it| it.0);
            for (_, learnt) in learnt {
                unsent.add(learnt.steps, learnt.models)?;
            }
            if self.pace.is_due() {
                let models = self.exchange_models(std::mem::take(&mut unsent), &[])?;
                self.functions.take_models(models);
            }
            is_stopped = watch(&self.status).is_break();
        }
        let models = self.exchange_models(unsent, &[])?;
        self.functions.take_models(models);
        if is_stopped {
            return Ok(ControlFlow::Break(()));
        }
        self.register_run(&[])?;
        Ok(ControlFlow::Continue(()))
    }

    /// Reports that this instance has contributed all its times, waits for the other instances, and takes the complete
    /// models. A live instance without a store does not wait.
    pub(super) fn complete(
        &mut self,
        watch: &mut impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<(), AdError> {
        let is_live = self.reopen.iter().any(Option::is_none);
        self.exchange.end_ranks(&self.hello.ranks);
        self.exchange.sync_and_report(Vec::new(), &[])?;
        if is_live && self.writer.is_none() {
            return Ok(());
        }
        let learnt_in = self.wait_for_others(is_live, watch)?;
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
        let synced = self.exchange.sync_and_report(parts.clone(), &[])?;
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
        self.exchange.sync_and_report(used, &[])?;
        self.complete = Some(CompleteModels {
            compiled,
            learnt_in,
            is_live,
        });
        Ok(())
    }

    /// Waits until all instances have contributed. Returns the number that identifies the state of the models.
    fn wait_for_others(
        &mut self,
        is_live: bool,
        watch: &mut impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<u64, AdError> {
        // A live job may leave ranks unobserved on purpose, so only the registered ones count.
        let num_ranks = if is_live { 0 } else { self.num_ranks };
        let start = Instant::now();
        let mut last_change = start;
        loop {
            let progress = self.exchange.progress(num_ranks)?;
            let is_known = progress.is_some();
            let progress = progress.unwrap_or_default();
            // No other instance can connect to a server in this process.
            let absent = if self.exchange.is_remote() {
                progress.absent
            } else {
                Vec::new()
            };
            if self.status.absent != absent {
                self.status.absent = absent;
                last_change = Instant::now();
            }
            let is_complete = is_known && self.status.absent.is_empty();
            let is_enough = is_complete || last_change.elapsed() > END_TIMEOUT;
            if progress.num_learning == 0 && is_enough {
                self.status.awaited = None;
                self.status.is_judged_early = !is_complete;
                return Ok(progress.learnt_in);
            }
            self.status.awaited =
                (start.elapsed() > STATUS_DELAY).then(|| match &self.status.absent[..] {
                    _ if progress.num_learning > 0 => {
                        format!("{} ranks are still learning", progress.num_learning)
                    }
                    [first, ..] => format!(
                        "no instance reads {} ranks; the first is {first}",
                        self.status.absent.len()
                    ),
                    [] => "the parameter server does not answer".to_owned(),
                });
            if watch(&self.status).is_break() {
                self.status.awaited = None;
                self.status.is_judged_early = progress.num_learning > 0 || !is_complete;
                return Ok(progress.learnt_in);
            }
            std::thread::sleep(pause(start.elapsed()));
            let reports = self.settled_reports();
            if !reports.is_empty() {
                self.exchange.sync_and_report(Vec::new(), &reports)?;
            }
        }
    }

    /// Reopens recorded streams for the second pass, which judges them.
    pub(super) fn start_second_pass(&mut self) -> Result<(), AdError> {
        let is_final = match self.exchange.register(&self.hello) {
            Ok(welcome) => welcome.final_ranks,
            Err(PserverError::NotConnected { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let readers = self.readers.iter_mut().zip(&mut self.detectors);
        for ((reader, detector), reopen) in readers.zip(&mut self.reopen) {
            if let Some(reopen) = reopen.take() {
                let source = reopen()?;
                *reader = StreamReader::new(Reading {
                    open: Box::new(move || Ok(source)),
                    rank: detector.rank(),
                    path: reader.path().to_owned(),
                    known: StreamAnnouncements::default(),
                    is_live: false,
                    functions_only: false,
                });
            }
            *detector = detector.for_second_pass(is_final.contains(&detector.rank()));
        }
        Ok(())
    }

    /// Reports the final anomalies, after everything was judged by the complete models.
    pub(super) fn conclude(&mut self) {
        let learnt_in = self.complete.as_ref().map_or(0, |it| it.learnt_in);
        let detectors = self.detectors.iter_mut();
        let found = detectors.map(|it| (it.rank(), it.take_final_anomalies(learnt_in)));
        self.exchange.conclude(found.collect());
    }
}
