//! The records of a judged step.

use callgrove_provdb::{Collection, Document, ProvDbError};
use callgrove_records::RecordBuilder;

use super::RankDetector;
use crate::compiled_model::CompiledModel;
use crate::options::AdOptions;
use crate::outliers::FunctionOutliers;

impl RankDetector {
    /// Writes a record of each anomaly, and of one normal execution of each function with anomalies.
    pub(super) fn write_records(
        &mut self,
        found: &[FunctionOutliers],
        compiled: &[Option<CompiledModel>],
        options: &AdOptions,
        documents: &mut Vec<Document>,
    ) -> Result<(), ProvDbError> {
        let facts = &mut self.facts;
        let lacks_normal = &mut facts.lacks_normal;
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
        for of_function in found {
            let Some(Some(compiled)) = compiled.get(of_function.number as usize) else {
                continue;
            };
            let mut write = |collection, position, score| {
                let caller = self.judged.key(records.caller(position));
                let record = records.record(position, score, &compiled.json(caller));
                documents.push(Document::execution(collection, &record)?);
                Ok::<_, ProvDbError>(())
            };
            let mut needs_normal = lacks_normal.contains(&of_function.number);
            for &(position, score) in &of_function.anomalies {
                if records.severity_us(position) >= options.min_severity_us {
                    write(Collection::Anomalies, position, score)?;
                    needs_normal = true;
                }
            }
            match of_function.normal {
                Some((position, score)) if needs_normal => {
                    write(Collection::NormalExecs, position, score)?;
                    lacks_normal.remove(&of_function.number);
                }
                None if needs_normal => {
                    lacks_normal.insert(of_function.number);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
