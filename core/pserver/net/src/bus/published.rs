//! The newest models, as an instance reads them from the bus.

use std::time::Duration;

use callgrove_pserver::{Cursor, PublishedModel};
use prost::Message as _;

use super::connection::{Bus, in_full};
use super::model_blocks::VERSION_SUBJECT;
use crate::{proto, wire};

/// Pause before a version is read again whose blocks were replaced meanwhile.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// What an instance has of the published models.
#[derive(Debug, Default)]
pub(super) struct PublishedReader {
    /// The newest version that was read completely.
    version: proto::PublishedVersion,
}

impl PublishedReader {
    /// Reads the newest version and the models that changed, again and again while the server replaces its blocks: models
    /// without the position that they belong to would be of no use. `cursor` is the position of the instance: at the
    /// start all models are read.
    ///
    /// # Errors
    /// As text, if the bus does not answer, or a message is damaged; nothing counts as read then.
    pub(super) async fn read(
        &mut self,
        bus: &Bus,
        cursor: Cursor,
    ) -> Result<Vec<PublishedModel>, String> {
        if cursor == Cursor::default() {
            self.version = proto::PublishedVersion::default();
        }
        let (mut models, mut read) = (Vec::new(), self.version.blocks.clone());
        loop {
            let Some(newest) = newest_version(bus).await? else {
                return Ok(models);
            };
            let mut is_whole = true;
            read.resize(newest.blocks.len().max(read.len()), 0);
            for (read, &sequence) in read.iter_mut().zip(&newest.blocks) {
                if sequence == *read || sequence == 0 {
                    continue;
                }
                match bus.models.direct_get(sequence).await {
                    Ok(message) => {
                        let block = wire::block_from_wire(message.payload);
                        models.extend(block.map_err(|error| error.to_string())?);
                        *read = sequence;
                    }
                    // Replaced since the version was read.
                    Err(error) if is_absent(&error) => is_whole = false,
                    Err(error) => return Err(in_full(&error)),
                }
            }
            if is_whole {
                self.version = newest;
                return Ok(models);
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// Returns the newest version that was read completely.
    pub(super) fn version(&self) -> &proto::PublishedVersion {
        &self.version
    }

    /// Returns up to which entry a log is in the models: that of a group, or that of the server.
    pub(super) fn position(&self, group: Option<u32>) -> u64 {
        let Some(group) = group else {
            return self.version.log_position;
        };
        let found = self.version.groups.iter().find(|it| it.group == group);
        found.map_or(0, |it| it.position)
    }
}

/// Returns the newest version; `None` before the first.
///
/// # Errors
/// As text.
pub(super) async fn newest_version(bus: &Bus) -> Result<Option<proto::PublishedVersion>, String> {
    let subject = bus.models_of(VERSION_SUBJECT);
    match bus.models.direct_get_last_for_subject(subject).await {
        Ok(message) => proto::PublishedVersion::decode(message.payload)
            .map(Some)
            .map_err(|error| error.to_string()),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(in_full(&error)),
    }
}

fn is_absent(error: &async_nats::jetstream::stream::DirectGetError) -> bool {
    error.kind() == async_nats::jetstream::stream::DirectGetErrorKind::NotFound
}
