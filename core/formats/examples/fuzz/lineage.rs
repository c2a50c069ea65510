//! The mutants that exist, by their lineage.

use std::collections::BTreeSet;
use std::fmt;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::mutation::{Chance, mutated};
use crate::reading::write_file;
use crate::seeds::{AnyError, Specimen, specimens};

/// Most bytes of all mutants that are kept.
const MAX_KEPT_BYTES: usize = 128 << 20;
/// Most iterations in a lineage, so that a mutant is quickly made again.
const MAX_DEPTH: usize = 40;
/// Purpose of random numbers: the choice of a parent.
const PARENT: u64 = 1;
/// Purpose of random numbers: the changes.
const CHANGES: u64 = 2;

/// The index of a valid input, and the iterations that changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lineage {
    specimen: usize,
    iterations: Vec<u64>,
}

/// A valid input or a mutant with its wrapping.
pub(crate) struct Mutant {
    lineage: Lineage,
    specimen: Specimen,
}

/// The valid inputs of a format, and the mutants with new outcomes.
pub(crate) struct MutantPool {
    format: String,
    seed: u64,
    specimens: Vec<Specimen>,
    kept: Vec<Mutant>,
    num_kept_bytes: usize,
    outcomes: BTreeSet<u64>,
}

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.specimen)?;
        self.iterations.iter().try_for_each(|it| write!(f, ".{it}"))
    }
}

impl FromStr for Lineage {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let (first, rest) = text.split_once('.').unwrap_or((text, ""));
        let rest = rest.split('.').filter(|it| !it.is_empty());
        Ok(Self {
            specimen: first.parse()?,
            iterations: rest.map(str::parse).collect::<Result<_, _>>()?,
        })
    }
}

impl Lineage {
    /// Returns the iteration that made the mutant; 0 for a valid input.
    pub(crate) fn iteration(&self) -> u64 {
        self.iterations.last().copied().unwrap_or(0)
    }
}

impl MutantPool {
    /// Returns the valid inputs of a format.
    pub(crate) fn new(format: &str, seed: u64) -> Result<Self, AnyError> {
        let specimens = specimens(format)?;
        let valid = specimens.iter().cloned().enumerate();
        let kept = valid.map(|(index, specimen)| Mutant {
            lineage: Lineage {
                specimen: index,
                iterations: Vec::new(),
            },
            specimen,
        });
        Ok(Self {
            format: format.to_owned(),
            seed,
            kept: kept.collect(),
            specimens,
            num_kept_bytes: 0,
            outcomes: BTreeSet::new(),
        })
    }

    /// Returns the mutant of an iteration.
    pub(crate) fn next(&self, iteration: u64) -> Result<(Lineage, Specimen), AnyError> {
        let mut chance = Chance::new(self.seed, iteration, PARENT);
        // The valid inputs and what was found last lead to new outcomes more often.
        let num_valid = self.specimens.len();
        let which = match chance.below(4) {
            0 => chance.index(num_valid),
            1 => self.kept.len() - 1 - chance.index(self.kept.len().min(20)),
            _ => chance.index(self.kept.len()),
        };
        let parent = self.kept.get(which).ok_or("there is no valid input")?;
        let mut lineage = parent.lineage.clone();
        lineage.iterations.push(iteration);
        Ok((lineage, self.changed(&parent.specimen, iteration)))
    }

    /// Makes a mutant again.
    pub(crate) fn mutant(&self, lineage: &Lineage) -> Result<Specimen, AnyError> {
        let valid = self.specimens.get(lineage.specimen);
        let mut specimen = valid.ok_or("there is no such valid input")?.clone();
        for iteration in &lineage.iterations {
            specimen = self.changed(&specimen, *iteration);
        }
        Ok(specimen)
    }

    fn changed(&self, parent: &Specimen, iteration: u64) -> Specimen {
        let mut chance = Chance::new(self.seed, iteration, CHANGES);
        let donor = self.specimens.get(chance.index(self.specimens.len()));
        let donor = donor.map(|it| &it.files[..]).unwrap_or_default();
        Specimen {
            files: mutated(&parent.files, donor, &mut chance),
            wrapping: parent.wrapping,
        }
    }

    /// Returns whether no mutant with this outcome is kept yet.
    pub(crate) fn is_new(&self, outcome: u64) -> bool {
        !self.outcomes.contains(&outcome)
    }

    /// Keeps a mutant, from which others are made.
    pub(crate) fn keep(&mut self, lineage: Lineage, outcome: u64) -> Result<(), AnyError> {
        self.outcomes.insert(outcome);
        let specimen = self.mutant(&lineage)?;
        let num_bytes: usize = specimen.files.iter().map(|file| file.1.len()).sum();
        if lineage.iterations.len() < MAX_DEPTH && self.num_kept_bytes + num_bytes < MAX_KEPT_BYTES
        {
            self.num_kept_bytes += num_bytes;
            self.kept.push(Mutant { lineage, specimen });
        }
        Ok(())
    }

    /// Writes the files of a mutant, and returns their folder.
    pub(crate) fn save(&self, lineage: &Lineage, out: &Path) -> Result<PathBuf, AnyError> {
        let folder = out.join(format!(
            "{}-{}-{}",
            self.format,
            self.seed,
            lineage.iteration()
        ));
        for (name, bytes) in self.mutant(lineage)?.input()? {
            write_file(&folder.join(name), &bytes)?;
        }
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_made_again_from_its_lineage() {
        for format in crate::FORMATS {
            let mut pool = MutantPool::new(format, 3).unwrap();
            for iteration in 0..12 {
                let (lineage, mutant) = pool.next(iteration).unwrap();
                let text = lineage.to_string();
                let again = pool.mutant(&text.parse().unwrap()).unwrap();
                assert!(again.files == mutant.files, "{format} {text}");
                pool.keep(lineage, iteration).unwrap();
            }
        }
    }

    #[test]
    fn valid_inputs_are_read_without_an_error() {
        for format in crate::FORMATS {
            let pool = MutantPool::new(format, 3).unwrap();
            for specimen in &pool.specimens {
                let mut reader = crate::reading::MutantReader::new(format).unwrap();
                let (_, outcome) = reader.read(specimen.input().unwrap()).unwrap();
                assert!(outcome.starts_with('['), "{format}: {outcome}");
            }
        }
    }
}
