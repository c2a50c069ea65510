//! Places in the program: where own work is done, and how much a call there moves.

use callgrove_model::{ExecIdx, Executions, FuncId};

use super::numbers::{Numbered, index};

/// A call path, numbered by [`Places`].
pub type PathIdx = u32;

/// The part of a visit of a place that a gap is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GapPart {
    /// All of it.
    Whole,
    /// Before the operation of another thread that the visit waits for.
    BeforeWait,
    /// After it.
    AfterWait,
}

/// The place of own work: the call path, the function that ended before, and the event that ends it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct GapPlace {
    pub(crate) path: PathIdx,
    pub(crate) before: Option<FuncId>,
    pub(crate) next: FuncId,
    pub(crate) next_enters: bool,
    pub(crate) part: GapPart,
    pub(crate) size: SizeClass,
}

/// The size of what a call moves, in steps of a quarter of an octave; 0 if it is not stated. A larger copy is not a
/// slower one: calls are compared with those of their size.
pub(crate) type SizeClass = u8;

/// Number of size classes of an octave: the widest, from 4 to 5, is 25 % wide.
const CLASSES_PER_OCTAVE: u64 = 4;

/// Multiple of its visits from which on the calls around a place are usually without it.
const EXCEPTIONAL: usize = 10;

pub(crate) fn size_class(bytes: u64) -> SizeClass {
    let octave = u64::from(bytes.max(4).ilog2());
    let quarter = (bytes.max(4) >> (octave - 2)) % CLASSES_PER_OCTAVE;
    u8::try_from(octave * CLASSES_PER_OCTAVE + quarter).unwrap_or(SizeClass::MAX)
}

/// Call paths and places of a run, numbered in order of appearance.
#[derive(Debug)]
pub struct Places {
    /// The function of each path and the path of its caller; the first path is the empty one.
    paths: Numbered<(Option<FuncId>, PathIdx)>,
    of_gaps: Numbered<GapPlace>,
    /// Number of calls of each path.
    num_calls: Vec<u32>,
}

impl Default for Places {
    fn default() -> Self {
        let mut paths = Numbered::default();
        paths.number((None, 0));
        Self {
            paths,
            of_gaps: Numbered::default(),
            num_calls: vec![0],
        }
    }
}

impl Places {
    pub(crate) fn path(&mut self, caller: PathIdx, func: FuncId) -> PathIdx {
        let path = self.paths.number((Some(func), caller));
        if index(path) == self.num_calls.len() {
            self.num_calls.push(0);
        }
        let num_calls = &mut self.num_calls[index(path)];
        *num_calls = num_calls.saturating_add(1);
        path
    }

    pub(crate) fn place(&mut self, place: GapPlace) -> u32 {
        self.of_gaps.number(place)
    }

    /// Returns the place of a part of the visits of a place.
    pub(crate) fn part(&mut self, place: u32, part: GapPart) -> u32 {
        let whole = *self.of(place);
        self.place(GapPlace { part, ..whole })
    }

    /// Returns the number of places.
    pub fn num_places(&self) -> usize {
        self.of_gaps.items().len()
    }

    /// Returns the number of paths.
    pub fn num_paths(&self) -> usize {
        self.paths.items().len()
    }

    /// Returns the call path of a place.
    pub fn path_of(&self, place: u32) -> PathIdx {
        self.of(place).path
    }

    /// Returns the part of a visit that a place is.
    pub fn part_of(&self, place: u32) -> GapPart {
        self.of(place).part
    }

    /// Returns whether a place with few visits is in a call that is made far more often, mostly without it.
    pub fn is_exceptional(&self, place: u32, num_visits: usize) -> bool {
        let callers = std::iter::successors(Some(self.path_of(place)), |&path| {
            (path != 0).then(|| self.caller_of(path))
        });
        let mut counts = callers.map(|path| index(self.num_calls[index(path)]));
        counts.any(|num_calls| num_calls >= num_visits.saturating_mul(EXCEPTIONAL))
    }

    /// Returns the path of a call; `None` if it is in an operation, within which paths are not numbered.
    pub(crate) fn path_of_call(&self, executions: &Executions, call: ExecIdx) -> Option<PathIdx> {
        let mut calls: Vec<ExecIdx> =
            std::iter::successors(Some(call), |&it| executions.parent(it)).collect();
        calls.reverse();
        calls.into_iter().try_fold(0, |caller, call| {
            let func = executions.func[call.index()];
            self.paths.get((Some(func), caller))
        })
    }

    /// Returns the innermost function of a path.
    pub fn func(&self, path: PathIdx) -> Option<FuncId> {
        self.paths.items()[index(path)].0
    }

    /// Returns the function that calls it.
    pub fn caller(&self, path: PathIdx) -> Option<FuncId> {
        self.func(self.caller_of(path))
    }

    fn caller_of(&self, path: PathIdx) -> PathIdx {
        self.paths.items()[index(path)].1
    }

    fn of(&self, place: u32) -> &GapPlace {
        &self.of_gaps.items()[index(place)]
    }
}
