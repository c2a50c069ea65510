//! The views' platform on the desktop: file dialogs, kinds of paths, stored preferences.

use std::path::{Path, PathBuf};

use callgrove_gui::{
    ExportProgress, FileMaker, FilePurpose, InputFinder, PathKind, Platform, command_for,
};
use callgrove_pipeline::is_server;
use callgrove_report::ReportOrigin;
use callgrove_session::{Command, UserCommand};
use callgrove_source::PATH_SEPARATOR;
use callgrove_watch::RECORDED_TREES;

use crate::example::open_example;
use crate::guard::registry;
use crate::output::warn;
use crate::report_origin::origin;
use callgrove_headless::{Readers, config_folder, input_files, replace_file};

/// The dialogs and files of this machine.
pub(crate) struct NativePlatform {
    /// Path of the preferences; `None` without a home folder.
    preferences: Option<PathBuf>,
}

impl NativePlatform {
    pub(crate) fn new() -> Self {
        Self {
            preferences: config_folder().map(|folder| folder.join("window.json")),
        }
    }
}

/// Returns the command that opens a source named on the command line or in the window.
pub(crate) fn open_command(named: &str) -> UserCommand {
    command_for(named, kind_of(named))
}

/// Returns the commands that open sources given together. Traces are one run.
pub(crate) fn open_commands(named: &[String], root: Option<&str>) -> Vec<UserCommand> {
    let (mut commands, mut traces) = (Vec::new(), Vec::new());
    for named in named {
        match open_command(named) {
            UserCommand::Engine(Command::OpenTrace { source, .. }) => traces.push(source),
            other => commands.push(other),
        }
    }
    if !traces.is_empty() {
        let open = Command::OpenTrace {
            source: traces.join(PATH_SEPARATOR),
            function: root.map(str::to_owned),
        };
        commands.insert(0, open.into());
    }
    commands
}

fn kind_of(named: &str) -> PathKind {
    let path = Path::new(named);
    if named.starts_with(RECORDED_TREES) {
        PathKind::Trace
    } else if is_records(path) {
        PathKind::Records
    } else {
        PathKind::Trace
    }
}

/// Returns whether a run is given by its records: a provenance database or a server of one.
pub(crate) fn is_records(source: &Path) -> bool {
    let is_address = |named: &str| named.contains("://") || is_server(named);
    source.to_str().is_some_and(is_address) || callgrove_provdb_stores::is_database(source)
}

impl Platform for NativePlatform {
    fn pick(
        &self,
        purpose: FilePurpose,
        suggested: &str,
        reply: Box<dyn FnOnce(Option<String>) + Send>,
    ) -> bool {
        if cfg!(target_os = "linux") && std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_none() {
            return false;
        }
        let mut dialog = rfd::FileDialog::new()
            .set_title(purpose.title())
            .set_file_name(suggested);
        if !purpose.extensions().is_empty() {
            dialog = dialog.add_filter(purpose.title(), purpose.extensions());
        }
        // The dialog blocks until the user answers; the window must not.
        let ask = move || {
            let path = match (purpose.is_folder(), purpose.is_save()) {
                (true, _) => dialog.pick_folder(),
                (false, true) => dialog.save_file(),
                (false, false) => dialog.pick_file(),
            };
            reply(path.map(|path| path.to_string_lossy().into_owned()));
        };
        std::thread::Builder::new()
            .name("file dialog".to_owned())
            .spawn(ask)
            .is_ok()
    }

    fn open(&self, named: &str) -> UserCommand {
        open_command(named)
    }

    fn demo(&self) -> Option<UserCommand> {
        open_example()
            .inspect_err(|error| warn(&format!("{error:#}")))
            .ok()
            .map(UserCommand::from)
    }

    fn save(&self, path: &str, content: &[u8]) -> Result<(), String> {
        write_file(path, content)
    }

    fn make_file(&self, path: String, make: FileMaker, progress: ExportProgress) {
        let of_window = progress.clone();
        let work = move || {
            progress.run(make, |content| write_file(&path, content));
        };
        let spawned = std::thread::Builder::new()
            .name("export".to_owned())
            .spawn(work);
        if let Err(error) = spawned {
            of_window.finish(Err(format!("no thread can be started: {error}")));
        }
    }

    fn report_origin(&self) -> ReportOrigin {
        origin()
    }

    fn input_files(&self, source: &str) -> InputFinder {
        let source = source.to_owned();
        Box::new(move |progress| {
            input_files(&registry(), &source, true, progress).map_err(|error| format!("{error:#}"))
        })
    }

    fn load_preferences(&self) -> Option<String> {
        std::fs::read_to_string(self.preferences.as_ref()?).ok()
    }

    fn store_preferences(&self, text: &str) {
        let Some(path) = &self.preferences else {
            return;
        };
        let folder = path.parent().unwrap_or(path);
        let stored = std::fs::create_dir_all(folder)
            .and_then(|()| replace_file(path, text.as_bytes(), Readers::User));
        if let Err(error) = stored {
            let path = path.display();
            warn(&format!(
                "could not store the window's preferences: {error}: {path}"
            ));
        }
    }
}

fn write_file(path: &str, content: &[u8]) -> Result<(), String> {
    replace_file(Path::new(path), content, Readers::ByMask)
        .map_err(|error| format!("cannot write {path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_addresses_may_lack_the_scheme() {
        for named in ["http://head:5559", "head:5559", "127.0.0.1:5559"] {
            assert_eq!(kind_of(named), PathKind::Records, "{named}");
        }
        for named in ["runs/lammps", "C:trace", "run:77777", "runs/a:b"] {
            assert_eq!(kind_of(named), PathKind::Trace, "{named}");
        }
    }
}
