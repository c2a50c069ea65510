//! Tests of the list, and of the list on the screen.

use std::cmp::Reverse;
use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_app_tests::demo_run::{demo_snapshot, with_focus, with_label, with_trace_write};
use callgrove_app_tests::stall_run::{stalled_snapshot, trees_of_stall};
use callgrove_app_tests::{changed, forest_in};
use callgrove_model::{RankId, TreeIdx};
use callgrove_session::{Command, Detection, Label, Selection, Snapshot, UserCommand, design_text};
use callgrove_view_tests::{DrawnText, written};
use callgrove_widgets::hover;
use callgrove_widgets::theme::{SMALLEST_TEXT, Theme};
use egui::{Key, Ui, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::filter_and_order::{CandidateFilter, CandidateOrder};
use super::{CandidatesState, Step, candidates_ui};

fn state(snapshot: &Snapshot) -> CandidatesState {
    let mut state = CandidatesState::default();
    state.refresh(snapshot);
    state
}

fn focused(snapshot: &Snapshot, tree: TreeIdx) -> Snapshot {
    Snapshot {
        selection: Selection::One(tree),
        ..snapshot.clone()
    }
}

fn order(snapshot: &Snapshot) -> Vec<TreeIdx> {
    snapshot.detection().unwrap().order.clone()
}

#[test]
fn candidates_come_in_order_of_score() {
    let snapshot = demo_snapshot();
    assert_eq!(state(&snapshot).shown(), order(&snapshot));
}

/// Returns the same session with a tree that recurs every 5 executions of rank 0.
fn with_design(snapshot: &Snapshot, tree: TreeIdx) -> Snapshot {
    let mut detection = Detection::clone(snapshot.detection().unwrap());
    let of_tree = (0..detection.scores.len()).map(|at| (at == tree.index()).then_some(0));
    let every = serde_json::json!({"Every": {"period": 5}});
    detection.design = serde_json::from_value(serde_json::json!({
        "classes": [{"kind": every, "ranks": [0], "is_everywhere": false}],
        "of_tree": of_tree.collect::<Vec<Option<u32>>>(),
    }))
    .unwrap();
    changed(snapshot.clone(), |it| {
        forest_in(it).detection = Some(Arc::new(detection));
    })
}

#[test]
fn executions_rare_by_design_show_period_and_ranks_and_have_a_filter() {
    let snapshot = demo_snapshot();
    let tree = *order(&snapshot).last().unwrap();
    let snapshot = with_design(&snapshot, tree);
    let words = design_text(snapshot.by_design(tree).unwrap());
    assert_eq!(words, "every 5 executions on rank 0");
    let mut listed = state(&snapshot);
    listed.choice.filter = CandidateFilter::ByDesign;
    listed.refresh(&snapshot);
    assert_eq!(listed.shown(), [tree]);
    let name = code(&snapshot, tree);
    let mut harness = screen(focused(&snapshot, tree), [460.0, 600.0]);
    let card = format!("Candidate {name}, by design, every 5 executions on rank 0");
    harness.get_by_label(&card).hover();
    harness.run();
    let why = "by design: every 5 executions on rank 0. Not an alarm.";
    harness.get_by_label(&format!("{name}, {why}"));
    assert!(written(&harness).iter().any(|it| it.text == words));
}

#[test]
fn filters_list_the_matching_trees() {
    let snapshot = demo_snapshot();
    let first = order(&snapshot)[0];
    let snapshot = with_label(&snapshot, first, Label::Abnormal);
    let mut state = state(&snapshot);
    let mut shown = |filter| {
        state.choice.filter = filter;
        state.refresh(&snapshot);
        state.shown().to_vec()
    };
    assert_eq!(shown(CandidateFilter::Labelled), [first]);
    assert!(!shown(CandidateFilter::Unlabelled).contains(&first));
    let num_abnormal = snapshot.detection().unwrap().num_abnormal;
    assert_eq!(
        shown(CandidateFilter::Abnormal),
        order(&snapshot)[..num_abnormal]
    );
}

#[test]
fn a_search_finds_codes_and_enter_selects_the_exact_one() {
    let snapshot = demo_snapshot();
    let forest = &snapshot.analysis().unwrap().forest;
    let mut state = state(&snapshot);
    state.choice.search = " #1-1".to_owned();
    state.refresh(&snapshot);
    let code = |&tree: &TreeIdx| forest.code(tree).to_string();
    let codes: Vec<String> = state.shown().iter().map(code).collect();
    assert!(
        codes.len() > 1 && codes.iter().all(|code| code.starts_with("#1-1")),
        "{codes:?}"
    );
    let found = state.end_search(&snapshot).unwrap();
    assert_eq!(code(&found), "#1-1");
    state.refresh(&snapshot);
    assert_eq!(state.shown().len(), forest.len(), "the whole list is back");
    let row = state.row_to_reveal(&focused(&snapshot, found));
    assert_eq!(row, order(&snapshot).iter().position(|&tree| tree == found));
    state.choice.search = "7-7".to_owned();
    state.refresh(&snapshot);
    assert_eq!(state.end_search(&snapshot), None);
    assert_eq!(state.choice.search, "7-7", "to be corrected");
}

#[test]
fn the_list_has_orders_and_steps_follow_them() {
    let snapshot = demo_snapshot();
    let forest = &snapshot.analysis().unwrap().forest;
    let mut state = state(&snapshot);
    for order in CandidateOrder::ALL {
        state.choice.order = order;
        state.refresh(&snapshot);
        let shown = state.shown().to_vec();
        let is_sorted = match order {
            CandidateOrder::Score => shown == self::order(&snapshot),
            CandidateOrder::Duration => {
                shown.is_sorted_by_key(|&tree| Reverse(forest.tree(tree).duration()))
            }
            CandidateOrder::Time => shown.is_sorted_by_key(|&tree| forest.tree(tree).entry()[0]),
            CandidateOrder::Rank => shown.is_sorted_by_key(|&tree| {
                let code = forest.code(tree);
                (code.rank, code.index)
            }),
        };
        assert!(is_sorted, "{order:?}");
        let next = state.step(&focused(&snapshot, shown[6]), Step::Next);
        assert_eq!(next, Some(shown[7]), "{order:?}");
    }
}

#[test]
fn the_list_shows_one_rank_or_the_last_group_until_it_is_widened() {
    let snapshot = demo_snapshot();
    let forest = &snapshot.analysis().unwrap().forest;
    let mut state = state(&snapshot);
    state.choice.rank = Some(RankId(1));
    state.refresh(&snapshot);
    assert_eq!(state.shown().len(), 20);
    assert!(
        state
            .shown()
            .iter()
            .all(|&tree| forest.code(tree).rank == RankId(1))
    );
    let group = vec![TreeIdx(1), TreeIdx(5), TreeIdx(26)];
    let grouped = Snapshot {
        selection: Selection::Group(group),
        ..snapshot.clone()
    };
    state.choice.only_group = true;
    state.refresh(&grouped);
    assert_eq!(state.shown(), [TreeIdx(26)], "of the group, on that rank");
    state.refresh(&focused(&snapshot, TreeIdx(26)));
    assert_eq!(state.shown(), [TreeIdx(26)], "one of the group is selected");
    assert!(state.widen());
    state.refresh(&snapshot);
    assert_eq!(state.shown().len(), forest.len());
    assert!(!state.widen());
}

#[test]
fn steps_follow_the_list_and_stop_at_its_ends() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let state = state(&snapshot);
    assert_eq!(
        state.step(&snapshot, Step::Next),
        Some(order[0]),
        "nothing is focused"
    );
    let at = |tree| focused(&snapshot, tree);
    assert_eq!(state.step(&at(order[3]), Step::Next), Some(order[4]));
    assert_eq!(state.step(&at(order[3]), Step::Previous), Some(order[2]));
    assert_eq!(state.step(&at(order[0]), Step::Previous), None);
    assert_eq!(state.step(&at(order[order.len() - 1]), Step::Next), None);
}

#[test]
fn labelling_moves_on_to_the_most_abnormal_unlabelled_tree() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let labelled = with_label(&snapshot, order[1], Label::Normal);
    // Training may have moved the focused tree far down.
    for focus in [order[0], order[9]] {
        let snapshot = focused(&labelled, focus);
        let next = if focus == order[0] {
            order[2]
        } else {
            order[0]
        };
        let commands = state(&snapshot).label_selection(&snapshot, Label::Abnormal);
        let expected = [
            Command::SetLabel {
                trees: vec![focus],
                label: Some(Label::Abnormal),
            },
            Command::Select(Selection::One(next)),
        ];
        assert_eq!(commands, expected);
    }
}

#[test]
fn skipped_trees_come_again_only_after_all_others() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let mut state = state(&snapshot);
    let mut focus = order[0];
    let mut visited = vec![focus];
    for turn in 0..order.len() - 1 {
        let current = focused(&snapshot, focus);
        focus = if turn % 2 == 0 {
            state.skip(&current).unwrap()
        } else {
            // The session has not answered: the snapshot shows no label.
            match &state.label_selection(&current, Label::Normal)[..] {
                [_, Command::Select(Selection::One(next))] => *next,
                other => panic!("moves on, not {other:?}"),
            }
        };
        visited.push(focus);
    }
    assert_eq!(visited, order);
    assert_eq!(
        state.skip(&focused(&snapshot, focus)),
        Some(order[0]),
        "around again"
    );
}

#[test]
fn the_same_key_on_a_label_moves_on_and_the_button_removes_it() {
    let snapshot = demo_snapshot();
    let order = order(&snapshot);
    let snapshot = focused(&with_label(&snapshot, order[0], Label::Normal), order[0]);
    let removed = Command::SetLabel {
        trees: vec![order[0]],
        label: None,
    };
    let moved_on = Command::Select(Selection::One(order[1]));
    let mut state = state(&snapshot);
    assert_eq!(state.label_selection(&snapshot, Label::Normal), [moved_on]);
    let pressed = state.press_selection(&snapshot, Label::Normal);
    assert_eq!(pressed, std::slice::from_ref(&removed));
    assert_eq!(state.unlabel_selection(&snapshot), Some(removed));
    let other = focused(&snapshot, order[1]);
    assert_eq!(state.unlabel_selection(&other), None, "it has no label");
}

#[test]
fn a_group_is_labelled_at_once() {
    let snapshot = demo_snapshot();
    let group = vec![TreeIdx(1), TreeIdx(5), TreeIdx(6)];
    let snapshot = Snapshot {
        selection: Selection::Group(group.clone()),
        ..snapshot
    };
    let commands = state(&snapshot).label_selection(&snapshot, Label::Abnormal);
    assert_eq!(
        commands,
        [Command::SetLabel {
            trees: group,
            label: Some(Label::Abnormal)
        }]
    );
}

/// The list on the screen, and the commands that it sent.
#[derive(Default)]
struct Screen {
    state: CandidatesState,
    commands: Vec<UserCommand>,
    hovered: Option<TreeIdx>,
}

fn screen(snapshot: Snapshot, size: [f32; 2]) -> Harness<'static, Screen> {
    let theme = Theme::new(true, snapshot.trace());
    let draw = move |ui: &mut Ui, screen: &mut Screen| {
        let mut ctx = ViewContext {
            snapshot: &snapshot,
            theme: &theme,
            commands: &mut screen.commands,
            actions: &mut Vec::new(),
            has_focus: false,
        };
        candidates_ui(&mut ctx, &mut screen.state, ui);
        screen.hovered = hover::get(ui.ctx());
    };
    let mut harness = Harness::builder()
        .with_size(Vec2::from(size))
        .build_ui_state(draw, Screen::default());
    harness.run();
    harness
}

fn code(snapshot: &Snapshot, tree: TreeIdx) -> String {
    let forest = &snapshot.analysis().unwrap().forest;
    forest.code(tree).to_string()
}

#[test]
fn escape_in_the_search_field_clears_the_search() {
    let mut harness = screen(demo_snapshot(), [400.0, 600.0]);
    let all = harness.state().state.shown().len();
    harness.get_by_label("Find a candidate").focus();
    harness.run();
    harness.get_by_label("Find a candidate").type_text("1-3");
    harness.run();
    assert!(harness.state().state.shown().len() < all);
    harness.key_press(Key::Escape);
    harness.run();
    assert_eq!(harness.state().state.shown().len(), all);
}

#[test]
fn order_rank_and_group_are_chosen_by_label() {
    let group = vec![TreeIdx(2), TreeIdx(3), TreeIdx(28)];
    let snapshot = Snapshot {
        selection: Selection::Group(group.clone()),
        ..demo_snapshot()
    };
    let mut harness = screen(snapshot, [400.0, 600.0]);
    harness.get_by_label("Only the group of 3").click();
    harness.run();
    harness.get_by_label("Order of the list").click();
    harness.run();
    harness.get_by_label("by rank").click();
    harness.run();
    assert_eq!(harness.state().state.shown(), group);
    harness.get_by_label("Rank of the list").click();
    harness.run();
    harness.get_by_label("rank 1 (20)").click();
    harness.run();
    assert_eq!(harness.state().state.shown(), [TreeIdx(28)]);
}

#[test]
fn the_tree_of_the_hovered_card_is_hovered_in_all_views() {
    let snapshot = demo_snapshot();
    let second = order(&snapshot)[1];
    let mut harness = screen(snapshot.clone(), [400.0, 600.0]);
    assert_eq!(harness.state().hovered, None);
    harness
        .get_by_label(&format!("Candidate {}", code(&snapshot, second)))
        .hover();
    harness.run();
    assert_eq!(harness.state().hovered, Some(second));
}

#[test]
fn counts_next_to_the_small_trees_are_legible_and_inside_their_card() {
    let snapshot = demo_snapshot();
    for width in [260.0, 344.0, 560.0] {
        let harness = screen(snapshot.clone(), [width, 600.0]);
        let first = format!("Candidate {}", code(&snapshot, order(&snapshot)[0]));
        let card = harness.get_by_label(&first).rect();
        let written = written(&harness);
        for DrawnText { text, size, rect } in &written {
            assert!(*size >= SMALLEST_TEXT, "{text} has {size} points");
            let is_of_card = card.contains(rect.center());
            assert!(
                !is_of_card || card.contains_rect(*rect),
                "{text} at {width}"
            );
        }
        let has_count = written.iter().any(|written| written.text.starts_with('×'));
        assert_eq!(has_count, width > 300.0, "small trees need a wide card");
    }
}

#[test]
fn a_small_pane_has_its_controls_folded_and_a_card_in_view() {
    let snapshot = demo_snapshot();
    let mut harness = screen(with_focus(&snapshot, TreeIdx(3)), [260.0, 180.0]);
    let pane = egui::Rect::from_min_size(egui::Pos2::ZERO, Vec2::new(260.0, 180.0));
    let card = format!("Candidate {}", code(&snapshot, TreeIdx(3)));
    let rect = harness.get_by_label(&card).rect();
    assert!(pane.contains(rect.center()), "{rect}");
    assert!(harness.query_by_label("Order of the list").is_none());
    harness.get_by_label("Find a candidate");
    harness.get_by_label_contains("All, by score").click();
    harness.run();
    let order = harness.get_by_label("Order of the list").rect();
    assert!(pane.contains_rect(order), "{order}");
}

#[test]
fn trees_explained_by_a_trace_write_are_tagged_and_listed_last() {
    let (snapshot, tree) = with_trace_write(&demo_snapshot());
    let detection = snapshot.detection().cloned().unwrap();
    let place = detection.place[tree.index()] as usize;
    assert_eq!(place, detection.num_abnormal, "after all unexplained ones");
    let mut listed = state(&snapshot);
    listed.choice.filter = CandidateFilter::Abnormal;
    listed.refresh(&snapshot);
    assert_eq!(listed.shown().last(), Some(&tree));
    assert_eq!(listed.shown().len(), detection.num_abnormal + 1);
    let name = code(&snapshot, tree);
    let mut harness = screen(focused(&snapshot, tree), [400.0, 600.0]);
    harness
        .get_by_label(&format!("Candidate {name}, trace write"))
        .hover();
    harness.run();
    let why = "40 ms above usual, 31 ms of it while the tracer wrote its own data";
    harness.get_by_label(&format!("{name}, trace write: {why}"));
}

#[test]
fn a_held_label_is_marked_on_its_card() {
    let snapshot = demo_snapshot();
    let tree = order(&snapshot)[0];
    let labelled = changed(with_label(&snapshot, tree, Label::Normal), |it| {
        it.edits.num_held = 1;
        it.edits.held = std::sync::Arc::new([tree]);
    });
    let name = code(&snapshot, tree);
    let mut harness = screen(focused(&labelled, tree), [400.0, 600.0]);
    let card = format!("Candidate {name}, held");
    harness.get_by_label(&card).hover();
    harness.run();
    harness.get_by_label_contains("held normal: the label holds for this execution only");
}

#[test]
fn a_card_shows_which_rank_delayed_it() {
    let snapshot = stalled_snapshot();
    let trees = trees_of_stall(&snapshot, 0);
    for (tree, role) in [(trees[2], "root"), (trees[0], "victim of rank 2")] {
        let name = code(&snapshot, tree);
        let mut harness = screen(focused(&snapshot, tree), [400.0, 600.0]);
        harness
            .get_by_label(&format!("Candidate {name}, {role}"))
            .hover();
        harness.run();
        harness.get_by_label_contains("stalled");
        assert!(written(&harness).iter().any(|text| text.text == role));
    }
}

#[test]
fn the_button_of_a_label_shows_its_author() {
    let demo = demo_snapshot();
    let tree = order(&demo)[0];
    let snapshot = with_label(&demo, tree, Label::Abnormal);
    let (key, label) = snapshot.edits.labels.iter().next().unwrap();
    let by_ana = serde_json::json!({ "labels": [(key, label)], "names": ["ana"], "by": [0] });
    let labels = Arc::new(serde_json::from_value(by_ana).unwrap());
    let snapshot = changed(snapshot, |it| it.edits.labels = labels);
    assert_eq!(snapshot.label_author(tree), Some("ana"));
    let code = demo.analysis().unwrap().forest.code(tree);
    let by_author = format!("{code}, labelled abnormal by ana");
    assert_eq!(
        callgrove_widgets::text::author_text(&snapshot, tree),
        Some(by_author)
    );
    let (mut harness, _) =
        callgrove_view_tests::harness_of(snapshot, [420.0, 400.0], candidates_ui);
    harness.run();
    let button = format!("Abnormal {code}");
    harness.get_by_label(&button).hover();
    harness.run();
    harness.run_steps(60);
    harness.get_by_label("Abnormal, by ana");
}
