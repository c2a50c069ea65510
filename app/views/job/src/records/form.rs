//! The query as a form: one input for each field, and a condition in the database's query language.

use callgrove_actions::context::ViewContext;
use callgrove_watch::{QueryForm, RecordCollection, SortField, TimeUnit, WatchCommand};
use egui::{ComboBox, Key, RichText, ScrollArea, TextEdit, Ui};

/// The typed text, until it is sent as a query.
#[derive(Default)]
pub(crate) struct FormState {
    draft: QueryForm,
    /// The form that the draft began with; a different one means that the user has navigated.
    origin: QueryForm,
    wants_focus: bool,
}

impl FormState {
    /// Returns whether the form on the screen began with this one.
    pub(crate) fn is_at(&self, asked: &QueryForm) -> bool {
        self.origin == *asked
    }

    /// Focuses the first field.
    pub(crate) fn begin(&mut self) {
        self.wants_focus = true;
    }
}

/// Draws the form; Enter in any field sends it. Returns whether it was sent.
pub(crate) fn form_ui(ctx: &mut ViewContext<'_>, state: &mut FormState, ui: &mut Ui) -> bool {
    let asked = &ctx.snapshot.watch.visit().form;
    if state.origin != *asked {
        state.origin = asked.clone();
        state.draft = asked.clone();
    }
    let mut is_asked = false;
    // Above the fields, so that it is visible however low the view is.
    ui.horizontal(|ui| {
        ui.label(RichText::new("Query executions").strong());
        let ask = ui.button("Run query").on_hover_text("Enter in any field");
        is_asked |= ask.clicked();
        let clear = ui.button("Clear").on_hover_text("Clear all fields");
        if clear.clicked() {
            state.draft = QueryForm::default();
        }
    });
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 6.0;
        choices_ui(&mut state.draft, ui);
        is_asked |= fields_ui(&mut state.draft, &mut state.wants_focus, ui);
        is_asked |= filter_ui(&mut state.draft, ui);
    });
    if is_asked {
        state.origin = state.draft.clone();
        ctx.watch(WatchCommand::Query(Box::new(state.draft.clone())));
    }
    is_asked
}

fn choices_ui(draft: &mut QueryForm, ui: &mut Ui) {
    ui.horizontal(|ui| {
        for collection in RecordCollection::ALL {
            ui.selectable_value(&mut draft.collection, collection, collection.name());
        }
    });
    ui.horizontal(|ui| {
        ComboBox::from_id_salt("sort")
            .selected_text(draft.sort.name())
            .show_ui(ui, |ui| {
                for sort in SortField::ALL {
                    ui.selectable_value(&mut draft.sort, sort, sort.name());
                }
            })
            .response
            .accessible_name("Sorted by");
        ui.selectable_value(&mut draft.is_descending, true, "largest first");
        ui.selectable_value(&mut draft.is_descending, false, "smallest first");
    });
}

/// Draws a text field under its name. Returns whether Enter was pressed in it.
fn field_ui(text: &mut String, name: &str, hint: &str, ui: &mut Ui) -> egui::Response {
    ui.weak(name);
    let field = TextEdit::singleline(text)
        .hint_text(hint)
        .desired_width(ui.available_width());
    ui.add(field).accessible_name(name)
}

fn is_entered(field: &egui::Response, ui: &Ui) -> bool {
    field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
}

fn fields_ui(draft: &mut QueryForm, wants_focus: &mut bool, ui: &mut Ui) -> bool {
    let func = field_ui(
        &mut draft.func,
        "Function",
        "part of its name, or a pattern with *",
        ui,
    );
    if std::mem::take(wants_focus) {
        func.request_focus();
    }
    let mut is_asked = is_entered(&func, ui);
    let fields = [
        (&mut draft.fid, "Function index", "0, 4-7"),
        (&mut draft.ranks, "Rank", "0, 4-7"),
        (&mut draft.apps, "Program", "0"),
        (&mut draft.first_step, "First step", "0"),
        (&mut draft.last_step, "Last step", "12"),
        (&mut draft.min_score, "Minimum score", "2.5"),
    ];
    for (text, name, hint) in fields {
        let field = field_ui(text, name, hint, ui);
        is_asked |= is_entered(&field, ui);
    }
    ui.weak("Minimum severity");
    ui.horizontal(|ui| {
        let field = TextEdit::singleline(&mut draft.min_severity)
            .hint_text("1.5")
            .desired_width((ui.available_width() - 130.0).max(60.0));
        let field = ui.add(field).accessible_name("Minimum severity");
        is_asked |= is_entered(&field, ui);
        for unit in TimeUnit::ALL {
            ui.selectable_value(&mut draft.severity_unit, unit, unit.name());
        }
    });
    is_asked
}

fn filter_ui(draft: &mut QueryForm, ui: &mut Ui) -> bool {
    let filter = field_ui(
        &mut draft.filter,
        "Condition",
        "tid = 0 and not is_gpu_event",
        ui,
    );
    let examples = "Any field of the document, for example\n\
                    func like '*MPI_*' and rid in (0, 3)\n\
                    gpu_location is not null\n\
                    event_window.comm_window[*].tar = 5";
    let is_asked = is_entered(&filter, ui);
    filter.on_hover_text(examples);
    is_asked
}
