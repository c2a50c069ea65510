//! The local session of a page, in a worker, so that the page keeps drawing while the session learns.
//!
//! The page's end is a [`callgrove_wire::SessionLink`], as for a session on a server. The page does what a
//! worker cannot: it stores journals in the browser's storage, and downloads files.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgrove_session::{Command, Engine, LearnSettings, SnapshotCell, ViewerId};
use callgrove_wire::{
    SnapshotSender, ViewerFile, ViewerMessage, WIRE_VERSION, WireError, answer_frame, welcome_frame,
};

use crate::host::{Browser, BrowserHost};
use crate::sliced_files::UserFiles;

/// Seed of all random numbers, as on the desktop, so that a run always gives the same result.
const SEED: u64 = 1;
/// The only viewer.
const VIEWER: ViewerId = ViewerId(0);
/// Minimum interval of snapshots during work; a person does not see shorter ones.
const MIN_SNAPSHOT_INTERVAL_MS: f64 = 50.0;

/// The worker's interface to its page, and the files that the page handed over.
pub trait WorkerPage: UserFiles + Clone + Send + Sync + 'static {
    /// Sends a frame to the page.
    fn show(&self, frame: &[u8]);

    /// Stores a text under a key in the browser's storage.
    fn store(&self, key: &str, text: &str);

    /// Returns the time in milliseconds since the epoch.
    fn now_ms(&self) -> f64;
}

/// The worker's end of the session.
pub struct Worker<P> {
    engine: Engine,
    storage: Storage<P>,
    reporter: Arc<Mutex<SnapshotReporter<P>>>,
}

/// Reports new snapshots to the page.
struct SnapshotReporter<P> {
    page: P,
    cell: SnapshotCell,
    /// `None` until the page has said hello.
    sender: Option<SnapshotSender>,
    last_ms: f64,
}

/// The browser's storage, as reported by the page.
#[derive(Clone)]
struct Storage<P> {
    page: P,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    texts: BTreeMap<String, String>,
    /// The reason why the page could not store the last text.
    refusal: Option<String>,
}

impl<P: WorkerPage> Worker<P> {
    /// A session for a page.
    pub fn new(page: P) -> Self {
        let storage = Storage {
            page: page.clone(),
            known: Arc::default(),
        };
        let cell = SnapshotCell::default();
        let reporter = Arc::new(Mutex::new(SnapshotReporter {
            page,
            cell: cell.clone(),
            sender: None,
            last_ms: f64::NEG_INFINITY,
        }));
        let wake = {
            let reporter = Arc::clone(&reporter);
            Arc::new(move || lock(&reporter).report(false))
        };
        let host = Box::new(BrowserHost::new(storage.clone()));
        let settings = LearnSettings::with_seed(SEED);
        Self {
            engine: Engine::new(host, settings, cell, wake),
            storage,
            reporter,
        }
    }

    /// Adds a text of the browser's storage.
    pub fn add_stored(&self, key: String, text: String) {
        lock(&self.storage.known).texts.insert(key, text);
    }

    /// Notes that the page could not store a text.
    pub fn note_failure(&self, key: &str, cause: String) {
        let mut known = lock(&self.storage.known);
        known.texts.remove(key);
        known.refusal = Some(cause);
    }

    /// Handles a message of the page.
    ///
    /// # Errors
    /// If the message violates the protocol.
    pub fn handle(&mut self, message: &[u8]) -> Result<(), WireError> {
        match ViewerMessage::from_bytes(message)? {
            ViewerMessage::Hello { version, .. } => {
                if version != WIRE_VERSION {
                    return Err(WireError::Order);
                }
                let mut reporter = lock(&self.reporter);
                // A restarted worker has another epoch.
                reporter
                    .page
                    .show(&welcome_frame(reporter.page.now_ms().to_bits())?);
                reporter.sender = Some(SnapshotSender::new(VIEWER));
            }
            ViewerMessage::Command { number, command } => self.engine.handle(Command::ForViewer {
                viewer: VIEWER,
                number,
                command,
            }),
            ViewerMessage::Ask {
                trace,
                number,
                question,
            } => {
                let reporter = lock(&self.reporter);
                let sender = reporter.sender.as_ref();
                if let Some(calls) = sender.and_then(|sender| sender.calls(trace))
                    && let Some(frame) = answer_frame(calls, (number, &question), || false)?
                {
                    reporter.page.show(&frame);
                }
            }
            // Cancelling, forgetting and watching need no handling: a busy worker receives no messages, so the page
            // terminates a worker that is to stop; a question is answered before the next message is received; runs are
            // watched from servers; and files are handed over as handles of the browser.
            ViewerMessage::Cancel
            | ViewerMessage::Forget { .. }
            | ViewerMessage::Watch(_)
            | ViewerMessage::File(_) => {}
        }
        lock(&self.reporter).report(true);
        Ok(())
    }

    /// Advances the map that is being computed. Returns whether there is more to do.
    pub fn work(&mut self) -> bool {
        let is_forming = self.engine.is_forming();
        if is_forming {
            self.engine.advance();
        } else {
            lock(&self.reporter).report(true);
        }
        is_forming
    }
}

impl<P: WorkerPage> SnapshotReporter<P> {
    /// Sends new frames, at once if `is_due`, or else only after the minimum interval.
    fn report(&mut self, is_due: bool) {
        let now_ms = self.page.now_ms();
        let Some(sender) = &mut self.sender else {
            return;
        };
        if !is_due && now_ms < self.last_ms + MIN_SNAPSHOT_INTERVAL_MS {
            return;
        }
        self.last_ms = now_ms;
        let newest = self.cell.newest();
        while let Ok(Some(frame)) = sender.next_frame(&newest) {
            self.page.show(&frame);
        }
    }
}

impl<P: WorkerPage> UserFiles for Storage<P> {
    fn names(&self) -> Vec<String> {
        self.page.names()
    }

    fn num_bytes(&self, name: &str) -> Option<u64> {
        self.page.num_bytes(name)
    }

    fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
        self.page.read_slice(name, at, slice)
    }
}

impl<P: WorkerPage> Browser for Storage<P> {
    fn stored(&self, key: &str) -> Option<String> {
        lock(&self.known).texts.get(key).cloned()
    }

    fn store(&self, key: &str, text: &str) -> Result<(), String> {
        let mut known = lock(&self.known);
        if let Some(refusal) = known.refusal.take() {
            return Err(refusal);
        }
        known.texts.insert(key.to_owned(), text.to_owned());
        self.page.store(key, text);
        Ok(())
    }

    fn download(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let file = ViewerFile {
            name: name.to_owned(),
            content: content.to_vec(),
        };
        self.page
            .show(&file.to_frame().map_err(|error| error.to_string())?);
        Ok(())
    }

    fn now_ms(&self) -> f64 {
        self.page.now_ms()
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use callgrove_model::{Label, TreeIdx};
    use callgrove_session::SessionHandle;
    use callgrove_wire::SessionLink;

    use super::*;
    use crate::file_store::open_command;
    use crate::fixture::{UserFilesInMemory, forest_file};

    const NAME: &str = "runs.jsonl";

    /// A page that records its worker's calls.
    #[derive(Clone, Default)]
    struct RecordingPage {
        files: UserFilesInMemory,
        frames: Arc<Mutex<Vec<Vec<u8>>>>,
        kept: Arc<Mutex<Vec<(String, String)>>>,
    }

    impl UserFiles for RecordingPage {
        fn names(&self) -> Vec<String> {
            self.files.names()
        }

        fn num_bytes(&self, name: &str) -> Option<u64> {
            self.files.num_bytes(name)
        }

        fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
            self.files.read_slice(name, at, slice)
        }
    }

    impl WorkerPage for RecordingPage {
        fn show(&self, frame: &[u8]) {
            lock(&self.frames).push(frame.to_vec());
        }

        fn store(&self, key: &str, text: &str) {
            lock(&self.kept).push((key.to_owned(), text.to_owned()));
        }

        fn now_ms(&self) -> f64 {
            1.5
        }
    }

    /// A page and its worker.
    struct LocalPage {
        page: RecordingPage,
        worker: Worker<RecordingPage>,
        link: SessionLink,
        handle: SessionHandle,
    }

    impl LocalPage {
        fn new(kept: &[(String, String)]) -> Self {
            let page = RecordingPage::default();
            let mut worker = Worker::new(page.clone());
            for (key, text) in kept {
                worker.add_stored(key.clone(), text.clone());
            }
            let (handle, mut link) = SessionLink::new(0, None);
            worker.handle(&link.connected().unwrap()).unwrap();
            page.files.put(NAME, forest_file());
            let mut local = Self {
                page,
                worker,
                link,
                handle,
            };
            local.run_command(open_command(NAME));
            local
        }

        fn run_command(&mut self, command: Command) {
            self.handle.send(command).unwrap();
            loop {
                let frames: Vec<_> = lock(&self.page.frames).drain(..).collect();
                for frame in frames {
                    self.link.take(&frame).unwrap();
                }
                let Some(message) = self.link.next_message(|_| None).unwrap() else {
                    break;
                };
                self.worker.handle(&message).unwrap();
            }
        }

        fn label(&mut self, tree: u32) {
            self.run_command(Command::SetLabel {
                trees: vec![TreeIdx(tree)],
                label: Some(Label::Abnormal),
            });
        }
    }

    #[test]
    fn labels_are_stored_by_the_page_and_restored() {
        let mut local = LocalPage::new(&[]);
        local.label(31);
        let seen = local.handle.snapshot();
        let trees = seen.analysis().map(|open| open.forest.len());
        assert_eq!((trees, seen.edits.labels.len()), (Some(60), 1));
        let kept = lock(&local.page.kept).clone();
        assert!(!kept.is_empty());
        assert_eq!(
            LocalPage::new(&kept).handle.snapshot().edits.labels.len(),
            1
        );
    }

    #[test]
    fn a_full_storage_is_reported_with_the_next_label() {
        let mut local = LocalPage::new(&[]);
        local.label(31);
        let (key, _) = lock(&local.page.kept)[0].clone();
        local
            .worker
            .note_failure(&key, "no space is left".to_owned());
        local.label(30);
        let notices = local.handle.snapshot().notices.clone();
        assert!(
            notices.iter().any(|it| it.text.contains("space is left")),
            "{notices:?}"
        );
    }

    #[test]
    fn invalid_messages_are_refused() {
        let mut worker = Worker::new(RecordingPage::default());
        worker.handle(b"\xc1").unwrap_err();
        let other = ViewerMessage::Hello {
            version: WIRE_VERSION + 1,
            key: 0,
            name: None,
        };
        worker.handle(&other.to_bytes().unwrap()).unwrap_err();
    }
}
