//! The identity of a run: its programs, and the processes of their ranks.
//!
//! A run is identified by what its processes report about themselves (TAU's metadata: host, pid, start, command line),
//! never by the location of its files. One rank of a run, some ranks, the whole run and any copy of it are views of the
//! same run; the same command started again is another run.

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use process::Process;

use crate::bytes::fnv1a;
use crate::event::StepBatch;
use crate::id::{FuncId, ProgramId, RankId};
use crate::metadata::{Metadata, Property};
use crate::names::NameTable;
use crate::rank_builder::RankTrace;
use crate::time::{DurationNs, TimeNs};

/// Largest difference between the starts of the ranks of a program, including unsynchronised clocks of hosts.
const MAX_RANK_SPREAD: DurationNs = DurationNs(5 * 60 * 1_000_000_000);
/// Largest difference between the starts of the programs of a workflow, which is the longest duration of a job.
const MAX_PROGRAM_SPREAD: DurationNs = DurationNs(48 * 3_600 * 1_000_000_000);
/// Number of processes remembered of a program, those of the lowest ranks: enough to distinguish runs.
const MAX_PROCESSES: usize = 256;
/// Number of command lines and executables remembered of a program, which usually has one of each.
const MAX_COMMANDS: usize = 8;
/// Number of bytes remembered of a command line.
const MAX_COMMAND_BYTES: usize = 4096;
/// Largest number of bytes of a program's name in [`RunIdentity::id`].
const MAX_NAME_BYTES: usize = 40;

/// The identity of a run, as far as it is known in one place. Views of one run may know different ranks of it, so
/// compare them with [`RunIdentity::is_same_run`] and never with `==`.
///
/// The serialised form is part of databases, messages and journals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunIdentity {
    programs: BTreeMap<ProgramId, RunProgram>,
}

/// The known facts of one program of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RunProgram {
    executables: BTreeSet<String>,
    command_lines: BTreeSet<String>,
    ranks: BTreeMap<RankId, Process>,
}

/// The result of comparing two identities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunMatch {
    /// Both are of the same run.
    Same,
    /// Nothing distinguishes them, and nothing proves that they are the same.
    Unknown,
    /// They are of different runs.
    Different(RunMismatch),
}

/// Two runs where one was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMismatch {
    /// The known run, as text.
    pub known: String,
    /// The other run, as text.
    pub other: String,
    /// The difference that proves it.
    pub reason: String,
}

impl RunIdentity {
    /// Returns the identity in one rank's trace.
    pub fn of_rank(trace: &RankTrace) -> Self {
        let process = Process::of_rank(trace);
        Self::of_process(trace.program, trace.rank, process, &trace.metadata)
    }

    /// Returns the identity in one step of a rank's stream, whose function names are `names`; empty if the step says
    /// nothing. `is_from_start` means that no earlier step was missed, so that its first events are those of the rank.
    pub fn of_step(batch: &StepBatch, names: &NameTable<FuncId>, is_from_start: bool) -> Self {
        Process::of_step(batch, names, is_from_start).map_or_else(Self::default, |process| {
            Self::of_process(batch.program, batch.rank, process, &batch.metadata)
        })
    }

    fn of_process(
        program: ProgramId,
        rank: RankId,
        process: Process,
        metadata: &[Metadata],
    ) -> Self {
        let mut known = RunProgram::default();
        known.ranks.insert(rank, process);
        let stated = |property: Property| {
            let entries = metadata.iter().filter(move |entry| property.is_in(entry));
            entries.map(|entry| cut(&entry.value))
        };
        known.executables.extend(stated(Property::Executable));
        known.command_lines.extend(stated(Property::CommandLine));
        Self {
            programs: BTreeMap::from([(program, known)]),
        }
    }

    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Returns whether no process identifies itself, so that only events distinguish runs. Views of different ranks of
    /// such a run cannot be recognised as the same run.
    pub fn is_weak(&self) -> bool {
        !self.processes().any(Process::is_stated)
    }

    /// Returns whether this and `other` are proven to be of the same run.
    pub fn is_same_run(&self, other: &Self) -> bool {
        self.compare(other) == RunMatch::Same
    }

    /// Compares two views. Programs are matched by their facts, because a trace that is read alone does not know its
    /// index in a workflow.
    ///
    /// A rank that both know decides: its host, pid and start, or, if it does not state them, its first events. Without
    /// such a rank, executable and command line must be equal, and the starts close.
    pub fn compare(&self, other: &Self) -> RunMatch {
        let mut best = None;
        for (index, own) in &self.programs {
            for (other_index, others) in &other.programs {
                let found = match own.compare(others) {
                    Ok(true) => return RunMatch::Same,
                    Ok(false) => (0, RunMatch::Unknown),
                    Err(reason) => (
                        1 + usize::from(index != other_index),
                        RunMatch::Different(self.mismatch(other, reason)),
                    ),
                };
                if best.as_ref().is_none_or(|(rank, _)| found.0 < *rank) {
                    best = Some(found);
                }
            }
        }
        best.map_or(RunMatch::Unknown, |(_, found)| found)
    }

    /// Adds the facts of another view of the run. A program with a new index is another program of the workflow, unless
    /// it already has another index or started days before or after.
    ///
    /// # Errors
    /// [`RunMismatch`] if it is of another run; then nothing is added.
    pub fn join(&mut self, other: &Self) -> Result<(), RunMismatch> {
        for (index, program) in &other.programs {
            let is_refused = match self.programs.get(index) {
                Some(own) => own.compare(program).err(),
                None => self.refusal_of_new(*index, program),
            };
            if let Some(reason) = is_refused {
                return Err(self.mismatch(other, reason));
            }
        }
        self.merge(other);
        Ok(())
    }

    /// Adds the facts of another view without checking that it is of this run, for streams that were named together.
    pub fn merge(&mut self, other: &Self) {
        for (index, program) in &other.programs {
            self.programs.entry(*index).or_default().merge(program);
        }
    }

    /// Returns a short text for file names and messages: program, start in UTC, and four digits that distinguish runs
    /// of the same second, such as `lmp-20261104T101112-3f9a`. It is derived from the lowest rank of the first program,
    /// so views that know this rank return the same text. Returns `unknown` if nothing is known.
    pub fn id(&self) -> String {
        let Some((rank, process)) = self.first_process() else {
            return "unknown".to_owned();
        };
        let start = process
            .start()
            .utc()
            .replace(['-', ':'], "")
            .replace(' ', "T");
        let facts = format!("{} {rank} {process:?}", self.name());
        let name: String = self
            .name()
            .chars()
            .map(portable)
            .take(MAX_NAME_BYTES)
            .collect();
        format!("{name}-{start}-{:04x}", fnv1a(facts.as_bytes()) & 0xffff)
    }

    /// Returns the file name of the first program; `program` if it is unknown.
    pub fn name(&self) -> &str {
        let Some(program) = self.programs.values().next() else {
            return "program";
        };
        let of_command = || program.command_lines.first()?.split_whitespace().next();
        let path = program.executables.first().map(String::as_str);
        let path = path.or_else(of_command).unwrap_or_default();
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        if name.is_empty() { "program" } else { name }
    }

    /// Returns the file names of the known executables.
    pub fn executables(&self) -> BTreeSet<&str> {
        let paths = self.programs.values().flat_map(|it| &it.executables);
        let names = paths.filter_map(|path| path.rsplit('/').next());
        names.collect()
    }

    /// Returns the hosts of the known ranks.
    pub fn hosts(&self) -> BTreeSet<&str> {
        self.processes().filter_map(Process::host).collect()
    }

    /// Returns the host of a rank, if it is known.
    pub fn host(&self, program: ProgramId, rank: RankId) -> Option<&str> {
        self.programs.get(&program)?.ranks.get(&rank)?.host()
    }

    /// Returns the command line of the first program, if it is known.
    pub fn command_line(&self) -> Option<&str> {
        let program = self.programs.values().next()?;
        program.command_lines.first().map(String::as_str)
    }

    /// Returns the earliest known start.
    pub fn start(&self) -> Option<TimeNs> {
        self.programs.values().filter_map(RunProgram::start).min()
    }

    fn processes(&self) -> impl Iterator<Item = &Process> {
        self.programs
            .values()
            .flat_map(|program| program.ranks.values())
    }

    fn first_process(&self) -> Option<(&RankId, &Process)> {
        self.programs.values().next()?.ranks.first_key_value()
    }

    /// Returns why a program cannot be another one of this run.
    fn refusal_of_new(&self, index: ProgramId, program: &RunProgram) -> Option<String> {
        for (own_index, own) in &self.programs {
            if own.compare(program) == Ok(true) {
                return Some(format!(
                    "program {index} of one run is program {own_index} of the other"
                ));
            }
        }
        let (own, others) = (self.start()?, program.start()?);
        are_apart(own, others, MAX_PROGRAM_SPREAD).then(|| {
            format!(
                "programs of one workflow start within {} h",
                hours(MAX_PROGRAM_SPREAD)
            )
        })
    }

    fn mismatch(&self, other: &Self, reason: String) -> RunMismatch {
        RunMismatch {
            known: self.to_string(),
            other: other.to_string(),
            reason,
        }
    }
}

impl RunProgram {
    /// Returns whether both are proven to be the same, or an error with the difference.
    fn compare(&self, other: &Self) -> Result<bool, String> {
        let mut is_proven = false;
        for (rank, own) in &self.ranks {
            let Some(others) = other.ranks.get(rank) else {
                continue;
            };
            match own.is_same(others) {
                Some(false) => return Err(format!("rank {rank} is {own}, and {others}")),
                Some(true) => is_proven = true,
                None => {}
            }
        }
        if is_proven {
            return Ok(true);
        }
        for (what, own, others) in [
            ("command line", &self.command_lines, &other.command_lines),
            ("executable", &self.executables, &other.executables),
        ] {
            if let (Some(one), Some(two), true) =
                (own.first(), others.first(), own.is_disjoint(others))
            {
                return Err(format!("the {what} is `{one}`, and `{two}`"));
            }
        }
        let have_different_starts = match (self.start(), other.start()) {
            (Some(own), Some(others)) => are_apart(own, others, MAX_RANK_SPREAD),
            // For a stream that was joined late, only a time at which it ran is known.
            (Some(start), None) => other.seen().is_some_and(|seen| !may_run(start, seen)),
            (None, Some(start)) => self.seen().is_some_and(|seen| !may_run(start, seen)),
            (None, None) => false,
        };
        if have_different_starts {
            return Err("they started at different times".to_owned());
        }
        Ok(self.is_identified() && other.is_identified())
    }

    fn is_identified(&self) -> bool {
        !(self.command_lines.is_empty() && self.executables.is_empty())
            && self.ranks.values().any(Process::is_stated)
    }

    /// Returns the earliest start of a rank that was seen from its start.
    fn start(&self) -> Option<TimeNs> {
        let ranks = self.ranks.values();
        ranks
            .filter(|it| it.is_from_start())
            .map(Process::start)
            .min()
    }

    fn seen(&self) -> Option<TimeNs> {
        self.ranks.values().map(Process::start).min()
    }

    fn merge(&mut self, other: &Self) {
        for (own, others) in [
            (&mut self.executables, &other.executables),
            (&mut self.command_lines, &other.command_lines),
        ] {
            own.extend(others.iter().cloned());
            while own.len() > MAX_COMMANDS {
                own.pop_last();
            }
        }
        for (rank, process) in &other.ranks {
            let own = self.ranks.entry(*rank).or_insert_with(|| process.clone());
            if process.is_better_than(own) {
                own.clone_from(process);
            }
        }
        while self.ranks.len() > MAX_PROCESSES {
            self.ranks.pop_last();
        }
    }
}

/// Writes one line: `lmp_tau on 2 hosts, started 2026-11-04 10:11:12 UTC`.
impl fmt::Display for RunIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("an unidentified run");
        }
        f.write_str(self.name())?;
        match self.programs.len() {
            1 => {}
            2 => f.write_str(" and 1 other program")?,
            more => write!(f, " and {} other programs", more - 1)?,
        }
        let hosts = self.hosts();
        match (hosts.len(), hosts.first()) {
            (1, Some(host)) => write!(f, " on {host}")?,
            (0, _) => {}
            (more, _) => write!(f, " on {more} hosts")?,
        }
        match (self.start(), self.is_weak()) {
            (Some(start), _) if !start.has_date() => {
                write!(
                    f,
                    ", first event at {} of a clock without a date",
                    start.since(TimeNs(0))
                )
            }
            (Some(start), false) => write!(f, ", started {} UTC", start.utc()),
            (Some(start), true) => {
                write!(f, ", first event {} UTC (without metadata)", start.utc())
            }
            (None, _) => f.write_str(", start unknown"),
        }
    }
}

impl fmt::Display for RunMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            known,
            other,
            reason,
        } = self;
        write!(f, "{known}, and {other}, are different runs: {reason}")
    }
}

impl std::error::Error for RunMismatch {}

/// Returns whether a process that started at `start` may have run at `seen`.
fn may_run(start: TimeNs, seen: TimeNs) -> bool {
    seen.since(start) >= DurationNs(-MAX_RANK_SPREAD.0) && seen.since(start) <= MAX_PROGRAM_SPREAD
}

fn are_apart(one: TimeNs, other: TimeNs, most: DurationNs) -> bool {
    one.max(other).since(one.min(other)) > most
}

fn hours(duration: DurationNs) -> i64 {
    duration.0 / DurationNs::from_us(3_600_000_000).0
}

/// Replaces a character that some systems do not allow in file names.
fn portable(c: char) -> char {
    if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
        c
    } else {
        '-'
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_COMMAND_BYTES)].to_owned()
}
