//! The thread that owns the open runs: it carries out one question after the other.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};
use tokio::sync::oneshot;

use crate::open_run::OpenRuns;

/// Maximum number of questions that wait; an assistant asks a few at once.
const MAX_WAITING: usize = 64;

type Job = Box<dyn FnOnce(&mut OpenRuns) + Send>;

/// A handle of the thread, which ends with the last handle.
#[derive(Clone)]
pub(crate) struct QuestionThread {
    jobs: SyncSender<Job>,
}

impl QuestionThread {
    pub(crate) fn start(mut runs: OpenRuns) -> Result<Self> {
        let (sender, jobs) = sync_channel::<Job>(MAX_WAITING);
        thread::Builder::new()
            .name("questions".to_owned())
            .spawn(move || jobs.iter().for_each(|job| job(&mut runs)))
            .context("cannot start a thread")?;
        Ok(Self { jobs: sender })
    }

    /// Carries out a question on the thread.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut OpenRuns) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job = move |runs: &mut OpenRuns| {
            // A client that no longer waits needs no answer.
            drop(reply.send(question(runs)));
        };
        let ended = || anyhow!("an earlier question ended the server by a fault of Callgrove");
        match self.jobs.try_send(Box::new(job)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => bail!("{MAX_WAITING} questions wait already: ask again"),
            Err(TrySendError::Disconnected(_)) => return Err(ended()),
        }
        answer.await.ok().with_context(ended)?
    }
}
