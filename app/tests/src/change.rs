//! Changes of snapshots.

use callgrove_session::{ForestSnapshot, RunSnapshot, Snapshot};

/// Returns a snapshot after a change.
pub fn changed(mut snapshot: Snapshot, change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    change(&mut snapshot);
    snapshot
}

/// Returns the open run of a snapshot, to be changed.
pub fn run_of(snapshot: &mut Snapshot) -> &mut RunSnapshot {
    snapshot.run.as_mut().expect("a run is open")
}

/// Returns the forest of a snapshot, to be changed.
pub fn forest_in(snapshot: &mut Snapshot) -> &mut ForestSnapshot {
    snapshot.forest.as_mut().expect("a forest is shown")
}
