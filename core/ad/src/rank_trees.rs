//! The call stack trees of a rank: built when their roots end, judged, and recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_detect::{RecentPValues, TreeVerdict};
use callgrove_model::{
    CsTree, ExecIdx, ExecLabel, ExecRef, Executions, Forest, FuncId, Lane, LaneIdx, NameTable,
    ProgramId, RankId, Reason, StepId, ThreadId, Trace, TreeCode, TreeIdx, TreeRef, WarningKind,
    Warnings,
};
use callgrove_provdb::{
    Document, MAX_RECORDED_CALLS, MAX_RECORDED_REASONS, ProvDbError, RecordedTree, TREE_VERSION,
    TreeJudgement, TreeRecord,
};
use callgrove_pserver::TreePValues;
use callgrove_records::{
    CandidateKind, ExecPosition, JudgedLane, NamedFunction, RecordCandidate, epoch_us,
};

use crate::by_function::ExecutionsByFunction;
use crate::tree_models::{ModelFit, TreeModelInForce, TreeModels};

/// Number of calls of open trees that a lane keeps until the trees end.
const MAX_ROWS_KEPT: usize = 1 << 20;
/// Number of trees of a function on a rank of which all are sampled. Then every second tree is sampled until there are
/// twice as many, every fourth until four times as many, and so on. So a sample is spread over the run and grows with
/// the logarithm of its length.
const NUM_ALL_SAMPLED: u64 = 16;

/// The state of a rank's trees between steps.
#[derive(Debug, Default)]
pub(crate) struct RankTrees {
    /// By function number: the step since which all calls of its trees are kept, and the number of trees so far.
    watched: BTreeMap<u32, WatchedFunction>,
    /// Open roots whose calls are no longer all kept.
    truncated: BTreeSet<(ThreadId, ExecLabel)>,
    /// P-values up to the last step that counts.
    recent: TreePValues,
}

#[derive(Clone, Copy, Debug)]
struct WatchedFunction {
    since: StepId,
    num_trees: u64,
}

/// A judged step of a rank.
pub(crate) struct TreeStep<'a> {
    /// True if p-values count for later trees: not if an instance reads again what was already judged.
    pub(crate) counts: bool,
    pub(crate) program: ProgramId,
    pub(crate) rank: RankId,
    pub(crate) step: StepId,
    pub(crate) lanes: &'a [JudgedLane<'a>],
    /// Indexed by the rank's own ids.
    pub(crate) functions: &'a [NamedFunction],
    pub(crate) hostname: &'a Arc<str>,
    pub(crate) executions: &'a ExecutionsByFunction,
}

/// A root that ended in the step: the number of its function, whether it is sampled, and its position.
type EndedRoot = (u32, bool, ExecPosition);

/// The result for the trees of a step.
#[derive(Debug, Default)]
pub(crate) struct TreeOutcome {
    pub(crate) num_judged: u64,
    pub(crate) num_abnormal: u64,
    pub(crate) documents: Vec<TreeDocument>,
    /// How well the models fit.
    pub(crate) fits: Vec<ModelFit>,
    /// The p-values of the last trees, for each model that judged any in the step.
    pub(crate) p_values: TreePValues,
}

/// A tree to record.
#[derive(Debug)]
pub(crate) struct TreeDocument {
    pub(crate) candidate: RecordCandidate,
    pub(crate) document: Document,
}

/// A tree of the step: the number of its function, whether it is sampled, and its position.
struct StepTree {
    number: u32,
    is_sampled: bool,
    position: ExecPosition,
    root: ExecRef,
}

impl RankTrees {
    /// Continues after the trees that an earlier instance judged.
    pub(crate) fn resume_after(&mut self, p_values: TreePValues) {
        self.recent = p_values;
    }

    /// Judges the trees whose roots ended in the step.
    pub(crate) fn judge(
        &mut self,
        of: &TreeStep<'_>,
        models: &TreeModels,
        warnings: &mut Warnings,
    ) -> Result<TreeOutcome, ProvDbError> {
        let mut outcome = TreeOutcome::default();
        self.watched
            .retain(|number, _| models.task(*number).is_some());
        for number in models.watched() {
            self.watched.entry(number).or_insert(WatchedFunction {
                since: of.step,
                num_trees: 0,
            });
        }
        if self.watched.is_empty() {
            return Ok(outcome);
        }
        let mut by_model: BTreeMap<Option<&Arc<str>>, Vec<EndedRoot>> = BTreeMap::new();
        for (number, executions) in of.executions.functions() {
            let task = models.task(number);
            let Some((task, watched)) = task.zip(self.watched.get_mut(&number)) else {
                continue;
            };
            let trees = by_model.entry(task.model.as_ref()).or_default();
            for position in executions.iter().map(|it| it.position) {
                let at = watched.num_trees;
                watched.num_trees += 1;
                let is_sampled = task.is_sampled && is_in_sample(at);
                if task.model.is_none() && !is_sampled {
                    continue;
                }
                let lane = &of.lanes[position.lane as usize];
                let label = lane.label(of.rank, position.exec);
                if self.truncated.remove(&(lane.thread, label)) {
                    let place = || format!("{label} of thread {}", lane.thread);
                    warnings.count(WarningKind::TreeTooLarge, Some(of.rank), place);
                } else if label.step >= watched.since {
                    trees.push((number, is_sampled, position));
                }
            }
        }
        for (name, trees) in by_model {
            if !trees.is_empty() {
                let model = name.and_then(|name| models.model(name));
                let recent = name.filter(|_| of.counts).map(ToString::to_string);
                let recent = recent.map(|name| self.recent.entry(name).or_default());
                of.judge(model, recent, trees, &mut outcome)?;
            }
        }
        Ok(outcome)
    }

    /// Returns the first row that a lane has to keep: the outermost open root of a watched tree. `number` returns the
    /// number of a function of the rank.
    pub(crate) fn first_kept_row(
        &mut self,
        rank: RankId,
        lane: &JudgedLane<'_>,
        number: impl Fn(FuncId) -> Option<u32>,
    ) -> Option<ExecIdx> {
        let executions = lane.stack.executions();
        let is_watched = |exec: &ExecIdx| {
            number(executions.func[exec.index()]).is_some_and(|it| self.watched.contains_key(&it))
        };
        let open: Vec<ExecIdx> = lane.stack.open().filter(is_watched).collect();
        let is_kept = |exec: &&ExecIdx| {
            executions.len() - exec.index() <= MAX_ROWS_KEPT
                && !self
                    .truncated
                    .contains(&(lane.thread, lane.label(rank, **exec)))
        };
        let first = open.iter().find(is_kept).copied();
        let dropped = open.iter().take_while(|&&exec| Some(exec) != first);
        let dropped: Vec<_> = dropped
            .map(|&exec| (lane.thread, lane.label(rank, exec)))
            .collect();
        self.truncated.extend(dropped);
        first
    }
}

/// Returns whether the tree with this number is in the sample.
fn is_in_sample(number: u64) -> bool {
    let doublings = (number / NUM_ALL_SAMPLED).checked_ilog2();
    doublings.is_none_or(|doublings| number.is_multiple_of(1 << doublings))
}

/// Returns why the abnormal trees of a forest are abnormal, by their index in it.
fn reasons(
    model: &TreeModelInForce,
    forest: &Forest,
    verdicts: &[TreeVerdict],
) -> Result<BTreeMap<usize, Vec<Reason>>, String> {
    let abnormal = |(_, verdict): &(usize, &TreeVerdict)| verdict.is_abnormal;
    let abnormal = verdicts.iter().enumerate().filter(abnormal);
    let abnormal: Vec<usize> = abnormal.map(|(at, _)| at).collect();
    if abnormal.is_empty() {
        return Ok(BTreeMap::new());
    }
    let trees = abnormal.iter().map(|&at| forest.trees()[at]).collect();
    let (trace, functions) = (Arc::clone(forest.trace()), forest.functions().to_vec());
    let of_abnormal = Forest::of_trees(trace, functions, trees, 0).unwrap_or_default();
    let mut reasons = model.judge.reasons(&of_abnormal)?;
    for reasons in &mut reasons {
        reasons.truncate(MAX_RECORDED_REASONS);
    }
    Ok(abnormal.into_iter().zip(reasons).collect())
}

fn judgement(
    verdict: &TreeVerdict,
    model: &TreeModelInForce,
    reasons: Vec<Reason>,
) -> TreeJudgement {
    TreeJudgement {
        model: Arc::clone(&model.name),
        version: model.version,
        score: verdict.score,
        p_value: verdict.p_value,
        is_anomaly: verdict.is_abnormal,
        unseen_time_share: verdict.unseen_time_share,
        is_new_structure: verdict.is_new_structure,
        reasons,
    }
}

impl TreeStep<'_> {
    /// Judges trees by a model, with the p-values of the last trees, or only records them if there is no model.
    fn judge(
        &self,
        model: Option<&TreeModelInForce>,
        recent: Option<&mut RecentPValues>,
        mut trees: Vec<EndedRoot>,
        outcome: &mut TreeOutcome,
    ) -> Result<(), ProvDbError> {
        trees.sort_by_key(|(_, _, position)| (position.lane, position.exec));
        let (forest, trees) = self.forest(&trees);
        let judged = model.map_or(Ok(Vec::new()), |model| model.judge.judge(&forest));
        let (mut verdicts, mut failure) = match judged {
            Ok(verdicts) => (verdicts, None),
            Err(cause) => (Vec::new(), Some(cause)),
        };
        if let (Some(model), Some(recent), None) = (model, recent, &failure) {
            // Decisions are made in order of exit, as in a stream.
            let mut order: Vec<usize> = (0..verdicts.len()).collect();
            order.sort_by_key(|&at| forest.tree(TreeIdx::from_index(at)).exit());
            let rate = model.judge.false_discovery_rate();
            for at in order {
                let verdict = &mut verdicts[at];
                verdict.is_abnormal = recent.is_discovery(verdict.decision_ln_p, rate);
            }
            let p_values = (model.name.to_string(), recent.clone());
            outcome.p_values.extend([p_values]);
        }
        let explained = model.map_or(Ok(BTreeMap::new()), |model| {
            reasons(model, &forest, &verdicts)
        });
        let mut reasons = explained.unwrap_or_else(|cause| {
            failure.get_or_insert(cause);
            BTreeMap::new()
        });
        let fit = model.map(|model| model.fit(&verdicts, failure));
        outcome.fits.extend(fit);
        for (at, step_tree) in trees.iter().enumerate() {
            let verdict = verdicts.get(at);
            outcome.num_judged += u64::from(verdict.is_some());
            let is_abnormal = verdict.is_some_and(|verdict| verdict.is_abnormal);
            outcome.num_abnormal += u64::from(is_abnormal);
            if is_abnormal || step_tree.is_sampled {
                let judged = verdict.zip(model).map(|(verdict, model)| {
                    judgement(verdict, model, reasons.remove(&at).unwrap_or_default())
                });
                let tree = forest.tree(TreeIdx::from_index(at));
                let record = self.record(step_tree, tree, judged);
                let kind = if step_tree.is_sampled {
                    CandidateKind::SampledTree
                } else {
                    CandidateKind::AbnormalTree
                };
                let candidate = RecordCandidate {
                    kind,
                    function: step_tree.number,
                    severity_us: record.outlier_severity,
                };
                let document = Document::tree(&record)?;
                outcome.documents.push(TreeDocument {
                    candidate,
                    document,
                });
            }
        }
        Ok(())
    }

    /// Returns the trees as a forest of their own, in their order.
    fn forest(&self, trees: &[EndedRoot]) -> (Forest, Vec<StepTree>) {
        let mut names = NameTable::<FuncId>::default();
        for function in self.functions {
            names.intern(&function.name);
        }
        let mut lanes: Vec<Lane> = Vec::new();
        let mut step_trees: Vec<StepTree> = Vec::with_capacity(trees.len());
        let mut known: Option<(u32, std::ops::Range<usize>, usize)> = None;
        for &(number, is_sampled, position) in trees {
            let judged = &self.lanes[position.lane as usize];
            let executions = judged.stack.executions();
            if known
                .as_ref()
                .is_none_or(|(lane, ..)| *lane != position.lane)
            {
                lanes.push(Lane {
                    program: self.program,
                    rank: self.rank,
                    thread: judged.thread,
                    executions: Executions::default(),
                    comms: callgrove_model::Comms::default(),
                    counters: callgrove_model::Counters::default(),
                });
                known = Some((position.lane, 0..0, 0));
            }
            let lane = LaneIdx::from_index(lanes.len() - 1);
            let into = &mut lanes[lane.index()].executions;
            let row = position.exec.index();
            let (rows, start) = match &known {
                // The tree is a subtree of the one before, so its rows are already copied.
                Some((_, rows, start)) if rows.contains(&row) => (rows.clone(), *start),
                _ => {
                    let (rows, start) = (executions.subtree(position.exec), into.len());
                    into.extend_with_trees(executions, rows.clone());
                    (rows, start)
                }
            };
            let exec = ExecIdx::from_index(row - rows.start + start);
            known = Some((position.lane, rows, start));
            step_trees.push(StepTree {
                number,
                is_sampled,
                position,
                root: ExecRef { lane, exec },
            });
        }
        let code = |(index, tree): (usize, &StepTree)| TreeRef {
            root: tree.root,
            code: TreeCode {
                rank: self.rank,
                index: u32::try_from(index).unwrap_or(u32::MAX),
            },
        };
        let refs: Vec<TreeRef> = step_trees.iter().enumerate().map(code).collect();
        let mut functions: Vec<FuncId> = step_trees
            .iter()
            .map(|it| lanes[it.root.lane.index()].executions.func[it.root.exec.index()])
            .collect();
        functions.sort_unstable();
        functions.dedup();
        let trace = Trace {
            names,
            lanes,
            ..Trace::default()
        };
        let forest = Forest::of_trees(Arc::new(trace), functions, refs, 0);
        (forest.unwrap_or_default(), step_trees)
    }

    fn record(
        &self,
        step_tree: &StepTree,
        tree: CsTree<'_>,
        judged: Option<TreeJudgement>,
    ) -> TreeRecord {
        let lane = &self.lanes[step_tree.position.lane as usize];
        let (entry, exit) = (epoch_us(tree.entry()[0]), epoch_us(tree.exit()));
        let function = self.functions.get(tree.funcs()[0].index());
        let p_value = judged.as_ref().map_or(1.0, |judged| judged.p_value);
        TreeRecord {
            version: TREE_VERSION,
            event_id: lane.label(self.rank, step_tree.position.exec).to_string(),
            pid: self.program.0,
            rid: self.rank.0,
            tid: lane.thread.0,
            fid: function.map_or(step_tree.number, |it| it.fid),
            func: function.map_or_else(|| "".into(), |it| Arc::clone(&it.name)),
            hostname: Arc::clone(self.hostname),
            entry,
            exit,
            runtime_total: exit.saturating_sub(entry),
            io_step: self.step.0.into(),
            is_sample: step_tree.is_sampled,
            judged,
            // `max` turns a negative zero into zero.
            outlier_score: (-p_value.max(f64::MIN_POSITIVE).log10()).max(0.0),
            outlier_severity: exit.saturating_sub(entry),
            num_calls: tree.len() as u64,
            tree: (tree.len() <= MAX_RECORDED_CALLS).then(|| self.calls(tree)),
        }
    }

    fn calls(&self, tree: CsTree<'_>) -> RecordedTree {
        let mut calls = RecordedTree::default();
        let mut indices: BTreeMap<FuncId, u32> = BTreeMap::new();
        let start = epoch_us(tree.entry()[0]);
        for (vertex, &func) in tree.funcs().iter().enumerate() {
            let next = u32::try_from(calls.functions.len()).unwrap_or(u32::MAX);
            let index = *indices.entry(func).or_insert_with(|| {
                let function = self.functions.get(func.index());
                let name = function.map_or_else(|| "".into(), |it| Arc::clone(&it.name));
                calls.functions.push(name);
                next
            });
            calls.func.push(index);
            let depth = u32::try_from(tree.depth(vertex)).unwrap_or(u32::MAX);
            calls.depth.push(depth);
            calls
                .entry
                .push(epoch_us(tree.entry()[vertex]).saturating_sub(start));
            let inclusive = tree.inclusive()[vertex].as_us();
            calls.inclusive.push(u64::try_from(inclusive).unwrap_or(0));
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_the_run_and_grows_with_its_logarithm() {
        let count = |until: u64| (0..until).filter(|&at| is_in_sample(at)).count();
        assert_eq!(
            [count(16), count(32), count(64), count(128)],
            [16, 32, 48, 64]
        );
        assert_eq!(count(1 << 20), 16 * 17);
    }
}
