//! The entries of a log, in order.

use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::consumer::{Consumer, DeliverPolicy};
use futures_util::{FutureExt as _, StreamExt as _};

use super::connection::{Log, in_full};

/// How long the bus may be asked for entries before it must answer that it has no more: it says so twice in this time, and
/// a reader that hears nothing begins again.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// Most entries that are read before others get their turn.
const MAX_ENTRIES: usize = 256;

/// Reads a log. Errors are texts; after one, a new reader begins.
pub(super) struct LogReader {
    entries: Ordered,
}

impl LogReader {
    /// Begins after a position.
    pub(super) async fn open(log: &Log, position: u64) -> Result<Self, String> {
        let consumer: Consumer<OrderedConfig> = log
            .stream
            .create_consumer(OrderedConfig {
                deliver_policy: DeliverPolicy::ByStartSequence {
                    start_sequence: position + 1,
                },
                max_expires: READ_TIMEOUT,
                ..OrderedConfig::default()
            })
            .await
            .map_err(|error| in_full(&error))?;
        let entries = consumer.messages().await.map_err(|error| in_full(&error))?;
        Ok(Self { entries })
    }

    /// Waits for entries, and returns those that have arrived, each with its position.
    pub(super) async fn next(&mut self) -> Result<Vec<(u64, Message)>, String> {
        let first = self.entries.next().await;
        let mut next = first.ok_or("the log cannot be read any more").map(Some)?;
        let mut found = Vec::new();
        while let Some(entry) = next {
            let entry = entry.map_err(|error| in_full(&error))?;
            let info = entry.info().map_err(|error| error.to_string())?;
            found.push((info.stream_sequence, entry));
            if found.len() == MAX_ENTRIES {
                break;
            }
            next = self.entries.next().now_or_never().flatten();
        }
        Ok(found)
    }
}
