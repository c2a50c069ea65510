//! The models of a server in blocks on the bus: each block is one message, and the newest of each is kept.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::FuncId;
use callgrove_pserver::{ChangedModels, Cursor, GroupProgress, PublishedModel, ServerState};
use prost::Message as _;
use prost::bytes::Bytes;

use super::connection::{Bus, in_full};
use crate::{proto, wire};

/// The end of the subject of the newest version.
pub(super) const VERSION_SUBJECT: &str = "version";
/// The size of a block at which the number of blocks grows, in bytes.
const MEAN_BLOCK_BYTES: usize = 128 << 10;

/// The models as they are, or will be, on the bus.
#[derive(Default)]
pub(super) struct ModelBlocks {
    models: BTreeMap<FuncId, PublishedModel>,
    /// The size of all models on the wire.
    num_bytes: usize,
    cursor: Cursor,
    /// The sequence number of each block; 0 for one without models.
    sequences: Vec<u64>,
    /// The blocks that the bus lacks.
    changed: BTreeSet<usize>,
    /// The version on the bus.
    published: Option<proto::PublishedVersion>,
}

impl ModelBlocks {
    /// Publishes what changed.
    ///
    /// # Errors
    /// As text, if the bus does not take a message; the next call goes on.
    pub(super) async fn publish(&mut self, bus: &Bus, state: &ServerState) -> Result<(), String> {
        let changed = self.take_changed(state);
        self.grow();
        let mut blocks: BTreeMap<usize, Vec<&PublishedModel>> = BTreeMap::new();
        for model in self.models.values() {
            let index = block_of(model.fid, self.sequences.len());
            if self.changed.contains(&index) {
                blocks.entry(index).or_default().push(model);
            }
        }
        for (index, models) in blocks {
            let bytes = wire::block_to_wire(models.into_iter());
            self.sequences[index] = put(bus, &index.to_string(), bytes).await?;
            self.changed.remove(&index);
        }
        let newest = proto::PublishedVersion {
            epoch: state.options().epoch,
            version: changed.version,
            log_position: changed.log_position,
            groups: group_positions(&changed),
            tree_generation: state.tree_models().1,
            blocks: self.sequences.clone(),
        };
        // Versions are counted without a change, too.
        let same_as = |published: &proto::PublishedVersion| {
            let version = published.version;
            *published
                == proto::PublishedVersion {
                    version,
                    ..newest.clone()
                }
        };
        if self.published.as_ref().is_some_and(same_as) {
            return Ok(());
        }
        put(bus, VERSION_SUBJECT, newest.encode_to_vec()).await?;
        self.published = Some(newest);
        Ok(())
    }

    /// Takes the models that changed in the state. Returns what else they came with.
    fn take_changed(&mut self, state: &ServerState) -> ChangedModels {
        loop {
            let mut changed = state.models_since(self.cursor);
            self.cursor = changed.cursor;
            for model in std::mem::take(&mut changed.models) {
                let index = block_of(model.fid, self.sequences.len());
                self.changed.insert(index);
                self.num_bytes += wire::published_bytes(&model);
                if let Some(before) = self.models.insert(model.fid, model) {
                    self.num_bytes -= wire::published_bytes(&before);
                }
            }
            if !changed.more {
                return changed;
            }
        }
    }

    /// Doubles the number of blocks until they have a size that messages can have.
    fn grow(&mut self) {
        let num_blocks = self.num_bytes.div_ceil(MEAN_BLOCK_BYTES);
        let num_blocks = num_blocks.next_power_of_two();
        if num_blocks > self.sequences.len() {
            self.sequences = vec![0; num_blocks];
            let fids = self.models.keys();
            self.changed = fids.map(|&fid| block_of(fid, num_blocks)).collect();
        }
    }
}

/// Returns how far the logs of groups are in models.
fn group_positions(models: &ChangedModels) -> Vec<proto::GroupPosition> {
    let position = |(&group, of): (&u32, &GroupProgress)| proto::GroupPosition {
        group,
        position: of.position,
    };
    models.groups.iter().map(position).collect()
}

/// Returns the block of a function: its index is a hash.
fn block_of(fid: FuncId, num_blocks: usize) -> usize {
    usize::try_from(fid.0).unwrap_or(usize::MAX) % num_blocks.max(1)
}

/// Publishes a message of the stream of models; returns its sequence number.
async fn put(bus: &Bus, block: &str, bytes: Vec<u8>) -> Result<u64, String> {
    let sent = bus
        .jetstream
        .publish(bus.models_of(block), Bytes::from(bytes));
    let acknowledged = sent.await.map_err(|error| in_full(&error))?.await;
    let acknowledged = acknowledged.map_err(|error| in_full(&error))?;
    Ok(acknowledged.sequence)
}
