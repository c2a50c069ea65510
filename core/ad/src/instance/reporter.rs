//! The exchange with the parameter server: models, statistics of steps, and the state of the run.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use callgrove_model::{ProgramId, RankId, RunIdentity};
use callgrove_pserver::{Hello, ModelExchange, PserverError, StepReport, Synced, Welcome};

use super::deltas::ModelDeltas;
use super::recorder::Recorder;
use super::status::{OnStatus, STATUS_DELAY, Status};
use super::turn::ExchangePace;
use crate::error::AdError;
use crate::functions::InstanceFunctions;
use crate::stream_reader::StepInput;

/// Maximum time that an ending instance waits for a parameter server that is unavailable or has not saved all reports.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// The shortest and the longest pause between two checks of a condition that is waited for.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Sends models and reports to the parameter server.
pub(super) struct Reporter {
    pub(super) exchange: Box<dyn ModelExchange>,
    /// The registration at the parameter server. It grows when the first steps of more ranks arrive.
    pub(super) hello: Hello,
    pub(super) is_registered: bool,
    pub(super) pace: ExchangePace,
    /// Reports that are not sent yet, oldest first, each with the number of documents that were handed to the writer
    /// before it. A report is sent once these documents are stored, so that everything counted can be read.
    reports: VecDeque<(u64, StepReport)>,
}

impl Reporter {
    /// Returns the reporter of the instance `name`, which is not registered yet.
    pub(super) fn new(
        exchange: Box<dyn ModelExchange>,
        name: &str,
        program: ProgramId,
        ranks: Vec<RankId>,
    ) -> Self {
        Self {
            exchange,
            hello: Hello {
                instance: name.to_owned(),
                program,
                ranks,
                run: RunIdentity::default(),
                recorded_ranks: None,
            },
            is_registered: false,
            pace: ExchangePace::default(),
            reports: VecDeque::new(),
        }
    }

    /// Adds the facts of the run that steps carry. Returns whether the run is to be registered, at first or again.
    pub(super) fn add_run(&mut self, inputs: &[(usize, StepInput)]) -> bool {
        let mut is_news = !self.is_registered;
        for (_, input) in inputs {
            is_news |= !input.run.is_empty();
            self.hello.run.merge(&input.run);
        }
        is_news
    }

    /// Registers the run. Returns `None` if a server that knows the instance is unavailable; it gets the run when it is
    /// back.
    pub(super) fn register(&mut self) -> Result<Option<Welcome>, PserverError> {
        match self.exchange.register(&self.hello) {
            Ok(welcome) => Ok(Some(welcome)),
            Err(PserverError::NotConnected { .. }) if self.is_registered => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends changes of the models and reports. Returns the newest models of the changed functions.
    pub(super) fn exchange_models(
        &mut self,
        mut deltas: ModelDeltas,
        functions: &InstanceFunctions,
        reports: &[StepReport],
    ) -> Result<Synced, PserverError> {
        self.pace = ExchangePace::default();
        self.exchange
            .learn_steps(&std::mem::take(&mut deltas.steps));
        let deltas = deltas.by_fid(functions);
        self.exchange.sync_and_report(deltas, reports)
    }

    /// Adds a report, which is sent once `num_sent` documents are stored.
    pub(super) fn add_report(&mut self, num_sent: u64, report: StepReport) {
        self.reports.push_back((num_sent, report));
    }

    /// Takes the reports whose documents are stored. So a server that outlives this process has counted nothing that
    /// cannot be read.
    pub(super) fn take_settled_reports(&mut self, recorder: &Recorder) -> Vec<StepReport> {
        let num_settled = if self.exchange.is_remote() {
            recorder.num_settled()
        } else {
            u64::MAX
        };
        let is_settled = |(num_sent, _): &mut (u64, StepReport)| *num_sent <= num_settled;
        let settled = std::iter::from_fn(|| self.reports.pop_front_if(is_settled));
        settled.map(|(_, report)| report).collect()
    }

    /// Waits until all instances have contributed, for all ranks together. Returns the number that identifies the state
    /// of the models.
    pub(super) fn wait_for_others(
        &mut self,
        recorder: &Recorder,
        status: &mut Status,
        watch: &mut impl OnStatus,
    ) -> Result<u64, AdError> {
        let start = Instant::now();
        let mut last_change = start;
        loop {
            let progress = self.exchange.progress(0)?;
            let is_known = progress.is_some();
            let progress = progress.unwrap_or_default();
            // No other instance can connect to a server in this process.
            let absent = if self.exchange.is_remote() {
                progress.absent
            } else {
                Vec::new()
            };
            if status.absent != absent {
                status.absent = absent;
                last_change = Instant::now();
            }
            let is_complete = is_known && status.absent.is_empty();
            let is_enough = is_complete || last_change.elapsed() > END_TIMEOUT;
            if progress.num_learning == 0 && is_enough {
                status.awaited = None;
                status.is_judged_early = !is_complete;
                return Ok(progress.learnt_in);
            }
            status.awaited = (start.elapsed() > STATUS_DELAY).then(|| match &status.absent[..] {
                _ if progress.num_learning > 0 => {
                    format!("{} ranks are still learning", progress.num_learning)
                }
                [first, ..] => format!(
                    "no instance reads {} ranks; the first is {first}",
                    status.absent.len()
                ),
                [] => "the parameter server does not answer".to_owned(),
            });
            if watch(status).is_break() {
                status.awaited = None;
                status.is_judged_early = progress.num_learning > 0 || !is_complete;
                return Ok(progress.learnt_in);
            }
            std::thread::sleep(pause(start.elapsed()));
            let reports = self.take_settled_reports(recorder);
            if !reports.is_empty() {
                self.exchange.sync_and_report(Vec::new(), &reports)?;
            }
        }
    }

    /// Sends the remaining reports, and signs off when the server has saved them.
    pub(super) fn leave(
        &mut self,
        status: &mut Status,
        watch: &mut impl OnStatus,
    ) -> Result<(), AdError> {
        let reports: Vec<StepReport> = self.reports.drain(..).map(|(_, report)| report).collect();
        self.exchange.sync_and_report(Vec::new(), &reports)?;
        self.settle(status, watch)?;
        Ok(self.exchange.goodbye()?)
    }

    /// Waits until the server has saved everything, also while it is unavailable for some time.
    pub(super) fn settle(
        &mut self,
        status: &mut Status,
        watch: &mut impl OnStatus,
    ) -> Result<(), AdError> {
        let start = Instant::now();
        while let Some(cause) = self.exchange.unsettled()? {
            let waited = start.elapsed();
            if waited > END_TIMEOUT {
                return Err(AdError::Unsettled { cause, waited });
            }
            status.link_down = Some(cause).filter(|_| waited > STATUS_DELAY);
            // A request to stop does not end this wait, because the reports would be lost.
            let _is_stopped = watch(status);
            std::thread::sleep(pause(waited));
        }
        status.link_down = None;
        Ok(())
    }
}

/// Returns the pause until the next check of something awaited for `waited`: an eighth of that time, so that many
/// waiting instances cost the server almost nothing.
fn pause(waited: Duration) -> Duration {
    (waited / 8).clamp(PAUSES[0], PAUSES[1])
}
