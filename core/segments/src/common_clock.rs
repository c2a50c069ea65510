//! Segments on the common clock of all hosts.

use callgrove_model::Trace;

use super::clock::Clocks;
use super::clock_evidence::compare_clocks;
use super::segments::Segments;

/// Compares the clocks of all hosts, and returns the segments of all lanes on the common clock. An excerpt of a run
/// lacks calls, so that nothing is learned from their numbers. Cost: O(n log n) in events and messages.
pub fn segments_on_common_clock(trace: &Trace, is_excerpt: bool) -> (Segments, Clocks) {
    let segments_on = |clocks: &Clocks| {
        if is_excerpt {
            Segments::of_excerpt(trace, clocks)
        } else {
            Segments::of_run(trace, clocks)
        }
    };
    let recorded = Clocks::recorded(trace);
    let segments = segments_on(&recorded);
    let clocks = compare_clocks(trace, recorded, &segments, is_excerpt);
    if clocks.are_recorded() {
        return (segments, clocks);
    }
    (segments_on(&clocks), clocks)
}
