//! All recurring patterns of a trace.

use callgrove_model::{
    Cancelled, DurationNs, FuncId, FunctionName, LaneIdx, NameTable, Progress, Trace, fnv1a,
};

use super::calls::{LaneCalls, name_calls, share};
use super::event::CallEvent;
use super::expand;
use super::factorise::{KnownPairs, factorise};
use super::pattern::{Pattern, PatternId, PatternItem, PatternSymbol, Times};
use super::rules::{Factored, RuleItem, RulePart, Rules, items_of};
use super::symbols::{Body, Def, Sym, Symbols, number};
use super::text;
use super::time_loop::{LoopPlace, find_loop};
use super::walk::{WalkedOccurrences, walk};

/// Progress at which the grammar is complete; finding the occurrences takes the rest.
const GRAMMAR_SHARE: f32 = 0.7;

/// Progress at which the time step loop is found.
const LOOP_SHARE: f32 = 0.2;

/// Share of a lane's part of the grammar that assigning symbols to its calls takes; the factorisation takes the rest.
const NAMING_SHARE: f32 = 0.6;

/// The recurring patterns of a trace, and the grammar whose rules they are.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    all: Vec<Pattern>,
    lanes: Vec<LaneDefinition>,
    /// The time step loop whose passes the patterns respect.
    time_loop: Option<LoopPlace>,
}

/// The definition of a lane.
#[derive(Clone, Debug, Default)]
struct LaneDefinition {
    items: Vec<PatternItem>,
    /// Repeat counts of items with varying counts, in the order of the events.
    counts: Vec<u32>,
}

impl Patterns {
    /// Finds the patterns of all lanes.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        progress.at(0.0)?;
        let time_loop = find_loop(trace, trace.ranks().len());
        progress.at(LOOP_SHARE)?;
        let (symbols, calls, factored) = grammar(
            trace,
            time_loop.as_ref(),
            progress.part(LOOP_SHARE, GRAMMAR_SHARE),
        )?;
        let rules = Rules::new(&symbols, &factored);
        drop(factored);
        let found = walk(trace, &calls, &rules, progress.part(GRAMMAR_SHARE, 1.0))?;
        drop(calls);
        let patterns = Self {
            time_loop,
            ..Self::assemble(&symbols, &rules, found)
        };
        progress.at(1.0)?;
        Ok(patterns)
    }

    fn assemble(symbols: &Symbols, rules: &Rules, found: WalkedOccurrences) -> Self {
        let WalkedOccurrences {
            occurrences,
            times,
            counts,
        } = found;
        let mut order: Vec<(i64, usize)> = occurrences
            .iter()
            .map(|all| {
                all.iter()
                    .fold(0_i64, |sum, it| sum.saturating_add(it.duration.0))
            })
            .zip(0..)
            .collect();
        let first = |rule: usize| occurrences[rule].first().map(|it| (it.lane, it.first));
        order.sort_by(|left, right| {
            let by_time = right.0.cmp(&left.0);
            by_time
                .then_with(|| first(left.1).cmp(&first(right.1)))
                // A caller comes before what it calls.
                .then_with(|| right.1.cmp(&left.1))
        });
        let mut ids = vec![PatternId(0); rules.patterns.len()];
        for (place, &(_, rule)) in order.iter().enumerate() {
            ids[rule] = PatternId(number(place));
        }
        let items = |body: Body| public_items(&rules.items, &times, body, &ids);
        let mut occurrences = occurrences;
        let all = order
            .iter()
            .map(|&(total_ns, rule)| {
                let definition = rules.patterns[rule];
                let mut occurrences = std::mem::take(&mut occurrences[rule]);
                occurrences.shrink_to_fit();
                Pattern {
                    id: ids[rule],
                    content: symbols.content(definition.sym).short(),
                    function: definition.func,
                    items: items(definition.items),
                    num_events: num_events(&occurrences),
                    occurrences,
                    total: DurationNs(total_ns),
                }
            })
            .collect();
        let lanes = rules.roots.iter().zip(counts);
        Self {
            all,
            lanes: lanes
                .map(|(&root, counts)| LaneDefinition {
                    items: items(root),
                    counts,
                })
                .collect(),
            time_loop: None,
        }
    }

    /// Returns the time step loop, if one was found.
    pub(super) fn time_loop(&self) -> Option<&LoopPlace> {
        self.time_loop.as_ref()
    }

    /// Returns the patterns, ordered by total time (longest first), then by first occurrence.
    pub fn all(&self) -> &[Pattern] {
        &self.all
    }

    /// Returns a pattern of this trace.
    pub fn get(&self, id: PatternId) -> Option<&Pattern> {
        self.all.get(id.index())
    }

    /// Returns the definition of a lane: its events, with patterns and loops of them folded.
    pub fn of_lane(&self, lane: LaneIdx) -> &[PatternItem] {
        self.lanes
            .get(lane.index())
            .map_or(&[], |it| it.items.as_slice())
    }

    /// Returns the event sequence of a lane, expanded from its definition: exactly the result of [`super::events`].
    pub fn expand(&self, lane: LaneIdx) -> impl Iterator<Item = CallEvent> + '_ {
        let counts = self
            .lanes
            .get(lane.index())
            .map_or(&[][..], |it| &it.counts);
        expand::expand(&self.all, self.of_lane(lane), counts)
    }

    /// Returns a pattern's definition in one line: `LagrangeLeapFrog { LagrangeNodal, 3 × (MPI_Isend, MPI_Wait) }`.
    /// Patterns within it are unfolded `depth` levels deep, and named below that. Sequences are in brackets where
    /// they are named or repeated. Long definitions are cut off.
    pub fn define(&self, id: PatternId, names: &NameTable, depth: usize) -> String {
        text::define(&self.all, id, names, depth)
    }

    /// Returns the definition of a lane in one line, unfolded as in [`Self::define`].
    pub fn define_lane(&self, lane: LaneIdx, names: &NameTable, depth: usize) -> String {
        text::items(&self.all, self.of_lane(lane), names, depth)
    }

    /// Returns a short name: its function, or its calls if they are few, or the first and the last one.
    pub fn name(&self, id: PatternId, names: &NameTable) -> String {
        text::name(&self.all, id, names)
    }
}

/// Returns the symbols of all lanes, and their definitions.
fn grammar(
    trace: &Trace,
    time_loop: Option<&LoopPlace>,
    progress: Progress<'_>,
) -> Result<(Symbols, Vec<LaneCalls>, Factored), Cancelled> {
    let names: Vec<u64> = trace
        .names
        .iter()
        .map(|(_, name)| fnv1a(FunctionName::parse(name).full.as_bytes()))
        .collect();
    let mut symbols = Symbols::default();
    let mut known = KnownPairs::default();
    let mut calls = Vec::with_capacity(trace.lanes.len());
    let mut factored = Factored {
        bodies: Vec::new(),
        roots: Vec::with_capacity(trace.lanes.len()),
        num_executions: Vec::new(),
    };
    for (lane_idx, lane) in trace.lanes() {
        let place = lane_idx.index();
        let num_lanes = trace.lanes.len();
        let part = progress.part(share(place, num_lanes), share(place + 1, num_lanes));
        let num_known = symbols.len();
        let lane_calls = name_calls(
            &lane.executions,
            &names,
            &mut symbols,
            part.part(0.0, NAMING_SHARE),
        )?;
        let new = count_executions(&lane_calls, num_known, symbols.len(), &mut factored);
        let head = |func: Option<FuncId>| {
            let place = time_loop?;
            (place.callers.last().copied() == func).then_some(place.first)
        };
        let mut bodies = vec![lane_calls.root.clone()];
        let mut heads = vec![head(None)];
        heads.extend(new.iter().map(|&sym| head(symbols.function(sym))));
        bodies.extend(new.iter().map(|&sym| match symbols.def(sym) {
            Def::Call { body, .. } | Def::Open { body, .. } => symbols.body(body).to_vec(),
            _ => Vec::new(),
        }));
        factorise(
            &mut bodies,
            &heads,
            &mut symbols,
            &mut known,
            part.part(NAMING_SHARE, 1.0),
        )?;
        factored.bodies.resize_with(symbols.len(), Vec::new);
        let mut bodies = bodies.into_iter();
        factored.roots.extend(bodies.next());
        for (sym, body) in new.into_iter().zip(bodies) {
            factored.bodies[sym.index()] = body;
        }
        calls.push(lane_calls);
    }
    Ok((symbols, calls, factored))
}

/// Counts the executions of each symbol on a lane; returns the symbols that the lane brought, in order of time.
fn count_executions(
    calls: &LaneCalls,
    num_known: usize,
    num_symbols: usize,
    factored: &mut Factored,
) -> Vec<Sym> {
    let counts = &mut factored.num_executions;
    counts.resize(num_symbols, 0);
    let mut new = Vec::new();
    for &sym in &calls.of_row {
        let count = &mut counts[sym.index()];
        if *count == 0 && sym.index() >= num_known {
            new.push(sym);
        }
        *count = count.saturating_add(1);
    }
    new
}

fn public_items(
    items: &[RuleItem],
    times: &[Times],
    body: Body,
    ids: &[PatternId],
) -> Vec<PatternItem> {
    let from = super::symbols::index(body.start);
    let times = times.iter().skip(from).copied();
    items_of(items, body)
        .iter()
        .zip(times)
        .map(|(item, times)| PatternItem {
            symbol: match item.part {
                RulePart::Enter(func) => PatternSymbol::Enter(func),
                RulePart::Leave(func) => PatternSymbol::Leave(func),
                RulePart::Call(func) => PatternSymbol::Call(func),
                RulePart::Rule(rule) => PatternSymbol::Pattern(ids[super::symbols::index(rule)]),
            },
            times,
        })
        .collect()
}

/// Returns the number of events; each call is entered and left.
fn num_events(occurrences: &[super::pattern::Occurrence]) -> Times {
    let events = occurrences.iter().map(|it| it.num_calls.saturating_mul(2));
    Times {
        min: events.clone().min().unwrap_or(0),
        max: events.max().unwrap_or(0),
    }
}
