//! Question bars above the status bar: they wait for an answer, while the window stays usable.

use callgrove_actions::context::ViewContext;
use callgrove_actions::{Action, KeyMap};
use callgrove_model::count_of;
use callgrove_model::{FunctionName, thousands};
use callgrove_session::{
    Command, ModelAnswer, ModelOrigin, ModelQuestion, TrainingAnswer, TrainingQuestion,
};
use callgrove_widgets::KeyButton;
use egui::{Frame, Label, Margin, Panel, RichText, Role, Ui, WidgetInfo};

/// Draws a bar for each open question.
pub(crate) fn questions_ui(ctx: &mut ViewContext<'_>, keys: &KeyMap, ui: &mut Ui) {
    if let Some(question) = ctx.snapshot.model.question.clone() {
        let text = training_text(&question);
        bar_ui(ctx, "training question", &text, ui, |ctx, ui| {
            training_answers(ctx, keys, ui);
        });
    }
    if let Some(question) = ctx.snapshot.model.misfit.clone() {
        let text = model_text(&question);
        bar_ui(ctx, "model question", &text, ui, model_answers);
    }
}

/// Draws a bar with a question and its answers.
fn bar_ui(
    ctx: &mut ViewContext<'_>,
    id: &'static str,
    text: &str,
    ui: &mut Ui,
    answers: impl FnOnce(&mut ViewContext<'_>, &mut Ui),
) {
    let frame = Frame::side_top_panel(ui.style())
        .fill(ctx.theme.card_focused())
        .inner_margin(Margin::symmetric(10, 6));
    let shown = Panel::bottom(id)
        .resizable(false)
        .frame(frame)
        .show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.label(RichText::new("?").strong().color(ctx.theme.warning()));
                ui.add(Label::new(text).wrap());
                answers(ctx, ui);
            });
        });
    shown
        .response
        .widget_info(|| WidgetInfo::labeled(Role::Alert, true, text));
}

fn training_answers(ctx: &mut ViewContext<'_>, keys: &KeyMap, ui: &mut Ui) {
    let answers = [
        (
            "Accept",
            Action::Keep,
            Command::Answer(TrainingAnswer::Keep),
            "Trains the model on the labels and reclassifies the executions".to_owned(),
        ),
        (
            "Apply to these executions only",
            Action::OnlyThese,
            Command::Answer(TrainingAnswer::OnlyThese),
            "The labels hold for their own executions; the model is not trained on them".to_owned(),
        ),
        (
            "Undo",
            Action::Undo,
            Command::Undo,
            match &ctx.snapshot.edits.undo {
                Some(edit) => format!("Undoes: {edit}"),
                None => "Undoes the label".to_owned(),
            },
        ),
    ];
    for (text, action, command, help) in answers {
        let key = keys.short_text(action);
        let name = format!("{text}, answer to the training");
        let button = KeyButton::new(text, &key).named(name);
        if ui.add(button).on_hover_text(help).clicked() {
            ctx.send(command);
        }
    }
}

fn model_answers(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let answers = [
        (
            "Use it anyway",
            ModelAnswer::UseAnyway,
            "The p-values come from the training data of the model",
        ),
        (
            "Use p-values of this run",
            ModelAnswer::Refit,
            "Structures and labels come from the model; p-values are computed from this run",
        ),
        ("Cancel", ModelAnswer::Cancel, "The scores stay as they are"),
    ];
    for (text, answer, help) in answers {
        let name = match answer {
            ModelAnswer::Cancel => "Cancel the model",
            _ => text,
        };
        let button = KeyButton::new(text, "").named(name.to_owned());
        if ui.add(button).on_hover_text(help).clicked() {
            ctx.send(Command::AnswerModel(answer));
        }
    }
}

/// `Training on this label would reclassify 1,315 of 5,792 executions (…).`
fn training_text(question: &TrainingQuestion) -> String {
    let labels = match question.num_labels {
        0 | 1 => "this label".to_owned(),
        several => format!("these {} labels", thousands(several)),
    };
    let sides = [
        (question.would_be_abnormal.len(), "abnormal"),
        (question.would_be_normal.len(), "normal"),
    ];
    let sides: Vec<String> = sides
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, side)| format!("{} would be {side}", thousands(count)))
        .collect();
    format!(
        "Training on {labels} would reclassify {} of {} ({}).",
        thousands(question.num_moved()),
        count_of(question.num_trees, "execution"),
        sides.join(", "),
    )
}

/// `This model was made for compute of lmp (5,792 executions on 4 ranks, median 2 ms), and does not fit: …`
fn model_text(question: &ModelQuestion) -> String {
    format!(
        "This model was made for {}, and does not fit: {}. It classifies {} of {} as abnormal; with p-values of this run, {}.",
        origin_text(&question.origin),
        question.misfit,
        thousands(question.num_abnormal),
        count_of(question.num_trees, "execution"),
        thousands(question.num_abnormal_refitted),
    )
}

fn origin_text(origin: &ModelOrigin) -> String {
    let names = origin.functions.iter();
    let functions: Vec<&str> = names
        .map(|name| FunctionName::parse(name).qualified)
        .collect();
    let programs = match origin.programs.as_slice() {
        [] => String::new(),
        programs => format!(" of {}", programs.join(", ")),
    };
    format!(
        "{}{programs} ({} {} on {}, median {}, {} abnormal)",
        functions.join(", "),
        thousands(origin.num_trees),
        origin.unit.trees(origin.num_trees as u64),
        count_of(origin.num_ranks, "rank"),
        origin.unit.amount(origin.median_duration),
        thousands(origin.num_abnormal),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgrove_app_tests::changed;
    use callgrove_app_tests::demo_run::demo_snapshot;
    use callgrove_model::{DurationNs, TreeIdx, WeightUnit};
    use callgrove_session::Misfit;
    use callgrove_view_tests::harness_of;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    fn training() -> TrainingQuestion {
        TrainingQuestion {
            num_labels: 1,
            num_trees: 5_792,
            would_be_abnormal: vec![TreeIdx(1); 1_300],
            would_be_normal: vec![TreeIdx(2); 15],
        }
    }

    fn model() -> ModelQuestion {
        ModelQuestion {
            path: "m.json".to_owned(),
            origin: ModelOrigin {
                programs: vec!["lmp".to_owned()],
                functions: vec!["Pair::compute(int, int) [{pair.cpp} {5,1}-{9,1}]".to_owned()],
                num_ranks: 16,
                num_trees: 5_792,
                num_abnormal: 30,
                median_duration: DurationNs(2_000_000),
                unit: WeightUnit::Time,
            },
            misfit: Misfit::Structure { known_share: 0.25 },
            num_trees: 40,
            num_abnormal: 39,
            num_abnormal_refitted: 4,
        }
    }

    #[test]
    fn a_training_that_would_reclassify_many_asks_with_figures() {
        assert_eq!(
            training_text(&training()),
            "Training on this label would reclassify 1,315 of 5,792 executions (1,300 would be abnormal, 15 would be \
             normal)."
        );
        let several = TrainingQuestion {
            num_labels: 3,
            would_be_normal: Vec::new(),
            ..training()
        };
        assert_eq!(
            training_text(&several),
            "Training on these 3 labels would reclassify 1,300 of 5,792 executions (1,300 would be abnormal)."
        );
    }

    #[test]
    fn a_model_that_does_not_fit_asks_with_its_origin() {
        assert_eq!(
            model_text(&model()),
            "This model was made for Pair::compute of lmp (5,792 executions on 16 ranks, median 2 ms, 30 abnormal), and \
             does not fit: it knows the structure of only 25 % of these executions. It classifies 39 of 40 \
             executions as abnormal; with p-values of this run, 4."
        );
    }

    #[test]
    fn every_answer_is_a_button_even_in_a_narrow_window() {
        let snapshot = changed(demo_snapshot(), |it| {
            it.model.question = Some(Arc::new(training()));
            it.model.misfit = Some(Arc::new(model()));
        });
        let (mut harness, sent) = harness_of::<()>(snapshot, [420.0, 400.0], |ctx, (), ui| {
            questions_ui(ctx, &KeyMap::default(), ui);
        });
        harness.run();
        let answers = [
            (
                "Accept, answer to the training",
                Command::Answer(TrainingAnswer::Keep),
            ),
            (
                "Apply to these executions only, answer to the training",
                Command::Answer(TrainingAnswer::OnlyThese),
            ),
            ("Undo, answer to the training", Command::Undo),
            (
                "Use it anyway",
                Command::AnswerModel(ModelAnswer::UseAnyway),
            ),
            (
                "Use p-values of this run",
                Command::AnswerModel(ModelAnswer::Refit),
            ),
            (
                "Cancel the model",
                Command::AnswerModel(ModelAnswer::Cancel),
            ),
        ];
        for (name, command) in answers {
            let button = harness.get_by_label(name);
            let rect = button.rect();
            assert!(
                rect.right() <= 420.0 && rect.bottom() <= 400.0,
                "{name}: {rect}"
            );
            button.click();
            harness.run();
            assert_eq!(
                sent.borrow_mut().drain(..).collect::<Vec<_>>(),
                [command.into()]
            );
        }
    }

    #[test]
    fn without_a_question_there_is_no_bar() {
        let (harness, _) = harness_of::<()>(demo_snapshot(), [600.0, 400.0], |ctx, (), ui| {
            questions_ui(ctx, &KeyMap::default(), ui);
        });
        assert!(harness.query_by_label("?").is_none());
    }
}
