//! The draft of the next snapshot, and how it gets out.

use std::mem::{Discriminant, discriminant};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use callgrove_model::Progress;

use crate::{Command, Notice, Severity, Snapshot, SnapshotCell, Work};

/// Called after every snapshot, for instance to make the window draw.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Progress is published in steps of this size, not for every call.
const SMALLEST_STEP: f32 = 0.005;
/// More notices than a person reads; the oldest go.
const MAX_NOTICES: usize = 20;

pub(super) struct Publisher {
    /// The draft.
    pub(super) view: Snapshot,
    cell: SnapshotCell,
    wake: Wake,
    revision: AtomicU64,
    num_notices: u64,
    /// What is being carried out, and how many notices there were before.
    topic: (Topic, u64),
    /// Errors on the screen: what each is about, and its notice.
    errors: Vec<(Topic, u64)>,
}

/// What a command is about: an error about it is over once a command about the same succeeds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// Another run; all that was said before was about the one that was open.
    Opening,
    /// What all commands of one kind are about: the root function, saving the session, …
    Kind(Option<Discriminant<Command>>),
}

impl Topic {
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Of { command, .. } => Self::of(command),
            Command::OpenTrace { .. } | Command::LoadSession { .. } | Command::Reload => {
                Self::Opening
            }
            other => Self::Kind(Some(discriminant(other))),
        }
    }
}

impl Publisher {
    /// A publisher for a person of that name.
    pub(super) fn new(cell: SnapshotCell, wake: Wake, name: Option<Arc<str>>) -> Self {
        let view = Snapshot {
            name,
            auto_train: true,
            ..Snapshot::default()
        };
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

    /// Before a command: wishes to stop are for it from now on.
    pub(super) fn begin(&mut self, topic: Topic) {
        self.topic = (topic, self.num_notices);
        self.cell.begin();
    }

    /// The command was carried out: what went wrong about the same before is over.
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

    /// After a command: nothing is being worked on.
    pub(super) fn end(&mut self) {
        self.view.work = None;
        self.publish();
    }

    /// Lets the views see the draft.
    pub(super) fn publish(&self) {
        self.publish_snapshot(self.view.clone());
    }

    fn publish_snapshot(&self, mut snapshot: Snapshot) {
        snapshot.revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
        self.cell.publish(Arc::new(snapshot));
        (self.wake)();
    }

    /// Runs `work`, showing `stage` and its progress; the person can cancel it.
    pub(super) fn stage<T>(&self, stage: &str, work: impl FnOnce(Progress<'_>) -> T) -> T {
        let shown = AtomicU32::new(f32::NEG_INFINITY.to_bits());
        let sink = |fraction: f32| {
            if self.cell.is_cancelled() {
                return ControlFlow::Break(());
            }
            if (fraction - f32::from_bits(shown.load(Ordering::Relaxed))).abs() >= SMALLEST_STEP {
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

    /// Tells the person something.
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

    /// Takes a notice off the screen.
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
