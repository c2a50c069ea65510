//! Pairs that recur become patterns, and patterns that follow themselves become loops.
//!
//! The text of a lane is the bodies of its calls, each distinct one once, and the sequence of its outermost calls. A
//! cursor moves through it from left to right. If the two symbols at the cursor recur as a pair elsewhere in the
//! text, or recurred on an earlier lane, the pair is replaced by one symbol everywhere, and adjacent occurrences join
//! into a loop; then the cursor examines the pair of the new symbol and what follows it. This is both the slides'
//! *extension*, if the pattern is always followed by the same symbol, and their *wrapping*, if it is so several
//! times. A pair that occurs once stays. (A pattern that is used in only one other is merged into that one later, in
//! [`super::rules`].)
//!
//! Two heuristics postpone a pair while others can be replaced. A pair whose second symbol begins a shorter loop
//! waits for that loop (`precedes_loop`). Where only the first pass of a loop differs, the pair after its first call
//! waits for the pair that belongs to the loop (`begins_late`).
//!
//! In the body that holds the time step loop, patterns respect its passes: a pair lies within one pass, or joins
//! whole passes. Otherwise the end of a step and the beginning of the next, which follow each other nearly always,
//! would become one pattern where steps differ in their middle.
//!
//! Every replacement shortens the text by one and touches only the adjacent pairs, so a pass is linear in the length
//! of the text. A pair that arises to the left of the cursor waits for the next pass. Passes are repeated until one
//! changes nothing, at most [`MAX_PASSES`] times.

use std::collections::BTreeSet;

use callgrove_model::{Cancelled, FuncId, Progress};

use super::content::HashedMap;
use super::symbols::{Sym, Symbols, index, number};

/// Maximum number of passes over the text of a lane.
const MAX_PASSES: usize = 32;

/// Length in symbols of the longest loop body that the heuristics detect.
const MAX_LOOP_LEN: usize = 8;

/// Number of nodes between two checks for cancellation.
const NODES_PER_CHECK: u32 = 1 << 14;

/// The index that means "no node".
const NONE: u32 = u32::MAX;

/// Pairs that became patterns on some lane, and the pattern of each.
pub(super) type KnownPairs = HashedMap<u64, Sym>;

/// Factorises bodies in place. `heads` holds, for the body with the time step loop, the function that begins its
/// passes.
pub(super) fn factorise(
    bodies: &mut [Vec<Sym>],
    heads: &[Option<FuncId>],
    symbols: &mut Symbols,
    known: &mut KnownPairs,
    progress: Progress<'_>,
) -> Result<(), Cancelled> {
    let mut text = Text::new(bodies, heads, symbols);
    let mut can_wait = true;
    for _ in 0..MAX_PASSES {
        let has_changed = text.pass(can_wait, symbols, known, progress)?;
        if !has_changed && !can_wait {
            break;
        }
        can_wait = has_changed;
    }
    for (body, &first) in bodies.iter_mut().zip(&text.firsts) {
        body.clear();
        let mut node = first;
        while node != NONE {
            body.push(text.nodes[index(node)].sym);
            node = text.nodes[index(node)].next;
        }
    }
    Ok(())
}

/// Returns the indices in a body at which a pass begins, and the index at which the last pass has ended: before the
/// first call of a function that no earlier pass called.
fn pass_bounds(body: &[Sym], head: FuncId, symbols: &Symbols) -> Vec<usize> {
    let funcs: Vec<_> = body.iter().map(|&it| symbols.function_of_run(it)).collect();
    let is_head = |place: usize| {
        let before = place.checked_sub(1).and_then(|before| funcs[before]);
        funcs[place] == Some(head) && before != Some(head)
    };
    let mut bounds: Vec<usize> = (0..body.len()).filter(|&place| is_head(place)).collect();
    if let (Some(&first), Some(&last)) = (bounds.first(), bounds.last())
        && first < last
    {
        let usual: BTreeSet<_> = funcs[first..last].iter().collect();
        bounds.extend((last..body.len()).find(|&place| !usual.contains(&funcs[place])));
    }
    bounds
}

/// One symbol of the text. A pair of symbols is identified by its left node.
#[derive(Clone, Copy)]
struct Node {
    sym: Sym,
    next: u32,
    /// The previous node; for a removed node, the one that absorbed it.
    prev: u32,
    is_gone: bool,
    /// True if a pass of the time step loop begins here, or ended just before.
    is_head: bool,
    /// The next occurrence of the same pair.
    later: u32,
    /// The previous occurrence of the same pair.
    earlier: u32,
}

/// The occurrences of a pair.
#[derive(Clone, Copy)]
struct Occurrences {
    newest: u32,
    count: u32,
}

struct Text {
    nodes: Vec<Node>,
    firsts: Vec<u32>,
    pairs: HashedMap<u64, Occurrences>,
}

fn key(left: Sym, right: Sym) -> u64 {
    u64::from(left.0) << 32 | u64::from(right.0)
}

impl Text {
    fn new(bodies: &[Vec<Sym>], heads: &[Option<FuncId>], symbols: &Symbols) -> Self {
        let mut text = Self {
            nodes: Vec::with_capacity(bodies.iter().map(Vec::len).sum()),
            firsts: Vec::with_capacity(bodies.len()),
            pairs: HashedMap::default(),
        };
        for body in bodies {
            let first = number(text.nodes.len());
            let last = first.saturating_add(number(body.len()));
            text.firsts.push(if body.is_empty() { NONE } else { first });
            for (&sym, node) in body.iter().zip(first..) {
                text.nodes.push(Node {
                    sym,
                    next: if node + 1 < last { node + 1 } else { NONE },
                    prev: if node > first { node - 1 } else { NONE },
                    is_gone: false,
                    is_head: false,
                    later: NONE,
                    earlier: NONE,
                });
            }
        }
        for (&first, (body, &head)) in text.firsts.iter().zip(bodies.iter().zip(heads)) {
            for place in head.map_or_else(Vec::new, |head| pass_bounds(body, head, symbols)) {
                text.nodes[index(first) + place].is_head = true;
            }
        }
        for node in 0..number(text.nodes.len()) {
            text.enlist(node, symbols);
        }
        text
    }

    /// Goes through the text once; returns whether anything changed. With `can_wait`, pairs wait for loops as the
    /// module describes.
    fn pass(
        &mut self,
        can_wait: bool,
        symbols: &mut Symbols,
        known: &mut KnownPairs,
        progress: Progress<'_>,
    ) -> Result<bool, Cancelled> {
        let (mut has_changed, mut num_seen) = (false, 0_u32);
        for body in 0..self.firsts.len() {
            let mut cursor = self.firsts[body];
            while cursor != NONE {
                num_seen = num_seen.wrapping_add(1);
                if num_seen.is_multiple_of(NODES_PER_CHECK) {
                    progress.at(0.5)?;
                }
                cursor = match self.pattern_at(cursor, can_wait, symbols, known) {
                    Some(pattern) => {
                        has_changed = true;
                        self.replace_all(cursor, pattern, symbols);
                        self.live_node(cursor)
                    }
                    None => self.nodes[index(cursor)].next,
                };
            }
        }
        Ok(has_changed)
    }

    /// Returns the pattern that the pair at a node becomes; `None` if the pair occurs once or should wait.
    fn pattern_at(
        &self,
        left: u32,
        can_wait: bool,
        symbols: &mut Symbols,
        known: &mut KnownPairs,
    ) -> Option<Sym> {
        let key = self.key_at(left, symbols)?;
        if let Some(&pattern) = known.get(&key) {
            return (!can_wait || !self.should_wait(left, symbols)).then_some(pattern);
        }
        if self.pairs.get(&key)?.count < 2 || (can_wait && self.should_wait(left, symbols)) {
            return None;
        }
        let node = self.nodes[index(left)];
        let pattern = symbols.pair(node.sym, self.nodes[index(node.next)].sym);
        known.insert(key, pattern);
        Some(pattern)
    }

    /// Returns whether a loop begins or began next to a node, so that its pair should wait for that loop.
    fn should_wait(&self, left: u32, symbols: &Symbols) -> bool {
        self.begins_late(left, symbols) || self.precedes_loop(left)
    }

    /// Returns whether a shorter loop begins after a node than at it: in `a b c b c`, the loop (b c) comes before (a
    /// b).
    fn precedes_loop(&self, left: u32) -> bool {
        let mut ahead = [Sym(u32::MAX); 2 * MAX_LOOP_LEN + 1];
        let mut node = left;
        for sym in &mut ahead {
            let Some(it) = self.nodes.get(index(node)) else {
                break;
            };
            *sym = it.sym;
            node = it.next;
        }
        let period = |from: usize| {
            let twice = |period: &usize| {
                let (once, again) = (from + period, from + 2 * period);
                again <= ahead.len()
                    && ahead[again - 1] != Sym(u32::MAX)
                    && ahead[from..once] == ahead[once..again]
            };
            (2..=MAX_LOOP_LEN).find(twice)
        };
        match (period(0), period(1)) {
            (Some(here), Some(after)) => after < here,
            (here, after) => here.is_none() && after.is_some(),
        }
    }

    /// Returns whether a loop seems to have begun one call before a node: in `b' a b a b`, where b' and b are calls
    /// of one function and only the first differs, the loop is (b a), not (a b).
    fn begins_late(&self, left: u32, symbols: &Symbols) -> bool {
        let sym = |node: u32| Some(self.nodes.get(index(node))?.sym);
        let node = self.nodes[index(left)];
        let (Some(before), Some(after)) = (sym(node.prev), sym(node.next)) else {
            return false;
        };
        let function = symbols.function(before);
        before != after && function.is_some() && function == symbols.function(after)
    }

    /// Returns whether two neighbours lie within one pass of the time step loop, or each consists of whole passes.
    fn keep_to_passes(&self, left: u32, right: Node) -> bool {
        let is_head = |node: u32| self.nodes.get(index(node)).is_none_or(|it| it.is_head);
        !right.is_head || (is_head(left) && is_head(right.next))
    }

    /// Returns the pair that begins at a node; `None` if nothing follows, or if the two must not be joined.
    fn key_at(&self, left: u32, symbols: &Symbols) -> Option<u64> {
        let node = self.nodes[index(left)];
        let next = self.nodes.get(index(node.next))?;
        let may_join = symbols.can_recur(node.sym)
            && symbols.can_recur(next.sym)
            && self.keep_to_passes(left, *next);
        may_join.then(|| key(node.sym, next.sym))
    }

    /// Replaces every occurrence of the pair at `cursor`, from left to right.
    fn replace_all(&mut self, cursor: u32, pattern: Sym, symbols: &mut Symbols) {
        let left = self.nodes[index(cursor)].sym;
        let right = self.nodes[index(self.nodes[index(cursor)].next)].sym;
        let mut places = Vec::new();
        let newest = self.pairs.get(&key(left, right)).map(|it| it.newest);
        let mut place = newest.unwrap_or(NONE);
        while place != NONE {
            places.push(place);
            place = self.nodes[index(place)].earlier;
        }
        places.sort_unstable();
        for place in places {
            let node = self.nodes[index(place)];
            let is_there = !node.is_gone
                && node.sym == left
                && self
                    .nodes
                    .get(index(node.next))
                    .is_some_and(|next| next.sym == right);
            if is_there {
                self.replace(place, pattern, symbols);
            }
        }
    }

    /// Replaces the pair at a node, and joins the new symbol with equal neighbours.
    fn replace(&mut self, left: u32, pattern: Sym, symbols: &mut Symbols) {
        let right = self.nodes[index(left)].next;
        let before = self.nodes[index(left)].prev;
        for node in [before, left, right] {
            self.delist(node, symbols);
        }
        self.nodes[index(left)].sym = pattern;
        self.absorb(left, right);
        let mut node = left;
        if self.can_join(before, node, symbols) {
            let earlier = self.nodes[index(before)].prev;
            self.delist(earlier, symbols);
            self.join(before, node, symbols);
            node = before;
        }
        let after = self.nodes[index(node)].next;
        if self.can_join(node, after, symbols) {
            self.delist(after, symbols);
            self.join(node, after, symbols);
        }
        let before = self.nodes[index(node)].prev;
        self.enlist(before, symbols);
        self.enlist(node, symbols);
    }

    /// Returns whether two neighbours are the same symbol, once or in a loop.
    fn can_join(&self, left: u32, right: u32, symbols: &Symbols) -> bool {
        let base = |node| Some(symbols.base(self.nodes.get(index(node))?.sym).0);
        let is_head = |node| self.nodes.get(index(node)).is_some_and(|it| it.is_head);
        // The beginning of a pass may be all of the passes before it.
        base(left).is_some_and(|of| base(right) == Some(of)) && (is_head(left) || !is_head(right))
    }

    fn join(&mut self, left: u32, right: u32, symbols: &mut Symbols) {
        let (of, first) = symbols.base(self.nodes[index(left)].sym);
        let (_, second) = symbols.base(self.nodes[index(right)].sym);
        self.nodes[index(left)].sym = symbols.repeated(of, first.saturating_add(second));
        self.absorb(left, right);
    }

    /// Removes the right one of two neighbours from the text; the left one absorbs it.
    fn absorb(&mut self, left: u32, right: u32) {
        let after = self.nodes[index(right)].next;
        self.nodes[index(left)].next = after;
        if let Some(after) = self.nodes.get_mut(index(after)) {
            after.prev = left;
        }
        let gone = &mut self.nodes[index(right)];
        gone.is_gone = true;
        gone.prev = left;
    }

    /// Returns the live node that a node was absorbed by.
    fn live_node(&self, mut node: u32) -> u32 {
        while self.nodes[index(node)].is_gone {
            node = self.nodes[index(node)].prev;
        }
        node
    }

    /// Records the pair that begins at a node.
    fn enlist(&mut self, left: u32, symbols: &Symbols) {
        if left == NONE {
            return;
        }
        let Some(key) = self.key_at(left, symbols) else {
            return;
        };
        let pair = self.pairs.entry(key).or_insert(Occurrences {
            newest: NONE,
            count: 0,
        });
        let before = std::mem::replace(&mut pair.newest, left);
        pair.count += 1;
        self.nodes[index(left)].earlier = before;
        self.nodes[index(left)].later = NONE;
        if let Some(before) = self.nodes.get_mut(index(before)) {
            before.later = left;
        }
    }

    /// Removes the record of the pair that begins at a node.
    fn delist(&mut self, left: u32, symbols: &Symbols) {
        if left == NONE {
            return;
        }
        let Some(key) = self.key_at(left, symbols) else {
            return;
        };
        let Node { later, earlier, .. } = self.nodes[index(left)];
        let is_only = match self.pairs.get_mut(&key) {
            Some(pair) => {
                pair.count = pair.count.saturating_sub(1);
                if pair.newest == left {
                    pair.newest = earlier;
                }
                pair.count == 0
            }
            None => false,
        };
        if is_only {
            self.pairs.remove(&key);
        }
        if let Some(node) = self.nodes.get_mut(index(earlier)) {
            node.later = later;
        }
        if let Some(node) = self.nodes.get_mut(index(later)) {
            node.earlier = earlier;
        }
        let node = &mut self.nodes[index(left)];
        (node.later, node.earlier) = (NONE, NONE);
    }
}
