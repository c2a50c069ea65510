//! Incidents of two runs, by kind.

use callgrove_model::Real;

use super::change::{ChangeAspect, ChangeSubject, RunChange};
use super::level_test::compare_levels;
use super::rank_sum::p_value_of_counts;
use super::runs_of_side::Side;
use super::side::{ALL_INCIDENTS, IncidentSample, RunSamples};

/// Compares all incidents together, and those of each kind; the corrected p-values are not yet set.
pub(crate) fn compare_incidents(before: &Side<'_>, after: &Side<'_>) -> Vec<RunChange> {
    let none = IncidentSample::default();
    let runs = [before, after].map(|side| side.runs.as_slice());
    let sides = [&*before.in_any, &*after.in_any];
    let mut kinds: Vec<&String> = sides
        .iter()
        .flat_map(|side| side.incidents.keys())
        .collect();
    kinds.sort();
    kinds.dedup();
    let of_kind = |kind: &str| sides.map(|side| side.incidents.get(kind).unwrap_or(&none).clone());
    let mut compared = Vec::new();
    if kinds.len() > 1 {
        let all = sides.map(RunSamples::all_incidents);
        compared.push(change(ALL_INCIDENTS, runs, sides, &all));
    }
    compared.extend(
        kinds
            .into_iter()
            .map(|kind| change(kind, runs, sides, &of_kind(kind))),
    );
    compared
}

fn change(
    kind: &str,
    runs: [&[&RunSamples]; 2],
    [before, after]: [&RunSamples; 2],
    [one, other]: &[IncidentSample; 2],
) -> RunChange {
    let iterations = |side: &RunSamples| side.num_iterations().max(1).real();
    let num = IncidentSample::num_incidents;
    let share = iterations(after) / (iterations(before) + iterations(after));
    let of_runs = runs.iter().map(|runs| {
        let counts: Vec<usize> = runs.iter().map(|run| run.num_incidents(kind)).collect();
        dispersion(&counts)
    });
    let of_blocks = [one, other].map(|it| dispersion(&it.in_block));
    let dispersion = of_runs.chain(of_blocks).fold(1.0, f64::max);
    let effective = |sample| whole(num(sample).real() / dispersion);
    let rates = [
        num(one).real() / iterations(before),
        num(other).real() / iterations(after),
    ];
    let scale = iterations(after) / iterations(before);
    let of_counts = p_value_of_counts(effective(one), effective(other), share);
    let is_of_blocks = runs.iter().all(|runs| runs.len() == 1);
    // Two tests, so that many incidents and large ones are both found. Blocks of several runs are not independent.
    let of_delays = is_of_blocks.then(|| of_delays([(before, one), (after, other)]));
    let p_value = of_delays.flatten().map_or(of_counts, |of_delays| {
        (2.0 * of_delays.min(of_counts)).min(1.0)
    });
    RunChange {
        subject: ChangeSubject::Incidents(kind.to_owned()),
        aspect: ChangeAspect::Frequency,
        before: rates[0],
        after: rates[1],
        ratio: (rates[0] > 0.0).then(|| rates[1] / rates[0]),
        interval: None,
        cost_ns: (other.total_delay_ns().real() - one.total_delay_ns().real() * scale)
            / runs[1].len().max(1).real(),
        p_value,
        share: 0.0,
        corrected_p: 1.0,
        is_separate: true,
        smallest_visible: None,
        blocks: None,
    }
}

/// Returns the p-value of the rank-sum test of the delays per iteration; `None` if there are too few blocks.
fn of_delays(sides: [(&RunSamples, &IncidentSample); 2]) -> Option<f64> {
    let [before, after] = sides.map(|(side, sample)| {
        let delays = sample.delay_ns.iter().map(|it| it.real());
        let mut delays: Vec<f64> = delays.collect();
        delays.resize(side.num_blocks(), 0.0);
        side.per_iteration(&delays)
    });
    Some(compare_levels(&before, &after)?.p_value)
}

/// Returns the variance of counts over their mean, at least 1.
fn dispersion(counts: &[usize]) -> f64 {
    let num = counts.len().real();
    let mean = counts.iter().sum::<usize>().real() / num.max(1.0);
    if mean <= 0.0 || num < 2.0 {
        return 1.0;
    }
    let squares = counts.iter().map(|count| (count.real() - mean).powi(2));
    (squares.sum::<f64>() / (num - 1.0) / mean).max(1.0)
}

/// Returns the number of whole units in a value.
fn whole(value: f64) -> usize {
    let mut count = 0_usize;
    while count.real() + 1.0 <= value {
        count += 1;
    }
    count
}
