//! The views' platform in a browser: its file dialog, its storage, the example.

use callgrove_gui::{FilePurpose, PathKind, Platform, command_for};
use callgrove_model::TimeNs;
use callgrove_report::ReportOrigin;
use callgrove_session::UserCommand;

use super::files::Files;
use super::{browser, page};
use crate::file_store::open_command;

/// Storage key of the preferences.
const PREFERENCES: &str = "callgrove preferences";
/// File name of the example.
const EXAMPLE: &str = "lammps-4r-small.callgrove";
/// Content of the example file.
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
            // The browser chooses the folder of downloads.
            reply(Some(suggested.to_owned()));
            return true;
        }
        // Files of several ranks have many extensions, and some have none.
        let accept = purpose.extensions().iter();
        let accept: Vec<String> = accept.map(|extension| format!(".{extension}")).collect();
        let accept = accept.join(",");
        let asked = self.files.choose(&accept, purpose.is_folder(), reply);
        if let Err(error) = asked {
            page::log(&page::error_text(&error));
        }
        true
    }

    fn open(&self, named: &str) -> UserCommand {
        command_for(named, PathKind::Trace)
    }

    fn demo(&self) -> Option<UserCommand> {
        self.files.put(EXAMPLE, EXAMPLE_CONTENT);
        Some(open_command(EXAMPLE).into())
    }

    fn has_paths(&self) -> bool {
        false
    }

    fn report_origin(&self) -> ReportOrigin {
        ReportOrigin {
            at: TimeNs((js_sys::Date::now() * 1e6) as i64),
            by: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: String::new(),
        }
    }

    fn save(&self, path: &str, content: &[u8]) -> Result<(), String> {
        browser::save(path, content)
            .map_err(|error| format!("cannot download {path}: {}", page::error_text(&error)))
    }

    fn load_preferences(&self) -> Option<String> {
        browser::stored(PREFERENCES)
    }

    fn store_preferences(&self, text: &str) {
        if let Err(cause) = browser::store(PREFERENCES, text) {
            page::log(&format!("could not store the preferences: {cause}"));
        }
    }
}
