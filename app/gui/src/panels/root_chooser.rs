//! Chooses the root function whose executions are compared.

use std::collections::BTreeMap;

use callgrove_actions::context::ViewContext;
use callgrove_model::{FunctionName, FunctionPattern, thousands};
use callgrove_session::{Command, Snapshot, Suggestion};
use callgrove_widgets::theme::RADIUS;
use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Button, FontId, Popup, PopupCloseBehavior, Rect, Role, ScrollArea, Sense, TextEdit,
    TextFormat, Ui, WidgetInfo, vec2,
};

/// Preferred width of the list, in points.
const WIDTH: f32 = 560.0;
/// Height of a row, in points.
const ROW_HEIGHT: f32 = 24.0;
/// Right edges of the columns calls, median, longest, from the right edge of the row.
const COLUMNS: [(&str, f32); 3] = [("Calls", 180.0), ("Median", 90.0), ("Longest", 8.0)];
/// Total width of these columns, in points.
const COLUMNS_WIDTH: f32 = 250.0;

/// The text in the field.
#[derive(Default)]
pub(crate) struct RootChooser {
    pattern: String,
}

impl RootChooser {
    /// Draws the button with the root function, and the list below it when open.
    pub(crate) fn ui(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        let current = ctx
            .snapshot
            .analysis()
            .map_or("choose a function", |analysis| &analysis.root_name);
        let button = ui
            .add(Button::new(format!("{current}  ▾")).truncate())
            .on_hover_text("The function whose executions are compared")
            .accessible_name("Root function");
        Popup::from_toggle_button_response(&button)
            .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
            .show(|ui| self.list_ui(ctx, ui));
    }

    /// Draws the field and the list of functions; a choice closes the surrounding popup.
    pub(crate) fn list_ui(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        ui.set_width(WIDTH.min(ui.ctx().content_rect().width() - 40.0));
        let typed = self.pattern.trim().to_owned();
        let rows = rows(ctx.snapshot, &typed);
        let mut chosen = self.field_ui(ui).then(|| wanted(&typed, &rows));
        header_ui(ctx, ui);
        ScrollArea::vertical()
            .max_height((ui.ctx().content_rect().height() - 160.0).clamp(80.0, 480.0))
            .auto_shrink([false, true])
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                for row in &rows {
                    if row_ui(ctx, row, ui) {
                        chosen = Some(row.pattern().to_owned());
                    }
                }
                if rows.is_empty() {
                    ui.weak("No matching functions");
                }
            });
        if let Some(function) = chosen {
            ctx.send(Command::SetRoot { function });
            self.pattern.clear();
            ui.close();
        }
    }

    /// Returns whether the typed text was confirmed.
    fn field_ui(&mut self, ui: &mut Ui) -> bool {
        ui.horizontal(|ui| {
            let field = TextEdit::singleline(&mut self.pattern)
                .hint_text("Function name or pattern, such as Pair*::compute")
                .desired_width((ui.available_width() - 80.0).max(60.0));
            let field = ui.add(field).accessible_name("Function pattern");
            let is_entered =
                field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            let is_given = !self.pattern.trim().is_empty();
            let is_applied = ui
                .add_enabled(is_given, egui::Button::new("Apply"))
                .clicked();
            is_given && (is_entered || is_applied)
        })
        .inner
    }
}

/// A function in the list.
struct Row<'a> {
    suggestion: &'a Suggestion,
    /// Its full name, and its difference from others with the same short name.
    overload: Option<(&'a str, String)>,
}

impl Row<'_> {
    /// Returns a pattern that matches this function alone.
    fn pattern(&self) -> &str {
        let name = self.suggestion.name.as_str();
        self.overload.as_ref().map_or(name, |(full, _)| full)
    }
}

/// Returns the functions whose names contain the typed text, or match it as a pattern.
fn rows<'a>(snapshot: &'a Snapshot, typed: &str) -> Vec<Row<'a>> {
    let mut num_of_name: BTreeMap<&str, usize> = BTreeMap::new();
    for suggestion in snapshot.suggestions() {
        *num_of_name.entry(&suggestion.name).or_default() += 1;
    }
    let (part, pattern) = (typed.to_lowercase(), FunctionPattern::new(typed));
    let full = |suggestion: &Suggestion| {
        let trace = snapshot.trace();
        trace.map_or("", |trace| trace.names.name(suggestion.func))
    };
    let is_taken = |suggestion: &&Suggestion| {
        suggestion.name.to_lowercase().contains(&part)
            || pattern.matches(&FunctionName::parse(full(suggestion)))
    };
    let row = |suggestion: &'a Suggestion| Row {
        suggestion,
        overload: (num_of_name[suggestion.name.as_str()] > 1)
            .then_some(snapshot.trace())
            .flatten()
            .map(|trace| {
                let full = trace.names.name(suggestion.func);
                (full, difference(full))
            }),
    };
    snapshot
        .suggestions()
        .iter()
        .filter(is_taken)
        .map(row)
        .collect()
}

/// Returns the part of a full name beyond the short name: arguments, and file and line.
fn difference(full: &str) -> String {
    let name = FunctionName::parse(full);
    let signature = full.split(" [{").next().unwrap_or(full);
    let arguments = signature
        .split_once(name.qualified)
        .map_or("", |(_, rest)| rest);
    let file = name.file.and_then(|file| file.rsplit('/').next());
    match (file, name.line) {
        (Some(file), Some(line)) => format!("{arguments}  {file}:{line}"),
        _ => arguments.to_owned(),
    }
}

/// Returns the function that Enter selects: the typed text if it names a function, else the first in the list.
fn wanted(typed: &str, rows: &[Row<'_>]) -> String {
    let pattern = FunctionPattern::new(typed);
    let is_named = |row: &&Row<'_>| pattern.matches(&FunctionName::parse(&row.suggestion.name));
    let named = rows.iter().find(is_named).map(|_| typed);
    // With an empty list the session reports similar names.
    let first = || rows.first().map_or(typed, Row::pattern);
    named.unwrap_or_else(first).to_owned()
}

fn header_ui(ctx: &ViewContext<'_>, ui: &mut Ui) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
    let (font, color) = (FontId::proportional(12.0), ctx.theme.weak_text());
    let text = |at, align, name| {
        ui.painter().text(at, align, name, font.clone(), color);
    };
    text(
        rect.left_center() + vec2(8.0, 0.0),
        Align2::LEFT_CENTER,
        "Function",
    );
    for (name, from_right) in COLUMNS {
        let at = rect.right_center() - vec2(from_right, 0.0);
        text(at, Align2::RIGHT_CENTER, name);
    }
}

/// Draws a function. Returns whether it was chosen.
fn row_ui(ctx: &ViewContext<'_>, row: &Row<'_>, ui: &mut Ui) -> bool {
    let suggestion = row.suggestion;
    let size = vec2(ui.available_width(), ROW_HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let analysis = ctx.snapshot.analysis();
    let is_current = analysis.is_some_and(|analysis| {
        let functions = analysis.forest.functions();
        analysis.root_name == suggestion.name && functions.contains(&suggestion.func)
    });
    let difference = row.overload.as_ref().map_or("", |(_, text)| text);
    response.widget_info(|| {
        let name = format!("Use {}{difference}", suggestion.name);
        WidgetInfo::selected(Role::Button, true, is_current, name)
    });
    let theme = ctx.theme;
    if is_current || response.hovered() {
        ui.painter().rect_filled(rect, RADIUS, theme.card_focused());
    }
    let font = FontId::proportional(13.5);
    paint_name(ctx, suggestion, difference, rect, ui);
    let values = [
        thousands(suggestion.num_calls),
        suggestion.median.to_string(),
        suggestion.longest.to_string(),
    ];
    for ((_, from_right), value) in COLUMNS.into_iter().zip(values) {
        let at = rect.right_center() - vec2(from_right, 0.0);
        ui.painter()
            .text(at, Align2::RIGHT_CENTER, value, font.clone(), theme.text());
    }
    let help = format!("{}{difference}\n{}", suggestion.name, suggestion.reason);
    response.on_hover_text(help).clicked()
}

/// Paints the name, and in weak colour its difference from others with the same name; both are elided.
fn paint_name(
    ctx: &ViewContext<'_>,
    suggestion: &Suggestion,
    difference: &str,
    rect: Rect,
    ui: &Ui,
) {
    let format = |size, color| TextFormat::simple(FontId::proportional(size), color);
    let mut job = LayoutJob::default();
    job.append(&suggestion.name, 0.0, format(13.5, ctx.theme.text()));
    job.append(difference, 0.0, format(12.0, ctx.theme.weak_text()));
    job.wrap = TextWrapping::truncate_at_width((rect.width() - COLUMNS_WIDTH - 8.0).max(0.0));
    let galley = ui.painter().layout_job(job);
    let at = rect.left_center() + vec2(8.0, -galley.size().y / 2.0);
    ui.painter().galley(at, galley, ctx.theme.text());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overloads_differ_by_arguments_and_line() {
        let full =
            "LAMMPS_NS::Modify::add_compute(int, char**, int) [{/lammps/src/modify.cpp} {873,0}]";
        assert_eq!(difference(full), "(int, char**, int)  modify.cpp:873");
        assert_eq!(difference("MPI_Send()"), "()");
    }
}
