//! Compares the open run with an earlier one.

use std::sync::Arc;

use callgrove_query::ComparedRun;

use super::Engine;
use super::error::CommandError;
use crate::comparison::ComparedWith;
use crate::snapshot::Severity;

impl Engine {
    /// Reads an earlier run and compares the open one with it. A former comparison stays until the new one is known.
    pub(super) fn compare_with(&mut self, source: &str) -> Result<(), CommandError> {
        if self.executor.viewer.is_some() {
            return Err(CommandError::ComparedElsewhere);
        }
        let after = Arc::clone(&self.state.run()?.trace.trace);
        let publisher = &mut self.executor.publisher;
        let host = &mut self.executor.host;
        let before = publisher.stage("Reading the earlier run", |progress| {
            host.load_trace(source, progress)
        })?;
        let before = Arc::new(before);
        for (trace, name) in [
            (&before, source),
            (&after, &self.state.run()?.trace.source[..]),
        ] {
            if !trace.unit.is_time() {
                return Err(CommandError::NoTimes(name.to_owned()));
            }
            if trace.num_executions() == 0 {
                return Err(CommandError::NoCalls(name.to_owned()));
            }
        }
        let causes = publisher.view.causes();
        let patterns = publisher.view.calls().and_then(|it| it.patterns());
        let known = causes.zip(patterns);
        let known = known.map(|(causes, patterns)| ComparedRun::of_known(causes, patterns));
        let comparison = publisher.stage("Comparing the runs", |progress| {
            ComparedWith::new(source, [&before, &after], known, progress)
        })?;
        publisher.update_run(|shown| shown.comparison = Some(Arc::new(comparison)));
        self.compare_usual_trees();
        Ok(())
    }

    /// Compares the usual executions of the root function, if there is a comparison.
    pub(super) fn compare_usual_trees(&mut self) {
        let publisher = &mut self.executor.publisher;
        let (Some(known), Ok((run, embedded))) =
            (publisher.view.comparison().cloned(), self.state.forest())
        else {
            return;
        };
        let (root, after) = (embedded.root(), &run.trace.trace);
        let compared = publisher.stage("Comparing the usual executions", |progress| {
            known.with_root(root, after, progress)
        });
        if let Ok(compared) = compared {
            publisher.update_run(|shown| shown.comparison = Some(Arc::new(compared)));
        } else {
            let text = "The comparison of the usual executions was cancelled; choose the root function again to \
                            repeat it.";
            self.executor.notice(Severity::Info, text.to_owned());
        }
    }

    /// Ends the comparison.
    pub(super) fn end_comparison(&mut self) {
        let publisher = &mut self.executor.publisher;
        publisher.update_run(|shown| shown.comparison = None);
    }
}
