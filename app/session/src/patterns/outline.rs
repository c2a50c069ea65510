//! What a pattern is made of, line by line, folded where nobody unfolded it.

use std::collections::BTreeSet;

use callgrove_model::{FuncId, FunctionName};
use callgrove_patterns::pattern::{PatternId, PatternItem, PatternSymbol, Times};
use serde::{Deserialize, Serialize};

use super::RunPatterns;

/// Lines after which a definition is cut off: a grammar is short, but what it unfolds to need not be.
const MOST_LINES: usize = 2_000;

/// Where a line is: the places of the items on the way to it.
pub type OutlinePath = Vec<u32>;

/// Which patterns within a pattern are unfolded.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Unfolding {
    /// So many levels of patterns within patterns are unfolded.
    pub depth: usize,
    /// Lines of which the opposite holds.
    pub exceptions: BTreeSet<OutlinePath>,
}

/// A line of a definition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutlineLine {
    /// How far it is inside: calls within calls, and patterns within patterns.
    pub indent: usize,
    /// How often it follows itself, and what it is: `3 × MPI_Isend`.
    pub text: String,
    /// The function that it is a call of.
    pub func: Option<FuncId>,
    /// The pattern that it is, if it is one.
    pub pattern: Option<PatternId>,
    /// Whether that one is unfolded below it.
    pub is_unfolded: bool,
    /// Where it is.
    pub path: OutlinePath,
}

impl Unfolding {
    /// Whether the pattern at a line is unfolded; `depth` patterns are around it.
    fn is_unfolded(&self, path: &OutlinePath, depth: usize) -> bool {
        (depth < self.depth) != self.exceptions.contains(path)
    }

    /// Unfolds a line that is folded, and the other way round.
    pub fn toggle(&mut self, path: &OutlinePath) {
        if !self.exceptions.remove(path) {
            self.exceptions.insert(path.clone());
        }
    }

    /// Unfolds so many levels everywhere.
    pub fn to_depth(depth: usize) -> Self {
        Self {
            depth,
            exceptions: BTreeSet::new(),
        }
    }
}

impl RunPatterns {
    /// What a pattern is made of, in order; ends with `…` where it is cut off.
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
            if self.lines.len() >= MOST_LINES {
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

/// What a call consists of, without itself: the line above it says its name already.
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

/// `3 × `, `8–30 × `, or nothing if it is once.
fn times(times: Times) -> String {
    match times {
        Times::ONCE => String::new(),
        Times { least, most } if least == most => format!("{least} × "),
        Times { least, most } => format!("{least}–{most} × "),
    }
}
