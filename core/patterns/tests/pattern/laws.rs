//! Laws that hold for every trace.

use callgrove_model::{ExecIdx, Progress, Trace};
use callgrove_patterns::{Iterations, PatternSymbol, Patterns};
use proptest::prelude::*;

use crate::support::{Call, patterns_of, trace_of};

/// Calls with few names and a lot of repetition.
fn any_calls() -> impl Strategy<Value = Vec<Call>> {
    let call = |inside: Vec<Call>, name: u8, own_us: i64, is_closed: bool| Call {
        name: char::from(b'a' + name).to_string(),
        own_us,
        is_closed,
        inside,
    };
    let leaf = (0..4_u8, 0..5_i64, prop::bool::weighted(0.97));
    let leaf = leaf.prop_map(move |(name, own, closed)| call(Vec::new(), name, own, closed));
    let tree = leaf.prop_recursive(4, 200, 8, move |inner| {
        let parts = prop::collection::vec((inner, 1..12_usize), 0..5);
        let whole = (parts, 0..4_u8, 0..5_i64, prop::bool::weighted(0.97));
        whole.prop_map(move |(parts, name, own, closed)| call(repeated(parts), name, own, closed))
    });
    let parts = prop::collection::vec((tree, 1..4_usize), 0..6).prop_map(repeated);
    // The whole sequence several times: a loop of sequences.
    (parts, 1..4_usize).prop_map(|(calls, times)| vec![calls; times].concat())
}

fn repeated(parts: Vec<(Call, usize)>) -> Vec<Call> {
    let each = parts.into_iter();
    each.flat_map(|(call, times)| std::iter::repeat_n(call, times))
        .collect()
}

fn any_trace() -> impl Strategy<Value = Trace> {
    prop::collection::vec(any_calls(), 0..4).prop_map(|ranks| trace_of(&ranks))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_grammar_expands_to_every_lane(trace in any_trace()) {
        patterns_of(&trace);
    }

    #[test]
    fn patterns_recur_and_their_occurrences_are_exact(trace in any_trace()) {
        let patterns = patterns_of(&trace);
        for (place, pattern) in patterns.all().iter().enumerate() {
            prop_assert_eq!(pattern.id.index(), place);
            prop_assert!(pattern.occurrences.len() >= 2, "a sequence that occurs once is not a pattern");
            prop_assert!(pattern.num_events.min >= 4, "one call alone is an event");
            let mut total = 0;
            for occurrence in &pattern.occurrences {
                let executions = &trace.lane(occurrence.lane).executions;
                let rows = occurrence.rows();
                prop_assert!(rows.end <= executions.len());
                prop_assert_eq!(executions.entry[rows.start], occurrence.start);
                // No call extends beyond the occurrence, and the last one to end ends it.
                let ends = rows.clone().map(|row| executions.subtree_end[row].index());
                prop_assert_eq!(ends.max(), Some(rows.end));
                let exits = rows.map(|row| executions.exit(ExecIdx::from_index(row)));
                prop_assert_eq!(exits.max(), Some(occurrence.end()));
                total += occurrence.duration.0;
            }
            prop_assert_eq!(total, pattern.total.0);
            let order = |at: usize| {
                let it = pattern.occurrences[at];
                (it.lane, it.first)
            };
            prop_assert!((1..pattern.occurrences.len()).all(|at| order(at - 1) < order(at)));
        }
        let totals: Vec<i64> = patterns.all().iter().map(|it| it.total.0).collect();
        prop_assert!(totals.is_sorted_by(|left, right| left >= right));
    }

    #[test]
    fn no_two_patterns_are_equal_and_none_holds_itself(trace in any_trace()) {
        let patterns = patterns_of(&trace);
        let mut contents: Vec<u64> = patterns.all().iter().map(|it| it.content).collect();
        contents.sort_unstable();
        contents.dedup();
        prop_assert_eq!(contents.len(), patterns.all().len());
        for pattern in patterns.all() {
            for item in &pattern.items {
                if let PatternSymbol::Pattern(id) = item.symbol {
                    let inner = patterns.get(id).unwrap();
                    prop_assert!(inner.num_events.min <= pattern.num_events.min);
                    prop_assert!(inner.occurrences.len() >= pattern.occurrences.len());
                }
            }
        }
    }

    #[test]
    fn the_same_trace_gives_the_same_result(ranks in prop::collection::vec(any_calls(), 1..3)) {
        let (left, right) = (trace_of(&ranks), trace_of(&ranks));
        prop_assert_eq!(
            format!("{:?}", patterns_of(&left)),
            format!("{:?}", patterns_of(&right))
        );
    }

    #[test]
    fn passes_follow_each_other(trace in any_trace()) {
        let patterns = Patterns::find(&trace, Progress::none()).unwrap();
        let Some(found) = Iterations::find(&trace, &patterns, Progress::none()).unwrap() else {
            return Ok(());
        };
        for (lane, _) in trace.lanes() {
            let passes = found.on_lane(lane);
            prop_assert!(passes.starts.is_sorted());
            for (at, (&start, &end)) in passes.starts.iter().zip(&passes.ends).enumerate() {
                prop_assert!(start <= end);
                prop_assert!(passes.busy[at].0 >= 0);
                prop_assert!(passes.starts.get(at + 1).is_none_or(|&next| end <= next));
                prop_assert!(found.iteration_at(lane, start).is_some_and(|it| it >= at));
            }
        }
        prop_assert_eq!(found.imbalances().len(), found.len());
    }
}
