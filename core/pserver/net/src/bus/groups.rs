//! The server's side of the logs of groups.

use std::collections::BTreeMap;

use callgrove_pserver::{LEASE_MS, ServerState};
use tonic::Code;

use super::connection::{Bus, Log};
use crate::{proto, wire};

/// The logs of groups, and their mergers.
#[derive(Default)]
pub(super) struct Groups {
    logs: BTreeMap<u32, Log>,
    /// The merger of each group, and when it asked last.
    mergers: BTreeMap<u32, (String, u64)>,
    /// The logs have forgotten entries up to these.
    forgotten: BTreeMap<u32, u64>,
}

/// A position in the log of a group, up to which sums are awaited.
#[derive(Clone, Debug)]
pub(super) struct GroupEnd {
    pub(super) group: u32,
    log: String,
    pub(super) position: u64,
}

impl GroupEnd {
    /// Returns up to which position the state has everything, unless it has all.
    pub(super) fn missing_after(&self, state: &ServerState) -> Option<u64> {
        let position = state.group_position(self.group, &self.log);
        (position < self.position).then_some(position)
    }

    /// Says what has to happen.
    pub(super) fn remedy(&self, read: u64) -> String {
        let group = self.group;
        let position = self.position;
        format!(
            "the merger of group {group} has merged entries up to {read} of {position}: start `callgrove merger --group {group}`, \
             unless it runs"
        )
    }
}

impl Groups {
    /// Forgets what a bus may have lost since.
    pub(super) fn forget_connection(&mut self) {
        self.logs.clear();
        self.forgotten.clear();
    }

    /// Returns the present end of the log of a group.
    pub(super) async fn end_of(&mut self, bus: &Bus, group: u32) -> Result<GroupEnd, String> {
        let extent = self.log(bus, group).await?.extent().await?;
        Ok(GroupEnd {
            group,
            log: extent.id,
            position: extent.last,
        })
    }

    /// Ends the contributions of an instance. Returns the end of the log then.
    pub(super) async fn fence(
        &mut self,
        bus: &Bus,
        group: u32,
        instance: &str,
    ) -> Result<GroupEnd, String> {
        let log = self.log(bus, group).await?;
        let fence = wire::fence_to_wire(instance);
        bus.append(&log, &[fence], instance).await?;
        self.end_of(bus, group).await
    }

    /// Gives a group to a merger, unless another one has it.
    pub(super) fn claim(
        &mut self,
        request: &proto::MergeRequest,
        now_ms: u64,
    ) -> Result<(), (Code, String)> {
        let group = request.group;
        if let Some((holder, _)) = self.mergers.get(&group)
            && *holder != request.merger
            && self.has_merger(group, now_ms)
        {
            return Err((
                Code::AlreadyExists,
                format!("group {group} has a merger: {holder}"),
            ));
        }
        if request.state() == proto::MergerState::Ending {
            self.mergers.remove(&group);
        } else {
            let merger = request.merger.clone();
            self.mergers.insert(group, (merger, now_ms));
        }
        Ok(())
    }

    /// Returns whether a group has a merger that is alive.
    pub(super) fn has_merger(&self, group: u32, now_ms: u64) -> bool {
        let last_ms = self.mergers.get(&group).map(|it| it.1);
        last_ms.is_some_and(|it| now_ms.saturating_sub(it) <= LEASE_MS)
    }

    /// Lets the logs forget what is saved.
    pub(super) async fn forget_saved(
        &mut self,
        bus: &Bus,
        state: &ServerState,
    ) -> Result<(), String> {
        for (group, saved) in state.saved_groups() {
            if self.forgotten.get(&group) >= Some(&saved.position) {
                continue;
            }
            let log = self.log(bus, group).await?;
            // A bus without its former data has another log.
            if log.extent().await?.id == saved.log {
                log.forget(saved.position).await?;
            }
            self.forgotten.insert(group, saved.position);
        }
        Ok(())
    }

    async fn log(&mut self, bus: &Bus, group: u32) -> Result<Log, String> {
        if let Some(log) = self.logs.get(&group) {
            return Ok(log.clone());
        }
        let log = bus.log_of_group(group).await?;
        self.logs.insert(group, log.clone());
        Ok(log)
    }
}
