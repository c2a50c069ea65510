//! The messages of a run.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field};
use callgrove_model::{CommRef, Trace};

use super::reader::{ROWS_PER_BATCH, RunRows, column};

/// The matched messages of a run, in order of sending.
pub(crate) struct Messages {
    trace: Arc<Trace>,
    next: usize,
}

/// The columns of one batch.
#[derive(Default)]
struct MessageColumns {
    program: Vec<u32>,
    ranks: [Vec<u32>; 2],
    threads: [Vec<u32>; 2],
    times: [Vec<i64>; 2],
    tag: Vec<u64>,
    size_bytes: Vec<u64>,
}

impl Messages {
    /// Returns the messages of a run.
    pub(crate) fn new(trace: Arc<Trace>) -> Self {
        Self { trace, next: 0 }
    }
}

impl MessageColumns {
    /// Adds one end of a message: 0 for the SEND, 1 for the RECV.
    fn push_end(&mut self, trace: &Trace, side: usize, end: CommRef) -> usize {
        let lane = trace.lane(end.lane);
        let row = usize::try_from(end.row).unwrap_or(usize::MAX);
        self.ranks[side].push(lane.rank.0);
        self.threads[side].push(lane.thread.0);
        self.times[side].push(lane.comms.time[row].0);
        row
    }
}

impl RunRows for Messages {
    fn schema() -> (&'static str, Vec<Field>) {
        let fields = vec![
            column("program", DataType::UInt32),
            column("sender_rank", DataType::UInt32),
            column("sender_thread", DataType::UInt32),
            column("receiver_rank", DataType::UInt32),
            column("receiver_thread", DataType::UInt32),
            column("send_ns", DataType::Int64),
            column("receive_ns", DataType::Int64),
            column("tag", DataType::UInt64),
            column("size_bytes", DataType::UInt64),
        ];
        ("messages", fields)
    }

    fn next_columns(&mut self) -> Option<Result<Vec<ArrayRef>, ArrowError>> {
        let trace = Arc::clone(&self.trace);
        let end = trace.messages.len().min(self.next + ROWS_PER_BATCH);
        let messages = &trace.messages[self.next..end];
        self.next = end;
        if messages.is_empty() {
            return None;
        }
        let mut to = MessageColumns::default();
        for message in messages {
            let row = to.push_end(&trace, 0, message.send);
            to.push_end(&trace, 1, message.recv);
            let sender = trace.lane(message.send.lane);
            to.program.push(sender.program.0);
            to.tag.push(sender.comms.tag[row]);
            to.size_bytes.push(sender.comms.size_bytes[row]);
        }
        let [sender, receiver] = to.ranks.map(UInt32Array::from);
        let [sender_thread, receiver_thread] = to.threads.map(UInt32Array::from);
        let [send, receive] = to.times.map(Int64Array::from);
        Some(Ok(vec![
            Arc::new(UInt32Array::from(to.program)),
            Arc::new(sender),
            Arc::new(sender_thread),
            Arc::new(receiver),
            Arc::new(receiver_thread),
            Arc::new(send),
            Arc::new(receive),
            Arc::new(UInt64Array::from(to.tag)),
            Arc::new(UInt64Array::from(to.size_bytes)),
        ]))
    }
}
