//! Positions of the vertices: a packed start that is legible at once, relaxed by forces.

use egui::Vec2;
use fjadra::{Collide, Link, ManyBody, Node, PositionX, PositionY, Simulation, SimulationBuilder};

use super::layout::Vertex;

/// Gap between discs, as a fraction of the root's radius, in which edges are visible.
const GAP_SHARE: f32 = 0.12;
/// Number of vertices beyond which gaps and repulsion shrink, so that large trees stay compact.
const MAX_FULL_GAPS: f32 = 100.0;
/// Minimum gap, in points at zoom 1.
const MIN_GAP: f32 = 4.0;
/// Fraction of a circle that circles packed into it cover.
const DENSITY: f32 = 0.75;
/// Angle from one child to the next, in radians: the golden angle, which leaves no gaps at any number.
const TURN: f32 = 2.399_963_2;
/// Initial strength of the forces; low, since the start is nearly right.
const ALPHA: f64 = 0.35;
/// Strength at which the forces stop.
const ALPHA_MIN: f64 = 0.01;
/// Number of steps until the forces stop.
const NUM_STEPS: f64 = 90.0;
/// Number of vertex moves in one frame, over all steps: at 3 to 5 µs each, half a frame of work.
const MOVES_PER_FRAME: usize = 1_700;
/// Number of vertices beyond which they do not repel each other but only collide: that costs less than half.
const MAX_CHARGED: usize = 1_700;
/// Number of vertices beyond which they stay where they were packed: one step would take longer than a frame.
const MAX_MOVED: usize = 3_000;

/// Vertex positions that settle over time.
pub(super) struct Forces {
    /// `None` once the vertices have settled.
    simulation: Option<Simulation>,
    positions: Vec<Vec2>,
}

impl Forces {
    /// Returns the packed start of the vertices; callers come before callees.
    pub(super) fn new(vertices: &[Vertex]) -> Self {
        let gap = gap(vertices);
        let positions = packed(vertices, gap);
        let simulation =
            (vertices.len() <= MAX_MOVED).then(|| simulation(vertices, &positions, gap));
        Self {
            simulation,
            positions,
        }
    }

    /// Returns the current positions of the vertices.
    pub(super) fn positions(&self) -> &[Vec2] {
        &self.positions
    }

    /// Moves the vertices by as much as one frame allows. Returns `false` once they have settled.
    pub(super) fn step(&mut self) -> bool {
        let Some(simulation) = self.simulation.as_mut() else {
            return false;
        };
        let num_steps = (MOVES_PER_FRAME / self.positions.len().max(1)).clamp(1, 8);
        simulation.tick(num_steps);
        self.positions = simulation
            .positions()
            .map(|[x, y]| Vec2::new(x as f32, y as f32))
            .collect();
        if simulation.is_finished() {
            self.simulation = None;
        }
        true
    }
}

/// Returns a simulation with springs of the initial lengths, collisions, and a weak pull to the middle.
fn simulation(vertices: &[Vertex], positions: &[Vec2], gap: f32) -> Simulation {
    let nodes = positions
        .iter()
        .map(|at| Node::default().position(f64::from(at.x), f64::from(at.y)));
    let links: Vec<(usize, usize)> = vertices
        .iter()
        .enumerate()
        .filter_map(|(child, vertex)| Some((vertex.parent?, child)))
        .collect();
    let length = |&(parent, child): &(usize, usize)| {
        f64::from((positions[child] - positions[parent]).length())
    };
    let lengths: Vec<f64> = links.iter().map(length).collect();
    let radii: Vec<f64> = vertices
        .iter()
        .map(|vertex| f64::from(vertex.radius + gap / 2.0))
        .collect();
    let charge = -4.0 * f64::from((MAX_FULL_GAPS / vertices.len().max(1) as f32).min(1.0));
    let charges: Vec<f64> = radii.iter().map(|radius| charge * radius).collect();
    let simulation = SimulationBuilder::default()
        .with_alpha(ALPHA)
        .with_alpha_min(ALPHA_MIN)
        .with_alpha_decay(1.0 - (ALPHA_MIN / ALPHA).powf(1.0 / NUM_STEPS))
        .build(nodes)
        .add_force(
            "collide",
            Collide::new()
                .radius(move |vertex| radii[vertex])
                .strength(0.8),
        )
        .add_force(
            "link",
            Link::new(links).distance(move |_: &_, link: usize| lengths[link]),
        )
        .add_force("x", PositionX::new().strength(0.03))
        .add_force("y", PositionY::new().strength(0.03));
    if vertices.len() > MAX_CHARGED {
        return simulation;
    }
    simulation.add_force(
        "charge",
        ManyBody::new().strength(move |_, vertex: usize| charges[vertex]),
    )
}

fn gap(vertices: &[Vertex]) -> f32 {
    let root_radius = vertices.first().map_or(0.0, |root| root.radius);
    (root_radius * GAP_SHARE * (MAX_FULL_GAPS / vertices.len() as f32).min(1.0)).max(MIN_GAP)
}

/// A subtree as a circle. Its vertex is at the origin and faces along the x axis.
#[derive(Clone, Copy)]
struct Bubble {
    centre: Vec2,
    radius: f32,
}

/// Packs every subtree into a circle, from the leaves up. Children are placed around their caller like the seeds of a
/// sunflower, the smallest inside, each facing its caller.
fn packed(vertices: &[Vertex], gap: f32) -> Vec<Vec2> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); vertices.len()];
    for (child, vertex) in vertices.iter().enumerate() {
        if let Some(parent) = vertex.parent {
            children[parent].push(child);
        }
    }
    let mut bubbles: Vec<Bubble> = vertices
        .iter()
        .map(|vertex| Bubble {
            centre: Vec2::ZERO,
            radius: vertex.radius + gap / 2.0,
        })
        .collect();
    // The position of the bubble of each vertex, relative to its caller.
    let mut places = vec![Vec2::ZERO; vertices.len()];
    for vertex in (0..vertices.len()).rev() {
        let children = &mut children[vertex];
        children.sort_by(|&a, &b| {
            bubbles[a]
                .radius
                .total_cmp(&bubbles[b].radius)
                .then(a.cmp(&b))
        });
        for (place, &child) in around(bubbles[vertex].radius, children, &bubbles)
            .into_iter()
            .zip(&*children)
        {
            places[child] = place;
        }
        bubbles[vertex] = enclosing(bubbles[vertex].radius, children, &places, &bubbles);
    }
    let mut positions = vec![Vec2::ZERO; vertices.len()];
    let mut turns = vec![0.0_f32; vertices.len()];
    for (child, vertex) in vertices.iter().enumerate() {
        let Some(parent) = vertex.parent else {
            continue;
        };
        let place = turned(places[child], turns[parent]);
        let own = bubbles[child].centre;
        turns[child] = place.angle() - own.angle();
        positions[child] = positions[parent] + place - turned(own, turns[child]);
    }
    positions
}

/// Returns the positions of the bubbles of the children around a disc.
fn around(disc: f32, children: &[usize], bubbles: &[Bubble]) -> Vec<Vec2> {
    let mut covered = disc * disc;
    let place = |(number, &child): (usize, &usize)| {
        let radius = bubbles[child].radius;
        let distance = covered.sqrt() + radius;
        covered += radius * radius / DENSITY;
        distance * Vec2::angled(number as f32 * TURN)
    };
    children.iter().enumerate().map(place).collect()
}

/// Returns a nearly minimal circle around a disc at the origin and the bubbles of its children.
fn enclosing(disc: f32, children: &[usize], places: &[Vec2], bubbles: &[Bubble]) -> Bubble {
    let circles = || {
        let own = std::iter::once((Vec2::ZERO, disc));
        own.chain(
            children
                .iter()
                .map(|&child| (places[child], bubbles[child].radius)),
        )
    };
    let (sum, weight) = circles().fold((Vec2::ZERO, 0.0), |(sum, weight), (place, radius)| {
        (sum + place * radius * radius, weight + radius * radius)
    });
    let centre = sum / weight;
    let radius = circles()
        .map(|(place, radius)| (place - centre).length() + radius)
        .fold(0.0, f32::max);
    Bubble { centre, radius }
}

fn turned(vector: Vec2, turn: f32) -> Vec2 {
    let (sin, cos) = turn.sin_cos();
    Vec2::new(
        vector.x * cos - vector.y * sin,
        vector.x * sin + vector.y * cos,
    )
}

#[cfg(test)]
mod tests {
    use callgrove_model::{DurationNs, FuncId};

    use super::*;

    /// Returns vertices with these callers; all except the root have one radius.
    fn vertices(parents: &[Option<usize>]) -> Vec<Vertex> {
        let vertex = |(first, &parent): (usize, &Option<usize>)| Vertex {
            func: FuncId(0),
            first,
            num_calls: 1,
            inclusive: DurationNs(1),
            exclusive: DurationNs(1),
            parent,
            radius: if parent.is_none() { 20.0 } else { 3.0 },
            other: None,
        };
        parents.iter().enumerate().map(vertex).collect()
    }

    fn star(num_leaves: usize) -> Vec<Vertex> {
        vertices(&[vec![None], vec![Some(0); num_leaves]].concat())
    }

    fn extent(positions: &[Vec2]) -> f32 {
        positions.iter().map(|at| at.length()).fold(0.0, f32::max)
    }

    fn num_overlaps(vertices: &[Vertex], positions: &[Vec2]) -> usize {
        let overlap = |a: usize, b: usize| {
            (positions[a] - positions[b]).length() < 0.9 * (vertices[a].radius + vertices[b].radius)
        };
        (0..vertices.len())
            .map(|a| (0..a).filter(|&b| overlap(a, b)).count())
            .sum()
    }

    #[test]
    fn a_crowd_of_leaves_is_packed_around_its_caller() {
        let vertices = star(2_700);
        let positions = packed(&vertices, MIN_GAP);
        let area: f32 = vertices
            .iter()
            .map(|vertex| (vertex.radius + MIN_GAP / 2.0).powi(2))
            .sum();
        assert!(
            extent(&positions) < 1.4 * area.sqrt(),
            "{}",
            extent(&positions)
        );
        assert!(
            num_overlaps(&vertices, &positions) < 27,
            "{}",
            num_overlaps(&vertices, &positions)
        );
    }

    #[test]
    fn the_extent_of_a_chain_is_proportional_to_its_length() {
        let parents: Vec<Option<usize>> =
            (0..60_usize).map(|vertex| vertex.checked_sub(1)).collect();
        assert!(extent(&packed(&vertices(&parents), MIN_GAP)) < 60.0 * 12.0);
    }

    #[test]
    fn the_forces_come_to_rest_without_overlaps_and_the_same_every_time() {
        let parents: Vec<Option<usize>> = (0..300_usize)
            .map(|vertex| vertex.checked_sub(1).map(|last| last / 3))
            .collect();
        let vertices = vertices(&parents);
        let settled = || {
            let mut forces = Forces::new(&vertices);
            let num_frames = std::iter::from_fn(|| forces.step().then_some(()))
                .take(1_000)
                .count();
            (forces.positions().to_vec(), num_frames)
        };
        let (positions, num_frames) = settled();
        assert!(num_frames < 60, "a second at most, not {num_frames} frames");
        assert_eq!(num_overlaps(&vertices, &positions), 0);
        assert_eq!(settled().0, positions);
    }

    #[test]
    fn more_vertices_than_a_frame_can_move_stay_packed() {
        let mut forces = Forces::new(&star(MAX_MOVED));
        assert!(!forces.step());
    }

    #[test]
    fn a_single_vertex_rests_at_the_origin() {
        let mut forces = Forces::new(&star(0));
        while forces.step() {}
        assert_eq!(forces.positions(), [Vec2::ZERO]);
    }
}
