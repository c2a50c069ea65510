//! The viewers of one session: their identities and their files, which are separate from the server's files.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgrove_model::{Progress, RunIdentity, TimeNs, Trace};
use callgrove_session::{Host, HostError, OpenJournal, RunningJob, ViewerId};
use callgrove_watch::RECORDED_TREES;

use crate::frame::{MAX_FILE_BYTES, ViewerFile};

/// Largest total size of one viewer's files, in bytes.
const MAX_FILES_BYTES: usize = 256 << 20;

/// The viewers of one session.
#[derive(Clone, Default)]
pub struct Viewers {
    all: Arc<Mutex<AllViewers>>,
}

#[derive(Default)]
struct AllViewers {
    next: u32,
    viewers: BTreeMap<ViewerId, Viewer>,
}

#[derive(Default)]
struct Viewer {
    key: u64,
    /// Number of connections. An older one may be broken without the server knowing it yet.
    num_connections: usize,
    incoming: BTreeMap<String, Vec<u8>>,
    outgoing: VecDeque<ViewerFile>,
}

impl Viewers {
    fn lock(&self) -> MutexGuard<'_, AllViewers> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of viewers.
    pub fn len(&self) -> usize {
        self.lock().viewers.len()
    }

    /// Returns whether the viewer with a key has connected before and has not been removed.
    pub fn contains(&self, key: u64) -> bool {
        let all = self.lock();
        all.viewers.values().any(|viewer| viewer.key == key)
    }

    /// Returns whether there are no viewers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a connection of a viewer, new or known.
    pub fn connect(&self, key: u64) -> ViewerId {
        let mut all = self.lock();
        let known = all.viewers.iter().find(|(_, viewer)| viewer.key == key);
        let known = known.map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let next = ViewerId(all.next);
            all.next += 1;
            next
        });
        let viewer = all.viewers.entry(id).or_default();
        viewer.key = key;
        viewer.num_connections += 1;
        id
    }

    /// Removes a connection of a viewer, which may reconnect. Returns whether it was the last one.
    pub fn disconnect(&self, viewer: ViewerId) -> bool {
        let mut all = self.lock();
        let Some(viewer) = all.viewers.get_mut(&viewer) else {
            return false;
        };
        viewer.num_connections = viewer.num_connections.saturating_sub(1);
        viewer.num_connections == 0
    }

    /// Removes a viewer and its files, unless it has reconnected. Returns whether it was removed.
    pub fn remove(&self, viewer: ViewerId) -> bool {
        let mut all = self.lock();
        let is_gone = |viewer: &Viewer| viewer.num_connections == 0;
        let is_gone = all.viewers.get(&viewer).is_some_and(is_gone);
        if is_gone {
            all.viewers.remove(&viewer);
        }
        is_gone
    }

    /// Stores a file that commands of the viewer may refer to; `false` if the viewer's files would be too large.
    pub fn put_file(&self, viewer: ViewerId, file: ViewerFile) -> bool {
        let mut all = self.lock();
        let Some(viewer) = all.viewers.get_mut(&viewer) else {
            return false;
        };
        let held: usize = viewer.incoming.values().map(Vec::len).sum();
        let is_stored = held.saturating_add(file.content.len()) <= MAX_FILES_BYTES;
        if is_stored {
            viewer.incoming.insert(file.name, file.content);
        }
        is_stored
    }

    /// Returns the next file that was written for the viewer.
    pub fn take_file(&self, viewer: ViewerId) -> Option<ViewerFile> {
        let mut all = self.lock();
        all.viewers.get_mut(&viewer)?.outgoing.pop_front()
    }
}

/// A host for several viewers. While a viewer's command is carried out, files are the viewer's own, and only `source`
/// and the recorded trees of the watched job can be opened. All other calls go to `host`.
pub struct ViewerHost<H> {
    host: H,
    viewers: Viewers,
    viewer: Option<ViewerId>,
    /// The only source that viewers may open.
    source: String,
    /// The running job whose models viewers may change.
    watched: Option<String>,
}

impl<H: Host> ViewerHost<H> {
    /// Returns a host for some viewers, which may open `source`.
    pub fn new(host: H, viewers: Viewers, source: String) -> Self {
        Self {
            host,
            viewers,
            viewer: None,
            source,
            watched: None,
        }
    }

    /// Allows the viewers to change the models of a running job.
    #[must_use]
    pub fn watching(self, job: Option<String>) -> Self {
        let watched = job;
        Self { watched, ..self }
    }

    /// Applies a function to the state of the current viewer.
    fn of_viewer<T>(&self, get: impl FnOnce(&mut Viewer) -> T) -> Option<T> {
        let mut all = self.viewers.lock();
        all.viewers.get_mut(&self.viewer?).map(get)
    }
}

impl<H: Host> Host for ViewerHost<H> {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        let is_of_job = (self.watched.as_deref())
            .is_some_and(|job| source.strip_prefix(RECORDED_TREES) == Some(job));
        if self.viewer.is_some() && source != self.source && !is_of_job {
            let text = format!("this page shows {}; serve {source} to open it", self.source);
            return Err(HostError::Failed(text));
        }
        self.host.load_trace(source, progress)
    }

    fn open_journal(&mut self, source: &str, run: &RunIdentity) -> Result<OpenJournal, HostError> {
        self.host.open_journal(source, run)
    }

    fn file_start(&mut self, path: &str, limit: usize) -> Vec<u8> {
        if self.viewer.is_none() {
            return self.host.file_start(path, limit);
        }
        let start = self.of_viewer(|viewer| {
            let content = viewer.incoming.get(path)?;
            Some(content[..content.len().min(limit)].to_vec())
        });
        start.flatten().unwrap_or_default()
    }

    fn set_viewer(&mut self, viewer: Option<ViewerId>) {
        self.viewer = viewer;
    }

    fn running_job(&mut self, server: &str) -> Result<Box<dyn RunningJob>, HostError> {
        // Otherwise any viewer of a run could make this machine connect to any other.
        if self.viewer.is_some() && self.watched.as_deref() != Some(server) {
            let text = format!("this page does not watch {server}, so it cannot change its models");
            return Err(HostError::Failed(text));
        }
        self.host.running_job(server)
    }

    fn now(&self) -> TimeNs {
        self.host.now()
    }

    fn user(&self) -> Option<String> {
        self.host.user()
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        if self.viewer.is_none() {
            return self.host.read_file(path);
        }
        let incoming = self.of_viewer(|viewer| viewer.incoming.remove(path));
        let missing = || {
            let text = format!(
                "{path} did not arrive; choose it again, or one of at most {} MB",
                MAX_FILE_BYTES >> 20
            );
            HostError::Failed(text)
        };
        incoming.flatten().ok_or_else(missing)
    }

    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError> {
        if self.viewer.is_none() {
            return self.host.write_file(path, content);
        }
        let file = ViewerFile {
            name: path.to_owned(),
            content: content.to_vec(),
        };
        let gone = || HostError::Failed("the viewer that requested the file has left".to_owned());
        self.of_viewer(|viewer| viewer.outgoing.push_back(file))
            .ok_or_else(gone)
    }
}
