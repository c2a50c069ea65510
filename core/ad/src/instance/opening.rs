//! Streams that are being opened: a running job may take long to answer.

use std::time::{Duration, Instant};

use callgrove_source::SourceError;

use super::{Instance, STATUS_DELAY};
use crate::stream_reader::StreamReader;

/// How long an ending instance waits for streams that are being opened. If the reader is gone when an SST writer
/// answers, the writer hangs or crashes (seen with ADIOS2 2.12.1), and with it the job.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

impl Instance {
    /// Reports in the status if streams take long to open.
    pub(super) fn update_opening_status(&mut self) {
        let mut opening = self.readers.iter().filter_map(StreamReader::opening);
        let message = "streams are not open yet: waiting for the job to start, or for the next step of a running job";
        let is_long = opening.any(|waited| waited > STATUS_DELAY);
        self.status.opening = is_long.then(|| message.to_owned());
    }

    /// Returns whether an instance may end, which was asked to end at the time kept in `asked`.
    pub(super) fn may_end(&self, asked: &mut Option<Instant>) -> bool {
        let asked = asked.get_or_insert_with(Instant::now);
        let is_opening = self.readers.iter().any(|it| it.opening().is_some());
        !is_opening || asked.elapsed() > ANSWER_WAIT
    }

    /// Returns the error of the first stream, if no stream could be opened.
    pub(super) fn failure_of_all(&mut self) -> Option<SourceError> {
        let failures = self.readers.iter_mut().map(StreamReader::take_failure);
        let failures: Option<Vec<SourceError>> = failures.collect();
        failures?.into_iter().next()
    }
}
