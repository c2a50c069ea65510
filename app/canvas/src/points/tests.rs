//! Guarantees of a canvas: every prominent point is visible, and the selection stays visible.

use egui::{Color32, Mesh, Pos2, Rect, TextureId, Vec2};
use proptest::prelude::*;

use super::paint::{MAX_MARKS, PointLayers};
use super::*;

const CANVAS: Rect = Rect {
    min: Pos2::new(40.0, 30.0),
    max: Pos2::new(640.0, 430.0),
};

fn mark(is_prominent: bool) -> PointMark {
    PointMark {
        color: if is_prominent {
            Color32::RED
        } else {
            Color32::GRAY
        },
        ring: Color32::TRANSPARENT,
        shape: if is_prominent {
            MarkShape::Diamond
        } else {
            MarkShape::Disc
        },
        is_prominent,
    }
}

/// A cloud whose points are prominent where `is_prominent` says so.
fn cloud(places: Vec<[f64; 2]>, is_prominent: impl Fn(usize) -> bool) -> PointCloud {
    let marks = (0..places.len()).map(|at| mark(is_prominent(at))).collect();
    PointCloud::new(places, marks)
}

/// Points spread evenly over the unit square, the same in every test.
fn scattered(count: usize) -> Vec<[f64; 2]> {
    let at = |step: usize, factor: f64| (step as f64 * factor).fract();
    (0..count)
        .map(|step| [at(step, 0.754_877_666), at(step, 0.569_840_29)])
        .collect()
}

fn whole(cloud: &PointCloud) -> Transform {
    Transform::new(CANVAS, cloud.bounds(), Aspect::Free, PlaneView::default())
}

/// Squares of a mesh with their colours, from the bottom.
fn squares(mesh: &Mesh) -> Vec<(Rect, Color32)> {
    mesh.vertices
        .chunks(4)
        .map(|corners| {
            (
                Rect::from_two_pos(corners[0].pos, corners[3].pos),
                corners[0].color,
            )
        })
        .collect()
}

fn with_picture<R>(
    cloud: &PointCloud,
    transform: &Transform,
    selected: &[u32],
    inspect: impl FnOnce(&PointLayers<'_>) -> R,
) -> R {
    let theme = Theme::new(true, None);
    inspect(&PointLayers::new(
        cloud,
        transform,
        &theme,
        selected,
        Some(TextureId::default()),
    ))
}

/// Returns whether a square of clearly visible colour covers `place`, away from its edge.
fn has_ink(squares: &[(Rect, Color32)], place: Pos2) -> bool {
    squares
        .iter()
        .any(|(rect, color)| color.a() >= 110 && rect.expand(0.1).contains(place))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_prominent_point_is_visible(
        count in 1_usize..400,
        zoom in 0.3..3_000.0_f64,
        middle in 0_usize..400,
        every in 1_usize..7,
    ) {
        let cloud = cloud(scattered(count), |at| at % every == 0);
        let view = PlaneView::default();
        let fitted = whole(&cloud);
        let place = cloud.places()[middle % count];
        let view = view.zoomed(&fitted, CANVAS.center(), [zoom; 2]).centered(&fitted, place);
        let transform = Transform::new(CANVAS, cloud.bounds(), Aspect::Free, view);
        let squares = with_picture(&cloud, &transform, &[], |picture| squares(&picture.prominent().into_mesh()));
        for point in (0..count).step_by(every) {
            let at = transform.to_screen(cloud.places()[point]);
            prop_assert!(!CANVAS.contains(at) || has_ink(&squares, at), "point {} at {:?}", point, at);
        }
    }
}

#[test]
fn prominent_points_beyond_the_mark_limit_are_visible_and_cost_no_more() {
    let num_points = 3 * MAX_MARKS;
    let cloud = cloud(scattered(num_points), |_| true);
    let transform = whole(&cloud);
    let mesh = with_picture(&cloud, &transform, &[], |picture| {
        picture.prominent().into_mesh()
    });
    let squares = squares(&mesh);
    assert!(squares.len() <= MAX_MARKS + 2_000, "{}", squares.len());
    for point in (0..num_points).step_by(997) {
        let at = transform.to_screen(cloud.places()[point]);
        assert!(has_ink(&squares, at), "point {point} at {at:?}");
    }
}

#[test]
fn many_ordinary_points_become_a_density_and_prominent_ones_stay_marks() {
    let cloud = cloud(scattered(MAX_MARKS * 2), |at| at % 1000 == 0);
    let transform = whole(&cloud);
    let ctx = egui::Context::default();
    let mut density = None;
    let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
        with_picture(&cloud, &transform, &[], |picture| {
            picture.paint(&mut density, ui.painter());
            assert_eq!(picture.prominent().into_mesh().vertices.len() % 4, 0);
        });
    });
    output.textures_delta.clear();
    assert!(density.is_some());
    let num_vertices: usize = output
        .shapes
        .iter()
        .map(|shape| match &shape.shape {
            egui::Shape::Mesh(mesh) => mesh.vertices.len(),
            _ => 0,
        })
        .sum();
    assert!(num_vertices < 4 * (1 + 3 * 80 + 10), "{num_vertices}");
}

#[test]
fn a_selected_group_stays_visible_under_its_rings() {
    // A tight cluster: opaque rings would merge into one blob (557 of them did).
    let places: Vec<[f64; 2]> = scattered(3_000)
        .iter()
        .map(|[x, y]| [x * 0.05, y * 0.05])
        .chain([[1.0, 1.0]])
        .collect();
    let cloud = cloud(places, |at| at % 10 == 0);
    let transform = whole(&cloud);
    let selected: Vec<u32> = (0..557).collect();
    with_picture(&cloud, &transform, &selected, |picture| {
        let rings = squares(&picture.rings().into_mesh());
        assert_eq!(rings.len(), selected.len());
        assert!(
            rings.iter().all(|(_, color)| color.a() < 128),
            "overlapping rings are transparent"
        );
        // Each selected point is visible above the rings.
        let above: Vec<(Rect, Color32)> = [picture.prominent(), picture.selected_ordinary()]
            .into_iter()
            .flat_map(|layer| squares(&layer.into_mesh()))
            .collect();
        for &point in &selected {
            let at = transform.to_screen(cloud.places()[point as usize]);
            assert!(has_ink(&above, at), "point {point}");
        }
    });
}

#[test]
fn marks_shrink_and_become_transparent_where_there_are_many() {
    let (few, many) = (
        cloud(scattered(30), |_| false),
        cloud(scattered(30_000), |_| false),
    );
    let inspect = |cloud: &PointCloud| {
        with_picture(cloud, &whole(cloud), &[], |picture| {
            squares(&picture.ordinary().into_mesh())[0]
        })
    };
    let (few, many) = (inspect(&few), inspect(&many));
    assert!(few.0.width() > 1.5 * many.0.width());
    assert!(few.1.a() > many.1.a());
}

#[test]
fn the_edges_of_dense_marks_do_not_hide_the_marks_below() {
    let near: Vec<[f64; 2]> = scattered(4_000)
        .iter()
        .map(|[x, y]| [x * 0.1, y * 0.1])
        .chain([[1.0, 1.0]])
        .collect();
    let cloud = cloud(near, |_| true);
    let squares = with_picture(&cloud, &whole(&cloud), &[], |picture| {
        squares(&picture.prominent().into_mesh())
    });
    let canvas = Theme::new(true, None).canvas();
    let num_edges = squares
        .iter()
        .filter(|(_, color)| color.a() > 100 && color.r() <= canvas.r())
        .count();
    assert!(num_edges < 50, "{num_edges} of {}", cloud.len());
}

struct Driven {
    state: PointsState,
    output: Option<(Option<usize>, Option<PickedPoints>)>,
}

fn harness(places: Vec<[f64; 2]>) -> egui_kittest::Harness<'static, Driven> {
    let mut state = PointsState::default();
    let marks = (0..places.len()).map(|at| mark(at % 2 == 0)).collect();
    state.set_points(places, marks);
    let driven = Driven {
        state,
        output: None,
    };
    let mut harness = egui_kittest::Harness::builder()
        .with_size(Vec2::new(600.0, 400.0))
        .build_ui_state(
            |ui, driven: &mut Driven| {
                let theme = Theme::new(true, None);
                let scene = PointScene {
                    theme: &theme,
                    label: "Points".to_owned(),
                    aspect: Aspect::Equal,
                    rulers: None,
                    right: 0.0,
                    selected: &[],
                    focus: None,
                    has_focus: false,
                    pointed: None,
                };
                let output = points_ui(&scene, &mut driven.state, ui);
                if output.taken.is_some() || driven.output.is_none() {
                    driven.output = Some((output.hovered, output.taken));
                }
            },
            driven,
        );
    harness.run();
    harness
}

/// Returns the position of a point on the screen of a harness.
fn place(harness: &egui_kittest::Harness<'_, Driven>, point: usize) -> Pos2 {
    let state = &harness.state().state;
    let rect = egui_kittest::kittest::Queryable::get_by_label(harness, "Points").rect();
    let transform = Transform::new(rect, state.cloud().bounds(), Aspect::Equal, state.view);
    transform.to_screen(state.cloud().places()[point])
}

fn taken(harness: &mut egui_kittest::Harness<'_, Driven>) -> Option<PickedPoints> {
    harness
        .state_mut()
        .output
        .take()
        .and_then(|(_, taken)| taken)
}

fn drag(
    harness: &mut egui_kittest::Harness<'_, Driven>,
    corners: &[Pos2],
    modifiers: egui::Modifiers,
) {
    harness.event(egui::Event::ModifiersChanged(modifiers));
    harness.hover_at(corners[0]);
    harness.step();
    harness.event(pointer(corners[0], true, modifiers));
    harness.step();
    for &corner in &corners[1..] {
        harness.hover_at(corner);
        harness.step();
    }
    harness.event(pointer(corners[corners.len() - 1], false, modifiers));
    harness.step();
    harness.event(egui::Event::ModifiersChanged(egui::Modifiers::NONE));
    harness.run();
}

fn pointer(pos: Pos2, pressed: bool, modifiers: egui::Modifiers) -> egui::Event {
    egui::Event::PointerButton {
        pos,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers,
    }
}

#[test]
fn every_point_is_hit_by_a_click_on_it() {
    let mut harness = harness(scattered(60));
    for point in 0..60 {
        let at = place(&harness, point);
        harness.hover_at(at);
        harness.step();
        drag(&mut harness, &[at], egui::Modifiers::NONE);
        let taken = taken(&mut harness);
        assert_eq!(taken.map(|taken| taken.points), Some(vec![point]));
    }
}

#[test]
fn lasso_and_rectangle_select_by_area_and_modifiers_combine() {
    let mut harness = harness(scattered(200));
    let corners = [
        Pos2::new(150.0, 60.0),
        Pos2::new(430.0, 60.0),
        Pos2::new(430.0, 320.0),
        Pos2::new(150.0, 320.0),
    ];
    let inside: Vec<usize> = (0..200)
        .filter(|&point| {
            Rect::from_two_pos(corners[0], corners[2]).contains(place(&harness, point))
        })
        .collect();
    harness.state_mut().state.toggle(Tool::Rectangle);
    drag(
        &mut harness,
        &[corners[0], corners[2]],
        egui::Modifiers::NONE,
    );
    let expected = PickedPoints {
        points: inside,
        mode: SelectionMode::Replace,
        is_drawn: true,
    };
    assert_eq!(taken(&mut harness), Some(expected.clone()));
    assert_eq!(
        harness.state().state.tool(),
        Tool::Hand,
        "the tool is deselected afterwards"
    );
    drag(&mut harness, &corners, egui::Modifiers::SHIFT);
    assert_eq!(
        taken(&mut harness),
        Some(PickedPoints {
            mode: SelectionMode::Add,
            ..expected.clone()
        })
    );
    drag(&mut harness, &corners, egui::Modifiers::ALT);
    assert_eq!(
        taken(&mut harness),
        Some(PickedPoints {
            mode: SelectionMode::Subtract,
            ..expected
        })
    );
}

#[test]
fn a_drag_moves_the_plane_and_a_box_fills_it() {
    let mut harness = harness(scattered(200));
    let before = place(&harness, 3);
    drag(
        &mut harness,
        &[Pos2::new(200.0, 200.0), Pos2::new(260.0, 170.0)],
        egui::Modifiers::NONE,
    );
    assert_eq!(taken(&mut harness), None);
    let moved = place(&harness, 3) - before;
    assert!((moved - Vec2::new(60.0, -30.0)).length() < 8.0, "{moved:?}");
    let box_corners = [before - Vec2::splat(30.0), before + Vec2::splat(30.0)];
    harness.state_mut().state.fit();
    harness.run();
    drag(&mut harness, &box_corners, egui::Modifiers::COMMAND);
    let at = place(&harness, 3);
    assert!((at - Pos2::new(300.0, 200.0)).length() < 20.0, "{at:?}");
}

#[test]
fn keys_zoom_move_and_select_without_a_pointer() {
    let mut harness = harness(vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.1], [0.5, 1.0]]);
    harness.state_mut().state.request_focus();
    harness.run();
    harness.key_press(egui::Key::ArrowRight);
    harness.run();
    harness.key_press(egui::Key::ArrowRight);
    harness.run();
    harness.key_press(egui::Key::Enter);
    harness.run();
    let point = taken(&mut harness).map(|taken| taken.points);
    assert_eq!(point, Some(vec![2]));
    let distance =
        |harness: &egui_kittest::Harness<'_, Driven>| place(harness, 0).distance(place(harness, 1));
    let before = distance(&harness);
    harness.key_press(egui::Key::Plus);
    harness.run();
    assert!((distance(&harness) / before - 1.5).abs() < 0.01);
    harness.key_press(egui::Key::Minus);
    harness.run();
    assert!((distance(&harness) / before - 1.0).abs() < 0.01);
    let before = place(&harness, 0);
    harness.key_press_modifiers(egui::Modifiers::SHIFT, egui::Key::ArrowRight);
    harness.run();
    assert!(place(&harness, 0).x < before.x - 50.0);
}
