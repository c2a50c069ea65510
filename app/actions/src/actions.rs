//! The table of all actions. The menus, the keys and the command palette are made from it.

use callgrove_model::{FuncId, ProgramId, RankId};
use callgrove_session::{MapMethod, Snapshot, TimeRange};
use callgrove_watch::Connection;
use egui::{Key, KeyboardShortcut, Modifiers};

use super::file_purpose::{FilePurpose, ReportScope};
use super::layout_name::LayoutName;
use super::view::View;
use super::window_table::WindowTable;

/// An action that the user can start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Asks for a path, and does with it what the purpose says.
    File(FilePurpose),
    /// Exports the focused view as a picture.
    ExportView,
    /// Exports the table of the focused view.
    ExportTable,
    /// Cancels the export in progress.
    CancelExport,
    /// Ends the comparison with an earlier run.
    EndComparison,
    /// Asks for the address of a running job or of its records.
    Connect,
    /// Ends the connection to a running job or its records.
    Disconnect,
    /// Opens the example trace.
    Demo,
    /// Undoes the last edit.
    Undo,
    /// Redoes the last undone edit.
    Redo,
    /// Labels the selection normal, then selects the next candidate.
    Normal,
    /// Labels the selection abnormal, then selects the next candidate.
    Abnormal,
    /// Removes the label of the selection.
    Unlabel,
    /// Selects the next candidate without a label.
    Skip,
    /// Clears the selection.
    ClearSelection,
    /// Selects the next incident, candidate or record.
    Next,
    /// Selects the previous incident, candidate or record.
    Previous,
    /// Begins a search in the focused view.
    Find,
    /// Opens the search for ranks, functions and executions.
    GoTo,
    /// Opens the list of all actions.
    Palette,
    /// Returns to the previous place of the watched run.
    Back,
    /// Returns to the place before going back.
    Forward,
    /// Brings a view to the front and focuses it.
    Focus(View),
    /// Brings a view to the front, and leaves the focus where it is.
    Show(View),
    /// Arranges the views for a task.
    Layout(LayoutName),
    /// Arranges the views as at the first start.
    ResetLayout,
    /// Fits the focused view to its content.
    Fit,
    /// Begins to draw around a group on the map.
    Lasso,
    /// Computes the map by a method.
    DrawMap(MapMethod),
    /// Selects the execution of the record in its trace.
    OpenInTrace,
    /// Queries the records of the selected call or tree.
    FindRecords,
    /// Shows or hides how the delay of the selection spread.
    ToggleCascade,
    /// Puts a rank on top of the timeline.
    ShowRank(ProgramId, RankId),
    /// Searches the calls of a function on the timeline.
    FindCalls(FuncId),
    /// Moves the timeline to a time range.
    ShowTime(TimeRange),
    /// Trains the model with the labels.
    Train,
    /// Accepts the pending training.
    Keep,
    /// Applies the pending labels to their executions only.
    OnlyThese,
    /// Trains the model with the labels that were held back.
    LearnHeld,
    /// Pauses or resumes the watched run.
    Pause,
    /// Shows the record as JSON, or as a page.
    ToggleJson,
    /// Switches between the dark and the light theme.
    SwitchAppearance,
    /// Opens the keys and the help.
    Help,
    /// Cancels the running operation.
    Cancel,
    /// Closes what is open: a dialog, a list, a search.
    Escape,
}

/// The menu that holds an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Menu {
    /// Files: open, save, export.
    File,
    /// Labels, training and selection.
    Edit,
    /// Navigation.
    Go,
    /// Views and their arrangement.
    View,
    /// Help.
    Help,
    /// In no menu: the meaning of the key depends on what is open.
    None,
}

impl Menu {
    /// The menus of the bar, from the left.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::File, "File"),
        (Self::Edit, "Edit"),
        (Self::Go, "Go"),
        (Self::View, "View"),
        (Self::Help, "Help"),
    ];
}

/// An action with its names, menu and keys.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The action.
    pub action: Action,
    /// Name in stored preferences.
    pub id: &'static str,
    /// Name in menus and the palette.
    pub name: &'static str,
    /// The menu that holds it.
    pub menu: Menu,
    /// Default keys.
    pub(crate) keys: &'static [KeyboardShortcut],
}

const fn key(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

const fn ctrl(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND, key)
}

const fn ctrl_shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key)
}

const fn shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::SHIFT, key)
}

const fn alt(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::ALT, key)
}

const fn entry(
    action: Action,
    id: &'static str,
    name: &'static str,
    menu: Menu,
    keys: &'static [KeyboardShortcut],
) -> Entry {
    Entry {
        action,
        id,
        name,
        menu,
        keys,
    }
}

/// All actions, in the order of the menus.
#[rustfmt::skip]
pub const ACTIONS: [Entry; 68] = {
    use Action as A;
    use FilePurpose as F;
    use Menu as M;
    [
        entry(A::File(F::OpenTrace), "open_trace", "Open a trace…", M::File, &[ctrl(Key::O)]),
        entry(A::File(F::CompareWith), "compare_with", "Compare with an earlier run…", M::File, &[ctrl(Key::D)]),
        entry(A::EndComparison, "end_comparison", "End the comparison", M::File, &[]),
        entry(A::Connect, "connect", "Attach records or a running job…", M::File, &[ctrl(Key::L)]),
        entry(A::Disconnect, "disconnect", "Stop watching", M::File, &[]),
        entry(A::Demo, "demo", "Open the demo", M::File, &[]),
        entry(A::File(F::LoadSession), "load_session", "Open a session…", M::File, &[]),
        entry(A::File(F::SaveSession), "save_session", "Save the session…", M::File, &[ctrl(Key::S)]),
        entry(A::File(F::ImportLabels), "import_labels", "Import labels…", M::File, &[]),
        entry(A::File(F::ExportLabels), "export_labels", "Export labels…", M::File, &[]),
        entry(A::File(F::LoadModel), "load_model", "Load a model…", M::File, &[]),
        entry(A::File(F::SaveModel), "save_model", "Save the model…", M::File, &[]),
        entry(A::ExportView, "export_view", "Export view…", M::File, &[ctrl(Key::E)]),
        entry(A::ExportTable, "export_table", "Export table…", M::File, &[ctrl_shift(Key::E)]),
        entry(A::File(F::ExportTable(WindowTable::Trends)), "export_trends", "Export trends…", M::None, &[]),
        entry(A::File(F::ExportTable(WindowTable::Roots)), "export_roots", "Export roots of delays…", M::None, &[]),
        entry(A::File(F::ExportReport(ReportScope::Run)), "export_report", "Export report…", M::File, &[]),
        entry(A::File(F::ExportReport(ReportScope::Selection)), "export_selection", "Export report of the selection…", M::File, &[]),

        entry(A::Redo, "redo", "Redo", M::Edit, &[ctrl_shift(Key::Z), ctrl(Key::Y)]),
        entry(A::Undo, "undo", "Undo", M::Edit, &[ctrl(Key::Z), key(Key::Backspace)]),
        entry(A::Normal, "normal", "Label normal, then next", M::Edit, &[key(Key::N)]),
        entry(A::Abnormal, "abnormal", "Label abnormal, then next", M::Edit, &[key(Key::X)]),
        entry(A::Unlabel, "unlabel", "Remove label", M::Edit, &[shift(Key::N), shift(Key::X)]),
        entry(A::Skip, "skip", "Next unlabelled", M::Edit, &[key(Key::Space)]),
        entry(A::Train, "train", "Train", M::Edit, &[key(Key::R)]),
        entry(A::Keep, "keep", "Accept the pending training", M::Edit, &[key(Key::K)]),
        entry(A::OnlyThese, "only_these", "Apply the pending labels to their executions only", M::Edit, &[key(Key::O)]),
        entry(A::LearnHeld, "learn_held", "Learn held labels", M::Edit, &[]),
        entry(A::Lasso, "lasso", "Select a group on the map", M::Edit, &[key(Key::L)]),
        entry(A::ClearSelection, "clear_selection", "Clear the selection", M::Edit, &[ctrl_shift(Key::A)]),

        entry(A::Palette, "palette", "All commands…", M::Go, &[ctrl_shift(Key::P)]),
        entry(A::GoTo, "go_to", "Go to…", M::Go, &[ctrl(Key::P)]),
        entry(A::Next, "next", "Next incident, candidate or record", M::Go, &[key(Key::Period), key(Key::ArrowDown)]),
        entry(A::Previous, "previous", "Previous incident, candidate or record", M::Go, &[key(Key::Comma), key(Key::ArrowUp)]),
        entry(A::Find, "find", "Find in the view", M::Go, &[key(Key::Slash)]),
        entry(A::Back, "back", "Back", M::Go, &[alt(Key::ArrowLeft)]),
        entry(A::Forward, "forward", "Forward", M::Go, &[alt(Key::ArrowRight)]),
        entry(A::OpenInTrace, "open_in_trace", "Show the record in its trace", M::Go, &[key(Key::T)]),
        entry(A::FindRecords, "find_records", "Show records of the selected call or tree", M::Go, &[key(Key::E)]),

        entry(A::Focus(View::Incidents), "incidents", "Incidents", M::View, &[key(Key::I)]),
        entry(A::Focus(View::Candidates), "candidates", "Candidates", M::View, &[key(Key::Num1)]),
        entry(A::Focus(View::Map), "map", "Map", M::View, &[key(Key::Num2)]),
        entry(A::Focus(View::Tree), "tree", "Tree", M::View, &[key(Key::Num3)]),
        entry(A::Focus(View::Timeline), "timeline", "Timeline", M::View, &[key(Key::Num4)]),
        entry(A::Focus(View::Details), "details", "Details", M::View, &[key(Key::Num5)]),
        entry(A::Focus(View::Overview), "overview", "Overview", M::View, &[key(Key::Num6)]),
        entry(A::Focus(View::Profile), "profile", "Profile", M::View, &[key(Key::Num7)]),
        entry(A::Focus(View::Records), "records", "Records", M::View, &[key(Key::Num8)]),
        entry(A::Focus(View::Record), "record", "Record", M::View, &[key(Key::Num9)]),
        entry(A::Focus(View::Training), "training", "Training", M::View, &[key(Key::Num0)]),
        entry(A::Focus(View::Patterns), "patterns", "Patterns", M::View, &[key(Key::Q)]),
        entry(A::Focus(View::Waits), "waits", "Waits", M::View, &[key(Key::H)]),
        entry(A::Focus(View::Changes), "changes", "Changes", M::View, &[key(Key::B)]),
        entry(A::Focus(View::Counters), "counters", "Counters", M::View, &[]),
        entry(A::Fit, "fit", "Fit the view to its content", M::View, &[key(Key::F)]),
        entry(A::ToggleCascade, "cascade", "Show how the delay spread", M::View, &[key(Key::C)]),
        entry(A::DrawMap(MapMethod::Mds), "map_mds", "Map by MDS", M::View, &[ctrl_shift(Key::Num1)]),
        entry(A::DrawMap(MapMethod::Smacof), "map_smacof", "Map by SMACOF", M::View, &[ctrl_shift(Key::Num2)]),
        entry(A::DrawMap(MapMethod::Tsne), "map_tsne", "Map by t-SNE", M::View, &[ctrl_shift(Key::Num3)]),
        entry(A::Layout(LayoutName::Analyse), "layout_analyse", "Layout: Analyse", M::View, &[ctrl(Key::Num1)]),
        entry(A::Layout(LayoutName::Watch), "layout_watch", "Layout: Watch", M::View, &[ctrl(Key::Num2)]),
        entry(A::ResetLayout, "reset_layout", "Reset the layout", M::View, &[]),
        entry(A::Pause, "pause", "Pause or resume", M::View, &[key(Key::P)]),
        entry(A::ToggleJson, "json", "Show the record as JSON", M::View, &[key(Key::J)]),
        entry(A::SwitchAppearance, "appearance", "Toggle dark mode", M::View, &[]),

        entry(A::Help, "help", "Keys and help", M::Help, &[key(Key::Questionmark)]),
        entry(A::Cancel, "cancel", "Cancel the running operation", M::None, &[]),
        entry(A::Escape, "escape", "Close", M::None, &[key(Key::Escape)]),
    ]
};

impl Action {
    /// Returns whether the action can be carried out at present.
    pub fn is_possible(self, snapshot: &Snapshot) -> bool {
        let has_trees = snapshot.analysis().is_some();
        let watch = &snapshot.watch;
        match self {
            Self::File(FilePurpose::SaveSession) => snapshot.source.is_some(),
            Self::File(FilePurpose::CompareWith) => snapshot.trace().is_some(),
            Self::File(FilePurpose::ExportTable(table)) => table.is_known(snapshot),
            Self::File(FilePurpose::ExportReport(scope)) => match scope {
                ReportScope::Run => snapshot.trace().is_some(),
                ReportScope::Selection => {
                    snapshot.inspected.incident.is_some() || snapshot.focus().is_some()
                }
            },
            Self::EndComparison => snapshot.comparison().is_some(),
            Self::File(purpose) => {
                matches!(purpose, FilePurpose::OpenTrace | FilePurpose::LoadSession) || has_trees
            }
            Self::ExportView | Self::ExportTable => {
                snapshot.calls().is_some() || snapshot.watch.is_attached()
            }
            Self::Connect => watch.is_offered(),
            Self::Disconnect | Self::Pause => {
                watch.is_attached() && *watch.connection() != Connection::Idle
            }
            Self::Undo => snapshot.edits.undo.is_some(),
            Self::Redo => snapshot.edits.redo.is_some(),
            Self::Normal | Self::Abnormal | Self::Unlabel => {
                let has_tree = snapshot.focus().is_some() || snapshot.inspected.incident.is_some();
                has_tree || watch.visit().document.is_some()
            }
            Self::ClearSelection => snapshot.focus().is_some(),
            Self::Keep | Self::OnlyThese => snapshot.model.question.is_some(),
            Self::LearnHeld => snapshot.edits.num_held > 0,
            Self::Train => has_trees && snapshot.model.question.is_none(),
            Self::Skip | Self::Lasso | Self::DrawMap(_) => has_trees,
            Self::Back => watch.can_go_back(),
            Self::Forward => watch.can_go_forward(),
            Self::ToggleJson => watch.visit().document.is_some(),
            Self::OpenInTrace => watch.visit().document.is_some() && snapshot.trace().is_some(),
            Self::FindRecords => {
                watch.is_attached()
                    && (snapshot.inspected.call.is_some() || snapshot.focus().is_some())
            }
            Self::ToggleCascade => snapshot.causes().is_some(),
            Self::Cancel => snapshot.work.is_some(),
            _ => true,
        }
    }
}
