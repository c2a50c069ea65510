//! Judges the stored records of live ranks again by the complete models. Records that are no longer anomalies are
//! removed, and the others get the new score. Anomalies of the complete models that were not stored cannot be
//! recovered.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_detect::{CallerKey, CallsInRow};
use callgrove_model::{FuncId, RankId, StepId};
use callgrove_provdb::{Collection, Document, ExecutionRecord, Filter, ProvDbError, Query, Store};
use callgrove_pserver::{AnomalySummary, FinalAnomalies, Metrics};
use callgrove_records::has_left_out;

use super::Instance;
use crate::compiled_model::{CompiledModel, CompleteModels};
use crate::error::AdError;
use crate::options::OutlierStatistic;

/// A function that takes some records of a rank and may write to the store.
type TakeRecords<'a> =
    &'a mut dyn FnMut(&mut dyn Store, Vec<ExecutionRecord>) -> Result<(), ProvDbError>;

/// Number of records in memory at once.
const NUM_AT_ONCE: usize = 256;

/// The sort key of anomalies, in the order in which the rank's detector finds them: step, function, thread, entry,
/// label.
type DetectionOrder = (u64, u32, u32, u64, Vec<u32>);

/// The key of executions with one caller: function, thread, and the label of the caller's execution.
type Siblings = (u32, u32, String);

/// The result of judging the records of a rank again.
#[derive(Default)]
struct Rejudged {
    /// The remaining anomalies, each with score, severity, entry and exit.
    anomalies: BTreeMap<DetectionOrder, (f64, u64, u64, u64)>,
    event_ids: BTreeSet<String>,
}

impl Instance {
    /// Judges the records of live ranks again.
    pub(super) fn judge_stored(&mut self, store: &mut dyn Store) -> Result<(), AdError> {
        let Some(complete) = self.complete.take() else {
            return Ok(());
        };
        if complete.is_live {
            self.judge_ranks(store, &complete)
        } else {
            Ok(())
        }
    }

    fn judge_ranks(
        &mut self,
        store: &mut dyn Store,
        complete: &CompleteModels,
    ) -> Result<(), AdError> {
        let (mut reported, mut num_anomalies) = (Vec::new(), 0);
        for &rank in &self.reporter.hello.ranks {
            let lacks_records = has_left_out(store, self.options.program, rank)?;
            let rejudged = self.decide(store, rank, complete, lacks_records)?;
            self.rewrite(store, rank, complete, &rejudged)?;
            num_anomalies += rejudged.anomalies.len() as u64;
            if !lacks_records {
                reported.push((rank, rejudged.final_anomalies()));
            }
        }
        // Anomalies that were not recorded cannot be judged again, so the counts would be wrong.
        let is_complete = reported.len() == self.reporter.hello.ranks.len();
        if self.options.min_severity_us == 0 {
            // Steps that an earlier instance read were never counted here.
            if self.status.num_known_steps == 0 && is_complete {
                self.status.num_anomalies = num_anomalies;
            }
            self.reporter.exchange.conclude(reported);
        }
        Ok(())
    }

    /// Decides which records of a rank are anomalies. If the rank `lacks_records`, the row that an anomaly belongs to
    /// may be longer than what is recorded of it, so the anomaly remains one.
    fn decide(
        &self,
        store: &mut dyn Store,
        rank: RankId,
        complete: &CompleteModels,
        lacks_records: bool,
    ) -> Result<Rejudged, AdError> {
        let mut rejudged = Rejudged::default();
        let rows = self.rows(store, rank, complete)?;
        for collection in Collection::JUDGED {
            self.for_each_chunk(store, rank, collection, &mut |_, records| {
                for record in records {
                    let (score, is_anomaly) = match self.model_of(&record, complete) {
                        Some(model) => {
                            let row = rows.get(&siblings(&record)).copied().unwrap_or_default();
                            let time_us = self.judged_us(&record);
                            let caller = caller(&record);
                            let verdict = model.judge.judge_in_row(caller, time_us, row);
                            let may_be_in_row = lacks_records
                                && collection == Collection::Anomalies
                                && model.judge.excess_us(caller, time_us).is_some();
                            (verdict.score, verdict.is_outlier || may_be_in_row)
                        }
                        None => (record.outlier_score, collection == Collection::Anomalies),
                    };
                    if is_anomaly {
                        let ExecutionRecord { entry, exit, .. } = record;
                        let found = (score, record.outlier_severity, entry, exit);
                        rejudged.anomalies.insert(detection_order(&record), found);
                        rejudged.event_ids.insert(record.event_id);
                    }
                }
                Ok(())
            })?;
        }
        Ok(rejudged)
    }

    /// Returns the anomalies of each function that one execution of the caller made; these are judged as a row.
    fn rows(
        &self,
        store: &mut dyn Store,
        rank: RankId,
        complete: &CompleteModels,
    ) -> Result<BTreeMap<Siblings, CallsInRow>, AdError> {
        let mut rows: BTreeMap<Siblings, CallsInRow> = BTreeMap::new();
        self.for_each_chunk(store, rank, Collection::Anomalies, &mut |_, records| {
            for record in records {
                let model = self.model_of(&record, complete);
                let time_us = self.judged_us(&record);
                let excess_us = model.and_then(|it| it.judge.excess_us(caller(&record), time_us));
                if let Some(excess_us) = excess_us {
                    let row = rows.entry(siblings(&record)).or_default();
                    row.num_calls = row.num_calls.saturating_add(1);
                    row.excess_us = row.excess_us.saturating_add(excess_us);
                }
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// Stores the records of a rank with their new verdicts.
    fn rewrite(
        &self,
        store: &mut dyn Store,
        rank: RankId,
        complete: &CompleteModels,
        rejudged: &Rejudged,
    ) -> Result<(), AdError> {
        for collection in Collection::JUDGED {
            self.for_each_chunk(store, rank, collection, &mut |store, records| {
                let (mut kept, mut removed) = (Vec::new(), Vec::new());
                for mut record in records {
                    rejudged.set_flags(&mut record);
                    if let Some(model) = self.model_of(&record, complete) {
                        let caller = caller(&record);
                        let verdict = model.judge.judge_in(caller, self.judged_us(&record));
                        record.outlier_score = verdict.score;
                        record.algo_params = model.json(caller);
                    }
                    let is_anomaly = rejudged.event_ids.contains(&record.event_id);
                    let at = if is_anomaly {
                        Collection::Anomalies
                    } else {
                        Collection::NormalExecs
                    };
                    let document = Document::execution(at, &record)?;
                    if at != collection {
                        removed.push(document.key.clone());
                    }
                    if at == collection || is_anomaly {
                        kept.push(document);
                    }
                }
                store.put(&kept)?;
                store.remove(collection, rank.0, &removed)
            })?;
        }
        Ok(())
    }

    /// Calls `take` with the records of a rank, in chunks.
    fn for_each_chunk(
        &self,
        store: &mut dyn Store,
        rank: RankId,
        collection: Collection,
        take: TakeRecords<'_>,
    ) -> Result<(), AdError> {
        let program = self.options.program;
        let of_rank = Filter::parse(&format!("rid = {rank} and pid = {program}"));
        let query = Query {
            filter: Some(of_rank.map_err(ProvDbError::from)?),
            ..Query::all(collection)
        };
        let ids = store.find_ids(&query)?;
        for ids in ids.chunks(NUM_AT_ONCE) {
            let documents = store.documents(collection, ids)?;
            let records = documents.iter().map(|json| serde_json::from_str(json));
            // Records of other releases that this one cannot read stay unchanged.
            take(store, records.flatten().collect())?;
        }
        Ok(())
    }

    fn model_of<'a>(
        &self,
        record: &ExecutionRecord,
        complete: &'a CompleteModels,
    ) -> Option<&'a CompiledModel> {
        let number = self
            .functions
            .iter()
            .position(|it| it.fid.0 == record.fid)?;
        complete.compiled.get(number)?.as_ref()
    }

    fn judged_us(&self, record: &ExecutionRecord) -> u64 {
        match self.options.statistic {
            OutlierStatistic::Exclusive => record.runtime_exclusive,
            OutlierStatistic::Inclusive => record.runtime_total,
        }
    }
}

/// Returns the key of the siblings of a record's execution: its function, and the execution that called it or, without
/// a caller, the execution itself.
fn siblings(record: &ExecutionRecord) -> Siblings {
    let caller = record.call_stack.get(1);
    let event_id = caller.map_or(&record.event_id, |frame| &frame.event_id);
    (record.fid, record.tid, event_id.clone())
}

/// Returns the key of the caller of a record's execution.
fn caller(record: &ExecutionRecord) -> CallerKey {
    let caller = record.call_stack.get(1);
    caller.map_or(CallerKey::NONE, |frame| CallerKey::of(&frame.func))
}

impl Rejudged {
    /// Sets the anomaly flag of each execution in a record.
    fn set_flags(&self, record: &mut ExecutionRecord) {
        for frame in &mut record.call_stack {
            frame.is_anomaly = Some(self.event_ids.contains(&frame.event_id));
        }
        for execution in &mut record.event_window.exec_window {
            execution.is_anomaly = self.event_ids.contains(&execution.event_id);
        }
    }

    fn final_anomalies(&self) -> FinalAnomalies {
        let mut by_step: BTreeMap<(u64, u32), AnomalySummary> = BTreeMap::new();
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for ((step, fid, ..), &(score, severity, entry, exit)) in &self.anomalies {
            let (step, fid) = (*step, *fid);
            let summary = by_step.entry((step, fid)).or_default();
            #[expect(
                clippy::cast_precision_loss,
                reason = "beyond 2⁵³ µs, 285 years, it is rounded"
            )]
            summary.push(score, severity as f64, entry, exit);
            *counts.entry(step).or_default() += 1;
        }
        // Reading the rank again can find anomalies that were not stored, so this report does not claim to be complete.
        let mut found = FinalAnomalies::default();
        for ((step, fid), summary) in by_step {
            let step = StepId(u32::try_from(step).unwrap_or(u32::MAX));
            let metrics = found.metrics.entry(FuncId(fid)).or_default();
            metrics.merge(&Metrics::of_step(step, &summary));
        }
        let counts: Vec<u64> = counts.into_values().collect();
        found.count.extend_from(&counts);
        found
    }
}

fn detection_order(record: &ExecutionRecord) -> DetectionOrder {
    let label = record.event_id.split(':');
    let label = label.filter_map(|number| number.parse().ok()).collect();
    (record.io_step, record.fid, record.tid, record.entry, label)
}
