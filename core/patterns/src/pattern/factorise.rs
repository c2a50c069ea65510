//! Pairs that recur become patterns, and patterns that follow themselves become loops.
//!
//! The text of a lane are the bodies of its calls, each distinct one once, and what it calls while nothing is
//! open. A cursor goes through it from left to right. Where the two symbols at the cursor recur somewhere in the
//! text as a pair, or recurred on a lane before, the pair is replaced by one symbol everywhere, and occurrences
//! that follow each other join to a loop; then the cursor looks at the pair that the new symbol makes with what
//! follows it. That is both the slides' *extension*, if the pattern is always followed by the same, and their
//! *wrapping*, if it is so several times; where a pair occurs once, nothing is done. (A pattern that is used in
//! only one other is taken into that one later, in [`super::rules`].)
//!
//! Two rules of thumb put a pair off while there are others to be replaced: a pair of which the second begins a
//! shorter loop waits for that (`precedes_loop`); and where only the first pass of a loop goes otherwise, the pair
//! after its first call waits for the one that is the loop's (`begins_late`).
//!
//!
//! In the body that holds the time step loop, patterns keep to its passes: a pair lies within one pass, or joins
//! whole ones. Else the end of a step and the beginning of the next, which follow each other nearly always, would
//! become one pattern where steps differ in their middle.
//!
//! Every replacement makes the text shorter by one and touches the pairs beside it only, so it is linear in the
//! length of the text, but for the passes: a pair that arises left of the cursor waits for the next pass, and
//! there are as many until a pass changes nothing, at most [`MOST_PASSES`].

use std::collections::BTreeSet;

use callgrove_model::{Cancelled, FuncId, Progress};

use super::content::HashedMap;
use super::symbols::{Sym, Symbols, index, number};

/// Passes over the text of a lane.
const MOST_PASSES: usize = 32;

/// The longest body, in symbols, of a loop that is looked out for.
const LONGEST_LOOP: usize = 8;

/// Nodes between two looks at whether to go on.
const NODES_A_LOOK: u32 = 1 << 14;

/// No node.
const NONE: u32 = u32::MAX;

/// Pairs that became patterns on some lane, and what they became.
pub(super) type KnownPairs = HashedMap<u64, Sym>;

/// Factorises bodies in place; `heads` has the function that begins the passes of a body, if it is the one that
/// holds the time step loop.
pub(super) fn factorise(
    bodies: &mut [Vec<Sym>],
    heads: &[Option<FuncId>],
    symbols: &mut Symbols,
    known: &mut KnownPairs,
    progress: Progress<'_>,
) -> Result<(), Cancelled> {
    let mut text = Text::new(bodies, heads, symbols);
    let mut is_patient = true;
    for _ in 0..MOST_PASSES {
        let has_changed = text.pass(is_patient, symbols, known, progress)?;
        if !has_changed && !is_patient {
            break;
        }
        is_patient = has_changed;
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

/// The places in a body where a pass begins, and where the last one has ended: before the first call of what no
/// pass before it called.
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

/// One symbol of the text. A pair of symbols is known by its left node.
#[derive(Clone, Copy)]
struct Node {
    sym: Sym,
    next: u32,
    /// The node before; of a node that is gone, the one that took it in.
    prev: u32,
    is_gone: bool,
    /// Whether a pass of the time step loop begins here, or ended just before.
    is_head: bool,
    /// Other occurrences of the same pair.
    later: u32,
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

    /// Goes through the text once; says whether anything changed.
    fn pass(
        &mut self,
        is_patient: bool,
        symbols: &mut Symbols,
        known: &mut KnownPairs,
        progress: Progress<'_>,
    ) -> Result<bool, Cancelled> {
        let (mut has_changed, mut num_seen) = (false, 0_u32);
        for body in 0..self.firsts.len() {
            let mut cursor = self.firsts[body];
            while cursor != NONE {
                num_seen = num_seen.wrapping_add(1);
                if num_seen.is_multiple_of(NODES_A_LOOK) {
                    progress.at(0.5)?;
                }
                cursor = match self.pattern_at(cursor, is_patient, symbols, known) {
                    Some(pattern) => {
                        has_changed = true;
                        self.replace_all(cursor, pattern, symbols);
                        self.alive(cursor)
                    }
                    None => self.nodes[index(cursor)].next,
                };
            }
        }
        Ok(has_changed)
    }

    /// The pattern that the pair at a node becomes; `None` if it occurs once.
    fn pattern_at(
        &self,
        left: u32,
        is_patient: bool,
        symbols: &mut Symbols,
        known: &mut KnownPairs,
    ) -> Option<Sym> {
        let key = self.key_at(left, symbols)?;
        if let Some(&pattern) = known.get(&key) {
            return (!is_patient || !self.waits(left, symbols)).then_some(pattern);
        }
        if self.pairs.get(&key)?.count < 2 || (is_patient && self.waits(left, symbols)) {
            return None;
        }
        let node = self.nodes[index(left)];
        let pattern = symbols.pair(node.sym, self.nodes[index(node.next)].sym);
        known.insert(key, pattern);
        Some(pattern)
    }

    /// Whether a loop begins or began beside a node, so that the pair there had better wait for it.
    fn waits(&self, left: u32, symbols: &Symbols) -> bool {
        self.begins_late(left, symbols) || self.precedes_loop(left)
    }

    /// Whether a shorter loop begins after a node than at it: in `a b c b c`, the loop of (b c) goes before (a b).
    fn precedes_loop(&self, left: u32) -> bool {
        let mut ahead = [Sym(u32::MAX); 2 * LONGEST_LOOP + 1];
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
            (2..=LONGEST_LOOP).find(twice)
        };
        match (period(0), period(1)) {
            (Some(here), Some(after)) => after < here,
            (here, after) => here.is_none() && after.is_some(),
        }
    }

    /// Whether a loop seems to have begun one call before a node: in `b' a b a b`, where b' and b are calls of one
    /// function and only the first went otherwise, the loop is (b a), not (a b).
    fn begins_late(&self, left: u32, symbols: &Symbols) -> bool {
        let sym = |node: u32| Some(self.nodes.get(index(node))?.sym);
        let node = self.nodes[index(left)];
        let (Some(before), Some(after)) = (sym(node.prev), sym(node.next)) else {
            return false;
        };
        let function = symbols.function(before);
        before != after && function.is_some() && function == symbols.function(after)
    }

    /// Whether two neighbours are within one pass of the time step loop, or each is whole passes.
    fn keep_to_passes(&self, left: u32, right: Node) -> bool {
        let is_head = |node: u32| self.nodes.get(index(node)).is_none_or(|it| it.is_head);
        !right.is_head || (is_head(left) && is_head(right.next))
    }

    /// The pair that begins at a node; `None` if nothing follows, or the two may not become one.
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

    /// Replaces the pair at a node, and joins what it became with its equals beside it.
    fn replace(&mut self, left: u32, pattern: Sym, symbols: &mut Symbols) {
        let right = self.nodes[index(left)].next;
        let before = self.nodes[index(left)].prev;
        for node in [before, left, right] {
            self.delist(node, symbols);
        }
        self.nodes[index(left)].sym = pattern;
        self.take_in(left, right);
        let mut node = left;
        if self.joins(before, node, symbols) {
            let earlier = self.nodes[index(before)].prev;
            self.delist(earlier, symbols);
            self.join(before, node, symbols);
            node = before;
        }
        let after = self.nodes[index(node)].next;
        if self.joins(node, after, symbols) {
            self.delist(after, symbols);
            self.join(node, after, symbols);
        }
        let before = self.nodes[index(node)].prev;
        self.enlist(before, symbols);
        self.enlist(node, symbols);
    }

    /// Whether two neighbours are the same thing, once or in a loop.
    fn joins(&self, left: u32, right: u32, symbols: &Symbols) -> bool {
        let base = |node| Some(symbols.base(self.nodes.get(index(node))?.sym).0);
        let is_head = |node| self.nodes.get(index(node)).is_some_and(|it| it.is_head);
        // What a pass begins with may be all of the passes before it.
        base(left).is_some_and(|of| base(right) == Some(of)) && (is_head(left) || !is_head(right))
    }

    fn join(&mut self, left: u32, right: u32, symbols: &mut Symbols) {
        let (of, first) = symbols.base(self.nodes[index(left)].sym);
        let (_, second) = symbols.base(self.nodes[index(right)].sym);
        self.nodes[index(left)].sym = symbols.repeated(of, first.saturating_add(second));
        self.take_in(left, right);
    }

    /// Takes the right one of two neighbours out of the text.
    fn take_in(&mut self, left: u32, right: u32) {
        let after = self.nodes[index(right)].next;
        self.nodes[index(left)].next = after;
        if let Some(after) = self.nodes.get_mut(index(after)) {
            after.prev = left;
        }
        let gone = &mut self.nodes[index(right)];
        gone.is_gone = true;
        gone.prev = left;
    }

    /// The node that a node became part of.
    fn alive(&self, mut node: u32) -> u32 {
        while self.nodes[index(node)].is_gone {
            node = self.nodes[index(node)].prev;
        }
        node
    }

    /// Notes the pair that begins at a node.
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

    /// Forgets the pair that begins at a node.
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
