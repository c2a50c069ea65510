//! The draft of the next snapshot, and its publication.

use std::mem::{Discriminant, discriminant};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use callgrove_model::Progress;

use crate::command::Command;
use crate::handle::SnapshotCell;
use crate::snapshot::{ForestSnapshot, Notice, RunSnapshot, Severity, Snapshot, Work};

/// Called after every snapshot, for example to redraw the window.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Smallest change in progress that is published.
const MIN_PROGRESS_STEP: f32 = 0.005;
/// Largest number of notices. Older ones are removed.
const MAX_NOTICES: usize = 20;

pub(super) struct Publisher {
    /// The draft.
    pub(super) view: Snapshot,
    cell: SnapshotCell,
    wake: Wake,
    revision: AtomicU64,
    num_notices: u64,
    /// Topic of the running command, and the number of notices before it.
    topic: (Topic, u64),
    /// Errors on the screen: topic and notice number.
    errors: Vec<(Topic, u64)>,
}

/// The topic of a command. An error is removed once a later command on the same topic succeeds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// Opening another run, which makes all earlier errors obsolete.
    Opening,
    /// A kind of command: setting the root function, saving the session, …
    Kind(Option<Discriminant<Command>>),
}

impl Topic {
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::ForViewer { command, .. } => Self::of(command),
            Command::OpenTrace { .. } | Command::LoadSession { .. } | Command::Reload => {
                Self::Opening
            }
            other => Self::Kind(Some(discriminant(other))),
        }
    }
}

impl Publisher {
    /// Returns a publisher for the user of that name.
    pub(super) fn new(cell: SnapshotCell, wake: Wake, name: Option<Arc<str>>) -> Self {
        let mut view = Snapshot::default();
        view.viewers.name = name;
        view.model.auto_train = true;
        let publisher = Self {
            view,
            cell,
            wake,
            revision: AtomicU64::new(0),
            num_notices: 0,
            topic: (Topic::Kind(None), 0),
            errors: Vec::new(),
        };
        publisher.publish();
        publisher
    }

    /// Starts a command. From now on, cancel requests apply to it.
    pub(super) fn begin(&mut self, topic: Topic) {
        self.topic = (topic, self.num_notices);
        self.cell.begin();
    }

    /// Reports that the command succeeded: removes earlier errors on its topic.
    pub(super) fn succeeded(&mut self) {
        let (topic, num_before) = self.topic;
        let is_over = |&(about, id): &(Topic, u64)| {
            id <= num_before && (topic == Topic::Opening || about == topic)
        };
        let over: Vec<u64> = self
            .errors
            .iter()
            .filter(|error| is_over(error))
            .map(|error| error.1)
            .collect();
        for id in over {
            self.dismiss(id);
        }
    }

    /// Ends a command: no work is in progress.
    pub(super) fn end(&mut self) {
        self.view.work = None;
        self.publish();
    }

    /// Changes the open run in the draft, if there is one.
    pub(super) fn update_run(&mut self, change: impl FnOnce(&mut RunSnapshot)) {
        self.view.run.as_mut().map(change);
    }

    /// Changes the forest in the draft, if there is one.
    pub(super) fn update_forest(&mut self, change: impl FnOnce(&mut ForestSnapshot)) {
        self.view.forest.as_mut().map(change);
    }

    /// Publishes the draft to the views.
    pub(super) fn publish(&self) {
        self.publish_snapshot(self.view.clone());
    }

    fn publish_snapshot(&self, mut snapshot: Snapshot) {
        snapshot.revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
        self.cell.publish(Arc::new(snapshot));
        (self.wake)();
    }

    /// Runs `work`, and shows `stage` and its progress. The user can cancel it.
    pub(super) fn stage<T>(&self, stage: &str, work: impl FnOnce(Progress<'_>) -> T) -> T {
        let shown = AtomicU32::new(f32::NEG_INFINITY.to_bits());
        let sink = |fraction: f32| {
            if self.cell.is_cancelled() {
                return ControlFlow::Break(());
            }
            if (fraction - f32::from_bits(shown.load(Ordering::Relaxed))).abs() >= MIN_PROGRESS_STEP
            {
                shown.store(fraction.to_bits(), Ordering::Relaxed);
                let work = Some(Work {
                    stage: stage.to_owned(),
                    fraction,
                });
                self.publish_snapshot(Snapshot {
                    work,
                    ..self.view.clone()
                });
            }
            ControlFlow::Continue(())
        };
        work(Progress::new(&sink))
    }

    /// Shows a message to the user.
    pub(super) fn notice(&mut self, severity: Severity, text: String) {
        self.num_notices += 1;
        let notice = Notice {
            id: self.num_notices,
            severity,
            text,
        };
        if severity == Severity::Error {
            self.errors.push((self.topic.0, notice.id));
        }
        let kept = self
            .view
            .notices
            .iter()
            .filter(|old| old.text != notice.text)
            .cloned();
        let mut notices: Vec<_> = kept.chain([notice.clone()]).collect();
        if notices.len() > MAX_NOTICES {
            notices.remove(0);
        }
        self.view.notices = notices.into();
    }

    /// Removes a notice from the screen.
    pub(super) fn dismiss(&mut self, id: u64) {
        self.errors.retain(|&(_, error)| error != id);
        self.view.notices = self
            .view
            .notices
            .iter()
            .filter(|notice| notice.id != id)
            .cloned()
            .collect();
    }
}
