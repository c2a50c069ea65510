//! What the budget of an instance left out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgrove_provdb::ProvDbError;

use super::Instance;

impl Instance {
    /// Records how many documents of each function were left out.
    pub(super) fn record_left_out(&mut self) -> Result<(), ProvDbError> {
        let mut by_function: BTreeMap<&str, u64> = BTreeMap::new();
        for detector in &self.detectors {
            for (function, count) in detector.left_out(&self.functions) {
                *by_function.entry(function).or_default() += count;
            }
            if let Some(document) = detector.left_out_document(&self.functions)? {
                self.recorder.record(detector.rank(), None, vec![document]);
            }
        }
        let by_function = by_function.into_iter();
        let mut left_out: Vec<(String, u64)> = by_function
            .map(|(function, count)| (function.to_owned(), count))
            .collect();
        left_out.sort_by_key(|it| Reverse(it.1));
        self.status.left_out = left_out;
        Ok(())
    }
}
