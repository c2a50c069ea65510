//! Trends as documents of the provenance database's collection `trends`.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, FuncId, LaneIdx, ProgramId, Real, StepId};
use callgrove_trends::{Trend, TrendDoubt, TrendKind, TrendLane, Trends};

use crate::record::{TREND_VERSION, TrendRecord};

/// A trend as stored in the database.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendDocument {
    /// Program.
    pub program: ProgramId,
    /// The stored record.
    pub record: TrendRecord,
}

/// The documents that are due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DueTrends {
    /// Those that the database lacks.
    pub documents: Vec<TrendDocument>,
    /// The identifiers of all trends of a recorded program whose ranks are judged. The database may have others, of
    /// fewer steps: they are to be removed.
    pub final_ids: BTreeMap<ProgramId, BTreeSet<String>>,
}

/// The context in which trends were found: program, last step and lanes.
pub(super) struct FoundTrends<'a> {
    pub(super) program: ProgramId,
    pub(super) last_step: StepId,
    pub(super) lanes: &'a [TrendLane],
}

impl FoundTrends<'_> {
    /// Returns the documents that differ from the `stored` ones, and those of trends that are not found any more.
    pub(super) fn documents<'a>(
        &self,
        trends: &Trends,
        stored: &BTreeMap<String, TrendRecord>,
        names: impl Fn(FuncId) -> &'a str,
    ) -> Vec<TrendDocument> {
        let mut ids = BTreeSet::new();
        let mut records = Vec::new();
        for trend in trends.all() {
            let mut record = self.record(trend, &names);
            // Two changes of a function on one rank need different identifiers.
            while !ids.insert(record.trend_id.clone()) {
                record.trend_id.push('+');
            }
            records.push(record);
        }
        let gone = stored.values().filter(|it| !ids.contains(&it.trend_id));
        records.extend(gone.map(|it| TrendRecord {
            holds: false,
            ..it.clone()
        }));
        let is_new = |record: &TrendRecord| {
            let known = stored.get(&record.trend_id);
            known.is_none_or(|known| {
                let known = TrendRecord {
                    io_step: record.io_step,
                    ..known.clone()
                };
                known != *record
            })
        };
        let new = records.into_iter().filter(is_new);
        new.map(|record| TrendDocument {
            program: self.program,
            record,
        })
        .collect()
    }

    fn record<'a>(&self, trend: &Trend, names: &impl Fn(FuncId) -> &'a str) -> TrendRecord {
        let us = |time: DurationNs| time.0.real() / 1e3;
        let (own, usual) = trend.kind.times();
        let lane = |lane: LaneIdx| {
            let lane = &self.lanes[lane.index()];
            (lane.rank, lane.thread)
        };
        let others = trend.other_funcs.iter();
        let (kind, fid) = (trend.kind.name(), trend.func.0);
        let first = trend.ranks.first().map_or(0, |rank| rank.0);
        TrendRecord {
            version: TREND_VERSION,
            trend_id: format!("{kind}:{fid}:{first}"),
            pid: self.program.0,
            kind: kind.to_owned(),
            holds: true,
            io_step: self.last_step.0.into(),
            num_ranks: trend.ranks.len(),
            ranks: trend.ranks.iter().map(|rank| rank.0).collect(),
            host: (!trend.host.is_empty()).then(|| trend.host.clone()),
            fid,
            func: names(trend.func).to_owned(),
            other_funcs: others.map(|&func| names(func).to_owned()).collect(),
            own: us(own),
            usual: us(usual),
            factor: (usual.0 > 0).then(|| own.0.real() / usual.0.real()),
            start: match trend.kind {
                TrendKind::Change { at, .. } => Some(at.as_us()),
                TrendKind::Slow { .. }
                | TrendKind::SlowIterations { .. }
                | TrendKind::Growth { .. } => None,
            },
            peers: trend.peer_ranks.iter().map(|rank| rank.0).collect(),
            cost: trend.cost.as_us(),
            evidence: trend.evidence,
            doubt: trend.doubt.map(TrendDoubt::reason).map(str::to_owned),
            words: trend.sentence(names, lane),
        }
    }
}
