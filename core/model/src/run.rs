//! Which run a trace, a database or a stream is of: its programs, and the processes of their ranks.
//!
//! A run is told by what its processes say of themselves (TAU's metadata: host, pid, start, command line), never by
//! where its files lie. One rank of a run, some of them, the whole run and any copy of it are views of one run; the
//! same command started again is another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::process::Process;
use crate::{
    DurationNs, FuncId, NameTable, ProgramId, RankId, RankTrace, StepBatch, TimeNs, fnv1a,
};

/// Ranks of one program start within this time of each other, unsynchronised clocks of hosts included.
const MAX_RANK_SPREAD: DurationNs = DurationNs(5 * 60 * 1_000_000_000);
/// Programs of one workflow start within this time of each other: no longer than jobs may last.
const MAX_PROGRAM_SPREAD: DurationNs = DurationNs(48 * 3_600 * 1_000_000_000);
/// Processes remembered of a program, those of the lowest ranks: enough to tell runs apart.
const MAX_PROCESSES: usize = 256;
/// Command lines and executables remembered of a program, which mostly has one of each.
const MAX_COMMANDS: usize = 8;
/// Bytes remembered of a command line.
const MAX_COMMAND_BYTES: usize = 4096;
/// Bytes of a program's name within [`RunIdentity::id`].
const MAX_NAME_BYTES: usize = 40;

/// Which run something is of, as far as that is known there. Views of one run may know different ranks of it, so
/// they are compared with [`RunIdentity::is_same_run`] and never with `==`.
///
/// The serialised form is that of databases, messages and journals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunIdentity {
    programs: BTreeMap<ProgramId, RunProgram>,
}

/// What is known of one program of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RunProgram {
    executables: BTreeSet<String>,
    command_lines: BTreeSet<String>,
    ranks: BTreeMap<RankId, Process>,
}

/// What comparing two identities tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunMatch {
    /// Both are of one run.
    Same,
    /// Nothing tells them apart, and nothing proves that they are one.
    Unknown,
    /// They are of two runs.
    Different(RunMismatch),
}

/// Two runs where one was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMismatch {
    /// The run that was there, in words.
    pub known: String,
    /// The run that came, in words.
    pub other: String,
    /// How that shows.
    pub reason: String,
}

impl RunIdentity {
    /// What one rank's trace tells.
    pub fn of_rank(trace: &RankTrace) -> Self {
        Self::of_process(
            trace.program,
            trace.rank,
            &Process::of_rank(trace),
            trace
                .metadata
                .iter()
                .map(|it| (it.key.as_str(), it.value.as_str())),
        )
    }

    /// What one step of a rank's stream tells, with the names that stand for its ids; empty if that is nothing.
    /// `is_from_start` says that no step before it was missed, so that its first events are those of the rank.
    pub fn of_step(batch: &StepBatch, names: &NameTable<FuncId>, is_from_start: bool) -> Self {
        Process::of_step(batch, names, is_from_start).map_or_else(Self::default, |process| {
            let metadata = batch.metadata.iter();
            Self::of_process(
                batch.program,
                batch.rank,
                &process,
                metadata.map(|it| (it.key.as_str(), it.value.as_str())),
            )
        })
    }

    fn of_process<'a>(
        program: ProgramId,
        rank: RankId,
        process: &Process,
        metadata: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut known = RunProgram::default();
        known.ranks.insert(rank, process.clone());
        for (key, value) in metadata {
            match key {
                "Executable" => known.executables.insert(cut(value)),
                "Command Line" => known.command_lines.insert(cut(value)),
                _ => continue,
            };
        }
        Self {
            programs: BTreeMap::from([(program, known)]),
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Whether no process says which it is, so that only the events tell runs apart. Views of different ranks of such
    /// a run cannot be told to be one.
    pub fn is_weak(&self) -> bool {
        !self.processes().any(Process::is_stated)
    }

    /// Whether this and `other` are proven to be of one run.
    pub fn is_same_run(&self, other: &Self) -> bool {
        self.compare(other) == RunMatch::Same
    }

    /// Compares two views. Programs are matched by what they are, for a trace that is read alone does not know its
    /// index in a workflow.
    ///
    /// A rank that both know decides: its host, pid and start, or, where it does not state them, its first events.
    /// Without such a rank, executable and command line must be the same, and the starts near.
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

    /// Adds what another view of the run knows. A program with an index that is new here is another program of the
    /// workflow, as whoever gave the index says, unless it is one that has another index already or started days
    /// before or after.
    ///
    /// # Errors
    /// [`RunMismatch`] if it is another run; then nothing is added.
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

    /// Adds what another view knows, without asking whether it is of this run: for streams that were named together.
    pub fn merge(&mut self, other: &Self) {
        for (index, program) in &other.programs {
            self.programs.entry(*index).or_default().merge(program);
        }
    }

    /// Short text for file names and messages: program, start in UTC, and four digits that tell runs of one second
    /// apart, such as `lmp-20261104T101112-3f9a`. It is made from the lowest rank of the first program, so views that
    /// know this rank have the same; `unknown` if nothing is known.
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

    /// The file name of the first program; `program` if it is not known.
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

    /// File names of the executables that are known.
    pub fn executables(&self) -> BTreeSet<&str> {
        let paths = self.programs.values().flat_map(|it| &it.executables);
        let names = paths.filter_map(|path| path.rsplit('/').next());
        names.collect()
    }

    /// The hosts of the ranks that are known.
    pub fn hosts(&self) -> BTreeSet<&str> {
        self.processes().filter_map(Process::host).collect()
    }

    /// The command line of the first program, if one is known.
    pub fn command_line(&self) -> Option<&str> {
        let program = self.programs.values().next()?;
        program.command_lines.first().map(String::as_str)
    }

    /// The earliest start that is known.
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

    /// Why a program cannot be one more of this run.
    fn refusal_of_new(&self, index: ProgramId, program: &RunProgram) -> Option<String> {
        for (own_index, own) in &self.programs {
            if own.compare(program) == Ok(true) {
                return Some(format!(
                    "program {index} of the one is program {own_index} of the other"
                ));
            }
        }
        let (own, others) = (self.start()?, program.start()?);
        is_apart(own, others, MAX_PROGRAM_SPREAD).then(|| {
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
    /// Whether both are proven to be one, or else how they are seen to be two.
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
        let is_apart = match (self.start(), other.start()) {
            (Some(own), Some(others)) => is_apart(own, others, MAX_RANK_SPREAD),
            // Of a stream that was joined late, only a time at which it ran is known.
            (Some(start), None) => other.seen().is_some_and(|seen| !may_run(start, seen)),
            (None, Some(start)) => self.seen().is_some_and(|seen| !may_run(start, seen)),
            (None, None) => false,
        };
        if is_apart {
            return Err("they started at different times".to_owned());
        }
        Ok(self.says_what_it_is() && other.says_what_it_is())
    }

    fn says_what_it_is(&self) -> bool {
        !(self.command_lines.is_empty() && self.executables.is_empty())
            && self.ranks.values().any(Process::is_stated)
    }

    /// The earliest start of a rank that was seen from its start.
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

/// One line for people: `lmp_tau on 2 hosts, started 2026-11-04 10:11:12 UTC`.
impl fmt::Display for RunIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("a run that does not say which it is");
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
            (Some(start), false) => write!(f, ", started {} UTC", start.utc()),
            (Some(start), true) => {
                write!(f, ", first event {} UTC (without metadata)", start.utc())
            }
            (None, _) => f.write_str(", whose start was not seen"),
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
        write!(f, "{known}, and {other}, are two runs: {reason}")
    }
}

impl std::error::Error for RunMismatch {}

/// Whether a process that started at `start` may have run at `seen`.
fn may_run(start: TimeNs, seen: TimeNs) -> bool {
    seen.since(start) >= DurationNs(-MAX_RANK_SPREAD.0) && seen.since(start) <= MAX_PROGRAM_SPREAD
}

fn is_apart(one: TimeNs, other: TimeNs, most: DurationNs) -> bool {
    one.max(other).since(one.min(other)) > most
}

fn hours(duration: DurationNs) -> i64 {
    duration.0 / DurationNs::from_us(3_600_000_000).0
}

/// What a file name of any system may hold.
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
