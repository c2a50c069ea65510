//! Streams that are being opened: a running job takes its time to answer.

use std::time::{Duration, Instant};

use callgrove_trace::TraceError;

use super::{Instance, LONG};
use crate::stream_reader::StreamReader;

/// How long an end waits for streams that are being opened: an SST writer that answers a reader that is gone hangs or
/// crashes (seen with ADIOS2 2.12.1), and with it the job.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

impl Instance {
    /// Has it told if streams take long to open.
    pub(super) fn note_opening(&mut self) {
        let mut opening = self.readers.iter().filter_map(StreamReader::opening);
        let words = "streams are not open yet: a job that is not there is waited for, and one that runs answers with its \
                     next step";
        let is_long = opening.any(|waited| waited > LONG);
        self.status.opening = is_long.then(|| words.to_owned());
    }

    /// Whether an instance that was asked to end, at the time that is kept in `asked`, may do so.
    pub(super) fn may_end(&self, asked: &mut Option<Instant>) -> bool {
        let asked = asked.get_or_insert_with(Instant::now);
        let is_opening = self.readers.iter().any(|it| it.opening().is_some());
        !is_opening || asked.elapsed() > ANSWER_WAIT
    }

    /// Why nothing could be opened, if nothing could.
    pub(super) fn failure_of_all(&mut self) -> Option<TraceError> {
        let failures = self.readers.iter_mut().map(StreamReader::take_failure);
        let failures: Option<Vec<TraceError>> = failures.collect();
        failures?.into_iter().next()
    }
}
