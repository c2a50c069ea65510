//! Learns tree models without labels from the trees that a running job records, so that there is a model before a user
//! has labelled anything. A model that a user publishes ends the learning. Nothing is learned from a recorded run.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgrove_model::{Forest, FunctionName, Progress, thousands};
use callgrove_provdb::{Collection, Filter, Query, Store, TreeRecord};
use callgrove_provdb_stores::OpenOptions;
use callgrove_pserver::{ModelPublication, MonotonicClock, PserverError, ServerState};
use callgrove_server::ServerError;
use callgrove_server::background::Background;
use callgrove_session::{LearnSettings, LearningError, SavedModel, analyze};
use callgrove_watch::recorded_forest;

use crate::error::PipelineError;
use crate::stores::for_reading;

/// Interval of the check for new trees.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum number of trees of a function to learn from.
const MIN_TREES: usize = 100;
/// Maximum share of trees on which two models differ for the model to count as stable.
const STABLE_SHARE: f64 = 0.005;
/// Name of the publisher of its models.
const OWN_NAME: &str = "callgrove";

/// A thread that learns tree models.
pub struct TreeLearner {
    thread: Background<()>,
    problem: Arc<Mutex<Option<String>>>,
}

impl TreeLearner {
    /// Learns from the trees in the provenance database at `url`, for the AD instances of `state`. While the database
    /// cannot be reached, nothing is learned.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        state: &Arc<ServerState>,
        url: &str,
        options: &OpenOptions,
    ) -> Result<Self, PipelineError> {
        let problem = Arc::<Mutex<Option<String>>>::default();
        let mut work = Work {
            state: Arc::clone(state),
            url: url.to_owned(),
            options: for_reading(options),
            store: None,
            learned_models: BTreeMap::new(),
            num_seen: 0,
        };
        let reported = Arc::clone(&problem);
        let thread = Background::start("learning", move |stopped| work.run(stopped, &reported))?;
        Ok(Self { thread, problem })
    }

    /// Returns the reason why nothing is learned at present, as text.
    pub fn problem(&self) -> Option<String> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        self.thread.fault().or_else(|| problem.clone())
    }

    /// Stops the thread. Published models remain.
    ///
    /// # Errors
    /// [`ServerError::Panicked`].
    pub fn finish(self) -> Result<(), ServerError> {
        self.thread.finish()
    }
}

struct Work {
    state: Arc<ServerState>,
    url: String,
    options: OpenOptions,
    /// The database, once it could be opened.
    store: Option<Box<dyn Store>>,
    /// The newest model of each function, and the number of trees that it was learned from.
    learned_models: BTreeMap<Arc<str>, LearnedModel>,
    num_seen: u64,
}

struct LearnedModel {
    num_trees: usize,
    model: SavedModel,
}

impl Work {
    fn run(&mut self, stopped: &Receiver<()>, problem: &Mutex<Option<String>>) {
        while stopped.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let learned = self.learn_new().err();
            *problem.lock().unwrap_or_else(PoisonError::into_inner) = learned.map(|error| {
                let causes = error.with_causes();
                format!("cannot learn a tree model: {causes}; trying again")
            });
        }
    }

    fn learn_new(&mut self) -> Result<(), PipelineError> {
        // A recorded run is judged by published models only, so that the result does not depend on timing or restarts.
        if self.state.is_recorded() {
            return Ok(());
        }
        let samples = Query {
            filter: Some(Filter::parse("is_sample = true")?),
            ..Query::all(Collection::Trees)
        };
        let store = match &mut self.store {
            Some(store) => store,
            closed => closed.insert(callgrove_provdb_stores::open(&self.url, &self.options)?),
        };
        let num_samples = store.count(&samples)?;
        if num_samples == self.num_seen {
            return Ok(());
        }
        let documents = store.find(&samples)?;
        self.num_seen = num_samples;
        let mut by_function: BTreeMap<Arc<str>, Vec<TreeRecord>> = BTreeMap::new();
        for document in documents {
            let record: TreeRecord =
                serde_json::from_str(&document).map_err(PipelineError::DamagedTree)?;
            by_function
                .entry(Arc::clone(&record.func))
                .or_default()
                .push(record);
        }
        for (function, records) in by_function {
            let least = self
                .learned_models
                .get(&function)
                .map_or(MIN_TREES, |it| 2 * it.num_trees);
            if records.len() >= least {
                self.learn(function, &records)?;
            }
        }
        Ok(())
    }

    fn learn(&mut self, function: Arc<str>, records: &[TreeRecord]) -> Result<(), PipelineError> {
        let name = FunctionName::parse(&function).qualified.to_owned();
        let (known, _) = self.state.tree_models();
        let newest = known.iter().find(|model| model.name == name);
        let newest = newest.and_then(|model| model.versions.last());
        if newest.is_some_and(|version| version.by != OWN_NAME) {
            return Ok(());
        }
        let (forest, _) = recorded_forest(records, self.state.run());
        if forest.len() < MIN_TREES {
            return Ok(());
        }
        let settings = LearnSettings::with_seed(1);
        let (_, mut learned) = analyze(forest.clone(), name.clone(), &settings, Progress::none())?;
        learned.train(&vec![None; forest.len()], Progress::none())?;
        let model = learned.model()?;
        let before = self.learned_models.get(&function);
        let differing = before.map(|before| differing(&before.model, &model, &forest));
        let differing = differing.transpose()?;
        let note = match differing {
            Some(share) if share <= STABLE_SHARE => "stable",
            _ => "provisional",
        };
        let mut note = format!(
            "{note}: learned without labels from {} trees",
            thousands(forest.len())
        );
        if let Some(share) = differing {
            note += &format!(
                "; the previous version differs on {:.1} % of them",
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
            // A user has published a model for this function under another name.
            Err(PserverError::UnfitTreeModel { .. }) => return Ok(()),
            published => published?,
        };
        let num_trees = forest.len();
        self.learned_models
            .insert(function, LearnedModel { num_trees, model });
        Ok(())
    }
}

/// Returns the share of trees that one of two models calls abnormal and the other does not.
fn differing(one: &SavedModel, other: &SavedModel, forest: &Forest) -> Result<f64, LearningError> {
    let (one, other) = (one.verdicts(forest)?, other.verdicts(forest)?);
    let pairs = one.iter().zip(&other);
    let num = pairs
        .filter(|(one, other)| one.is_abnormal != other.is_abnormal)
        .count();
    Ok(num as f64 / forest.len().max(1) as f64)
}
