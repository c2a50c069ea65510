//! Joining a run: what an instance reports to the database and the parameter server, and the state that it takes from
//! them.

use std::collections::BTreeMap;

use callgrove_pserver::Welcome;

use super::Instance;
use crate::error::AdError;
use crate::rank_detector::RankDetector;
use crate::stream_reader::StepInput;

impl Instance {
    /// Registers the run at the database and the parameter server as soon as the first steps identify it, and again
    /// when more ranks join. The first steps of all ranks are not awaited, because ranks may wait for one another.
    pub(super) fn register_run(&mut self, inputs: &[(usize, StepInput)]) -> Result<(), AdError> {
        let recorded_ranks = self.streams.recorded_ranks();
        let known_ranks =
            std::mem::replace(&mut self.reporter.hello.recorded_ranks, recorded_ranks);
        if !self.reporter.add_run(inputs) && known_ranks == recorded_ranks {
            return Ok(());
        }
        let run = &self.reporter.hello.run;
        self.recorder.join_run(run)?;
        let welcome = self.reporter.register()?;
        if let Some(welcome) = welcome.filter(|_| !self.reporter.is_registered) {
            self.apply_welcome(welcome)?;
        }
        self.reporter.is_registered = true;
        Ok(())
    }

    fn apply_welcome(&mut self, welcome: Welcome) -> Result<(), AdError> {
        if let Some(params) = welcome.params {
            self.options.params = params.check()?;
        }
        resume(&mut self.detectors, welcome);
        Ok(())
    }
}

/// Lets detectors continue after the steps that the parameter server has of their ranks.
pub(super) fn resume(detectors: &mut [RankDetector], welcome: Welcome) {
    let reported_until: BTreeMap<_, _> = welcome.last_steps.into_iter().collect();
    let learnt_until: BTreeMap<_, _> = welcome.learnt_steps.into_iter().collect();
    let mut tree_p_values: BTreeMap<_, _> = welcome.tree_p_values.into_iter().collect();
    for detector in detectors {
        let rank = detector.rank();
        detector.resume_after(tree_p_values.remove(&rank).unwrap_or_default());
        detector.known.reported_until = reported_until.get(&rank).copied();
        detector.known.learnt_until = learnt_until.get(&rank).copied();
    }
}
