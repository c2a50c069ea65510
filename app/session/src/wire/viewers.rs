//! Those who look at one session: which they are, and their files, which are not the files of the machine it runs on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgrove_model::{Progress, RunIdentity, TimeNs, Trace};

use super::{MAX_FILE_BYTES, ViewerFile};
use crate::watch::RECORDED_TREES;
use crate::{Host, HostError, OpenJournal, RunningJob, ViewerId};

/// Files of one viewer together may have so many bytes.
const MAX_FILES_BYTES: usize = 256 << 20;

/// Those who look at one session.
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
    /// Connections, of which an older one may not know yet that it is none.
    num_connections: usize,
    given: BTreeMap<String, Vec<u8>>,
    to_get: VecDeque<ViewerFile>,
}

impl Viewers {
    fn lock(&self) -> MutexGuard<'_, AllViewers> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of viewers.
    pub fn len(&self) -> usize {
        self.lock().viewers.len()
    }

    /// Whether the viewer with a key has come before, and is not forgotten.
    pub fn knows(&self, key: u64) -> bool {
        let all = self.lock();
        all.viewers.values().any(|viewer| viewer.key == key)
    }

    /// Whether nobody looks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A viewer has come, or has come back.
    pub fn enter(&self, key: u64) -> ViewerId {
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

    /// A connection of a viewer has ended; it may come back. The answer is whether it was its last one.
    pub fn lose(&self, viewer: ViewerId) -> bool {
        let mut all = self.lock();
        let Some(viewer) = all.viewers.get_mut(&viewer) else {
            return false;
        };
        viewer.num_connections = viewer.num_connections.saturating_sub(1);
        viewer.num_connections == 0
    }

    /// Forgets a viewer, and its files, unless it has come back.
    pub fn forget(&self, viewer: ViewerId) -> bool {
        let mut all = self.lock();
        let is_gone = |viewer: &Viewer| viewer.num_connections == 0;
        let is_gone = all.viewers.get(&viewer).is_some_and(is_gone);
        if is_gone {
            all.viewers.remove(&viewer);
        }
        is_gone
    }

    /// Takes a file that commands of the viewer may name; the answer is whether there was room for it.
    pub fn give(&self, viewer: ViewerId, file: ViewerFile) -> bool {
        let mut all = self.lock();
        let Some(viewer) = all.viewers.get_mut(&viewer) else {
            return false;
        };
        let held: usize = viewer.given.values().map(Vec::len).sum();
        let has_room = held.saturating_add(file.content.len()) <= MAX_FILES_BYTES;
        if has_room {
            viewer.given.insert(file.name, file.content);
        }
        has_room
    }

    /// The next file that was written for the viewer.
    pub fn get(&self, viewer: ViewerId) -> Option<ViewerFile> {
        let mut all = self.lock();
        all.viewers.get_mut(&viewer)?.to_get.pop_front()
    }
}

/// A host whose files are the viewers' own, where one of them asks, and who opens no other run for them, but what the
/// job that they watch has recorded; all else is the business of `host`.
pub struct ViewerHost<H> {
    host: H,
    viewers: Viewers,
    viewer: Option<ViewerId>,
    /// The source that viewers may open.
    source: String,
    /// The running job whose models they may change.
    watched: Option<String>,
}

impl<H: Host> ViewerHost<H> {
    /// A host for those viewers, who may open `source`.
    pub fn new(host: H, viewers: Viewers, source: String) -> Self {
        Self {
            host,
            viewers,
            viewer: None,
            source,
            watched: None,
        }
    }

    /// The viewers may change the models of this running job.
    #[must_use]
    pub fn watching(self, job: Option<String>) -> Self {
        let watched = job;
        Self { watched, ..self }
    }

    /// What a viewer has.
    fn of_viewer<T>(&self, look: impl FnOnce(&mut Viewer) -> T) -> Option<T> {
        let mut all = self.viewers.lock();
        all.viewers.get_mut(&self.viewer?).map(look)
    }
}

impl<H: Host> Host for ViewerHost<H> {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        let is_of_job = (self.watched.as_deref())
            .is_some_and(|job| source.strip_prefix(RECORDED_TREES) == Some(job));
        if self.viewer.is_some() && source != self.source && !is_of_job {
            let text = format!(
                "this page is about {}; serve {source} to look at it",
                self.source
            );
            return Err(HostError::Failed(text));
        }
        self.host.load_trace(source, progress)
    }

    fn root_of(&self, source: &str) -> Option<String> {
        self.host.root_of(source)
    }

    fn open_journal(&mut self, source: &str, run: &RunIdentity) -> Result<OpenJournal, HostError> {
        self.host.open_journal(source, run)
    }

    fn turn_to(&mut self, viewer: Option<ViewerId>) {
        self.viewer = viewer;
    }

    fn running_job(&mut self, server: &str) -> Result<Box<dyn RunningJob>, HostError> {
        // Else whoever may look at a run could have this machine connect to any other.
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
        let given = self.of_viewer(|viewer| viewer.given.remove(path));
        let missing = || {
            let text = format!(
                "{path} did not arrive; choose it again, or one of at most {} MB",
                MAX_FILE_BYTES >> 20
            );
            HostError::Failed(text)
        };
        given.flatten().ok_or_else(missing)
    }

    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError> {
        if self.viewer.is_none() {
            return self.host.write_file(path, content);
        }
        let file = ViewerFile {
            name: path.to_owned(),
            content: content.to_vec(),
        };
        let gone = || HostError::Failed("whoever asked for the file has gone".to_owned());
        self.of_viewer(|viewer| viewer.to_get.push_back(file))
            .ok_or_else(gone)
    }
}
