//! The Training view: labels, training, and its effect on the model.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_actions::{Action, FilePurpose};
use callgrove_model::count_of;
use callgrove_model::thousands;
use callgrove_session::{Change, Command, Label, QueryStrategy, Selection};
use callgrove_tree_views::candidates::CandidatesState;
use callgrove_widgets::{KeyButton, view_header};
use egui::{Align, CornerRadius, Layout, RichText, ScrollArea, Ui};

use super::code_link::code_link;
use super::{PublicationDraft, SettingsDraft};

/// Maximum number of listed codes.
const MAX_CODES: usize = 12;
/// Maximum number of listed moves.
const MAX_MOVES: usize = 6;
/// Maximum number of listed doubtful labels.
const MAX_DOUBTS: usize = 6;

/// Draws the panel.
pub(crate) fn training_ui(
    ctx: &mut ViewContext<'_>,
    candidates: &mut CandidatesState,
    draft: &mut SettingsDraft,
    publication: &mut PublicationDraft,
    ui: &mut Ui,
) {
    let wants_doubts = view_header(ui, "Labels and training", |ui| {
        let count = |label| ctx.snapshot.edits.labels.count(label);
        ui.label(
            RichText::new(format!("{} normal", thousands(count(Label::Normal))))
                .color(ctx.theme.label_text(Label::Normal)),
        );
        ui.label(
            RichText::new(format!("{} abnormal", thousands(count(Label::Abnormal))))
                .color(ctx.theme.label_text(Label::Abnormal)),
        );
        let num_doubts = ctx.snapshot.model.doubts.len();
        let text = format!("{} doubtful", thousands(num_doubts));
        let link = egui::Link::new(RichText::new(text).color(ctx.theme.warning()));
        num_doubts > 0 && ui.add(link).on_hover_text("Show them").clicked()
    });
    ScrollArea::vertical()
        .auto_shrink(false)
        .id_salt("training")
        .show(ui, |ui| {
            selection_ui(ctx, candidates, ui);
            train_ui(ctx, ui);
            query_ui(ctx, ui);
            draft.ui(ctx, ui);
            files_ui(ctx, ui);
            publication.ui(ctx, ui);
            // Content that changes with every label comes last, so that nothing moves under the pointer.
            held_ui(ctx, ui);
            change_ui(ctx, ui);
            doubts_ui(ctx, wants_doubts, ui);
        });
}

/// Draws the selection, and the two buttons that label it.
fn selection_ui(ctx: &mut ViewContext<'_>, candidates: &mut CandidatesState, ui: &mut Ui) {
    let snapshot = ctx.snapshot;
    let Some(analysis) = snapshot.analysis() else {
        return;
    };
    let (summary, num_trees) = match &snapshot.selection {
        Selection::None => (
            "Select an execution in the list or on the map".to_owned(),
            0,
        ),
        Selection::One(tree) => (format!("Selected {}", analysis.forest.code(*tree)), 1),
        Selection::Group(trees) => (
            format!("Selected a group of {}", count_of(trees.len(), "execution")),
            trees.len(),
        ),
    };
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let clear = egui::Button::new("Clear").small();
            let clear = ui.add_enabled(num_trees > 0, clear);
            if clear.accessible_name("Clear selection").clicked() {
                ctx.send(Command::Select(Selection::None));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(egui::Label::new(summary).truncate());
            });
        });
    });
    let width = ((ui.available_width() - ui.spacing().item_spacing.x) / 2.0).min(112.0);
    ui.horizontal(|ui| {
        for (label, name, key) in [(Label::Normal, "Normal", "N"), (Label::Abnormal, "Abnormal", "X")] {
            let text = if num_trees > 1 { format!("{name} ({})", thousands(num_trees)) } else { name.to_owned() };
            let mut button = KeyButton::new(&text, key).min_width(width).named(format!("Label {}", text.to_lowercase()));
            if matches!(&snapshot.selection, Selection::One(tree) if snapshot.label(*tree) == Some(label)) {
                let fill = ctx.theme.label(label);
                button = button.filled(fill, ctx.theme.text_on(fill));
            }
            if ui.add_enabled(num_trees > 0, button).clicked() {
                for command in candidates.press_selection(snapshot, label) {
                    ctx.send(command);
                }
            }
        }
    });
}

fn train_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    ui.horizontal(|ui| {
        let num_untrained = ctx.snapshot.edits.num_untrained;
        let text = match num_untrained {
            0 => "Train".to_owned(),
            _ => format!("Train ({})", thousands(num_untrained)),
        };
        let mut button = KeyButton::new(&text, "R")
            .min_width(112.0)
            .named("Train".to_owned());
        if num_untrained > 0 {
            let fill = ctx.theme.accent();
            button = button.filled(fill, ctx.theme.text_on(fill));
        }
        let help = match ctx.snapshot.model.question {
            Some(_) => "The training waits for your answer",
            None => "Train the model on all labels; the number counts those not used yet",
        };
        if ui
            .add_enabled(ctx.snapshot.model.question.is_none(), button)
            .on_hover_text(help)
            .on_disabled_hover_text(help)
            .clicked()
        {
            ctx.send(Command::Train);
        }
        let mut auto_train = ctx.snapshot.model.auto_train;
        if ui
            .checkbox(&mut auto_train, "after every label")
            .on_hover_text("Train after every label")
            .changed()
        {
            ctx.send(Command::SetAutoTrain(auto_train));
        }
    });
}

/// Draws the choice of the execution that comes next after a label.
fn query_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.label("Suggest next");
        let mut query = ctx.snapshot.model.query;
        egui::ComboBox::from_id_salt("query")
            .selected_text(query_name(query))
            .truncate()
            .width(ui.available_width().min(190.0))
            .show_ui(ui, |ui| {
                for choice in QueryStrategy::ALL {
                    ui.selectable_value(&mut query, choice, query_name(choice))
                        .on_hover_text(query_help(choice));
                }
            })
            .response
            .accessible_name("Next to label")
            .on_hover_text(query_help(query));
        if query != ctx.snapshot.model.query {
            ctx.send(Command::SetQuery(query));
        }
    });
}

fn query_name(query: QueryStrategy) -> &'static str {
    match query {
        QueryStrategy::Automatic => "automatic",
        QueryStrategy::MostAnomalous => "most anomalous",
        QueryStrategy::MostUncertain => "most uncertain",
        QueryStrategy::Diverse => "one of each kind",
    }
}

fn query_help(query: QueryStrategy) -> &'static str {
    match query {
        QueryStrategy::Automatic => {
            "The most anomalous until one is labelled abnormal, then the most uncertain"
        }
        QueryStrategy::MostAnomalous => "Finds anomalies soonest: lowest score first",
        QueryStrategy::MostUncertain => "Improves the model most: score closest to 0 first",
        QueryStrategy::Diverse => "Uncertain, and unlike all labelled executions",
    }
}

/// Draws the held labels, which hold for their executions alone, and the button that trains on them.
fn held_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let num_held = ctx.snapshot.edits.num_held;
    if num_held == 0 {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(count_of(num_held, "held label")).strong())
            .on_hover_text("They hold for their executions only; the model is not trained on them");
        let button = ui.button("Learn held labels");
        if button
            .on_hover_text("Train the model on them too")
            .clicked()
        {
            ctx.send(Command::LearnHeld);
        }
        for &tree in ctx.snapshot.edits.held.iter().take(MAX_CODES) {
            code_link(ctx, ui, tree);
        }
    });
}

/// Draws the labels to review.
fn doubts_ui(ctx: &mut ViewContext<'_>, shall_be_seen: bool, ui: &mut Ui) {
    let doubts = Arc::clone(&ctx.snapshot.model.doubts);
    if doubts.is_empty() {
        return;
    }
    let title = format!("{} may be wrong", count_of(doubts.len(), "label"));
    let title = ui
        .label(RichText::new(title).strong().color(ctx.theme.warning()))
        .on_hover_text("Similar executions have the other label");
    if shall_be_seen {
        title.scroll_to_me(Some(Align::TOP));
    }
    egui::Grid::new("doubts")
        .num_columns(3)
        .spacing([12.0, 2.0])
        .show(ui, |ui| {
            for doubt in doubts.iter().take(MAX_DOUBTS) {
                code_link(ctx, ui, doubt.tree);
                ui.label(format!("is {}, unlike", doubt.label.name()));
                code_link(ctx, ui, doubt.witness);
                ui.end_row();
            }
        });
}

/// Draws the changes of the last training.
fn change_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let Some(detection) = ctx.snapshot.detection().cloned() else {
        return;
    };
    let Some(change) = &detection.change else {
        return;
    };
    ui.add_space(2.0);
    ui.label(RichText::new("The last training changed").strong());
    if change.became_abnormal.is_empty()
        && change.became_normal.is_empty()
        && change.moves.is_empty()
    {
        ui.weak("Nothing: all classes and ranks are unchanged.");
    }
    crossings_ui(ctx, change, ui);
    if !change.moves.is_empty() {
        ui.label("Largest moves in the list");
        egui::Grid::new("moves")
            .num_columns(3)
            .spacing([12.0, 2.0])
            .show(ui, |ui| {
                for moved in change.moves.iter().take(MAX_MOVES) {
                    code_link(ctx, ui, moved.tree);
                    let (sign, by) = if moved.to < moved.from {
                        ("▲", moved.from - moved.to)
                    } else {
                        ("▼", moved.to - moved.from)
                    };
                    ui.label(format!("{sign} {}", thousands(by as usize)));
                    ui.weak(format!(
                        "{} → {}",
                        thousands(moved.from as usize + 1),
                        thousands(moved.to as usize + 1)
                    ));
                    ui.end_row();
                }
            });
    }
}

fn crossings_ui(ctx: &mut ViewContext<'_>, change: &Change, ui: &mut Ui) {
    let sides = [
        (
            &change.became_abnormal,
            "became abnormal",
            ctx.theme.abnormal(),
        ),
        (
            &change.became_normal,
            "became normal",
            ctx.theme.label_normal(),
        ),
    ];
    for (trees, what, color) in sides.into_iter().filter(|(trees, ..)| !trees.is_empty()) {
        ui.horizontal_wrapped(|ui| {
            let (dot, _) = ui.allocate_exact_size(egui::vec2(8.0, 8.0), egui::Sense::hover());
            ui.painter().rect_filled(dot, CornerRadius::same(2), color);
            ui.label(format!("{} {what}", thousands(trees.len())));
            for &tree in trees.iter().take(MAX_CODES) {
                code_link(ctx, ui, tree);
            }
            if trees.len() > MAX_CODES {
                ui.weak(format!("and {} more", thousands(trees.len() - MAX_CODES)));
            }
        });
    }
}

fn files_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    ui.add_space(2.0);
    let rows = [
        (
            "Labels",
            [FilePurpose::ExportLabels, FilePurpose::ImportLabels],
            !ctx.snapshot.edits.labels.is_empty(),
        ),
        (
            "Model",
            [FilePurpose::SaveModel, FilePurpose::LoadModel],
            ctx.snapshot.detection().is_some(),
        ),
        (
            "Session",
            [FilePurpose::SaveSession, FilePurpose::LoadSession],
            ctx.snapshot.source.is_some(),
        ),
    ];
    egui::Grid::new("files")
        .num_columns(3)
        .spacing([8.0, 4.0])
        .show(ui, |ui| {
            for (what, purposes, can_write) in rows {
                ui.weak(what);
                for purpose in purposes {
                    let button = egui::Button::new(format!("{}…", purpose.verb()))
                        .min_size(egui::vec2(84.0, 0.0));
                    let is_enabled = can_write || !purpose.is_save();
                    if ui
                        .add_enabled(is_enabled, button)
                        .accessible_name(purpose.title())
                        .clicked()
                    {
                        ctx.actions.push(Action::File(purpose));
                    }
                }
                ui.end_row();
            }
        });
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::changed;
    use callgrove_app_tests::demo_run::demo_snapshot;
    use callgrove_model::TreeIdx;
    use callgrove_session::TrainingQuestion;
    use callgrove_view_tests::harness_of;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[test]
    fn held_labels_are_listed_with_a_button_to_learn_them() {
        let snapshot = changed(demo_snapshot(), |it| {
            it.edits.num_held = 2;
            it.edits.held = Arc::new([TreeIdx(3), TreeIdx(9)]);
        });
        let (mut harness, sent) =
            harness_of::<()>(snapshot, [600.0, 400.0], |ctx, (), ui| held_ui(ctx, ui));
        harness.get_by_label("2 held labels");
        harness.get_by_label("#0-9");
        harness.get_by_label("Learn held labels").click();
        harness.run();
        assert_eq!(*sent.borrow(), [Command::LearnHeld.into()]);
    }

    #[test]
    fn no_training_starts_while_another_waits_for_an_answer() {
        let snapshot = changed(demo_snapshot(), |it| {
            it.model.question = Some(Arc::new(TrainingQuestion::default()));
        });
        let (mut harness, sent) =
            harness_of::<()>(snapshot, [600.0, 400.0], |ctx, (), ui| train_ui(ctx, ui));
        harness.get_by_label("Train").click();
        harness.run();
        assert_eq!(*sent.borrow(), []);
    }
}
