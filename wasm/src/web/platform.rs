//! What the views need of the browser: its file dialog, its storage, the example.

use callgrove_gui::{FilePurpose, Platform};
use callgrove_session::Command;

use super::files::Files;
use super::{browser, page};
use crate::shelf::open_command;

/// Where the preferences are kept.
const PREFERENCES: &str = "callgrove preferences";
/// The example, as a file on the shelf.
const EXAMPLE: &str = "lammps-4r-small.callgrove";
const EXAMPLE_CONTENT: &[u8] =
    include_bytes!("../../../assets/lammps-4r-small/lammps-4r-small.callgrove");

pub(super) struct BrowserPlatform {
    files: Files,
}

impl BrowserPlatform {
    pub(super) fn new(files: Files) -> Self {
        Self { files }
    }
}

impl Platform for BrowserPlatform {
    fn pick(
        &self,
        purpose: FilePurpose,
        suggested: &str,
        reply: Box<dyn FnOnce(Option<String>) + Send>,
    ) -> bool {
        if purpose.is_save() {
            // The browser knows where downloads go.
            reply(Some(suggested.to_owned()));
            return true;
        }
        let accept = match purpose.extension() {
            Some(extension) => format!(".{extension}"),
            None => ".callgrove,.jsonl,.json".to_owned(),
        };
        let asked = self.files.choose(&accept, reply);
        if let Err(error) = asked {
            page::log(&page::words_of(&error));
        }
        true
    }

    fn open(&self, named: &str) -> Command {
        open_command(named)
    }

    fn demo(&self) -> Option<Command> {
        self.files.put(EXAMPLE, EXAMPLE_CONTENT);
        Some(open_command(EXAMPLE))
    }

    fn has_paths(&self) -> bool {
        false
    }

    fn load_preferences(&self) -> Option<String> {
        browser::kept(PREFERENCES)
    }

    fn store_preferences(&self, text: &str) {
        if let Err(cause) = browser::keep(PREFERENCES, text) {
            page::log(&format!("the preferences cannot be stored: {cause}"));
        }
    }
}
