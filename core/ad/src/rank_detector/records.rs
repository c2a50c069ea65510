//! The records of a judged step.

use callgrove_model::FuncId;
use callgrove_provdb::{Collection, Document, ProvDbError};
use callgrove_records::{CandidateKind, ExecPosition, RecordBuilder, RecordCandidate};

use super::RankDetector;
use crate::compiled_model::CompiledModel;
use crate::options::AdOptions;
use crate::outliers::FunctionOutliers;

/// An execution to record.
pub(super) struct PlannedRecord {
    pub(super) candidate: RecordCandidate,
    position: ExecPosition,
    score: f64,
}

impl RankDetector {
    /// Returns a record to write for each anomaly, and for one normal execution of each function with anomalies.
    pub(super) fn plan_records(
        &mut self,
        found: &[FunctionOutliers],
        compiled: &[Option<CompiledModel>],
        options: &AdOptions,
    ) -> Vec<PlannedRecord> {
        let lanes = self.calls.lanes();
        let lacks_normal = &mut self.facts.lacks_normal;
        let mut planned = Vec::new();
        for of_function in found {
            let function = of_function.number;
            let Some(Some(_)) = compiled.get(FuncId(function).index()) else {
                continue;
            };
            let mut plan = |kind, severity_us, (position, score)| {
                let candidate = RecordCandidate {
                    kind,
                    function,
                    severity_us,
                };
                planned.push(PlannedRecord {
                    candidate,
                    position,
                    score,
                });
            };
            let mut needs_normal = lacks_normal.contains(&function);
            let mut worst_us = 0;
            for &anomaly in &of_function.anomalies {
                let severity_us = lanes[anomaly.0.lane as usize].severity_us(anomaly.0.exec);
                if severity_us >= options.min_severity_us {
                    plan(CandidateKind::Anomaly, severity_us, anomaly);
                    needs_normal = true;
                    worst_us = worst_us.max(severity_us);
                }
            }
            match of_function.normal {
                Some(normal) if needs_normal => {
                    plan(CandidateKind::Normal, worst_us, normal);
                    lacks_normal.remove(&function);
                }
                None if needs_normal => {
                    lacks_normal.insert(function);
                }
                _ => {}
            }
        }
        planned
    }

    /// Writes planned records.
    pub(super) fn write_records(
        &self,
        planned: Vec<PlannedRecord>,
        compiled: &[Option<CompiledModel>],
        options: &AdOptions,
        documents: &mut Vec<Document>,
    ) -> Result<(), ProvDbError> {
        let facts = &self.facts;
        let records = RecordBuilder {
            program: self.program,
            rank: self.rank,
            lanes: self.calls.lanes(),
            message_numbers: &facts.message_numbers,
            functions: &self.functions,
            counters: facts.counters.names(),
            correlation: facts.counters.correlation(),
            gpu: &facts.gpu,
            launches: &facts.launches,
            hostname: &facts.hostname,
            node_state: facts.node.record(),
            span: self.span,
            window: options.window,
        };
        for PlannedRecord {
            candidate,
            position,
            score,
        } in planned
        {
            let Some(Some(compiled)) = compiled.get(FuncId(candidate.function).index()) else {
                continue;
            };
            let collection = match candidate.kind {
                CandidateKind::Normal => Collection::NormalExecs,
                _ => Collection::Anomalies,
            };
            let caller = self.judged.key(records.caller(position));
            let record = records.record(position, score, &compiled.json(caller));
            documents.push(Document::execution(collection, &record)?);
        }
        Ok(())
    }
}
