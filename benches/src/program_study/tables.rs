//! The results for the runs of programs, as tables.

use std::fmt::Display;

use callgrove_trees::Result;

use super::case::{DEFAULT, LearnedRun, RunOutcome, SIZES};
use super::folds::Folds;
use super::runs::{NUM_CLEAN, ProgramCases, p_ratios};
use crate::markdown_table::{MarkdownTable, share};
use crate::programs::{KINDS, SimulatedProgram};

/// Levels at which p-values are counted.
const LEVELS: [f64; 2] = [0.01, 0.001];

/// The results for the runs of a program.
struct Measured {
    name: &'static str,
    num_executions: usize,
    /// Results without a reference, by the rule, and with the first clean run as reference. Clean runs come first; the
    /// first has no reference.
    own: Vec<RunOutcome>,
    by_rule: Vec<RunOutcome>,
    with_reference: Vec<RunOutcome>,
    /// Observed over expected number of p-values at the [`LEVELS`].
    p_ratios: [f64; LEVELS.len()],
}

/// Simulates the programs with four seeds from `first_seed` on and returns the tables; the one of other settings only
/// if `has_settings`.
///
/// # Errors
/// A run is too small for learning.
pub fn program_study(
    programs: &[SimulatedProgram],
    first_seed: u64,
    has_settings: bool,
) -> Result<Vec<MarkdownTable>> {
    let runs = programs.iter().map(|it| ProgramCases::new(it, first_seed));
    let mut runs = runs.collect::<Result<Vec<_>>>()?;
    let measured = runs.iter_mut().zip(programs).map(|(runs, program)| {
        let ratios = p_ratios(program, first_seed, LEVELS)?;
        measure(runs, ratios)
    });
    let measured = measured.collect::<Result<Vec<_>>>()?;
    let mut tables = vec![
        found_table(&measured),
        clean_table(&measured),
        kinds_table(&measured),
    ];
    if has_settings {
        tables.push(Folds::new(&mut runs)?.table());
    }
    Ok(tables)
}

fn measure(of: &mut ProgramCases, p_ratios: [f64; LEVELS.len()]) -> Result<Measured> {
    let reference = of.cases[0].model()?;
    let own = of.cases.iter_mut().map(|case| case.found(DEFAULT));
    let own = own.collect::<Result<_>>()?;
    let by_rule = of.cases.iter().map(LearnedRun::found_by_rule).collect();
    let with_reference = of.cases[1..].iter().map(|case| case.judged(&reference));
    let with_reference = with_reference.map(|judged| Ok(judged?.0));
    let with_reference = with_reference.collect::<Result<_>>()?;
    Ok(Measured {
        name: of.name,
        num_executions: of.cases[0].num_executions(),
        own,
        by_rule,
        with_reference,
        p_ratios,
    })
}

/// Returns the values of several runs in one cell.
fn join<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    values.join(", ")
}

fn yes(holds: bool) -> String {
    if holds { "yes" } else { "**no**" }.to_owned()
}

fn precisions(of: &[RunOutcome]) -> String {
    join(of.iter().map(|found| share(found.average_precision)))
}

fn found_table(measured: &[Measured]) -> MarkdownTable {
    let mut table = MarkdownTable::new(
        "Programs: what is found",
        "Two runs each. Found of the abnormal executions, and false ones; the same for the rule that calls abnormal what \
         takes longer than 3 times the median; average precision (that of durations); found and false with a clean \
         run as reference. Holds: both runs, with and without reference, have .8 found and a false share of at most .15.",
        [
            "program",
            "executions",
            "abnormal",
            "found",
            "false",
            "3 × median: found",
            "false",
            "average precision",
            "of durations",
            "with a reference: found",
            "false",
            "holds",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    for of in measured {
        let first = NUM_CLEAN;
        let (own, rule) = (&of.own[first..], &of.by_rule[first..]);
        let reference = &of.with_reference[first - 1..];
        table.push(vec![
            of.name.to_owned(),
            of.num_executions.to_string(),
            join(own.iter().map(RunOutcome::num_abnormal)),
            join(own.iter().map(RunOutcome::num_found)),
            join(own.iter().map(|it| it.num_false)),
            join(rule.iter().map(RunOutcome::num_found)),
            join(rule.iter().map(|it| it.num_false)),
            precisions(own),
            precisions(rule),
            join(reference.iter().map(RunOutcome::num_found)),
            join(reference.iter().map(|it| it.num_false)),
            yes(own.iter().chain(reference).all(RunOutcome::holds)),
        ]);
    }
    table
}

fn clean_table(measured: &[Measured]) -> MarkdownTable {
    let mut table = MarkdownTable::new(
        "Programs: clean runs",
        "Two runs each, the second also with the first as reference: executions that are called abnormal. Observed over \
         expected number of p-values at .01 and .001, in ten other runs, each with one more as reference. Holds: at most \
         .5 % false, and p-values within a factor of 2.",
        [
            "program",
            "false",
            "3 × median: false",
            "with a reference: false",
            "p ≤ .01",
            "p ≤ .001",
            "few false",
            "p-values",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    for of in measured {
        let own = &of.own[..NUM_CLEAN];
        let reference = &of.with_reference[..NUM_CLEAN - 1];
        let is_uniform = of.p_ratios.iter().all(|ratio| (0.5..=2.0).contains(ratio));
        table.push(vec![
            of.name.to_owned(),
            join(own.iter().map(|it| it.num_false)),
            join(of.by_rule[..NUM_CLEAN].iter().map(|it| it.num_false)),
            join(reference.iter().map(|it| it.num_false)),
            format!("{:.2}", of.p_ratios[0]),
            format!("{:.2}", of.p_ratios[1]),
            yes(own.iter().chain(reference).all(RunOutcome::holds)),
            yes(is_uniform),
        ]);
    }
    table
}

fn kinds_table(measured: &[Measured]) -> MarkdownTable {
    let mut header = vec!["program".to_owned()];
    header.extend(KINDS.map(str::to_owned));
    header.extend(SIZES.map(|most| format!("up to {most}")));
    header.push("longer".to_owned());
    let mut table = MarkdownTable::new(
        "Programs: kinds and sizes of anomalies",
        "Found of all, both runs together, without a reference; by kind, and without changed structures by how many \
         times as long as its twin an execution takes.",
        header,
    );
    let mut total = Vec::new();
    for of in measured {
        let by_run = of
            .own
            .iter()
            .map(|it| it.kinds.iter().chain(&it.sizes).copied());
        let sums = by_run.fold(Vec::new(), add);
        table.push(found_of_all(of.name, &sums));
        total = add(total, sums.into_iter());
    }
    table.push(found_of_all("all", &total));
    table
}

/// Adds counts to those of other runs, of which there may be none yet.
fn add(
    sums: Vec<(usize, usize)>,
    more: impl Iterator<Item = (usize, usize)>,
) -> Vec<(usize, usize)> {
    if sums.is_empty() {
        return more.collect();
    }
    let pairs = sums.into_iter().zip(more);
    pairs
        .map(|(sum, of)| (sum.0 + of.0, sum.1 + of.1))
        .collect()
}

fn found_of_all(name: &str, counts: &[(usize, usize)]) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.extend(
        counts
            .iter()
            .map(|(found, all)| format!("{found} of {all}")),
    );
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::PROGRAMS;

    #[test]
    fn short_runs_of_three_programs_are_measured_as_before() {
        let named = ["phases", "staged pipeline", "threads"].into_iter();
        let named = named.filter_map(|name| PROGRAMS.into_iter().find(|it| it.name == name));
        let programs: Vec<_> = named.map(|it| it.with_units(80)).collect();
        let mut text = Vec::new();
        for table in program_study(&programs, 31, true).unwrap() {
            table.print(&mut text).unwrap();
        }
        let text = String::from_utf8(text).unwrap();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/program_study/expected.md");
        if std::env::var_os("CALLGROVE_UPDATE").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(path).unwrap());
    }
}
