//! The session's host in a browser: files that the user gave, journals in the browser's storage.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use callgrove_formats::page_registry;
use callgrove_model::{Progress, RunIdentity, TimeNs, Trace, hex};
use callgrove_session::{Host, HostError, JournalWriter, OpenJournal};
use callgrove_source::{OneByOne, PATH_SEPARATOR, SourceError};
use callgrove_wire::MAX_FILE_BYTES;
use sha2::{Digest as _, Sha256};

use crate::sliced_files::{PageFiles, SlicedFile, UserFiles};

/// Prefix of the storage keys of journals.
pub const JOURNAL: &str = "callgrove journal ";
/// Maximum size of a trace file. A larger file is refused before it is read: its data, about twelve times as large,
/// would not fit into the 4 GiB that a browser gives a worker at most.
const MAX_TRACE_BYTES: u64 = 320 << 20;
const MIB: u64 = 1 << 20;

/// The host's interface to the browser.
pub trait Browser: UserFiles + Clone + Send + Sync + 'static {
    /// Returns the text that is stored under a key.
    fn stored(&self, key: &str) -> Option<String>;

    /// Stores a text under a key, beyond the lifetime of the page.
    ///
    /// # Errors
    /// The browser's error message.
    fn store(&self, key: &str, text: &str) -> Result<(), String>;

    /// Downloads a file.
    ///
    /// # Errors
    /// The browser's error message.
    fn download(&self, name: &str, content: &[u8]) -> Result<(), String>;

    /// Returns the time in milliseconds since the epoch.
    fn now_ms(&self) -> f64;
}

/// The host of an engine in a page.
pub struct BrowserHost<B> {
    browser: B,
    /// The hash of the content of each file that was read, by name. It names the journal: the content identifies the
    /// run, not the name.
    digests: BTreeMap<String, [u8; 32]>,
}

/// The lines of one journal. Each has a key of its own, so that the cost of a line does not depend on their number.
struct StoredJournal<B> {
    browser: B,
    name: String,
    num_lines: usize,
}

impl<B: Browser> BrowserHost<B> {
    /// A host with the files of `browser`.
    pub fn new(browser: B) -> Self {
        Self {
            browser,
            digests: BTreeMap::new(),
        }
    }

    /// Returns the names of the files of a run: those named, one a line, and all in a folder that is named.
    fn names_of(&self, source: &str) -> Vec<String> {
        let all = self.browser.names();
        let mut names = Vec::new();
        for named in source.split(PATH_SEPARATOR) {
            let below = all.iter().filter(|name| Path::new(name).starts_with(named));
            let before = names.len();
            names.extend(below.cloned());
            if names.len() == before {
                names.push(named.to_owned());
            }
        }
        names
    }

    /// Returns the hash of the contents of files. That of one file is the hash of the file itself.
    fn digest(&self, names: &[String]) -> std::io::Result<[u8; 32]> {
        let mut digests = Vec::with_capacity(names.len());
        for name in names {
            let num_bytes = self.browser.num_bytes(name).unwrap_or_default();
            digests.push(SlicedFile::new(self.browser.clone(), name, num_bytes).digest()?);
        }
        match digests[..] {
            [digest] => Ok(digest),
            _ => Ok(Sha256::digest(digests.concat()).into()),
        }
    }

    /// Returns the length of a file, if it exists and is not too long.
    fn num_bytes(&self, name: &str, limit: u64, remedy: &str) -> Result<u64, HostError> {
        let Some(num_bytes) = self.browser.num_bytes(name) else {
            let text = format!(
                "the page does not have {name}; drop the file on it, or choose it with Browse"
            );
            return Err(HostError::Failed(text));
        };
        if num_bytes > limit {
            let text = format!(
                "cannot open {name}: it has {} MB, and a page opens at most {} MB; {remedy}",
                num_bytes.div_ceil(MIB),
                limit / MIB
            );
            return Err(HostError::Failed(text));
        }
        Ok(num_bytes)
    }
}

impl<B: Browser> Host for BrowserHost<B> {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        let remedy = format!(
            "run `callgrove serve {source}` where the file is and open the address that it prints"
        );
        let names = self.names_of(source);
        let mut num_bytes = 0;
        for name in &names {
            num_bytes += self.num_bytes(
                name,
                MAX_TRACE_BYTES - num_bytes.min(MAX_TRACE_BYTES),
                &remedy,
            )?;
        }
        let registry = page_registry(Arc::new(PageFiles(self.browser.clone())));
        let trace = registry.load(Path::new(source), &OneByOne, progress);
        let trace = trace.map_err(|error| match error {
            SourceError::Cancelled(_) => HostError::Cancelled,
            error => HostError::Failed(error.with_causes()),
        })?;
        let digest = self.digest(&names);
        let digest =
            digest.map_err(|error| HostError::Failed(format!("cannot read {source}: {error}")))?;
        self.digests.insert(source.to_owned(), digest);
        Ok(trace)
    }

    fn file_start(&mut self, path: &str, limit: usize) -> Vec<u8> {
        let Some(num_bytes) = self.browser.num_bytes(path) else {
            return Vec::new();
        };
        let mut start = vec![0; limit.min(usize::try_from(num_bytes).unwrap_or(limit))];
        match self.browser.read_slice(path, 0, &mut start) {
            Ok(()) => start,
            Err(_) => Vec::new(),
        }
    }

    fn open_journal(&mut self, source: &str, _: &RunIdentity) -> Result<OpenJournal, HostError> {
        let digest = self.digests.get(source);
        let digest = digest.ok_or_else(|| HostError::Failed(format!("{source} was not read")))?;
        let name = format!("{JOURNAL}{}", hex(&digest[..16]));
        let line = |number: usize| self.browser.stored(&key(&name, number));
        let lines: Vec<String> = (0..).map_while(line).collect();
        Ok(OpenJournal {
            place: "this browser's storage".to_owned(),
            writer: Box::new(StoredJournal {
                browser: self.browser.clone(),
                name,
                num_lines: lines.len(),
            }),
            lines,
        })
    }

    fn now(&self) -> TimeNs {
        TimeNs((self.browser.now_ms() * 1e6) as i64)
    }

    fn user(&self) -> Option<String> {
        None
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        let remedy = "it was not written by Callgrove";
        let num_bytes = self.num_bytes(path, MAX_FILE_BYTES, remedy)?;
        let mut content = Vec::with_capacity(num_bytes as usize);
        let read = SlicedFile::new(self.browser.clone(), path, num_bytes).read_to_end(&mut content);
        read.map_err(|error| HostError::Failed(format!("cannot read {path}: {error}")))?;
        Ok(content)
    }

    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError> {
        self.browser
            .download(path, content)
            .map_err(|cause| HostError::Failed(format!("cannot download {path}: {cause}")))
    }
}

impl<B: Browser> JournalWriter for StoredJournal<B> {
    fn append(&mut self, line: &str) -> Result<(), HostError> {
        let key = key(&self.name, self.num_lines);
        if self.browser.stored(&key).is_some() {
            let text = "another page has the same run open; close one of them and reload the other";
            return Err(HostError::Failed(text.to_owned()));
        }
        self.browser.store(&key, line).map_err(HostError::Failed)?;
        self.num_lines += 1;
        Ok(())
    }
}

fn key(journal: &str, number: usize) -> String {
    format!("{journal} {number}")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use callgrove_model::{Label, TreeIdx};
    use callgrove_session::{Command, Engine, LearnSettings, Snapshot, SnapshotCell};

    use super::*;
    use crate::file_store::open_command;
    use crate::fixture::{UserFilesInMemory, forest_file};

    /// Names and contents of downloaded files.
    type Downloads = Vec<(String, Vec<u8>)>;

    /// A browser that stores everything in memory.
    #[derive(Clone, Default)]
    struct Memory {
        files: UserFilesInMemory,
        kept: Arc<Mutex<BTreeMap<String, String>>>,
        downloads: Arc<Mutex<Downloads>>,
    }

    impl UserFiles for Memory {
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

    impl Browser for Memory {
        fn stored(&self, key: &str) -> Option<String> {
            self.kept.lock().unwrap().get(key).cloned()
        }

        fn store(&self, key: &str, text: &str) -> Result<(), String> {
            let mut kept = self.kept.lock().unwrap();
            kept.insert(key.to_owned(), text.to_owned());
            Ok(())
        }

        fn download(&self, name: &str, content: &[u8]) -> Result<(), String> {
            let mut downloads = self.downloads.lock().unwrap();
            downloads.push((name.to_owned(), content.to_vec()));
            Ok(())
        }

        fn now_ms(&self) -> f64 {
            1.5
        }
    }

    /// Returns the snapshot of a page that opens `name`, after `commands`.
    fn page(memory: &Memory, name: &str, commands: Vec<Command>) -> Arc<Snapshot> {
        let host = Box::new(BrowserHost::new(memory.clone()));
        let cell = SnapshotCell::default();
        let settings = LearnSettings::with_seed(1);
        let mut engine = Engine::new(host, settings, cell.clone(), Arc::new(|| ()));
        for command in [open_command(name)].into_iter().chain(commands) {
            engine.handle(command);
        }
        cell.newest()
    }

    #[test]
    fn a_forest_opens_at_its_own_root_and_keeps_its_labels() {
        let memory = Memory::default();
        memory.files.put("runs.jsonl", forest_file());
        let label = Command::SetLabel {
            trees: vec![TreeIdx(31)],
            label: Some(Label::Abnormal),
        };
        let shown = page(&memory, "runs.jsonl", vec![label]);
        let analysis = shown.analysis().expect("it is open");
        assert_eq!(
            (analysis.root_name.as_str(), analysis.forest.len()),
            ("step", 60)
        );
        assert_eq!(shown.edits.labels.len(), 1, "{:?}", shown.notices);
        // The same file under another name, in another page of this browser.
        memory.files.put("copy.jsonl", forest_file());
        assert_eq!(
            page(&memory, "copy.jsonl", Vec::new()).edits.labels.len(),
            1
        );
    }

    #[test]
    fn two_pages_never_mix_their_journals() {
        let memory = Memory::default();
        memory.files.put("a.jsonl", forest_file());
        let mut host = BrowserHost::new(memory);
        host.load_trace("a.jsonl", Progress::none()).unwrap();
        let mut open = || {
            host.open_journal("a.jsonl", &RunIdentity::default())
                .unwrap()
        };
        let (mut first, mut second) = (open(), open());
        first.writer.append("one").unwrap();
        let refused = second.writer.append("two").unwrap_err().to_string();
        assert!(refused.contains("another page"), "{refused}");
        assert_eq!(open().lines, ["one"]);
    }

    #[test]
    fn unusable_files_are_refused_with_their_name() {
        let memory = Memory::default();
        let text = forest_file();
        memory
            .files
            .put("cut.jsonl", text[..text.len() / 2].to_vec());
        let huge = MAX_TRACE_BYTES + 1;
        memory.files.pretend("huge.callgrove", huge, &[]);
        let session = format!("{{\"callgrove_session\": 3,{}", " ".repeat(64));
        let huge = MAX_FILE_BYTES + 1;
        memory.files.pretend("huge.json", huge, session.as_bytes());
        for (name, expected) in [
            ("cut.jsonl", "is not a tree"),
            ("gone.jsonl", "drop the file"),
            ("huge.callgrove", "at most 320 MB; run `callgrove serve"),
            ("huge.json", "at most 60 MB"),
        ] {
            let shown = page(&memory, name, Vec::new());
            let notice = &shown.notices.first().expect("a notice").text;
            assert!(
                notice.contains(name) && notice.contains(expected),
                "{notice}"
            );
            assert!(shown.analysis().is_none());
        }
    }

    #[test]
    fn saved_files_are_downloaded() {
        let memory = Memory::default();
        memory.files.put("a.jsonl", forest_file());
        let path = "model.json".to_owned();
        page(&memory, "a.jsonl", vec![Command::SaveModel { path }]);
        let downloads = memory.downloads.lock().unwrap();
        assert_eq!(downloads[0].0, "model.json");
        assert!(downloads[0].1.starts_with(b"{"));
    }
}
