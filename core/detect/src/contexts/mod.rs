//! The times of a function's executions by caller and by time in the run.

mod sorted_pairs;

use std::borrow::Cow;

use callgrove_model::{StepId, fnv1a};
use serde::{Deserialize, Serialize};

use crate::error::{DetectError, Result, damaged};
use crate::histogram::Histogram;
use crate::power_sums::Extremes;
use sorted_pairs::SortedPairs;

/// Number of callers that are tracked separately. They are those with the lowest keys, so that merges of any parts of
/// the run keep the same callers, with all their executions.
const MAX_CALLERS: usize = 16;

/// Number of I/O steps in an epoch.
const EPOCH_STEPS: u32 = 16;
/// Smallest number of recent epochs that are kept for each caller; older ones are merged into [`PAST`].
const MIN_EPOCHS: usize = 2;
/// Largest number of recent epochs that are kept while there are few executions in them.
const MAX_EPOCHS: usize = 8;
/// Number of executions in later epochs from which an epoch becomes part of [`PAST`].
const ENOUGH_LATER: u64 = 512;
/// The epoch of executions loaded from another run, which are used until this run has enough.
const EARLIER_RUN: u32 = 0;
/// The epoch of all older executions of the run.
const PAST: u32 = 1;
/// The first epoch of a run.
const FIRST_EPOCH: u32 = 2;

/// Initial precision: 2⁴ bins per octave, as a difference of 6 % never makes an anomaly.
const PRECISION: u32 = 4;
/// Largest number of occupied bins of a histogram.
const MAX_BINS: usize = 128;

/// A calling function as models know it: a hash of its name, which is the same in every process.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CallerKey(pub u64);

impl CallerKey {
    /// No caller: the bottom of a stack.
    pub const NONE: Self = Self(0);

    /// Returns the key of a function with this name.
    pub fn of(name: &str) -> Self {
        Self(fnv1a(name.as_bytes()))
    }
}

/// Histograms by caller of a function: one for each recent epoch, and one for all older executions.
///
/// The contents depend on the executions alone, not on the order in which they arrived or were merged: the callers with
/// the lowest keys in the run are among the lowest in every part of it, and the last epochs are among the last.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<ContextPart>", into = "Vec<ContextPart>")]
pub struct Contexts {
    by_caller: SortedPairs<CallerKey, Epochs>,
    /// Executions of all other callers.
    others: Epochs,
}

/// Returns whether models treat executions of two steps as if they were of one step.
pub fn same_epoch(one: StepId, other: StepId) -> bool {
    epoch_of(one) == epoch_of(other)
}

fn epoch_of(step: StepId) -> u32 {
    FIRST_EPOCH + step.0 / EPOCH_STEPS
}

/// The executions that a judge takes into account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EpochRange {
    /// Executions of the recent epochs.
    Recent,
    /// All executions of the run, and those of an earlier run while this one has few.
    All,
}

/// One histogram of [`Contexts`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextPart {
    /// The caller; `None` for all callers that are not tracked separately.
    pub caller: Option<CallerKey>,
    /// The epoch of the run, from 2 on; 1 for all older epochs, 0 for another run.
    pub epoch: u32,
    /// The times in µs.
    pub histogram: Histogram,
}

/// The recent epochs with executions, and the older ones together; never empty histograms.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Epochs(SortedPairs<u32, Histogram>);

impl Contexts {
    /// Adds the times in µs of executions that `caller` called and that ended in `step`. There is at least one, and the
    /// smallest and the largest are those of `range`.
    pub(crate) fn extend(
        &mut self,
        step: StepId,
        caller: CallerKey,
        times_us: &[u64],
        range: Extremes,
    ) {
        let epoch = epoch_of(step);
        let mut histogram = Histogram::with_precision(PRECISION, MAX_BINS);
        histogram.extend_within(times_us, range);
        let epochs = self.epochs_of(caller);
        epochs.add(epoch, Cow::Owned(histogram));
        self.settle();
    }

    /// Adds other executions of the function.
    pub fn merge(&mut self, other: &Self) {
        for (caller, epochs) in other.by_caller.iter() {
            self.epochs_of(caller).merge(epochs);
        }
        self.others.merge(&other.others);
        self.settle();
    }

    /// Returns these contexts as executions of an earlier run, for the initial model of another run.
    #[must_use]
    pub fn for_next_run(&self) -> Self {
        let all = |epochs: &Epochs| epochs.sum(EpochRange::All);
        let before = |epochs: &Epochs| Epochs(SortedPairs::of_one(EARLIER_RUN, all(epochs)));
        let mut contexts = Self::default();
        for (caller, epochs) in self.by_caller.iter() {
            *contexts.epochs_of(caller) = before(epochs);
        }
        if self.others.0.len() > 0 {
            contexts.others = before(&self.others);
        }
        contexts
    }

    /// Returns the parts in order of caller and epoch, and finally those of callers that are not tracked separately.
    pub fn parts(&self) -> impl Iterator<Item = (Option<CallerKey>, u32, &Histogram)> {
        let named = self
            .by_caller
            .iter()
            .map(|(caller, epochs)| (Some(caller), epochs));
        let all = named.chain([(None, &self.others)]);
        all.flat_map(|(caller, epochs)| epochs.0.iter().map(move |(epoch, it)| (caller, epoch, it)))
    }

    /// Adds a part that was received or stored.
    ///
    /// # Errors
    /// [`DetectError::Damaged`] if the part occurs twice or is empty, or if there are too many parts.
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

    /// Returns each caller that is tracked separately, with its executions.
    pub(crate) fn callers(
        &self,
        range: EpochRange,
    ) -> impl Iterator<Item = (CallerKey, Histogram)> {
        let callers = self.by_caller.iter();
        callers.map(move |(caller, epochs)| (caller, epochs.sum(range)))
    }

    /// Returns the executions of all callers.
    pub(crate) fn sum(&self, range: EpochRange) -> Histogram {
        let mut sum = self.others.sum(range);
        self.callers(range)
            .for_each(|(_, histogram)| sum.merge(&histogram));
        sum
    }

    fn epochs_of(&mut self, caller: CallerKey) -> &mut Epochs {
        let found = self.by_caller.find(caller);
        found.unwrap_or_else(|missing| missing.insert(Epochs::default()))
    }

    /// Merges callers beyond [`MAX_CALLERS`] into the others.
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
            let histogram = self.0.remove(old).filter(|_| old != EARLIER_RUN);
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

    /// Returns all epochs but the merged older ones.
    fn recent(&self) -> impl Iterator<Item = (u32, &Histogram)> {
        self.0.iter().filter(|(epoch, _)| *epoch != PAST)
    }

    /// Returns the first recent epoch if the later ones have enough executions. Later epochs only grow, so an epoch
    /// that is too old in a part of the run is too old in the whole run.
    fn too_old(&self) -> Option<u32> {
        let num_recent = self.recent().count();
        let is_enough_later = || {
            let later = self.recent().skip(1).flat_map(|(_, it)| it.bins());
            let mut left = later.scan(ENOUGH_LATER, |left, bin| {
                *left = left.saturating_sub(bin.count);
                Some(*left)
            });
            left.any(|left| left == 0)
        };
        let is_too_old = num_recent > MAX_EPOCHS || num_recent > MIN_EPOCHS && is_enough_later();
        self.recent()
            .map(|(epoch, _)| epoch)
            .next()
            .filter(|_| is_too_old)
    }

    fn merge(&mut self, other: &Self) {
        for (epoch, histogram) in other.0.iter() {
            self.add(epoch, Cow::Borrowed(histogram));
        }
    }

    fn sum(&self, range: EpochRange) -> Histogram {
        let mut sum = Histogram::with_precision(PRECISION, MAX_BINS);
        let epochs = self.0.iter();
        let wanted = epochs.filter(|(epoch, _)| range == EpochRange::All || *epoch != PAST);
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
