//! The bars that ask, in the whole window.

use std::sync::Arc;

use callgrove_model::TreeIdx;
use callgrove_session::{
    Command, Label, Notice, Severity, Snapshot, TrainingAnswer, TrainingQuestion,
};
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;

use super::tests::{Window, order, select, set_label};
use crate::test_support::{demo_snapshot, with_focus, with_label};

/// The demo while a training waits for an answer.
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
    Snapshot {
        num_untrained: 1,
        question: Some(Arc::new(question)),
        ..labelled
    }
}

#[test]
fn the_bar_stands_above_the_status_bar_and_below_the_views() {
    let mut window = Window::new(demo_snapshot());
    let bar =
        "Learning this would change what 12 of 40 executions are called (12 would be abnormal).";
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
    let keep = window.harness.get_by_label("Keep, answer to the training");
    let keep = keep.rect();
    assert!(window.harness.query_all_by_label(bar).next().is_some());
    assert_eq!(window.harness.get_by_label("Ready").rect(), status);
    assert!(keep.bottom() < status.top(), "{keep} {status}");
    let notice = window.harness.get_by_label("Something else").rect();
    assert!(notice.bottom() < keep.top(), "{notice} {keep}");
    let card = window.harness.get_by_label("Select nothing").rect();
    assert!(card.bottom() < keep.top(), "{card} {keep}");
}

#[test]
fn k_and_o_answer_and_mean_nothing_without_a_question() {
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
fn the_window_stays_usable_while_something_is_asked() {
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
    let mut window = Window::new(Snapshot {
        num_held: 1,
        held: Arc::new([TreeIdx(3)]),
        ..with_label(&snapshot, TreeIdx(3), Label::Normal)
    });
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
