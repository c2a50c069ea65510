//! Tests of the map, by label and by behaviour.

use callgrove_app_tests::demo_run::{demo_snapshot, with_focus};
use callgrove_app_tests::{changed, forest_in};
use callgrove_canvas::points::{self, Aspect, PickedPoints, SelectionMode};
use callgrove_model::TreeIdx;
use callgrove_session::{ForestSnapshot, Selection, Snapshot, UserCommand};
use callgrove_widgets::hover;
use callgrove_widgets::theme::Theme;
use egui::{Color32, Key, Modifiers, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use super::*;

struct Map {
    snapshot: Snapshot,
    state: ScatterState,
    commands: Vec<UserCommand>,
    /// The tree that is hovered in another view.
    pointed: Option<TreeIdx>,
    hovered: Option<TreeIdx>,
}

fn map_of(snapshot: Snapshot, size: Vec2) -> Harness<'static, Map> {
    let map = Map {
        snapshot,
        state: ScatterState::default(),
        commands: Vec::new(),
        pointed: None,
        hovered: None,
    };
    let mut harness = Harness::builder().with_size(size).build_ui_state(
        |ui, map: &mut Map| {
            let theme = Theme::new(true, None);
            let mut ctx = ViewContext {
                snapshot: &map.snapshot,
                theme: &theme,
                commands: &mut map.commands,
                actions: &mut Vec::new(),
                has_focus: false,
            };
            if let Some(tree) = map.pointed {
                hover::set(ui.ctx(), tree);
            }
            scatter_ui(&mut ctx, &mut map.state, ui);
            map.hovered = hover::get(ui.ctx());
        },
        map,
    );
    harness.run();
    harness
}

fn wide(snapshot: Snapshot) -> Harness<'static, Map> {
    map_of(snapshot, Vec2::new(800.0, 600.0))
}

/// Returns the map with the keyboard focus.
fn focused(snapshot: Snapshot) -> Harness<'static, Map> {
    let mut harness = wide(snapshot);
    harness.state_mut().state.request_focus();
    harness.run();
    harness
}

fn selected(harness: &mut Harness<'_, Map>) -> Option<Selection> {
    let commands = std::mem::take(&mut harness.state_mut().commands);
    commands.into_iter().find_map(|command| match command {
        UserCommand::Engine(Command::Select(selection)) => Some(selection),
        _ => None,
    })
}

fn press(harness: &mut Harness<'_, Map>, modifiers: Modifiers, key: Key) -> Option<Selection> {
    harness.key_press_modifiers(modifiers, key);
    harness.run();
    selected(harness)
}

#[test]
fn g_selects_a_tree_with_its_neighbours_by_the_model() {
    let mut harness = focused(with_focus(&demo_snapshot(), TreeIdx(7)));
    let expected = [0, 1, 2, 3, 4, 7].map(TreeIdx).to_vec();
    let group = press(&mut harness, Modifiers::NONE, Key::G);
    assert_eq!(group, Some(Selection::Group(expected)));
}

#[test]
fn u_selects_all_of_one_structure_and_shift_adds_to_the_group() {
    let snapshot = with_focus(&demo_snapshot(), TreeIdx(4));
    let same = snapshot.analysis().unwrap().of_same_structure(TreeIdx(4));
    assert!(same.len() > 4 && same.len() < 40);
    let mut harness = focused(snapshot.clone());
    let group = press(&mut harness, Modifiers::NONE, Key::U);
    assert_eq!(group, Some(Selection::Group(same.clone())));
    harness.state_mut().snapshot = Snapshot {
        selection: Selection::Group(vec![TreeIdx(0), TreeIdx(2)]),
        ..snapshot
    };
    harness.run();
    let mut all = [same, vec![TreeIdx(0), TreeIdx(2)]].concat();
    all.sort_unstable();
    all.dedup();
    let group = press(&mut harness, Modifiers::SHIFT, Key::U);
    assert_eq!(group, Some(Selection::Group(all)));
}

#[test]
fn arrows_move_between_points_and_enter_selects() {
    let mut harness = focused(with_focus(&demo_snapshot(), TreeIdx(7)));
    assert_eq!(press(&mut harness, Modifiers::NONE, Key::ArrowUp), None);
    let at = harness.state().hovered;
    assert!(
        at.is_some_and(|tree| tree != TreeIdx(7)),
        "its card is shown: {at:?}"
    );
    let picked = press(&mut harness, Modifiers::NONE, Key::Enter);
    assert_eq!(picked, at.map(Selection::One));
}

#[test]
fn keys_typed_elsewhere_are_not_taken() {
    let mut harness = wide(with_focus(&demo_snapshot(), TreeIdx(7)));
    assert_eq!(press(&mut harness, Modifiers::NONE, Key::G), None);
    assert_eq!(press(&mut harness, Modifiers::NONE, Key::ArrowUp), None);
    assert_eq!(harness.state().hovered, None);
}

#[test]
fn a_hovered_point_is_hovered_in_all_views() {
    let mut harness = wide(demo_snapshot());
    let rect = harness.get_by_role(egui::accesskit::Role::Canvas).rect();
    let state = &harness.state().state;
    let places = state.points.cloud().places();
    let transform = points::Transform::new(
        rect,
        state.points.cloud().bounds(),
        Aspect::Equal,
        points::PlaneView::default(),
    );
    let at = transform.to_screen(places[11]);
    harness.hover_at(at);
    harness.run();
    assert_eq!(harness.state().hovered, Some(TreeIdx(11)));
    harness.get_by_label_contains("Rank ");
}

/// Returns the number of circles drawn on the map, which are the rings of trees.
fn num_circles(harness: &Harness<'_, Map>) -> usize {
    fn count(shape: &egui::Shape) -> usize {
        match shape {
            egui::Shape::Circle(_) => 1,
            egui::Shape::Vec(shapes) => shapes.iter().map(count).sum(),
            _ => 0,
        }
    }
    let shapes = harness.output().shapes.iter();
    shapes.map(|clipped| count(&clipped.shape)).sum()
}

#[test]
fn a_tree_hovered_in_another_view_is_ringed() {
    let mut harness = wide(demo_snapshot());
    let before = num_circles(&harness);
    harness.state_mut().pointed = Some(TreeIdx(5));
    harness.run_steps(3);
    assert_eq!(num_circles(&harness), before + 2);
    harness.state_mut().pointed = None;
    harness.run();
    assert_eq!(num_circles(&harness), before);
}

#[test]
fn colourings_can_be_chosen_and_abnormal_trees_keep_their_shape() {
    let mut harness = wide(demo_snapshot());
    let colors = |harness: &Harness<'_, Map>| -> Vec<Color32> {
        harness
            .state()
            .state
            .points
            .cloud()
            .marks()
            .iter()
            .map(|mark| mark.color)
            .collect()
    };
    let mut seen = vec![colors(&harness)];
    for coloring in [
        Coloring::Rank,
        Coloring::Time,
        Coloring::Duration,
        Coloring::Structure,
    ] {
        harness.get_by_label("Colour by").click();
        harness.run();
        let shown = harness.get_all_by_label(coloring.name());
        shown.last().unwrap().click();
        harness.run();
        let now = colors(&harness);
        assert!(!seen.contains(&now), "{coloring:?} looks like another");
        seen.push(now);
    }
    let detection = harness.state().snapshot.detection().cloned().unwrap();
    for (tree, mark) in harness
        .state()
        .state
        .points
        .cloud()
        .marks()
        .iter()
        .enumerate()
    {
        let is_abnormal = detection.is_abnormal(TreeIdx::from_index(tree));
        assert_eq!(mark.is_prominent, is_abnormal);
        assert_eq!(mark.shape == points::MarkShape::Diamond, is_abnormal);
    }
}

#[test]
fn new_scores_change_the_marks_and_not_the_view() {
    let mut harness = focused(demo_snapshot());
    harness.key_press(Key::Plus);
    harness.run();
    let rings = |harness: &Harness<'_, Map>| {
        let marks = harness.state().state.points.cloud().marks().iter();
        marks
            .filter(|mark| mark.ring != Color32::TRANSPARENT)
            .count()
    };
    let view = |harness: &Harness<'_, Map>| harness.state().state.points.view;
    let before = view(&harness);
    assert_ne!(before, points::PlaneView::default());
    assert_eq!(rings(&harness), 0);
    let snapshot = demo_snapshot();
    let ForestSnapshot { map, analysis, .. } = harness.state().snapshot.forest.clone().unwrap();
    harness.state_mut().snapshot = changed(
        callgrove_app_tests::demo_run::with_label(
            &snapshot,
            TreeIdx(3),
            callgrove_session::Label::Normal,
        ),
        |it| {
            forest_in(it).map = map;
            forest_in(it).analysis = analysis;
        },
    );
    harness.run();
    assert_eq!(rings(&harness), 1);
    assert_eq!(view(&harness), before);
}

#[test]
fn in_a_narrow_view_every_control_is_in_the_menu() {
    let mut harness = map_of(demo_snapshot(), Vec2::new(180.0, 200.0));
    assert!(harness.query_by_label("Lasso").is_none());
    harness.get_by_label_contains("Map options").click();
    harness.run();
    for label in [
        "Fit (F)",
        "Lasso",
        "Box",
        "MDS",
        "SMACOF",
        "t-SNE",
        "duration",
        "structure",
    ] {
        harness.get_by_label(label);
    }
    harness.get_by_label("t-SNE").click();
    harness.run();
    let commands = &harness.state().commands;
    assert_eq!(commands[..], [Command::SetMap(MapMethod::Tsne).into()]);
}

#[test]
fn a_drawn_group_replaces_a_single_tree_and_extends_a_group() {
    let drawn = |mode| PickedPoints {
        points: vec![4, 5],
        mode,
        is_drawn: true,
    };
    let group = |trees: &[u32]| Selection::Group(trees.iter().copied().map(TreeIdx).collect());
    assert_eq!(
        state::joined(&[9], &drawn(SelectionMode::Add)),
        group(&[4, 5])
    );
    assert_eq!(
        state::joined(&[8, 9], &drawn(SelectionMode::Add)),
        group(&[4, 5, 8, 9])
    );
    assert_eq!(
        state::joined(&[4, 5, 9], &drawn(SelectionMode::Subtract)),
        Selection::One(TreeIdx(9))
    );
    assert_eq!(
        state::joined(&[4], &drawn(SelectionMode::Subtract)),
        Selection::None
    );
    let clicked = PickedPoints {
        points: vec![4],
        mode: SelectionMode::Add,
        is_drawn: false,
    };
    assert_eq!(
        state::joined(&[9], &clicked),
        group(&[4, 9]),
        "Shift+click extends"
    );
}
