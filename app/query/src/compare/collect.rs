//! The samples of one side of a comparison, from the calls of a run.

use std::collections::BTreeMap;

use callgrove_causes::{CauseKind, Incident, Incidents};
use callgrove_compare::{
    BlockSample, BlockSeries, CallStructure, FeaturePresence, IncidentSample, NameId, PathId,
    PathTable, RunSamples,
};
use callgrove_model::{Cancelled, ExecIdx, FuncId, Lane, LaneIdx, Progress, Trace, fraction};
use callgrove_segments::can_wait;

use super::blocks::{BlockPlace, Blocks};

/// The calls of one path in one block, with their own times.
type Calls = (PathId, usize, i64);

/// The functions of a run.
struct Functions {
    /// The function in the table of both runs.
    of_func: Vec<NameId>,
    /// True if a lane can wait in it.
    waits: Vec<bool>,
}

/// Collects a side of a comparison.
struct Collector<'a> {
    blocks: &'a Blocks<'a>,
    functions: Functions,
    paths: &'a mut PathTable,
    side: RunSamples,
    /// The lane's rank at which each path was last seen outside the blocks, as a number from 1.
    seen_outside: BTreeMap<PathId, usize>,
}

/// Returns the samples of the blocks of a run.
///
/// # Errors
/// [`Cancelled`] if the caller cancelled.
pub(super) fn collect(
    trace: &Trace,
    blocks: &Blocks<'_>,
    incidents: &Incidents,
    paths: &mut PathTable,
    progress: Progress<'_>,
) -> Result<RunSamples, Cancelled> {
    let mut collector = Collector {
        functions: Functions::of(trace, paths),
        side: RunSamples {
            iterations_in_block: blocks.iterations_in_block(),
            num_ranks: trace.ranks().len(),
            iterations: BlockSeries::new(blocks.iterations_in_block().len()),
            ..RunSamples::default()
        },
        blocks,
        paths,
        seen_outside: BTreeMap::new(),
    };
    let (mut num_ranks, mut rank) = (0, None);
    for (at, lane) in trace.lanes() {
        progress.at(fraction(at.index(), trace.lanes.len()))?;
        if rank != Some((lane.program, lane.rank)) {
            rank = Some((lane.program, lane.rank));
            num_ranks += 1;
        }
        collector.add_lane(at, lane, num_ranks);
    }
    collector.add_incidents(incidents);
    Ok(collector.side)
}

impl Functions {
    fn of(trace: &Trace, paths: &mut PathTable) -> Self {
        let names: Vec<&str> = trace.names.iter().map(|(_, name)| name).collect();
        Self {
            waits: names.iter().map(|name| can_wait(name)).collect(),
            of_func: names
                .iter()
                .map(|name| paths.function(unplaced_name(name)))
                .collect(),
        }
    }
}

/// Returns whether an incident is compared: what is by design recurs as one incident, and the tracer's writes are not the
/// program's.
pub(super) fn is_compared(incident: &Incident) -> bool {
    !incident.kind.is_by_design() && incident.kind != CauseKind::TracerWrite
}

/// Returns a name without its place in the source, which differs where the source was changed.
pub fn unplaced_name(name: &str) -> &str {
    let place = name.rfind(" [{").filter(|_| name.ends_with(']'));
    place.map_or(name, |at| &name[..at])
}

impl Collector<'_> {
    fn add_lane(&mut self, at: LaneIdx, lane: &Lane, rank_number: usize) {
        self.add_iterations(at);
        let (of_row, places) = self.placed(at, lane);
        let mut calls: Vec<Calls> = Vec::new();
        for (row, (&path, &place)) in of_row.iter().zip(&places).enumerate() {
            if place == BlockPlace::Elsewhere {
                continue;
            }
            let is_repeated = lane
                .executions
                .parent(ExecIdx::from_index(row))
                .is_some_and(|it| of_row[it.index()] == path);
            let inclusive_ns = if is_repeated {
                0
            } else {
                lane.executions.inclusive[row].0
            };
            self.add_presence(path, place, inclusive_ns, rank_number);
            if let BlockPlace::Block(block) = place
                && lane.executions.closed[row]
            {
                calls.push((path, block, lane.executions.exclusive[row].0.max(0)));
            }
        }
        self.add_shapes(lane, &of_row, &places);
        self.add_calls(calls, &lane.executions.func, &of_row);
    }

    /// Returns the path and the place of each row of a lane.
    fn placed(&mut self, at: LaneIdx, lane: &Lane) -> (Vec<PathId>, Vec<BlockPlace>) {
        let executions = &lane.executions;
        let mut of_row: Vec<PathId> = Vec::with_capacity(executions.len());
        let mut places = Vec::with_capacity(executions.len());
        for row in 0..executions.len() {
            let caller = executions.parent(ExecIdx::from_index(row));
            let caller = caller.map(|caller| of_row[caller.index()]);
            let function = self.functions.of_func[executions.func[row].index()];
            of_row.push(self.paths.call(caller, function));
            places.push(self.blocks.place(at, executions.entry[row]));
        }
        (of_row, places)
    }

    fn add_iterations(&mut self, at: LaneIdx) {
        let mut durations = self.blocks.durations(at);
        durations.sort_unstable();
        for of_block in durations.chunk_by(|one, other| one.0 == other.0) {
            let mut times: Vec<i64> = of_block.iter().map(|it| it.1).collect();
            let sample = BlockSample::of(&mut times);
            self.side.iterations.add(of_block[0].0, sample);
        }
    }

    fn add_presence(
        &mut self,
        path: PathId,
        place: BlockPlace,
        inclusive_ns: i64,
        rank_number: usize,
    ) {
        let num_blocks = self.side.num_blocks();
        let presence = self
            .side
            .paths
            .entry(path)
            .or_insert_with(|| FeaturePresence {
                blocks: vec![false; num_blocks],
                ..FeaturePresence::default()
            });
        presence.num_calls += 1;
        presence.inclusive_ns = presence.inclusive_ns.saturating_add(inclusive_ns);
        match place {
            BlockPlace::Block(block) => presence.blocks[block] = true,
            BlockPlace::Outside => {
                let seen = self.seen_outside.entry(path).or_default();
                if *seen != rank_number {
                    *seen = rank_number;
                    presence.num_ranks_outside += 1;
                }
            }
            BlockPlace::Elsewhere => {}
        }
    }

    fn add_shapes(&mut self, lane: &Lane, of_row: &[PathId], places: &[BlockPlace]) {
        let executions = &lane.executions;
        let num_blocks = self.side.num_blocks();
        for (row, place) in places.iter().enumerate() {
            let BlockPlace::Block(block) = *place else {
                continue;
            };
            let end = executions.subtree_end[row].index().min(executions.len());
            let mut callees: Vec<PathId> = Vec::new();
            let mut inside = row + 1;
            while inside < end {
                callees.push(of_row[inside]);
                inside = executions.subtree_end[inside].index().max(inside + 1);
            }
            callees.sort_unstable();
            callees.dedup();
            let path = of_row[row];
            let shape = CallStructure { path, callees };
            let presence = self
                .side
                .shapes
                .entry(shape)
                .or_insert_with(|| FeaturePresence {
                    blocks: vec![false; num_blocks],
                    ..FeaturePresence::default()
                });
            presence.blocks[block] = true;
            presence.num_calls += 1;
            let inclusive_ns = executions.inclusive[row].0;
            presence.inclusive_ns = presence.inclusive_ns.saturating_add(inclusive_ns);
        }
    }

    fn add_calls(&mut self, mut calls: Vec<Calls>, funcs: &[FuncId], of_row: &[PathId]) {
        let mut waits: BTreeMap<PathId, bool> = BTreeMap::new();
        for (func, path) in funcs.iter().zip(of_row) {
            waits
                .entry(*path)
                .or_insert_with(|| self.functions.waits[func.index()]);
        }
        let num_blocks = self.side.num_blocks();
        calls.sort_unstable();
        for of_block in calls.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (path, block, _) = of_block[0];
            let mut times: Vec<i64> = of_block.iter().map(|it| it.2).collect();
            let sample = BlockSample::of(&mut times);
            self.side.total_ns = self.side.total_ns.saturating_add(sample.total_ns);
            let all = match waits.get(&path) {
                Some(true) => &mut self.side.waits,
                _ => &mut self.side.work,
            };
            let series = all
                .entry(path)
                .or_insert_with(|| BlockSeries::new(num_blocks));
            series.add(block, sample);
        }
    }

    fn add_incidents(&mut self, incidents: &Incidents) {
        let num_blocks = self.side.num_blocks();
        for incident in incidents.all() {
            if !is_compared(incident) {
                continue;
            }
            let place = self.blocks.place(incident.root.lane, incident.start);
            let BlockPlace::Block(block) = place else {
                continue;
            };
            let kind = self.side.incidents.entry(incident.kind.to_string());
            let sample = kind.or_insert_with(|| IncidentSample {
                in_block: vec![0; num_blocks],
                delay_ns: vec![0; num_blocks],
            });
            sample.in_block[block] += 1;
            sample.delay_ns[block] = sample.delay_ns[block].saturating_add(incident.delay.0);
        }
    }
}
