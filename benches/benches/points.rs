//! A frame of the point canvas without a screen: input, drawing and tessellation while panning.

use std::time::Duration;

use callgrove_canvas::points::{Aspect, MarkShape, PointMark, PointScene, PointsState, points_ui};
use callgrove_widgets::theme::Theme;
use criterion::{Criterion, criterion_group, criterion_main};
use egui::{Color32, Context, Event, Modifiers, PointerButton, Pos2, RawInput, Rect, Vec2};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const WINDOW: Vec2 = Vec2::new(1600.0, 1000.0);

/// A window with only the point canvas.
struct Window {
    ctx: Context,
    theme: Theme,
    state: PointsState,
    selected: Vec<u32>,
    pointer: Pos2,
    step: f32,
}

impl Window {
    /// Creates sixty clouds of points with different widths; one in `rarity` points is rare.
    fn new(num_points: usize, rarity: usize, num_selected: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let clouds: Vec<[f64; 3]> = (0..60)
            .map(|_| {
                [
                    random.random(),
                    random.random(),
                    random.random_range(0.005..0.08),
                ]
            })
            .collect();
        let places = (0..num_points).map(|at| {
            let [x, y, width] = clouds[at % clouds.len()];
            let mut around = |middle: f64| {
                let offset: f64 = (0..4).map(|_| random.random_range(-0.5..0.5)).sum();
                middle + offset * width
            };
            [around(x), around(y)]
        });
        let mut state = PointsState::default();
        state.set_points(places.collect(), marks(num_points, rarity));
        let mut window = Self {
            ctx: Context::default(),
            theme: Theme::new(true, None),
            state,
            selected: (0..num_selected).collect(),
            pointer: Pos2::ZERO + WINDOW / 2.0,
            step: 3.0,
        };
        let press = Event::PointerButton {
            pos: window.pointer,
            button: PointerButton::Primary,
            pressed: true,
            modifiers: Modifiers::NONE,
        };
        window.frame(vec![Event::PointerMoved(window.pointer)]);
        window.frame(vec![press]);
        (0..8).for_each(|_| window.pan());
        window
    }

    /// Moves the pointer by a little, and back at the edges.
    fn pan(&mut self) {
        self.pointer += Vec2::new(self.step, self.step * 0.4);
        if !(500.0..1100.0).contains(&self.pointer.x) {
            self.step = -self.step;
        }
        self.frame(vec![Event::PointerMoved(self.pointer)]);
    }

    fn frame(&mut self, events: Vec<Event>) {
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, WINDOW)),
            events,
            ..RawInput::default()
        };
        let mut output = self.ctx.run_ui(input, |ui| {
            let scene = PointScene {
                theme: &self.theme,
                label: "Points".to_owned(),
                aspect: Aspect::Equal,
                rulers: None,
                right: 0.0,
                selected: &self.selected,
                focus: Some(0),
                has_focus: false,
                pointed: None,
            };
            points_ui(&scene, &mut self.state, ui);
        });
        output.textures_delta.clear();
        let primitives = self.ctx.tessellate(output.shapes, output.pixels_per_point);
        std::hint::black_box(primitives);
    }
}

fn marks(num_points: usize, rarity: usize) -> Vec<PointMark> {
    let mark = |at: usize| {
        let is_prominent = at.is_multiple_of(rarity);
        PointMark {
            color: if is_prominent {
                Color32::ORANGE
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
    };
    (0..num_points).map(mark).collect()
}

fn bench_panning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pan points, CPU of a frame");
    group
        .measurement_time(Duration::from_secs(4))
        .sample_size(30);
    let cases = [
        ("16,000, one in 10 rare", 16_000, 10, 1),
        ("40,000, one in 100 rare", 40_000, 100, 1),
        ("1,000,000, one in 1,000 rare", 1_000_000, 1_000, 1),
        ("1,000,000, one in 30 rare", 1_000_000, 30, 1),
        ("1,000,000, one in 2 rare", 1_000_000, 2, 1),
        ("1,000,000, a group of 20,000", 1_000_000, 1_000, 20_000),
    ];
    for (name, num_points, rarity, num_selected) in cases {
        let mut window = Window::new(num_points, rarity, num_selected);
        group.bench_function(name, |bencher| bencher.iter(|| window.pan()));
    }
    group.finish();
}

fn bench_new_points(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("new points");
    group
        .measurement_time(Duration::from_secs(4))
        .sample_size(10);
    let window = Window::new(1_000_000, 30, 1);
    let places = window.state.cloud().places().to_vec();
    let mut state = PointsState::default();
    group.bench_function("positions of 1,000,000", |bencher| {
        bencher.iter(|| state.set_points(places.clone(), marks(places.len(), 30)));
    });
    group.bench_function("appearances of 1,000,000", |bencher| {
        bencher.iter(|| state.set_marks(marks(places.len(), 20)));
    });
    group.finish();
}

criterion_group!(benches, bench_panning, bench_new_points);
criterion_main!(benches);
