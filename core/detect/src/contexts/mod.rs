//! The times of a function's executions by who called them and when.

mod sorted_pairs;

use std::borrow::Cow;

use callgrove_model::{StepId, fnv1a};
use serde::{Deserialize, Serialize};

use crate::Histogram;
use crate::error::{DetectError, Result, damaged};
use crate::power_sums::Extremes;
use sorted_pairs::SortedPairs;

/// Callers that a function is told apart by; those with the lowest keys, so that whoever merges parts of the run keeps the
/// same ones, with all their executions.
const MAX_CALLERS: usize = 16;

/// I/O steps of an epoch. Of each caller the last two are told apart, and up to eight while there are few executions in
/// them; those before are past, which are one.
const EPOCH_STEPS: u32 = 16;
const LEAST_EPOCHS: usize = 2;
const MOST_EPOCHS: usize = 8;
const ENOUGH: u64 = 512;
/// What was loaded from another run, until this one has enough.
const BEFORE: u32 = 0;
const PAST: u32 = 1;
/// The first epoch of a run.
const FIRST: u32 = 2;

/// Bins per octave are 2⁴ at first: 6 % tell nothing apart that would be an anomaly.
const PRECISION: u32 = 4;
/// Most occupied bins of each histogram.
const MAX_BINS: usize = 128;

/// The function that called, as models know it: a hash of its name, the same everywhere.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CallerKey(pub u64);

impl CallerKey {
    /// No function: the bottom of a stack.
    pub const NONE: Self = Self(0);

    /// That of a function with this name.
    pub fn of(name: &str) -> Self {
        Self(fnv1a(name.as_bytes()))
    }
}

/// A histogram for each caller of a function and each of the last epochs, and one of those before.
///
/// All that is kept depends on the executions alone, not on the order in which they came or were merged: the
/// callers with the lowest keys are among the lowest in every part of the run, and the last epochs among the last.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<ContextPart>", into = "Vec<ContextPart>")]
pub struct Contexts {
    by_caller: SortedPairs<CallerKey, Epochs>,
    /// Of all other callers.
    others: Epochs,
}

/// Whether models learn the executions of two steps as if they were of one.
pub fn same_epoch(one: StepId, other: StepId) -> bool {
    epoch_of(one) == epoch_of(other)
}

fn epoch_of(step: StepId) -> u32 {
    FIRST + step.0 / EPOCH_STEPS
}

/// Of which executions a judge goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Since {
    /// Those of the last epochs.
    Late,
    /// All of the run, and those before it while this has few.
    Ever,
}

/// One histogram of [`Contexts`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextPart {
    /// Who called; none for all callers that are not told apart.
    pub caller: Option<CallerKey>,
    /// When, in epochs of the run from 2 on; 1 for those that are past, 0 for another run.
    pub epoch: u32,
    /// How long that took in microseconds.
    pub histogram: Histogram,
}

/// The last epochs in which there were executions, and what is past; never empty ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Epochs(SortedPairs<u32, Histogram>);

impl Contexts {
    /// Takes in the times, in microseconds, of executions that `caller` called and that ended in `step`: at least one; the
    /// smallest and the largest are those of `range`.
    pub(crate) fn extend(
        &mut self,
        step: StepId,
        caller: CallerKey,
        times_us: &[u64],
        range: Extremes,
    ) {
        let epoch = epoch_of(step);
        let mut histogram = Histogram::beginning_at(PRECISION, MAX_BINS);
        histogram.extend_within(times_us, range);
        let epochs = self.epochs_of(caller);
        epochs.add(epoch, Cow::Owned(histogram));
        self.settle();
    }

    /// Takes in other executions of the function.
    pub fn merge(&mut self, other: &Self) {
        for (caller, epochs) in other.by_caller.iter() {
            self.epochs_of(caller).merge(epochs);
        }
        self.others.merge(&other.others);
        self.settle();
    }

    /// The same as what was before any step of a run: for a model that another run begins with.
    #[must_use]
    pub fn before_the_run(&self) -> Self {
        let all = |epochs: &Epochs| epochs.sum(Since::Ever);
        let before = |epochs: &Epochs| Epochs(SortedPairs::of_one(BEFORE, all(epochs)));
        let mut contexts = Self::default();
        for (caller, epochs) in self.by_caller.iter() {
            *contexts.epochs_of(caller) = before(epochs);
        }
        if self.others.0.len() > 0 {
            contexts.others = before(&self.others);
        }
        contexts
    }

    /// The parts, in order of caller and epoch, and at last those of no caller that is told apart.
    pub fn parts(&self) -> impl Iterator<Item = (Option<CallerKey>, u32, &Histogram)> {
        let named = self
            .by_caller
            .iter()
            .map(|(caller, epochs)| (Some(caller), epochs));
        let all = named.chain([(None, &self.others)]);
        all.flat_map(|(caller, epochs)| epochs.0.iter().map(move |(epoch, it)| (caller, epoch, it)))
    }

    /// Takes in a part that was told or stored.
    ///
    /// # Errors
    /// [`DetectError::Damaged`] if it occurs twice or is empty, or there are too many.
    pub fn add_part(&mut self, part: ContextPart) -> Result<()> {
        let epochs = match part.caller {
            Some(caller) => self.epochs_of(caller),
            None => &mut self.others,
        };
        let unfit = || damaged("a model by callers", "an epoch");
        if part.histogram.bins().is_empty() {
            return Err(unfit());
        }
        match epochs.0.find(part.epoch) {
            Ok(_) => return Err(unfit()),
            Err(missing) => missing.insert(part.histogram),
        };
        if epochs.too_old().is_some() {
            return Err(unfit());
        }
        if self.by_caller.len() > MAX_CALLERS {
            return Err(damaged("a model by callers", "the number of callers"));
        }
        Ok(())
    }

    /// Each caller that is told apart, with its executions.
    pub(crate) fn callers(&self, since: Since) -> impl Iterator<Item = (CallerKey, Histogram)> {
        let callers = self.by_caller.iter();
        callers.map(move |(caller, epochs)| (caller, epochs.sum(since)))
    }

    /// The executions of all callers.
    pub(crate) fn sum(&self, since: Since) -> Histogram {
        let mut sum = self.others.sum(since);
        self.callers(since)
            .for_each(|(_, histogram)| sum.merge(&histogram));
        sum
    }

    fn epochs_of(&mut self, caller: CallerKey) -> &mut Epochs {
        let found = self.by_caller.find(caller);
        found.unwrap_or_else(|missing| missing.insert(Epochs::default()))
    }

    /// Tells no more callers apart than may be.
    fn settle(&mut self) {
        while self.by_caller.len() > MAX_CALLERS
            && let Some((_, epochs)) = self.by_caller.pop_last()
        {
            self.others.merge(&epochs);
        }
    }
}

impl Epochs {
    fn add(&mut self, epoch: u32, histogram: Cow<'_, Histogram>) {
        self.put(epoch, histogram);
        while let Some(old) = self.too_old() {
            let histogram = self.0.remove(old).filter(|_| old != BEFORE);
            if let Some(histogram) = histogram {
                self.put(PAST, Cow::Owned(histogram));
            }
        }
    }

    fn put(&mut self, epoch: u32, histogram: Cow<'_, Histogram>) {
        match self.0.find(epoch) {
            Ok(present) => present.merge(&histogram),
            Err(missing) => {
                missing.insert(histogram.into_owned());
            }
        }
    }

    /// Those that are told apart.
    fn late(&self) -> impl Iterator<Item = (u32, &Histogram)> {
        self.0.iter().filter(|(epoch, _)| *epoch != PAST)
    }

    /// The first of them, if the others are enough. Those only grow, so what is too old in a part of the run is too old
    /// in the run.
    fn too_old(&self) -> Option<u32> {
        let num_late = self.late().count();
        let is_enough_later = || {
            let later = self.late().skip(1).flat_map(|(_, it)| it.bins());
            let mut left = later.scan(ENOUGH, |left, bin| {
                *left = left.saturating_sub(bin.count);
                Some(*left)
            });
            left.any(|left| left == 0)
        };
        let is_too_old = num_late > MOST_EPOCHS || num_late > LEAST_EPOCHS && is_enough_later();
        self.late()
            .map(|(epoch, _)| epoch)
            .next()
            .filter(|_| is_too_old)
    }

    fn merge(&mut self, other: &Self) {
        for (epoch, histogram) in other.0.iter() {
            self.add(epoch, Cow::Borrowed(histogram));
        }
    }

    fn sum(&self, since: Since) -> Histogram {
        let mut sum = Histogram::beginning_at(PRECISION, MAX_BINS);
        let epochs = self.0.iter();
        let wanted = epochs.filter(|(epoch, _)| since == Since::Ever || *epoch != PAST);
        wanted.for_each(|(_, histogram)| sum.merge(histogram));
        sum
    }
}

impl From<Contexts> for Vec<ContextPart> {
    fn from(contexts: Contexts) -> Self {
        let parts = contexts.parts();
        let owned = parts.map(|(caller, epoch, histogram)| ContextPart {
            caller,
            epoch,
            histogram: histogram.clone(),
        });
        owned.collect()
    }
}

impl TryFrom<Vec<ContextPart>> for Contexts {
    type Error = DetectError;

    /// # Errors
    /// As [`Contexts::add_part`].
    fn try_from(parts: Vec<ContextPart>) -> Result<Self> {
        let mut contexts = Self::default();
        for part in parts {
            contexts.add_part(part)?;
        }
        Ok(contexts)
    }
}
