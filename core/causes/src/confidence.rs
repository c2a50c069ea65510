//! The confidence in the rank of a delay.

use callgrove_model::DurationNs;
use callgrove_segments::{Meetings, TIE};

use super::delay_root::DelayRoot;
use super::outcome::CauseKind;

/// Confidence if there are no messages, so that the rank is a guess from the order of falling silent: not measured.
const UNMATCHED_PERCENT: u8 = 30;
/// Confidence if no message proves the waits for a delay, only that others stalled at once, or if a message may have
/// been late instead: not measured.
const UNPROVEN_PERCENT: u8 = 50;
/// Smallest significant margin in a collective, which ranks leave in the order in which the scheduler wakes them.
const CLEAR_COLLECTIVE: DurationNs = DurationNs::from_us(1_000);

/// Returns the confidence in a root's rank: in how many of a hundred such cases it was the right one.
///
/// A class of evidence has the share that was measured on three runs of LAMMPS and LULESH whose ranks were stopped:
/// of 87 incidents in the library with a margin, 77 named the stopped rank; of those without a margin, one in four or
/// fewer did. Of own work, 107 of 109 generated incidents were right. For the network, hosts and the tracer there are
/// too few cases to measure: their values are assumptions.
pub(super) fn confidence_percent(root: &DelayRoot, meetings: &Meetings) -> u8 {
    match root.kind {
        CauseKind::Transfer | CauseKind::TracerWrite => return 90,
        CauseKind::BusyHost => return 75,
        CauseKind::Noise => return 80,
        CauseKind::Unknown => return UNMATCHED_PERCENT,
        _ => {}
    }
    let most = if root.is_unproven || root.late_sender.is_some() {
        UNPROVEN_PERCENT
    } else {
        100
    };
    most.min(root.max_percent)
        .min(percent_of_a_rank(root, meetings))
}

fn percent_of_a_rank(root: &DelayRoot, meetings: &Meetings) -> u8 {
    let Some(operation) = root.operation else {
        return 95;
    };
    if root.cost.0 < root.amount.0.saturating_mul(2) {
        return 50;
    }
    let is_collective = meetings.of(operation).is_some();
    match root.margin {
        Some(margin) if is_collective && margin > CLEAR_COLLECTIVE => 88,
        Some(margin) if !is_collective && margin >= TIE => 88,
        _ => 30,
    }
}
