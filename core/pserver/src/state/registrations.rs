//! Registrations of instances and their ranks: leases, claims, sign-offs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use callgrove_model::{ProgramId, RankId};

use super::partial::PartialState;
use super::{ServerState, lock};
use crate::error::PserverError;
use crate::model_exchange::{Hello, RunProgress, Welcome};
use crate::protocol::Registered;
use crate::statistics::RankKey;

/// Maximum length of an instance's name in bytes.
const MAX_INSTANCE_BYTES: usize = 1 << 10;
/// Maximum number of ranks of one instance.
const MAX_RANKS: usize = 1 << 16;
/// Maximum announced number of ranks of a program.
const MAX_ANNOUNCED_RANKS: u32 = 1 << 20;
/// Maximum number of instances that a server remembers: more than any machine runs, at some hundred bytes each.
const MAX_INSTANCES: usize = 1 << 20;

impl ServerState {
    /// Registers an instance. Repetitions are harmless.
    ///
    /// # Errors
    /// [`PserverError::OtherRun`]; [`PserverError::RankTaken`] if another live instance has one of the ranks;
    /// [`PserverError::Replaced`] if others have taken its ranks while a log was read;
    /// [`PserverError::Limit`] for a name that is too long, or too many ranks or instances.
    pub fn register(&self, hello: &Hello, now_ms: u64) -> Result<Registered, PserverError> {
        self.check_hello(hello)?;
        if self.is_fenced(&hello.instance) {
            return Err(PserverError::Replaced {
                instance: hello.instance.clone(),
            });
        }
        lock(&self.run)
            .join(&hello.run)
            .map_err(PserverError::OtherRun)?;
        self.announce(hello);
        let ranks: BTreeSet<RankKey> = hello
            .ranks
            .iter()
            .map(|&rank| (hello.program, rank))
            .collect();
        self.claim(hello, &ranks, now_ms)?;
        let last_sequence = lock(self.partial_state(&hello.instance)).register(
            &hello.instance,
            ranks.clone(),
            now_ms,
        );
        let welcome = self.welcome(&ranks);
        // Sums of its group have other contributions than those that it has sent here.
        let in_sums = lock(&self.global).sequences.get(&hello.instance).copied();
        Ok(Registered {
            welcome,
            epoch: self.options.epoch,
            last_sequence: last_sequence.max(in_sums.unwrap_or(0)),
            retention: self.options.retention,
        })
    }

    /// Renews the lease of an instance that has nothing new.
    ///
    /// # Errors
    /// [`PserverError::NotRegistered`].
    pub fn heartbeat(&self, instance: &str, now_ms: u64) -> Result<(), PserverError> {
        lock(self.partial_state(instance)).touch(instance, now_ms)
    }

    /// Returns the progress of a program's ranks: those that an instance reads or has read, also before a restart, and
    /// all that a recorded run announces, and all below `num_ranks`.
    pub fn progress(&self, program: ProgramId, num_ranks: u32, now_ms: u64) -> RunProgress {
        let announced = lock(&self.announced_ranks).get(&program).copied();
        let num_ranks = num_ranks
            .min(MAX_ANNOUNCED_RANKS)
            .max(announced.unwrap_or(0));
        let mut live = BTreeSet::new();
        let mut known: BTreeSet<RankId> = (0..num_ranks).map(RankId).collect();
        for (&(of, rank), holder) in &*lock(&self.claims) {
            if of == program {
                known.insert(rank);
                let partial_state = lock(self.partial_state(holder));
                let registration = partial_state.registration(holder);
                if registration.is_some_and(|it| it.is_live(now_ms)) {
                    live.insert(rank);
                }
            }
        }
        let former = lock(&self.former_ranks);
        known.extend(former.keys().filter(|it| it.0 == program).map(|it| it.1));
        drop(former);
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        known.retain(|&rank| !global.ended.contains(&(program, rank)));
        let (learning, absent): (Vec<_>, _) =
            known.into_iter().partition(|rank| live.contains(rank));
        RunProgress {
            num_learning: u32::try_from(learning.len()).unwrap_or(u32::MAX),
            absent,
            learnt_in: global.learnt_in.get(&program).copied().unwrap_or(0),
        }
    }

    /// Releases the ranks of an instance. Repetitions are harmless.
    pub fn goodbye(&self, instance: &str) {
        let mut claims = lock(&self.claims);
        for rank in lock(self.partial_state(instance)).leave(instance) {
            if claims.get(&rank).is_some_and(|holder| holder == instance) {
                claims.remove(&rank);
                self.has_unsaved_ranks.store(true, Ordering::Release);
            }
        }
        self.forget_tree_generation(instance);
    }

    /// Returns the number of live instances.
    pub fn num_live(&self, now_ms: u64) -> usize {
        let num_live = |partial_state: &Mutex<PartialState>| {
            let held = lock(partial_state);
            held.registrations().filter(|it| it.is_live(now_ms)).count()
        };
        self.partial_states.iter().map(num_live).sum()
    }

    /// Returns true if there were instances, and all of them have signed off or are dead: the server may end.
    pub fn is_abandoned(&self, now_ms: u64) -> bool {
        let mut any = false;
        for partial_state in &self.partial_states {
            for registration in lock(partial_state).registrations() {
                if registration.is_live(now_ms) {
                    return false;
                }
                any |= registration.was_registered;
            }
        }
        any
    }

    /// Returns the instances that would lose ranks to a new one: those that are silent for longer than their lease, and
    /// those of before a restart.
    ///
    /// # Errors
    /// [`PserverError::RankTaken`] if another live instance has one of the ranks.
    pub fn former_holders(
        &self,
        hello: &Hello,
        now_ms: u64,
    ) -> Result<BTreeSet<String>, PserverError> {
        self.former_among(&lock(&self.claims), hello, now_ms)
    }

    fn former_among(
        &self,
        claims: &BTreeMap<RankKey, String>,
        hello: &Hello,
        now_ms: u64,
    ) -> Result<BTreeSet<String>, PserverError> {
        let before_restart = lock(&self.former_ranks);
        let mut former = BTreeSet::new();
        for &rank in &hello.ranks {
            let key = (hello.program, rank);
            let holder = claims.get(&key).or_else(|| before_restart.get(&key));
            let Some(holder) = holder.filter(|it| **it != hello.instance) else {
                continue;
            };
            let partial_state = lock(self.partial_state(holder));
            if let Some(registration) = partial_state.registration(holder)
                && registration.is_live(now_ms)
            {
                return Err(PserverError::RankTaken {
                    program: hello.program,
                    rank,
                    holder: holder.clone(),
                    silent_ms: registration.silent_ms(now_ms),
                });
            }
            former.insert(holder.clone());
        }
        Ok(former)
    }

    /// Assigns the ranks to the instance; their former holders lose them.
    fn claim(
        &self,
        hello: &Hello,
        ranks: &BTreeSet<RankKey>,
        now_ms: u64,
    ) -> Result<(), PserverError> {
        let mut claims = lock(&self.claims);
        let former = self.former_among(&claims, hello, now_ms)?;
        for holder in &former {
            for rank in lock(self.partial_state(holder)).leave(holder) {
                claims.remove(&rank);
            }
        }
        let mut former_ranks = lock(&self.former_ranks);
        for rank in ranks {
            former_ranks.remove(rank);
            if claims.insert(*rank, hello.instance.clone()).is_none() {
                self.has_unsaved_ranks.store(true, Ordering::Release);
            }
        }
        Ok(())
    }

    /// Keeps the ranks of an instance that registered at an earlier server, as far as no instance claims them.
    pub(super) fn note_former_ranks(&self, hello: &Hello) {
        let claims = lock(&self.claims);
        let mut former_ranks = lock(&self.former_ranks);
        for &rank in &hello.ranks {
            let key = (hello.program, rank);
            if !claims.contains_key(&key) {
                former_ranks.insert(key, hello.instance.clone());
                self.has_unsaved_ranks.store(true, Ordering::Release);
            }
        }
    }

    /// Keeps the number of ranks that a recorded run announces.
    pub(super) fn announce(&self, hello: &Hello) {
        let Some(num_ranks) = hello.recorded_ranks else {
            return;
        };
        let num_ranks = num_ranks.min(MAX_ANNOUNCED_RANKS);
        let mut announced = lock(&self.announced_ranks);
        let before = announced.get(&hello.program).copied();
        if before < Some(num_ranks) {
            announced.insert(hello.program, num_ranks);
            self.has_unsaved_ranks.store(true, Ordering::Release);
        }
    }

    /// Returns whether the run is a recorded one.
    pub fn is_recorded(&self) -> bool {
        !lock(&self.announced_ranks).is_empty()
    }

    /// Returns the recorded programs, each with whether all its ranks are judged by the complete models: those that it
    /// announces, and those that an instance reads or has read.
    pub(super) fn judged_programs(&self) -> BTreeMap<ProgramId, bool> {
        let announced = lock(&self.announced_ranks).clone();
        let mut ranks = self.registered_ranks();
        let announced_ranks = announced.iter();
        ranks.extend(
            announced_ranks
                .flat_map(|(&program, &num)| (0..num).map(move |it| (program, RankId(it)))),
        );
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        ranks.extend(global.learnt.keys());
        let unjudged = ranks.iter().filter(|it| !global.judged_in.contains_key(it));
        let unjudged: BTreeSet<ProgramId> = unjudged.map(|it| it.0).collect();
        let programs = announced.into_keys();
        programs
            .map(|program| (program, !unjudged.contains(&program)))
            .collect()
    }

    /// Returns whether the state should be saved soon because claimed ranks changed: a restarted server waits for the
    /// ranks that it knows.
    pub fn has_unsaved_ranks(&self) -> bool {
        self.has_unsaved_ranks.load(Ordering::Acquire)
    }

    /// Returns the ranks that instances have, or had before a restart, to be saved.
    pub(super) fn ranks_to_save(&self) -> BTreeMap<RankKey, String> {
        self.has_unsaved_ranks.store(false, Ordering::Release);
        let claims = lock(&self.claims);
        let mut ranks = lock(&self.former_ranks).clone();
        ranks.extend(claims.iter().map(|(&rank, it)| (rank, it.clone())));
        ranks
    }

    fn registered_ranks(&self) -> BTreeSet<RankKey> {
        let claims = lock(&self.claims);
        let former_ranks = lock(&self.former_ranks);
        claims.keys().chain(former_ranks.keys()).copied().collect()
    }

    fn welcome(&self, ranks: &BTreeSet<RankKey>) -> Welcome {
        let mut global = lock(&self.global);
        // The last steps of an earlier holder of the ranks may still be in a partial state.
        self.fold_into(&mut global);
        let last_step = |key: &RankKey| {
            let totals = global.total.ranks.get(key)?;
            Some((key.1, totals.last_step))
        };
        let final_ranks = ranks.iter().filter(|rank| global.is_final(**rank));
        let tree_p_values = |key: &RankKey| {
            let totals = global.total.ranks.get(key)?;
            let is_any = !totals.tree_p_values.is_empty();
            is_any.then(|| (key.1, totals.tree_p_values.clone()))
        };
        let learnt_step = |key: &RankKey| Some((key.1, *global.learnt.get(key)?));
        Welcome {
            params: self.options.params,
            frozen: self.options.frozen,
            num_shards: self.options.num_shards,
            last_steps: ranks.iter().filter_map(last_step).collect(),
            learnt_steps: ranks.iter().filter_map(learnt_step).collect(),
            tree_p_values: ranks.iter().filter_map(tree_p_values).collect(),
            final_ranks: final_ranks.map(|&(_, rank)| rank).collect(),
        }
    }

    pub(super) fn check_hello(&self, hello: &Hello) -> Result<(), PserverError> {
        if hello.ranks.len() > MAX_RANKS {
            return Err(PserverError::Limit {
                what: format!("{} ranks of one instance", hello.ranks.len()),
                limit: MAX_RANKS,
                remedy: "spread them over more instances",
            });
        }
        if hello.instance.len() > MAX_INSTANCE_BYTES {
            return Err(PserverError::Limit {
                what: format!("an instance's name of {} bytes", hello.instance.len()),
                limit: MAX_INSTANCE_BYTES,
                remedy: "shorten it",
            });
        }
        let num_instances: usize = self
            .partial_states
            .iter()
            .map(|partial_state| lock(partial_state).registrations().count())
            .sum();
        if num_instances >= MAX_INSTANCES {
            return Err(PserverError::Limit {
                what: format!("{num_instances} instances since the start"),
                limit: MAX_INSTANCES,
                remedy: "start the server again with its saved state",
            });
        }
        Ok(())
    }
}
