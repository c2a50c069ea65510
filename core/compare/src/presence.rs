//! Paths and structures that one of two runs lacks.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::Real;

use super::change::{ChangeAspect, ChangeSubject, RunChange, count};
use super::paths::{CallStructure, PathId, PathTable};
use super::rank_sum::p_value_of_absence;
use super::side::{FeaturePresence, RunSamples};

/// Returns the paths and structures that the second side has and the first lacks (`aspect` is `New`), or, with the
/// sides swapped, those that have vanished. The corrected p-values are not yet set.
pub(crate) fn one_sided(
    paths: &PathTable,
    with: &RunSamples,
    without: &RunSamples,
    aspect: ChangeAspect,
) -> Vec<RunChange> {
    let mut found: Vec<RunChange> = Vec::new();
    for (&path, presence) in &with.paths {
        let is_missing = !without.paths.contains_key(&path);
        // The callees of something new are part of it.
        let is_part = paths.caller_of(path).is_some_and(|caller| {
            with.paths.contains_key(&caller) && !without.paths.contains_key(&caller)
        });
        if is_missing && !is_part {
            let cost_ns = presence.inclusive_ns.real();
            found.push(change(
                ChangeSubject::Path(path),
                presence,
                (with, without),
                aspect,
                cost_ns,
            ));
        }
    }
    let common: BTreeSet<PathId> = (with.paths.keys())
        .filter(|path| without.paths.contains_key(*path))
        .copied()
        .collect();
    let [own, others] = [with, without].map(|side| common_shapes(side, &common));
    let usual = usual_durations(&others);
    for (shape, presence) in &own {
        let Some(usual_ns) = usual
            .get(&shape.path)
            .filter(|_| !others.contains_key(shape))
        else {
            continue;
        };
        let cost_ns = presence.inclusive_ns.real() - usual_ns * presence.num_calls.real();
        let subject = ChangeSubject::CallStructure(shape.clone());
        found.push(change(subject, presence, (with, without), aspect, cost_ns));
    }
    found
}

/// Returns the shapes of a side, with only those callees that both sides have: the others are found by themselves.
fn common_shapes(
    side: &RunSamples,
    common: &BTreeSet<PathId>,
) -> BTreeMap<CallStructure, FeaturePresence> {
    let mut shapes: BTreeMap<CallStructure, FeaturePresence> = BTreeMap::new();
    for (shape, presence) in &side.shapes {
        let callees = shape.callees.iter().filter(|it| common.contains(*it));
        let reduced = CallStructure {
            path: shape.path,
            callees: callees.copied().collect(),
        };
        let joined = shapes.entry(reduced).or_default();
        joined.blocks.resize(presence.blocks.len(), false);
        for (own, other) in joined.blocks.iter_mut().zip(&presence.blocks) {
            *own |= other;
        }
        joined.num_calls += presence.num_calls;
        joined.inclusive_ns = joined.inclusive_ns.saturating_add(presence.inclusive_ns);
    }
    shapes
}

/// Returns the mean duration of a call of each path, in nanoseconds.
fn usual_durations(shapes: &BTreeMap<CallStructure, FeaturePresence>) -> BTreeMap<PathId, f64> {
    let mut totals: BTreeMap<PathId, (f64, f64)> = BTreeMap::new();
    for (shape, presence) in shapes {
        let (time_ns, num_calls) = totals.entry(shape.path).or_default();
        *time_ns += presence.inclusive_ns.real();
        *num_calls += presence.num_calls.real();
    }
    let means = totals.into_iter();
    means
        .map(|(path, (time_ns, num))| (path, time_ns / num.max(1.0)))
        .collect()
}

fn change(
    subject: ChangeSubject,
    presence: &FeaturePresence,
    (with, without): (&RunSamples, &RunSamples),
    aspect: ChangeAspect,
    cost_ns: f64,
) -> RunChange {
    let num_with = presence.num_blocks();
    let inside = p_value_of_absence(num_with, with.num_blocks(), without.num_blocks());
    let outside = p_value_of_absence(
        presence.num_ranks_outside,
        with.num_ranks,
        without.num_ranks,
    );
    let num_calls = count(presence.num_calls);
    let (before, after, cost_ns) = match aspect {
        ChangeAspect::Vanished => (num_calls, 0.0, -cost_ns),
        _ => (0.0, num_calls, cost_ns),
    };
    RunChange {
        subject,
        aspect,
        before,
        after,
        ratio: None,
        interval: None,
        cost_ns,
        p_value: inside.min(outside),
        share: 0.0,
        corrected_p: 1.0,
        is_separate: true,
        smallest_visible: None,
        blocks: Some((num_with, with.num_blocks())),
    }
}
