//! What the views need of the browser: its file dialog, its storage, the example.

use callgrove_gui::{FilePurpose, Platform};
use callgrove_session::Command;

use super::{browser, files, page};
use crate::shelf::{Shelf, open_command};

/// Where the preferences are kept.
const PREFERENCES: &str = "callgrove preferences";
/// The example, as a file on the shelf.
const EXAMPLE: &str = "lammps-4r-small.jsonl";
const EXAMPLE_CONTENT: &[u8] =
    include_bytes!("../../../assets/lammps-4r-small/pair-eam-compute.jsonl");

pub(super) struct BrowserPlatform {
    shelf: Shelf,
}

impl BrowserPlatform {
    pub(super) fn new(shelf: Shelf) -> Self {
        Self { shelf }
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
        let asked = files::choose(&accept, &self.shelf, reply);
        if let Err(error) = asked {
            page::log(&page::words_of(&error));
        }
        true
    }

    fn open(&self, named: &str) -> Command {
        open_command(named)
    }

    fn demo(&self) -> Option<Command> {
        self.shelf.put(EXAMPLE, EXAMPLE_CONTENT.to_vec());
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
