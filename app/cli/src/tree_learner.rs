//! Learns tree models without labels, from the trees that a job records while it runs: so there is one before a person
//! has looked. A person's publication ends that. Nothing is learned from a recorded run.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use callgrove_model::{Forest, FunctionName, Progress};
use callgrove_provdb::{AccessMode, Collection, Filter, OpenOptions, Query, Store, TreeRecord};
use callgrove_pserver::{ModelPublication, MonotonicClock, PserverError, ServerState};
use callgrove_server::background::Background;
use callgrove_session::watch::recorded_forest;
use callgrove_session::{LearnSettings, SavedModel, analyze};

use crate::connect::open_store;
use crate::output::{complain, thousands};

/// How often it looks for new trees.
const LOOK: Duration = Duration::from_secs(1);
/// Trees of a function from which on it learns.
const LEAST_TREES: usize = 100;
/// Two models that differ on no larger a share of the trees are one: no more comes of learning on.
const STABLE_SHARE: f64 = 0.005;
/// Who is said to have published its models.
const OWN_NAME: &str = "callgrove";

/// A thread that learns.
pub(crate) struct TreeLearner {
    thread: Background<()>,
    trouble: Arc<Mutex<Option<String>>>,
}

impl TreeLearner {
    /// Learns from what the provenance database at `url` has, for the AD instances of `state`.
    pub(crate) fn start(
        state: &Arc<ServerState>,
        url: &str,
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut options = options.clone();
        options.mode = AccessMode::ReadOnly;
        options.num_shards = None;
        let trouble = Arc::<Mutex<Option<String>>>::default();
        let mut work = Work {
            state: Arc::clone(state),
            store: open_store(url, &options)?,
            learnt: BTreeMap::new(),
            num_seen: 0,
        };
        let told = Arc::clone(&trouble);
        let thread = Background::start("learning", move |stopped| work.run(stopped, &told))?;
        Ok(Self { thread, trouble })
    }

    /// Why nothing is learnt at present, in words.
    pub(crate) fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        self.thread.fault().or_else(|| trouble.clone())
    }

    /// Ends it. What it learned stays, whatever became of it.
    pub(crate) fn finish(self) {
        if let Err(error) = self.thread.finish() {
            complain(&error.to_string());
        }
    }
}

struct Work {
    state: Arc<ServerState>,
    store: Box<dyn Store>,
    /// By function: the newest model, and from how many trees it was learnt.
    learnt: BTreeMap<Arc<str>, Learnt>,
    num_seen: u64,
}

struct Learnt {
    num_trees: usize,
    model: SavedModel,
}

impl Work {
    fn run(&mut self, stopped: &Receiver<()>, trouble: &Mutex<Option<String>>) {
        while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let looked = self.look().err();
            *trouble.lock().unwrap_or_else(PoisonError::into_inner) =
                looked.map(|error| format!("no tree model is learnt: {error:#}; tried again"));
        }
    }

    fn look(&mut self) -> Result<()> {
        // It is judged by what is published, so that it ends the same however long it takes and whatever is restarted.
        if self.state.is_recorded() {
            return Ok(());
        }
        let samples = Query {
            filter: Some(Filter::parse("is_sample = true")?),
            ..Query::all(Collection::Trees)
        };
        let num_samples = self.store.count(&samples)?;
        if num_samples == self.num_seen {
            return Ok(());
        }
        self.num_seen = num_samples;
        let mut by_function: BTreeMap<Arc<str>, Vec<TreeRecord>> = BTreeMap::new();
        for document in self.store.find(&samples)? {
            let record: TreeRecord =
                serde_json::from_str(&document).context("a recorded tree is damaged")?;
            by_function
                .entry(Arc::clone(&record.func))
                .or_default()
                .push(record);
        }
        for (function, records) in by_function {
            let least = self
                .learnt
                .get(&function)
                .map_or(LEAST_TREES, |it| 2 * it.num_trees);
            if records.len() >= least {
                self.learn(function, &records)?;
            }
        }
        Ok(())
    }

    fn learn(&mut self, function: Arc<str>, records: &[TreeRecord]) -> Result<()> {
        let name = FunctionName::parse(&function).qualified.to_owned();
        let (known, _) = self.state.tree_models();
        let newest = known.iter().find(|model| model.name == name);
        let newest = newest.and_then(|model| model.versions.last());
        if newest.is_some_and(|version| version.by != OWN_NAME) {
            return Ok(());
        }
        let (forest, _) = recorded_forest(records, self.state.run());
        if forest.len() < LEAST_TREES {
            return Ok(());
        }
        let settings = LearnSettings::with_seed(1);
        let (_, mut learned) = analyze(forest.clone(), name.clone(), &settings, Progress::none())?;
        learned.train(&vec![None; forest.len()], Progress::none())?;
        let model = learned.model()?;
        let before = self.learnt.get(&function);
        let differing = before.map(|before| differing(&before.model, &model, &forest));
        let differing = differing.transpose()?;
        let note = match differing {
            Some(share) if share <= STABLE_SHARE => "stable",
            _ => "provisional",
        };
        let mut note = format!(
            "{note}: learnt without labels from {} trees",
            thousands(forest.len())
        );
        if let Some(share) = differing {
            note += &format!(
                "; the version before differs on {:.1} % of them",
                100.0 * share
            );
        }
        let publication = ModelPublication {
            name,
            model: learned.model_text()?,
            note,
            by: OWN_NAME.to_owned(),
        };
        let time_us = MonotonicClock::new().now_ms() * 1000;
        let published = self
            .state
            .publish_tree_model(&publication, model.functions(), time_us);
        match published {
            // A person published one for it under another name.
            Err(PserverError::UnfitTreeModel { .. }) => return Ok(()),
            published => published?,
        };
        let num_trees = forest.len();
        self.learnt.insert(function, Learnt { num_trees, model });
        Ok(())
    }
}

/// Share of the trees that one of two models calls abnormal and the other does not.
fn differing(one: &SavedModel, other: &SavedModel, forest: &Forest) -> Result<f64> {
    let (one, other) = (one.verdicts(forest)?, other.verdicts(forest)?);
    let pairs = one.iter().zip(&other);
    let num = pairs
        .filter(|(one, other)| one.is_abnormal != other.is_abnormal)
        .count();
    Ok(num as f64 / forest.len().max(1) as f64)
}
