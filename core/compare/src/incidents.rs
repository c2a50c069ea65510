//! Incidents of two runs, by kind.

use callgrove_model::Real;

use super::change::{ChangeAspect, ChangeSubject, RunChange};
use super::rank_sum::p_value_of_counts;
use super::side::{IncidentSample, RunSamples};

/// Compares the incidents of each kind; the corrected p-values are not yet set.
pub(crate) fn compare_incidents(before: &RunSamples, after: &RunSamples) -> Vec<RunChange> {
    let none = IncidentSample::default();
    let mut kinds: Vec<&String> = before
        .incidents
        .keys()
        .chain(after.incidents.keys())
        .collect();
    kinds.sort();
    kinds.dedup();
    let compared = kinds.into_iter().map(|kind| {
        let [one, other] = [before, after].map(|side| side.incidents.get(kind).unwrap_or(&none));
        change(kind, (before, one), (after, other))
    });
    compared.collect()
}

fn change(
    kind: &str,
    (before, one): (&RunSamples, &IncidentSample),
    (after, other): (&RunSamples, &IncidentSample),
) -> RunChange {
    let iterations = |side: &RunSamples| side.num_iterations().max(1).real();
    let num = |sample: &IncidentSample| sample.in_block.iter().sum::<usize>();
    let share = iterations(after) / (iterations(before) + iterations(after));
    let dispersion = dispersion(&one.in_block).max(dispersion(&other.in_block));
    let effective = |sample| whole(num(sample).real() / dispersion);
    let rates = [
        num(one).real() / iterations(before),
        num(other).real() / iterations(after),
    ];
    let scale = iterations(after) / iterations(before);
    RunChange {
        subject: ChangeSubject::Incidents(kind.to_owned()),
        aspect: ChangeAspect::Frequency,
        before: rates[0],
        after: rates[1],
        ratio: (rates[0] > 0.0).then(|| rates[1] / rates[0]),
        interval: None,
        cost_ns: other.delay_ns.real() - one.delay_ns.real() * scale,
        p_value: p_value_of_counts(effective(one), effective(other), share),
        corrected_p: 1.0,
        is_separate: true,
        blocks: None,
    }
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
