//! The browser's side of the session: files on the shelf, journals in the browser's storage.

use std::collections::BTreeMap;

use callgrove_model::{FunctionName, Progress, RunIdentity, TimeNs, Trace, hex};
use callgrove_session::wire::{TRACE_FILE_EXTENSION, read_trace_file};
use callgrove_session::{
    ForestFileError, Host, HostError, JournalWriter, OpenJournal, read_forest,
};
use sha2::{Digest, Sha256};

use crate::shelf::Shelf;

/// What the names of journals begin with in the browser's storage.
pub const JOURNAL: &str = "callgrove journal ";

/// What the host needs of the browser.
pub trait Browser: Clone + Send + 'static {
    /// The text that was kept under a key.
    fn kept(&self, key: &str) -> Option<String>;

    /// Keeps a text under a key, also when the page is closed.
    ///
    /// # Errors
    /// Why the browser refuses, in words.
    fn keep(&self, key: &str, text: &str) -> Result<(), String>;

    /// Hands a file to the person.
    ///
    /// # Errors
    /// Why the browser refuses, in words.
    fn download(&self, name: &str, content: &[u8]) -> Result<(), String>;

    /// Milliseconds since the epoch.
    fn now_ms(&self) -> f64;
}

/// Lends the engine what a page has.
pub struct BrowserHost<B> {
    browser: B,
    shelf: Shelf,
    /// Of each forest that was read, the function of its roots.
    roots: BTreeMap<String, String>,
}

/// The lines of one journal, each under a key of its own, so that a line costs the same however many there are.
struct StoredJournal<B> {
    browser: B,
    name: String,
    num_lines: usize,
}

impl<B: Browser> BrowserHost<B> {
    /// A host that finds files on `shelf`.
    pub fn new(browser: B, shelf: Shelf) -> Self {
        Self {
            browser,
            shelf,
            roots: BTreeMap::new(),
        }
    }

    fn file(&self, name: &str) -> Result<std::sync::Arc<[u8]>, HostError> {
        self.shelf.get(name).ok_or_else(|| {
            let text = format!(
                "the page does not have {name}; drop the file on it, or choose it with Browse"
            );
            HostError::Failed(text)
        })
    }
}

impl<B: Browser> Host for BrowserHost<B> {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        let bytes = self.file(source)?;
        if source.ends_with(&format!(".{TRACE_FILE_EXTENSION}")) {
            let read = read_trace_file(&bytes[..], bytes.len() as u64, progress);
            return read.map_err(|error| error.of_source(source));
        }
        let read = read_forest(&bytes[..], bytes.len() as u64, progress);
        let (forest, _) = read.map_err(|error| match error {
            ForestFileError::Cancelled => HostError::Cancelled,
            error => HostError::Failed(format!("cannot use {source} as a forest file: {error}")),
        })?;
        let trace = forest.trace();
        if let [function] = forest.functions() {
            let name = FunctionName::parse(trace.names.name(*function)).qualified;
            self.roots.insert(source.to_owned(), name.to_owned());
        }
        Ok(Trace::clone(trace))
    }

    fn root_of(&self, source: &str) -> Option<String> {
        self.roots.get(source).cloned()
    }

    fn open_journal(&mut self, source: &str, _: &RunIdentity) -> Result<OpenJournal, HostError> {
        // The content, not the name, says which run it is.
        let digest = Sha256::digest(self.file(source)?);
        let name = format!("{JOURNAL}{}", hex(&digest[..16]));
        let kept = |number: usize| self.browser.kept(&key(&name, number));
        let lines: Vec<String> = (0..).map_while(kept).collect();
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
        self.file(path).map(|content| content.to_vec())
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
        if self.browser.kept(&key).is_some() {
            let text = "another page has the same run open; close one of them and reload the other";
            return Err(HostError::Failed(text.to_owned()));
        }
        self.browser.keep(&key, line).map_err(HostError::Failed)?;
        self.num_lines += 1;
        Ok(())
    }
}

fn key(journal: &str, number: usize) -> String {
    format!("{journal} {number}")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use callgrove_model::{Label, TreeIdx};
    use callgrove_session::{Command, Engine, LearnSettings, Snapshot, SnapshotCell};

    use super::*;
    use crate::fixture::forest_file;
    use crate::shelf::open_command;

    /// Names and contents.
    type Downloads = Vec<(String, Vec<u8>)>;

    /// A browser that keeps everything in memory.
    #[derive(Clone, Default)]
    struct Memory {
        kept: Arc<Mutex<BTreeMap<String, String>>>,
        downloads: Arc<Mutex<Downloads>>,
    }

    impl Browser for Memory {
        fn kept(&self, key: &str) -> Option<String> {
            self.kept.lock().unwrap().get(key).cloned()
        }

        fn keep(&self, key: &str, text: &str) -> Result<(), String> {
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

    /// What a page that opens `name` shows after `commands`.
    fn page(memory: &Memory, shelf: &Shelf, name: &str, commands: Vec<Command>) -> Arc<Snapshot> {
        let host = Box::new(BrowserHost::new(memory.clone(), shelf.clone()));
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
        let (memory, shelf) = (Memory::default(), Shelf::default());
        shelf.put("runs.jsonl", forest_file());
        let label = Command::SetLabel {
            trees: vec![TreeIdx(31)],
            label: Some(Label::Abnormal),
        };
        let shown = page(&memory, &shelf, "runs.jsonl", vec![label]);
        let analysis = shown.analysis.as_ref().expect("it is open");
        assert_eq!(
            (analysis.root_name.as_str(), analysis.forest.len()),
            ("step", 60)
        );
        assert_eq!(shown.labels.len(), 1, "{:?}", shown.notices);
        // The same file under another name, in another page of this browser.
        shelf.put("copy.jsonl", forest_file());
        assert_eq!(
            page(&memory, &shelf, "copy.jsonl", Vec::new()).labels.len(),
            1
        );
    }

    #[test]
    fn two_pages_never_mix_their_journals() {
        let (memory, shelf) = (Memory::default(), Shelf::default());
        shelf.put("a.jsonl", forest_file());
        let mut host = BrowserHost::new(memory, shelf);
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
    fn what_cannot_be_used_is_refused_with_its_name() {
        let (memory, shelf) = (Memory::default(), Shelf::default());
        let text = forest_file();
        shelf.put("cut.jsonl", text[..text.len() / 2].to_vec());
        for (name, expected) in [("cut.jsonl", "is no tree"), ("gone.jsonl", "drop the file")] {
            let shown = page(&memory, &shelf, name, Vec::new());
            let told = &shown.notices.first().expect("it is told").text;
            assert!(told.contains(name) && told.contains(expected), "{told}");
            assert!(shown.analysis.is_none());
        }
    }

    #[test]
    fn what_is_saved_is_downloaded() {
        let (memory, shelf) = (Memory::default(), Shelf::default());
        shelf.put("a.jsonl", forest_file());
        let path = "model.json".to_owned();
        page(
            &memory,
            &shelf,
            "a.jsonl",
            vec![Command::SaveModel { path }],
        );
        let downloads = memory.downloads.lock().unwrap();
        assert_eq!(downloads[0].0, "model.json");
        assert!(downloads[0].1.starts_with(b"{"));
    }
}
