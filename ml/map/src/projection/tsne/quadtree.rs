//! Points of a map in cells, in the memory order of one pass per leaf.

/// Maximum number of points of a leaf, unless they are too close to be separated.
const LEAF_POINTS: usize = 32;
/// Bits of a coordinate: the maximum number of times that cells are halved.
const BITS: u32 = 16;

/// A cell with the points in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QuadtreeCell {
    /// Mean of its points.
    pub(super) centre: [f32; 2],
    /// Number of its points.
    pub(super) mass: f32,
    /// Square of the longer side of the box around its points.
    pub(super) squared_size: f32,
    /// Lower corner of the box around its points.
    pub(super) lower: [f32; 2],
    /// Upper corner of that box.
    pub(super) upper: [f32; 2],
    /// Its points, as indices: first, and one past the last.
    pub(super) start: u32,
    pub(super) end: u32,
    /// Its child cells, as indices; a leaf has none.
    pub(super) first_child: u32,
    pub(super) num_children: u32,
}

/// Cells in order of their depth; points in order of the Z curve, so that those of a cell are adjacent.
#[derive(Clone, Debug, Default)]
pub(super) struct Quadtree {
    pub(super) cells: Vec<QuadtreeCell>,
    /// Indices of the leaves.
    pub(super) leaves: Vec<u32>,
    /// The point at each index.
    pub(super) order: Vec<u32>,
    pub(super) xs: Vec<f32>,
    pub(super) ys: Vec<f32>,
    /// Position on the curve and point.
    codes: Vec<u64>,
}

impl Quadtree {
    /// Sorts points into cells; reuses the memory of the previous call.
    pub(super) fn build(&mut self, points: &[[f32; 2]]) {
        self.sort(points);
        self.split();
        for at in (0..self.cells.len()).rev() {
            self.cells[at] = self.summed(self.cells[at]);
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "BITS fit single precision, and codes hold points of 32 bits"
    )]
    fn sort(&mut self, points: &[[f32; 2]]) {
        let (lower, upper) = box_around(points.iter().copied());
        let side = (upper[0] - lower[0]).max(upper[1] - lower[1]);
        let most = ((1_u32 << BITS) - 1) as f32;
        let scale = if side > 0.0 { most / side } else { 0.0 };
        let code = |&[x, y]: &[f32; 2]| {
            let index = |value: f32, lower: f32| spread(((value - lower) * scale).min(most) as u32);
            u64::from(index(x, lower[0]) | index(y, lower[1]) << 1)
        };
        self.codes.clear();
        let codes = points.iter().map(code).enumerate();
        self.codes
            .extend(codes.map(|(point, code)| code << 32 | point as u64));
        self.codes.sort_unstable();
        self.order.clear();
        self.order
            .extend(self.codes.iter().map(|&code| code as u32));
        let order = &self.order;
        self.xs.clear();
        self.xs
            .extend(order.iter().map(|&point| points[point as usize][0]));
        self.ys.clear();
        self.ys
            .extend(order.iter().map(|&point| points[point as usize][1]));
    }

    /// Halves cells until few points are in each, breadth first.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "points are counted in 32 bits, and cells are fewer"
    )]
    fn split(&mut self) {
        self.cells.clear();
        self.leaves.clear();
        self.cells.push(QuadtreeCell {
            end: self.codes.len() as u32,
            ..QuadtreeCell::default()
        });
        let (mut at, mut level, mut level_end) = (0, 0, 1);
        while at < self.cells.len() {
            if at == level_end {
                (level, level_end) = (level + 1, self.cells.len());
            }
            let QuadtreeCell { start, end, .. } = self.cells[at];
            let first_child = self.cells.len() as u32;
            if (end - start) as usize > LEAF_POINTS && level < BITS {
                self.push_quarters(start, end, 32 + 2 * (BITS - 1 - level));
            } else {
                self.leaves.push(at as u32);
            }
            let num_children = self.cells.len() as u32 - first_child;
            let cell = &mut self.cells[at];
            (cell.first_child, cell.num_children) = (first_child, num_children);
            at += 1;
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "points are counted in 32 bits"
    )]
    fn push_quarters(&mut self, start: u32, end: u32, shift: u32) {
        let mut from = start;
        for quarter in 0..4 {
            let codes = &self.codes[from as usize..end as usize];
            let len = codes.partition_point(|code| code >> shift & 3 <= quarter) as u32;
            if len > 0 {
                self.cells.push(QuadtreeCell {
                    start: from,
                    end: from + len,
                    ..QuadtreeCell::default()
                });
            }
            from += len;
        }
    }

    /// Returns the cell with the sums over its points, or over its child cells.
    #[expect(clippy::cast_precision_loss, reason = "masses are in single precision")]
    fn summed(&self, mut cell: QuadtreeCell) -> QuadtreeCell {
        cell.mass = (cell.end - cell.start) as f32;
        if cell.num_children == 0 {
            let range = cell.start as usize..cell.end as usize;
            let points = self.xs[range.clone()].iter().zip(&self.ys[range]);
            let points = points.map(|(&x, &y)| [x, y]);
            (cell.lower, cell.upper) = box_around(points.clone());
            cell.centre = mean(points.map(|point| (point, 1.0)), cell.mass);
        } else {
            let first = cell.first_child as usize;
            let children = &self.cells[first..first + cell.num_children as usize];
            let corners = children.iter().flat_map(|child| [child.lower, child.upper]);
            (cell.lower, cell.upper) = box_around(corners);
            let centres = children.iter().map(|child| (child.centre, child.mass));
            cell.centre = mean(centres, cell.mass);
        }
        let (width, height) = (cell.upper[0] - cell.lower[0], cell.upper[1] - cell.lower[1]);
        cell.squared_size = width.max(height).powi(2);
        cell
    }
}

fn mean(points: impl Iterator<Item = ([f32; 2], f32)>, mass: f32) -> [f32; 2] {
    let mut sum = [0.0; 2];
    for (point, mass) in points {
        sum[0] += point[0] * mass;
        sum[1] += point[1] * mass;
    }
    [sum[0] / mass, sum[1] / mass]
}

fn box_around(points: impl Iterator<Item = [f32; 2]>) -> ([f32; 2], [f32; 2]) {
    let (mut lower, mut upper) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    for point in points {
        for axis in 0..2 {
            lower[axis] = lower[axis].min(point[axis]);
            upper[axis] = upper[axis].max(point[axis]);
        }
    }
    (lower, upper)
}

/// Returns the low 16 bits, each with a zero before it.
fn spread(value: u32) -> u32 {
    let value = (value | value << 8) & 0x00ff_00ff;
    let value = (value | value << 4) & 0x0f0f_0f0f;
    let value = (value | value << 2) & 0x3333_3333;
    (value | value << 1) & 0x5555_5555
}
