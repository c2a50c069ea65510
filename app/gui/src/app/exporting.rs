//! Tables and reports as files: what they hold, and how their making is followed.

use std::sync::Arc;
use std::time::Duration;

use callgrove_actions::{FilePurpose, ReportScope, WindowTable};
use callgrove_export::SinkFormat;
use callgrove_report::{CandidateChoice, IncidentChoice, ReportRequest};
use callgrove_session::{Selection, Severity, Snapshot};
use callgrove_tables::{ChangeTable, FlatTable, IncidentTable, TrendTable};
use egui::Context;

use super::CallgroveApp;
use crate::background::{ExportJob, FileMaker};
use crate::export::{TableMaker, candidates_table, report_html, table_of};

/// Period of frames while a file is made.
const PERIOD: Duration = Duration::from_millis(100);
/// Number of incidents of a report of the whole run.
const MAX_INCIDENTS: usize = 5;
/// Number of executions of a report.
const MAX_CANDIDATES: usize = 20;

impl CallgroveApp {
    /// Asks for the file of the focused view's table.
    pub(super) fn ask_for_table(&mut self, ctx: &Context) {
        let table = WindowTable::of_view(self.focus);
        if table.is_known(self.session.snapshot()) {
            self.ask_for_path(ctx, FilePurpose::ExportTable(table));
        } else {
            let text = format!(
                "There is no table of {} to export. Click the view whose table you want.",
                table.texts().name
            );
            self.session.add_notice(Severity::Warning, text);
        }
    }

    /// Exports the rows that a table lists, in their order; the file name decides on the format.
    pub(super) fn export_table(&mut self, table: WindowTable, path: String) {
        let subject = format!("the table of {}", table.texts().name);
        let made = SinkFormat::of_name(&path)
            .ok_or_else(|| {
                let known = FilePurpose::ExportTable(table).extensions().join(", .");
                format!("the name {path} needs one of the extensions .{known}")
            })
            .and_then(|format| Ok(self.table(table)?(format)));
        self.begin_export(subject, path, made);
    }

    /// Exports a report.
    pub(super) fn export_report(&mut self, scope: ReportScope, path: String) {
        let snapshot = Arc::clone(self.session.snapshot());
        let subject = match scope {
            ReportScope::Run => "a report of the run",
            ReportScope::Selection => "a report of the selection",
        };
        let mut request = self.report_request(scope, &snapshot);
        let source = snapshot.source.clone().unwrap_or_default();
        let find_inputs = self.platform.input_files(&source);
        let made: FileMaker = Box::new(move |progress| {
            request.inputs = find_inputs(progress.part(0.0, 0.5))?;
            let html = report_html(&snapshot, &request, progress.part(0.5, 1.0));
            Ok(html.map_err(|cause| cause.to_string())?.into_bytes())
        });
        self.begin_export(subject.to_owned(), path, Ok(made));
    }

    fn report_request(&self, scope: ReportScope, snapshot: &Snapshot) -> ReportRequest {
        let mut origin = self.platform.report_origin();
        if let Some(name) = &snapshot.viewers.name {
            origin.by = Some(name.to_string());
        }
        let (incidents, candidates) = match scope {
            ReportScope::Run => (
                IncidentChoice::Costliest {
                    at_most: MAX_INCIDENTS,
                },
                CandidateChoice::MostAbnormal {
                    at_most: MAX_CANDIDATES,
                },
            ),
            ReportScope::Selection => {
                let selected = match &snapshot.selection {
                    Selection::None => Vec::new(),
                    Selection::One(tree) => vec![*tree],
                    Selection::Group(trees) => trees.clone(),
                };
                (
                    IncidentChoice::Numbers(
                        snapshot
                            .inspected
                            .incident
                            .iter()
                            .map(|it| it + 1)
                            .collect(),
                    ),
                    CandidateChoice::Selected {
                        trees: selected,
                        at_most: MAX_CANDIDATES,
                    },
                )
            }
        };
        ReportRequest {
            incidents,
            candidates,
            with_labels: true,
            nodes: Vec::new(),
            origin,
            inputs: Vec::new(),
        }
    }

    /// Makes a file in the background, one at a time.
    fn begin_export(&mut self, subject: String, path: String, made: Result<FileMaker, String>) {
        let made = match made {
            Ok(made) => made,
            Err(cause) => {
                let text = format!("Could not export {subject}: {cause}.");
                return self.session.add_notice(Severity::Error, text);
            }
        };
        if self.export.is_some() {
            let text = format!("Could not export {subject}: another export is in progress.");
            return self.session.add_notice(Severity::Warning, text);
        }
        let job = ExportJob::new(subject, path.clone());
        self.platform.make_file(path, made, job.progress());
        self.export = Some(job);
    }

    /// Shows the result of an export once it is known.
    pub(super) fn follow_export(&mut self, ctx: &Context) {
        let Some(job) = &self.export else { return };
        let Some(result) = job.result() else {
            ctx.request_repaint_after(PERIOD);
            return;
        };
        self.export = None;
        match result {
            Ok(text) => self.session.add_notice(Severity::Info, text),
            Err(text) => self.session.add_notice(Severity::Error, text),
        }
    }

    /// Returns the maker of a table, with the rows that are listed now.
    fn table(&mut self, table: WindowTable) -> Result<TableMaker, String> {
        let snapshot = Arc::clone(self.session.snapshot());
        let views = &mut self.states.views;
        let watch = &snapshot.watch;
        let unknown = || format!("there is no table of {} yet", table.texts().name);
        Ok(match table {
            WindowTable::Candidates => {
                views.candidates.refresh(&snapshot);
                let trees = views.candidates.shown().to_vec();
                candidates_table(Arc::clone(&snapshot), trees)
            }
            WindowTable::Incidents => {
                let causes = snapshot.causes().ok_or_else(unknown)?;
                let num_shown = views.incidents.num_shown(causes);
                let incidents = causes.incidents().iter().enumerate().take(num_shown);
                let rows = incidents.map(|(at, incident)| causes.incident_row(at, incident));
                let begin = snapshot.time_span().unwrap_or_default().0;
                let begin_us = begin.as_us();
                table_of(IncidentTable { begin_us }, rows.collect())
            }
            WindowTable::Trends => {
                let trends = snapshot.trends().ok_or_else(unknown)?;
                table_of(TrendTable, trends.rows().collect())
            }
            WindowTable::Patterns => flat(views.patterns.rows(&snapshot)),
            WindowTable::Waits => flat(views.waits.wait_rows(&snapshot).ok_or_else(unknown)?),
            WindowTable::Roots => flat(views.waits.root_rows(&snapshot)),
            WindowTable::Changes => {
                let comparison = snapshot.comparison().ok_or_else(unknown)?;
                table_of(ChangeTable, views.changes.listed(comparison))
            }
            WindowTable::Profile => flat(views.profile.rows(watch.overview())),
            WindowTable::Counters => flat(views.counters.rows(&watch.overview().counters)),
            WindowTable::Records => {
                let results = watch.visit().results.as_ref().ok_or_else(unknown)?;
                flat(views.records.rows(&snapshot, results))
            }
        })
    }
}

fn flat<R>(rows: Vec<R>) -> TableMaker
where
    R: callgrove_tables::FlatRow + Send + 'static,
{
    table_of(FlatTable::<R>::default(), rows)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use callgrove_app_tests::demo_run::demo_snapshot;
    use callgrove_app_tests::stall_run::{stalled_snapshot, with_incident};
    use callgrove_report::ReportOrigin;
    use callgrove_session::InspectCommand;
    use egui::{Key, Modifiers};
    use egui_kittest::kittest::Queryable as _;

    use super::super::tests::{Window, order};
    use super::*;
    use crate::platform::{NoDialogs, Platform};

    type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

    /// A platform that keeps the files.
    struct Keeps(Files);

    impl Platform for Keeps {
        fn pick(&self, _: FilePurpose, _: &str, _: Box<dyn FnOnce(Option<String>) + Send>) -> bool {
            false
        }

        fn save(&self, path: &str, content: &[u8]) -> Result<(), String> {
            let mut files = self.0.lock().unwrap();
            files.insert(path.to_owned(), content.to_owned());
            Ok(())
        }

        fn report_origin(&self) -> ReportOrigin {
            NoDialogs.report_origin()
        }
    }

    struct Exports {
        window: Window,
        files: Files,
    }

    impl Exports {
        fn of(snapshot: Snapshot) -> Self {
            let files = Files::default();
            let platform = Box::new(Keeps(Arc::clone(&files)));
            Self {
                window: Window::with_platform(snapshot, platform),
                files,
            }
        }

        /// Exports the table of the view with a key, to a file with this name before its extension.
        fn table(&mut self, view: Key, name: &str) -> String {
            self.window.press(view);
            let keys = Modifiers::COMMAND.plus(Modifiers::SHIFT);
            self.window.harness.key_press_modifiers(keys, Key::E);
            self.window.harness.run();
            self.name_file(name);
            self.content(&format!("{name}.csv"))
        }

        fn name_file(&mut self, name: &str) {
            let field = self.window.harness.get_by_label("Path");
            field.type_text(name);
            self.window.harness.run();
            self.window.click("Export");
        }

        fn content(&self, name: &str) -> String {
            let files = self.files.lock().unwrap();
            let content = files.get(name).unwrap_or_else(|| panic!("{name}"));
            String::from_utf8(content.clone()).unwrap()
        }

        fn notices(&self) -> Vec<String> {
            let notices = self.window.harness.state().snapshot().notices.clone();
            notices.iter().map(|notice| notice.text.clone()).collect()
        }
    }

    #[test]
    fn the_listed_executions_become_a_file_in_their_order() {
        let snapshot = demo_snapshot();
        let trees = order(&snapshot);
        let mut exports = Exports::of(snapshot.clone());
        let table = exports.table(Key::Num1, "found");
        let forest = &snapshot.analysis().unwrap().forest;
        let codes = trees.iter().map(|&tree| forest.code(tree).to_string());
        let written = table
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap());
        assert_eq!(written.collect::<Vec<_>>(), codes.collect::<Vec<_>>());
        assert!(table.starts_with("tree,event_id,"), "{table}");
        assert!(table.contains("longer: MPI_Wait, +"), "no reasons: {table}");
        assert_eq!(
            exports.notices().last().unwrap(),
            "Exported the table of candidates to found.csv."
        );
    }

    #[test]
    fn each_view_has_its_table() {
        let snapshot = stalled_snapshot();
        let num_incidents = snapshot.causes().unwrap().incidents().len();
        let mut exports = Exports::of(snapshot);
        let incidents = exports.table(Key::I, "incidents");
        assert_eq!(incidents.lines().count(), num_incidents + 1, "{incidents}");
        let waits = exports.table(Key::H, "waits");
        assert!(
            waits.starts_with("program,rank,waited_for_rank,num_waits,total_us\n"),
            "{waits}"
        );
        assert!(waits.lines().count() > 3, "{waits}");
        exports.window.press(Key::B);
        let keys = Modifiers::COMMAND.plus(Modifiers::SHIFT);
        exports.window.harness.key_press_modifiers(keys, Key::E);
        exports.window.harness.run();
        let notices = exports.notices();
        let last = notices.last().unwrap();
        assert!(last.starts_with("There is no table of changes"), "{last}");
    }

    #[test]
    fn another_extension_is_refused_with_the_possible_ones() {
        let mut exports = Exports::of(demo_snapshot());
        let app = exports.window.harness.state_mut();
        app.export_table(WindowTable::Candidates, "found.xlsx".to_owned());
        let notices = exports.notices();
        let last = notices.last().unwrap();
        assert!(last.contains("needs one of the extensions .csv"), "{last}");
        assert!(exports.files.lock().unwrap().is_empty());
    }

    #[test]
    fn a_report_of_the_selection_has_its_incident_and_executions_only() {
        let snapshot = with_incident(&stalled_snapshot(), 1);
        let mut exports = Exports::of(snapshot);
        let app = exports.window.harness.state_mut();
        app.session.send(InspectCommand::Incident(Some(1)));
        app.export_report(ReportScope::Selection, "selection.html".to_owned());
        exports.window.harness.run();
        let app = exports.window.harness.state_mut();
        app.export_report(ReportScope::Run, "run.html".to_owned());
        let selection = exports.content("selection.html");
        assert!(selection.contains("Incident 2:") && !selection.contains("Incident 1:"));
        assert!(selection.contains("<svg") && selection.contains("are selected"));
        let run = exports.content("run.html");
        assert!(run.contains("Incident 1:") && run.contains("Incident 2:"));
    }
}
