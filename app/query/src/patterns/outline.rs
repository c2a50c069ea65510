//! The content of a pattern, line by line, with foldable lines.

use std::collections::BTreeSet;

use callgrove_model::{FuncId, FunctionName};
use callgrove_patterns::{PatternId, PatternItem, PatternSymbol, Times};
use serde::{Deserialize, Serialize};

use super::RunPatterns;

/// Largest number of lines. A grammar is short, but its unfolded form may be very long.
const MAX_LINES: usize = 2_000;

/// Position of a line: the indices of the items on the path to it.
pub type OutlinePath = Vec<u32>;

/// The patterns within a pattern that are unfolded.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Unfolding {
    /// Number of levels of nested patterns that are unfolded.
    pub depth: usize,
    /// Lines that are folded although `depth` unfolds them, and the other way round.
    pub exceptions: BTreeSet<OutlinePath>,
}

/// A line of a definition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutlineLine {
    /// Nesting level of calls and patterns.
    pub indent: usize,
    /// Number of repetitions, and name: `3 × MPI_Isend`.
    pub text: String,
    /// The called function.
    pub func: Option<FuncId>,
    /// The pattern, if the line is one.
    pub pattern: Option<PatternId>,
    /// True if the pattern is unfolded below the line.
    pub is_unfolded: bool,
    /// Position of the line.
    pub path: OutlinePath,
}

impl Unfolding {
    /// Returns whether the pattern on a line is unfolded. `depth` is the number of enclosing patterns.
    fn is_unfolded(&self, path: &OutlinePath, depth: usize) -> bool {
        (depth < self.depth) != self.exceptions.contains(path)
    }

    /// Unfolds a folded line, or folds an unfolded one.
    pub fn toggle(&mut self, path: &OutlinePath) {
        if !self.exceptions.remove(path) {
            self.exceptions.insert(path.clone());
        }
    }

    /// Unfolds the first `depth` levels everywhere.
    pub fn to_depth(depth: usize) -> Self {
        Self {
            depth,
            exceptions: BTreeSet::new(),
        }
    }
}

impl RunPatterns {
    /// Returns the content of a pattern, in order; ends with `…` where it is cut off.
    pub fn outline(&self, id: PatternId, unfolding: &Unfolding) -> Vec<OutlineLine> {
        let mut outline = Outline {
            patterns: self,
            unfolding,
            lines: Vec::new(),
        };
        if let Some(pattern) = self.get(id) {
            outline.add(&pattern.items, (0, 0), &mut Vec::new());
        }
        outline.lines
    }
}

struct Outline<'a> {
    patterns: &'a RunPatterns,
    unfolding: &'a Unfolding,
    lines: Vec<OutlineLine>,
}

impl Outline<'_> {
    fn add(
        &mut self,
        items: &[PatternItem],
        (indent, depth): (usize, usize),
        path: &mut OutlinePath,
    ) {
        let mut indent = indent;
        for (place, item) in (0_u32..).zip(items) {
            if self.lines.len() >= MAX_LINES {
                return self.cut_off(indent);
            }
            path.push(place);
            match item.symbol {
                PatternSymbol::Enter(func) => {
                    self.push_call(indent, *item, func, path);
                    indent += 1;
                }
                PatternSymbol::Leave(_) => indent = indent.saturating_sub(1),
                PatternSymbol::Call(func) => self.push_call(indent, *item, func, path),
                PatternSymbol::Pattern(id) => self.add_pattern(*item, id, (indent, depth), path),
            }
            path.pop();
        }
    }

    fn add_pattern(
        &mut self,
        item: PatternItem,
        id: PatternId,
        (indent, depth): (usize, usize),
        path: &mut OutlinePath,
    ) {
        let Some(pattern) = self.patterns.get(id) else {
            return;
        };
        let is_unfolded = self.unfolding.is_unfolded(path, depth);
        self.lines.push(OutlineLine {
            indent,
            text: times(item.times) + &self.patterns.name(id),
            func: pattern.function,
            pattern: Some(id),
            is_unfolded,
            path: path.clone(),
        });
        if is_unfolded {
            self.add(inside(&pattern.items), (indent + 1, depth + 1), path);
        }
    }

    fn push_call(&mut self, indent: usize, item: PatternItem, func: FuncId, path: &OutlinePath) {
        let name = self.patterns.trace.names.name(func);
        self.lines.push(OutlineLine {
            indent,
            text: times(item.times) + FunctionName::parse(name).short,
            func: Some(func),
            pattern: None,
            is_unfolded: false,
            path: path.clone(),
        });
    }

    fn cut_off(&mut self, indent: usize) {
        if self.lines.last().is_some_and(|line| line.text != "…") {
            self.lines.push(OutlineLine {
                indent,
                text: "…".to_owned(),
                func: None,
                pattern: None,
                is_unfolded: false,
                path: Vec::new(),
            });
        }
    }
}

/// Returns the content of a call without the call itself, whose name is on the line above.
fn inside(items: &[PatternItem]) -> &[PatternItem] {
    match items {
        [first, inner @ .., last]
            if matches!(first.symbol, PatternSymbol::Enter(_))
                && matches!(last.symbol, PatternSymbol::Leave(_)) =>
        {
            inner
        }
        items => items,
    }
}

/// Returns `3 × `, `8–30 × `, or nothing for a single occurrence.
fn times(times: Times) -> String {
    match times {
        Times::ONCE => String::new(),
        Times { min, max } if min == max => format!("{min} × "),
        Times { min, max } => format!("{min}–{max} × "),
    }
}
