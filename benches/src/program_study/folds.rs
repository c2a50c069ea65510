//! Chooses settings on all programs but one, and measures them on that one.

use callgrove_trees::Result;

use super::case::{DEFAULT, RunOutcome, Setting};
use super::runs::ProgramCases;
use crate::markdown_table::{MarkdownTable, share};

/// Candidate false discovery rates, the default first.
const RATES: [f64; 4] = [DEFAULT.rate, 0.02, 0.05, 0.2];
/// Candidate values of ν, the default first.
const NUS: [f64; 3] = [DEFAULT.nu, 0.003, 0.03];
/// Candidate factors of the kernel width, the default first.
const GAMMAS: [f64; 3] = [DEFAULT.gamma, 0.1, 1.0];

/// The results of each setting for each program.
pub(super) struct Folds {
    names: Vec<&'static str>,
    /// By setting, program and run. The default is the first setting.
    tried: Vec<(Setting, Vec<Vec<RunOutcome>>)>,
}

impl Folds {
    pub(super) fn new(runs: &mut [ProgramCases]) -> Result<Self> {
        let mut tried = Vec::new();
        for rate in RATES {
            for nu in NUS {
                for gamma in GAMMAS {
                    let setting = Setting { rate, nu, gamma };
                    let found = runs.iter_mut().map(|of| {
                        let cases = of.cases.iter_mut();
                        cases.map(|case| case.found(setting)).collect()
                    });
                    tried.push((setting, found.collect::<Result<_>>()?));
                }
            }
        }
        let names = runs.iter().map(|of| of.name).collect();
        Ok(Self { names, tried })
    }

    /// Returns the setting with which most runs of all other programs hold. Among equals it is the one with the largest
    /// mean average precision, to three digits, and then the first.
    fn chosen_without(&self, left_out: usize) -> usize {
        let value = |found: &[Vec<RunOutcome>]| {
            let others = found.iter().enumerate().filter(|(at, _)| *at != left_out);
            let others: Vec<&RunOutcome> = others.flat_map(|(_, runs)| runs).collect();
            let num_held = others.iter().filter(|found| found.holds()).count();
            let precisions: Vec<f64> = others
                .iter()
                .filter_map(|it| it.average_precision)
                .collect();
            let mean = precisions.iter().sum::<f64>() / precisions.len().max(1) as f64;
            (num_held, (1_000.0 * mean).round() as u64)
        };
        let mut best = 0;
        for at in 1..self.tried.len() {
            if value(&self.tried[at].1) > value(&self.tried[best].1) {
                best = at;
            }
        }
        best
    }

    pub(super) fn table(&self) -> MarkdownTable {
        let mut table = MarkdownTable::new(
            "Programs: one left out",
            "False discovery rate, ν and factor of γ with which most runs of all other programs hold, among equals those \
             with the largest mean average precision; and what they find in the program that was left out. \
             Without a reference. Last: runs that hold, and with the default settings.",
            [
                "program left out",
                "chosen rate, ν, γ",
                "found",
                "false",
                "false in clean runs",
                "average precision",
                "runs that hold",
                "with the default",
            ]
            .map(str::to_owned)
            .to_vec(),
        );
        let mut total = [0; 3];
        for (at, name) in self.names.iter().enumerate() {
            let (setting, found) = &self.tried[self.chosen_without(at)];
            let [chosen, default] = [found, &self.tried[0].1].map(|found| &found[at]);
            let num_held = |runs: &[RunOutcome]| runs.iter().filter(|it| it.holds()).count();
            let sum = |of: fn(&RunOutcome) -> usize| chosen.iter().map(of).sum::<usize>();
            let is_clean = |it: &&RunOutcome| it.num_abnormal() == 0;
            let in_clean: usize = chosen.iter().filter(is_clean).map(|it| it.num_false).sum();
            let precisions: Vec<f64> = chosen
                .iter()
                .filter_map(|it| it.average_precision)
                .collect();
            let mean = precisions.iter().sum::<f64>() / precisions.len().max(1) as f64;
            let held = [num_held(chosen), num_held(default), chosen.len()];
            for (total, held) in total.iter_mut().zip(held) {
                *total += held;
            }
            table.push(vec![
                (*name).to_owned(),
                format!("{}, {}, {}", setting.rate, setting.nu, setting.gamma),
                format!(
                    "{} of {}",
                    sum(RunOutcome::num_found),
                    sum(RunOutcome::num_abnormal)
                ),
                (sum(|it| it.num_false) - in_clean).to_string(),
                in_clean.to_string(),
                share(Some(mean)),
                format!("{} of {}", held[0], held[2]),
                format!("{} of {}", held[1], held[2]),
            ]);
        }
        let mut last = vec!["all".to_owned()];
        last.extend(std::iter::repeat_n("-".to_owned(), 5));
        last.extend([0, 1].map(|at| format!("{} of {}", total[at], total[2])));
        table.push(last);
        table
    }
}
