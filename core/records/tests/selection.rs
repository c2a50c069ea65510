//! Laws of the budget for documents.

#![expect(clippy::unwrap_used, reason = "what is missing fails the test")]

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

use callgrove_records::{CandidateKind, DocumentBudget, RecordCandidate, RecordSelection};
use proptest::prelude::*;

/// The time in s for which a share is kept and overdrawn.
const BURST_S: f64 = 10.0;
const NUM_FUNCTIONS: u32 = 4;

/// A step: the time in ms since the end of the step before, and its candidates.
type Step = (u32, Vec<RecordCandidate>);

fn candidate() -> impl Strategy<Value = RecordCandidate> {
    let kind = prop_oneof![
        6 => Just(CandidateKind::Anomaly),
        2 => Just(CandidateKind::Normal),
        1 => Just(CandidateKind::AbnormalTree),
        1 => Just(CandidateKind::SampledTree),
    ];
    (kind, 0..NUM_FUNCTIONS, 0..500_u64).prop_map(|(kind, function, severity_us)| RecordCandidate {
        kind,
        function,
        severity_us,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..4_000_u32, prop::collection::vec(candidate(), 0..30));
    prop::collection::vec(step, 1..40)
}

fn budget(documents_per_second: u32) -> DocumentBudget {
    DocumentBudget(NonZeroU32::new(documents_per_second).unwrap())
}

fn anomalies(count: usize) -> Vec<RecordCandidate> {
    let anomaly = RecordCandidate {
        kind: CandidateKind::Anomaly,
        function: 0,
        severity_us: 1_000,
    };
    vec![anomaly; count]
}

/// Returns what is recorded of each step, and the selection afterwards.
fn chosen(
    steps: &[Step],
    documents_per_second: u32,
    num_ranks: u32,
) -> (Vec<Vec<bool>>, RecordSelection) {
    let (mut selection, mut end_us) = (RecordSelection::default(), 1_000_000_000);
    let chosen = steps.iter().map(|(after_ms, candidates)| {
        end_us += u64::from(*after_ms) * 1000;
        selection.begin_step(budget(documents_per_second), end_us, num_ranks);
        selection.choose(candidates)
    });
    (chosen.collect(), selection)
}

/// Returns which candidates of each step are the worst of their function so far, its first normal execution, or in the
/// sample.
fn required(steps: &[Step]) -> Vec<Vec<bool>> {
    let mut worst: BTreeMap<(CandidateKind, u32), u64> = BTreeMap::new();
    let of_step = |(_, candidates): &Step| {
        let mut is_required = vec![false; candidates.len()];
        let mut groups: BTreeMap<(CandidateKind, u32), Vec<usize>> = BTreeMap::new();
        for (at, it) in candidates.iter().enumerate() {
            groups.entry((it.kind, it.function)).or_default().push(at);
        }
        for (key, group) in groups {
            let severity = |at: &usize| (candidates[*at].severity_us, Reverse(*at));
            let first = group.iter().copied().max_by_key(severity).unwrap();
            let severity_us = candidates[first].severity_us;
            let before = worst.get(&key).copied();
            match key.0 {
                CandidateKind::SampledTree => group.iter().for_each(|&at| is_required[at] = true),
                CandidateKind::Normal => is_required[first] = before.is_none(),
                _ => is_required[first] = before < Some(severity_us),
            }
            worst.insert(key, before.unwrap_or(0).max(severity_us));
        }
        is_required
    };
    steps.iter().map(of_step).collect()
}

fn count(flags: &[bool]) -> u32 {
    flags.iter().map(|it| u32::from(*it)).sum()
}

proptest! {
    #[test]
    fn no_window_has_more_than_its_budget_beyond_what_is_required(
        steps in steps(),
        documents_per_second in 1..60_u32,
        num_ranks in 1..40_u32,
    ) {
        let (chosen, _) = chosen(&steps, documents_per_second, num_ranks);
        let required = required(&steps);
        let share = f64::from(documents_per_second) / f64::from(num_ranks);
        let burst = (share * BURST_S).max(1.0);
        for first in 0..steps.len() {
            let (mut num_others, mut seconds) = (0, 0.0);
            for at in first..steps.len() {
                num_others += count(&chosen[at]) - count(&required[at]);
                if at > first {
                    seconds += f64::from(steps[at].0) / 1000.0;
                }
                let most = share * seconds + 2.0 * burst;
                prop_assert!(
                    f64::from(num_others) <= most + 1e-6,
                    "{num_others} in {seconds} s, {most} at most"
                );
            }
        }
    }

    #[test]
    fn what_is_required_is_always_recorded(steps in steps(), documents_per_second in 1..60_u32) {
        let (chosen, _) = chosen(&steps, documents_per_second, 40);
        for (chosen, required) in chosen.iter().zip(required(&steps)) {
            let mut both = chosen.iter().zip(required);
            prop_assert!(both.all(|(chosen, required)| *chosen || !required));
        }
    }

    #[test]
    fn a_larger_budget_has_no_fewer_documents_at_any_time(
        steps in steps(),
        smaller in 1..60_u32,
        more in 0..60_u32,
        num_ranks in 1..40_u32,
    ) {
        let (few, _) = chosen(&steps, smaller, num_ranks);
        let (many, _) = chosen(&steps, smaller + more, num_ranks);
        let (mut num_few, mut num_many) = (0, 0);
        for (few, many) in few.iter().zip(many) {
            num_few += count(few);
            num_many += count(&many);
            prop_assert!(num_few <= num_many, "{num_few} instead of {num_many}");
        }
    }

    #[test]
    fn the_less_severe_of_a_step_are_left_out_and_counted(
        steps in steps(),
        documents_per_second in 1..60_u32,
    ) {
        let (chosen, selection) = chosen(&steps, documents_per_second, 40);
        let mut left_out: BTreeMap<u32, u64> = BTreeMap::new();
        let flags = chosen.iter().zip(required(&steps));
        for ((_, candidates), (chosen, required)) in steps.iter().zip(flags) {
            let worst = candidates.iter().filter(|it| it.kind == CandidateKind::Anomaly);
            let worst_us = worst.map(|it| it.severity_us).max();
            let with_flags = candidates.iter().zip(chosen).zip(required);
            let optional: Vec<_> = with_flags.filter(|it| !it.1).map(|it| it.0).collect();
            // The most severe anomaly of a step may be recorded where no other one is.
            let recorded = optional.iter().filter(|it| *it.1 && Some(it.0.severity_us) != worst_us);
            let least_us = recorded.map(|it| it.0.severity_us).min();
            for (candidate, _) in optional.iter().filter(|it| !*it.1) {
                prop_assert!(least_us.is_none_or(|least_us| candidate.severity_us <= least_us));
                *left_out.entry(candidate.function).or_default() += 1;
            }
        }
        prop_assert_eq!(selection.left_out(), &left_out);
    }

    #[test]
    fn a_budget_for_everything_leaves_nothing_out(steps in steps()) {
        let (chosen, selection) = chosen(&steps, 4_000_000, 40);
        prop_assert!(chosen.iter().flatten().all(|it| *it));
        prop_assert!(selection.left_out().is_empty());
    }
}

#[test]
fn a_share_is_saved_up_to_a_burst_and_then_accrues_at_its_rate() {
    let mut selection = RecordSelection::default();
    let mut record = |end_s: u64| {
        selection.begin_step(budget(8), end_s * 1_000_000, 4);
        count(&selection.choose(&anomalies(90)))
    };
    // Two documents a second: at first ten seconds of them, then the most severe one of each step, as an overdraft.
    let recorded = [100, 100, 101, 103, 1_000].map(&mut record);
    assert_eq!(recorded, [20, 1, 1, 4, 20]);
}

#[test]
fn the_most_severe_of_each_step_overdraws_a_share_by_a_burst_at_most() {
    let mut selection = RecordSelection::default();
    let mut recorded = Vec::new();
    for step in 0..100 {
        selection.begin_step(budget(1), 1_000_000 * (100 + step / 50), 5);
        recorded.push(count(&selection.choose(&anomalies(3))));
    }
    // A fifth of a document a second: two of a burst, two as an overdraft, and no whole one in the second after.
    assert_eq!(recorded[..4], [2, 1, 1, 0]);
    assert_eq!(recorded.iter().sum::<u32>(), 4);
}

#[test]
fn steps_without_a_time_and_times_that_go_back_add_nothing() {
    let mut selection = RecordSelection::default();
    let mut record = |end_us: u64| {
        selection.begin_step(budget(2), end_us, 1);
        count(&selection.choose(&anomalies(90)))
    };
    let recorded = [u64::MAX, 1_000_000, 0, 3_000_000].map(&mut record);
    assert_eq!(recorded, [20, 1, 1, 2]);
}
