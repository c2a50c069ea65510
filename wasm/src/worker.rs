//! The session of a page that is alone, in a worker of it: so the page draws on while it learns.
//!
//! The page's end is a [`callgrove_session::wire::SessionLink`], as if the session lay on a server. What a worker does
//! not have, the page does for it: it keeps journals in the browser's storage and hands files to the person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgrove_session::wire::{
    SnapshotSender, ViewerFile, ViewerMessage, WIRE_VERSION, WireError, answer_frame, welcome_frame,
};
use callgrove_session::{Command, Engine, LearnSettings, SnapshotCell, ViewerId};

use crate::host::{Browser, BrowserHost};
use crate::sliced::PersonFiles;

/// Seed of everything random, as on the desktop: the same run gives the same picture.
const SEED: u64 = 1;
/// The one who looks.
const VIEWER: ViewerId = ViewerId(0);
/// While it works, snapshots come at most this often; a person does not see more.
const LEAST_PAUSE_MS: f64 = 50.0;

/// The page, as its worker reaches it, and the files that the page handed over.
pub trait WorkerPage: PersonFiles + Clone + Send + Sync + 'static {
    /// Sends it a frame.
    fn show(&self, frame: &[u8]);

    /// Has it keep a text under a key.
    fn keep(&self, key: &str, text: &str);

    /// Milliseconds since the epoch.
    fn now_ms(&self) -> f64;
}

/// The session's end of a worker.
pub struct Worker<P> {
    engine: Engine,
    storage: Storage<P>,
    teller: Arc<Mutex<Teller<P>>>,
}

/// Tells the page what is new.
struct Teller<P> {
    page: P,
    cell: SnapshotCell,
    /// `None` until there is somebody to tell.
    sender: Option<SnapshotSender>,
    last_ms: f64,
}

/// The browser's storage, as the page told it.
#[derive(Clone)]
struct Storage<P> {
    page: P,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    texts: BTreeMap<String, String>,
    /// Why the page could not keep the last text.
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
        let teller = Arc::new(Mutex::new(Teller {
            page,
            cell: cell.clone(),
            sender: None,
            last_ms: f64::NEG_INFINITY,
        }));
        let wake = {
            let teller = Arc::clone(&teller);
            Arc::new(move || lock(&teller).tell(false))
        };
        let host = Box::new(BrowserHost::new(storage.clone()));
        let settings = LearnSettings::with_seed(SEED);
        Self {
            engine: Engine::new(host, settings, cell, wake),
            storage,
            teller,
        }
    }

    /// Something stands in the browser's storage.
    pub fn know(&self, key: String, text: String) {
        lock(&self.storage.known).texts.insert(key, text);
    }

    /// The page could not keep a text.
    pub fn refuse(&self, key: &str, cause: String) {
        let mut known = lock(&self.storage.known);
        known.texts.remove(key);
        known.refusal = Some(cause);
    }

    /// Does what the page says.
    ///
    /// # Errors
    /// It speaks otherwise.
    pub fn hear(&mut self, message: &[u8]) -> Result<(), WireError> {
        match ViewerMessage::from_bytes(message)? {
            ViewerMessage::Hello { version, .. } => {
                if version != WIRE_VERSION {
                    return Err(WireError::Order);
                }
                let mut teller = lock(&self.teller);
                // A worker that begins anew is another one.
                teller
                    .page
                    .show(&welcome_frame(teller.page.now_ms().to_bits())?);
                teller.sender = Some(SnapshotSender::new(VIEWER));
            }
            ViewerMessage::Command { number, command } => self.engine.handle(Command::Of {
                viewer: VIEWER,
                number,
                command,
            }),
            ViewerMessage::Ask {
                trace,
                number,
                question,
            } => {
                let teller = lock(&self.teller);
                let sender = teller.sender.as_ref();
                if let Some(calls) = sender.and_then(|sender| sender.calls(trace))
                    && let Some(frame) = answer_frame(calls, (number, &question), || false)?
                {
                    teller.page.show(&frame);
                }
            }
            // Whoever works hears nothing: the page ends a worker that shall stop. A question is answered before the
            // next message is heard. Runs are watched from servers. Files are handed over as the browser has them.
            ViewerMessage::Cancel
            | ViewerMessage::Forget { .. }
            | ViewerMessage::Watch(_)
            | ViewerMessage::File(_) => {}
        }
        lock(&self.teller).tell(true);
        Ok(())
    }

    /// Goes on with the map that forms; whether there is more to do.
    pub fn work(&mut self) -> bool {
        let is_forming = self.engine.is_forming();
        if is_forming {
            self.engine.advance();
        } else {
            lock(&self.teller).tell(true);
        }
        is_forming
    }
}

impl<P: WorkerPage> Teller<P> {
    /// Sends what is new; all of it, or only if it is time.
    fn tell(&mut self, is_due: bool) {
        let now_ms = self.page.now_ms();
        let Some(sender) = &mut self.sender else {
            return;
        };
        if !is_due && now_ms < self.last_ms + LEAST_PAUSE_MS {
            return;
        }
        self.last_ms = now_ms;
        let newest = self.cell.newest();
        while let Ok(Some(frame)) = sender.next_frame(&newest) {
            self.page.show(&frame);
        }
    }
}

impl<P: WorkerPage> PersonFiles for Storage<P> {
    fn num_bytes(&self, name: &str) -> Option<u64> {
        self.page.num_bytes(name)
    }

    fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
        self.page.read_slice(name, at, slice)
    }
}

impl<P: WorkerPage> Browser for Storage<P> {
    fn kept(&self, key: &str) -> Option<String> {
        lock(&self.known).texts.get(key).cloned()
    }

    fn keep(&self, key: &str, text: &str) -> Result<(), String> {
        let mut known = lock(&self.known);
        if let Some(refusal) = known.refusal.take() {
            return Err(refusal);
        }
        known.texts.insert(key.to_owned(), text.to_owned());
        self.page.keep(key, text);
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
    use callgrove_session::wire::SessionLink;

    use super::*;
    use crate::fixture::{MemoryFiles, forest_file};
    use crate::shelf::open_command;

    const NAME: &str = "runs.jsonl";

    /// What a worker did to its page.
    #[derive(Clone, Default)]
    struct Told {
        files: MemoryFiles,
        frames: Arc<Mutex<Vec<Vec<u8>>>>,
        kept: Arc<Mutex<Vec<(String, String)>>>,
    }

    impl PersonFiles for Told {
        fn num_bytes(&self, name: &str) -> Option<u64> {
            self.files.num_bytes(name)
        }

        fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
            self.files.read_slice(name, at, slice)
        }
    }

    impl WorkerPage for Told {
        fn show(&self, frame: &[u8]) {
            lock(&self.frames).push(frame.to_vec());
        }

        fn keep(&self, key: &str, text: &str) {
            lock(&self.kept).push((key.to_owned(), text.to_owned()));
        }

        fn now_ms(&self) -> f64 {
            1.5
        }
    }

    /// A page and its worker.
    struct Alone {
        told: Told,
        worker: Worker<Told>,
        link: SessionLink,
        handle: SessionHandle,
    }

    impl Alone {
        fn new(kept: &[(String, String)]) -> Self {
            let told = Told::default();
            let mut worker = Worker::new(told.clone());
            for (key, text) in kept {
                worker.know(key.clone(), text.clone());
            }
            let (handle, mut link) = SessionLink::new(0, None);
            worker.hear(&link.connected().unwrap()).unwrap();
            told.files.put(NAME, forest_file());
            let mut alone = Self {
                told,
                worker,
                link,
                handle,
            };
            alone.does(open_command(NAME));
            alone
        }

        fn does(&mut self, command: Command) {
            self.handle.send(command).unwrap();
            loop {
                let frames: Vec<_> = lock(&self.told.frames).drain(..).collect();
                for frame in frames {
                    self.link.take(&frame).unwrap();
                }
                let Some(message) = self.link.next_message(|_| None).unwrap() else {
                    break;
                };
                self.worker.hear(&message).unwrap();
            }
        }

        fn label(&mut self, tree: u32) {
            self.does(Command::SetLabel {
                trees: vec![TreeIdx(tree)],
                label: Some(Label::Abnormal),
            });
        }
    }

    #[test]
    fn labels_go_to_the_storage_of_the_page_and_come_back_from_it() {
        let mut alone = Alone::new(&[]);
        alone.label(31);
        let seen = alone.handle.snapshot();
        let trees = seen.analysis.as_ref().map(|open| open.forest.len());
        assert_eq!((trees, seen.labels.len()), (Some(60), 1));
        let kept = lock(&alone.told.kept).clone();
        assert!(!kept.is_empty());
        assert_eq!(Alone::new(&kept).handle.snapshot().labels.len(), 1);
    }

    #[test]
    fn a_storage_that_is_full_is_told_with_the_next_label() {
        let mut alone = Alone::new(&[]);
        alone.label(31);
        let (key, _) = lock(&alone.told.kept)[0].clone();
        alone.worker.refuse(&key, "no room is left".to_owned());
        alone.label(30);
        let notices = alone.handle.snapshot().notices.clone();
        assert!(
            notices.iter().any(|it| it.text.contains("room is left")),
            "{notices:?}"
        );
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let mut worker = Worker::new(Told::default());
        worker.hear(b"\xc1").unwrap_err();
        let other = ViewerMessage::Hello {
            version: WIRE_VERSION + 1,
            key: 0,
            name: None,
        };
        worker.hear(&other.to_bytes().unwrap()).unwrap_err();
    }
}
