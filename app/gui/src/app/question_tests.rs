//! Tests of the question bars in the whole window.

use std::sync::Arc;

use callgrove_app_tests::changed;
use callgrove_app_tests::demo_run::{demo_snapshot, with_focus, with_label};
use callgrove_model::TreeIdx;
use callgrove_session::{
    Command, Label, Notice, Severity, Snapshot, TrainingAnswer, TrainingQuestion,
};
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;

use super::tests::{Window, order, select, set_label};

/// The demo with a training that waits for confirmation.
fn asked() -> Snapshot {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let question = TrainingQuestion {
        num_labels: 1,
        num_trees: 40,
        would_be_abnormal: order[20..32].to_vec(),
        would_be_normal: Vec::new(),
    };
    let labelled = with_label(&with_focus(&snapshot, order[1]), order[0], Label::Normal);
    changed(labelled, |it| {
        it.edits.num_untrained = 1;
        it.model.question = Some(Arc::new(question));
    })
}

#[test]
fn the_bar_is_between_the_status_bar_and_the_views() {
    let mut window = Window::new(demo_snapshot());
    let bar = "Training on this label would reclassify 12 of 40 executions (12 would be abnormal).";
    assert!(window.harness.query_all_by_label(bar).next().is_none());
    let status = window.harness.get_by_label("Ready").rect();
    window.publish(Snapshot {
        notices: Arc::new([Notice {
            id: 1,
            severity: Severity::Warning,
            text: "Something else".to_owned(),
        }]),
        ..asked()
    });
    let accept = window
        .harness
        .get_by_label("Accept, answer to the training");
    let accept = accept.rect();
    assert!(window.harness.query_all_by_label(bar).next().is_some());
    assert_eq!(window.harness.get_by_label("Ready").rect(), status);
    assert!(accept.bottom() < status.top(), "{accept} {status}");
    let notice = window.harness.get_by_label("Something else").rect();
    assert!(notice.bottom() < accept.top(), "{notice} {accept}");
    let card = window.harness.get_by_label("Clear selection").rect();
    assert!(card.bottom() < accept.top(), "{card} {accept}");
}

#[test]
fn k_and_o_answer_a_question_and_do_nothing_without_one() {
    let mut window = Window::new(with_focus(&demo_snapshot(), TreeIdx(0)));
    window.press(Key::K);
    window.press(Key::O);
    assert_eq!(window.sent(), []);
    window.publish(asked());
    window.press(Key::R);
    assert_eq!(window.sent(), [], "a training waits already");
    window.press(Key::K);
    window.press(Key::O);
    window
        .harness
        .key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.harness.run();
    let expected = [
        Command::Answer(TrainingAnswer::Keep),
        Command::Answer(TrainingAnswer::OnlyThese),
        Command::Undo,
    ];
    assert_eq!(window.sent(), expected);
}

#[test]
fn the_window_stays_usable_while_a_question_is_open() {
    let snapshot = asked();
    let order = order(&snapshot);
    let mut window = Window::new(snapshot);
    window.press(Key::X);
    let expected = [set_label(order[1], Label::Abnormal), select(order[2])];
    assert_eq!(window.sent(), expected);
    window.click("Undo, answer to the training");
    assert_eq!(window.sent(), [Command::Undo]);
}

#[test]
fn held_labels_are_learned_from_the_palette() {
    let snapshot = demo_snapshot();
    let mut window = Window::new(changed(
        with_label(&snapshot, TreeIdx(3), Label::Normal),
        |it| {
            it.edits.num_held = 1;
            it.edits.held = Arc::new([TreeIdx(3)]);
        },
    ));
    let palette = Modifiers::COMMAND | Modifiers::SHIFT;
    window.harness.key_press_modifiers(palette, Key::P);
    window.harness.run();
    let typed = "learn held".chars().map(String::from);
    for text in typed {
        window.harness.event(egui::Event::Text(text));
    }
    window.harness.run();
    window.press(Key::Enter);
    assert_eq!(window.sent(), [Command::LearnHeld]);
}
