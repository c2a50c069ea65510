//! The embedded forest of the root function, its model and its scores.

use std::cell::OnceCell;
use std::sync::Arc;

use callgrove_edits::{ModelInputs, ModelSettings};
use callgrove_judge::active::{Doubt, QueryStrategy};
use callgrove_model::{Forest, Progress, Trace, TreeIdx, fnv1a};
use callgrove_query::{RunCauses, TreeCauses};
use callgrove_trees::explain::CallPaths;

use super::error::CommandError;
use super::trial_training::TrialTraining;
use crate::command::Selection;
use crate::explain::Explainer;
use crate::learning::{self, LearnSettings, Learned, LearningError, SavedModel, TreeScores};
use crate::map_computation::MapComputation;
use crate::question::TrainingQuestion;
use crate::root::grow_forest;
use crate::snapshot::{Analysis, Detection, Explanation};
use crate::tree_delays::TreeDelays;
use crate::tree_map::{MapMethod, TreeMap};

/// Largest number of trees in the labelling queue. Each training makes a new queue.
const QUEUE_LEN: usize = 64;

/// An embedded forest with its model and its scores.
pub(super) struct EmbeddedForest {
    analysis: Arc<Analysis>,
    learned: Learned,
    scored: Option<ScoredForest>,
    /// The named delays of the trees, once the causes of the run are known.
    delays: Option<TreeDelays>,
    /// Computed when the first tree is explained.
    paths: OnceCell<Arc<CallPaths>>,
    forming: Option<PausableMap>,
    /// The training that waits for an answer.
    pub(super) waiting_trial: Option<TrialTraining>,
}

/// The newest scores and their inputs.
struct ScoredForest {
    inputs: ModelInputs,
    /// The scores of the model alone.
    of_model: TreeScores,
    detection: Arc<Detection>,
    /// Computed when the first tree is explained with these scores.
    explainer: OnceCell<Explainer>,
}

/// A map that is being computed and can be paused.
struct PausableMap {
    map: MapComputation,
    is_paused: bool,
}

impl EmbeddedForest {
    /// Grows and embeds the forest of the functions that `pattern` names.
    pub(super) fn embed(
        trace: &Arc<Trace>,
        pattern: &str,
        settings: &LearnSettings,
        progress: Progress<'_>,
    ) -> Result<Self, CommandError> {
        let (forest, root_name) = grow_forest(trace, pattern)?;
        let (analysis, learned) = learning::analyze(forest, root_name, settings, progress)?;
        Ok(Self {
            analysis: Arc::new(analysis),
            learned,
            scored: None,
            delays: None,
            paths: OnceCell::new(),
            forming: None,
            waiting_trial: None,
        })
    }

    pub(super) fn analysis(&self) -> &Arc<Analysis> {
        &self.analysis
    }

    pub(super) fn forest(&self) -> &Forest {
        &self.analysis.forest
    }

    pub(super) fn root(&self) -> &str {
        &self.analysis.root_name
    }

    /// Returns the newest scores.
    pub(super) fn detection(&self) -> Option<&Arc<Detection>> {
        self.scored.as_ref().map(|scored| &scored.detection)
    }

    /// Returns the name of the model whose scores are shown, as in the journal: a file, or a hash of the scores.
    pub(super) fn model_name(&self) -> Option<String> {
        let scored = self.scored.as_ref()?;
        let own = || {
            let scores = scored.of_model.scores.iter();
            let bits: Vec<u8> = scores
                .flat_map(|score| score.to_bits().to_le_bytes())
                .collect();
            format!("{:016x}", fnv1a(&bits))
        };
        let file = scored.inputs.file.as_ref();
        Some(file.map_or_else(own, |file| file.path.clone()))
    }

    /// Returns whether the newest scores have exactly these inputs.
    pub(super) fn is_scored_with(&self, inputs: &ModelInputs) -> bool {
        let scored = self.scored.as_ref();
        scored.is_some_and(|scored| scored.inputs == *inputs)
    }

    /// Returns whether the newest scores come from the same model as `inputs` would.
    pub(super) fn has_model_of(&self, inputs: &ModelInputs) -> bool {
        let scored = self.scored.as_ref();
        scored.is_some_and(|scored| scored.inputs.is_same_model(inputs))
    }

    /// Changes the settings for the next training.
    pub(super) fn tune(
        &mut self,
        settings: ModelSettings,
        progress: Progress<'_>,
    ) -> Result<(), CommandError> {
        Ok(self.learned.tune(settings, progress)?)
    }

    /// Trains with the labels of `inputs`.
    pub(super) fn train(
        &mut self,
        inputs: ModelInputs,
        progress: Progress<'_>,
    ) -> Result<(), CommandError> {
        let tree_scores = self.learned.train(&inputs.labels, progress)?;
        self.show_scores(inputs, tree_scores);
        Ok(())
    }

    /// Trains like [`EmbeddedForest::train`], but keeps scores and model until the trial is accepted.
    pub(super) fn try_out(
        &self,
        inputs: ModelInputs,
        progress: Progress<'_>,
    ) -> Result<TrialTraining, CommandError> {
        let trial = self.learned.try_labels(&inputs.labels, progress)?;
        let shown = self.scored.as_ref();
        let shown = shown.map(|shown| (&shown.detection, shown.inputs.labels.as_slice()));
        let of_trial = self.delayed(trial.tree_scores.clone());
        Ok(TrialTraining::new(inputs, trial, of_trial, shown))
    }

    /// Makes a trial training the current model.
    pub(super) fn accept(&mut self, tried: TrialTraining) {
        let (inputs, trial) = tried.into_parts();
        let tree_scores = self.learned.accept(trial);
        self.show_scores(inputs, tree_scores);
    }

    /// Takes over the causes of the run, which order the trees by their delays; `false` if nothing has been scored.
    pub(super) fn set_causes(&mut self, causes: &RunCauses) -> bool {
        self.delays = Some(TreeDelays::new(causes, self.forest()));
        let Some(known) = self.scored.take() else {
            return false;
        };
        self.show_scores(known.inputs, known.of_model);
        true
    }

    /// Returns scores of a model with the named delays of the run.
    fn delayed(&self, mut of_model: TreeScores) -> TreeScores {
        if let Some(delays) = &self.delays {
            delays.apply(&mut of_model);
        }
        of_model
    }

    /// Takes over scores that were computed with `inputs`.
    pub(super) fn show_scores(&mut self, inputs: ModelInputs, of_model: TreeScores) {
        let before = self.detection().map(|before| &**before);
        let tree_scores = self.delayed(of_model.clone());
        let detection = Detection::with_held(tree_scores, inputs.held.clone(), before);
        self.scored = Some(ScoredForest {
            inputs,
            of_model,
            detection: Arc::new(detection),
            explainer: OnceCell::new(),
        });
    }

    /// Reorders the trees if `inputs` differ only in held labels; `false` if the model differs.
    pub(super) fn reorder(&mut self, inputs: &ModelInputs) -> bool {
        let known = self.scored.as_ref();
        let Some(known) = known.filter(|known| known.inputs.is_same_model(inputs)) else {
            return false;
        };
        let of_model = known.of_model.clone();
        self.show_scores(inputs.clone(), of_model);
        true
    }

    /// Returns the training that waits for an answer.
    pub(super) fn question(&self) -> Option<Arc<TrainingQuestion>> {
        self.waiting_trial.as_ref().map(TrialTraining::question)
    }

    /// Returns the next trees to label; empty while the scores come from a model file.
    pub(super) fn queue(&self, query: QueryStrategy) -> Arc<[TreeIdx]> {
        let own = self.scored.as_ref();
        let Some(scored) = own.filter(|scored| scored.inputs.file.is_none()) else {
            return Arc::new([]);
        };
        // Trees with a known cause need no label.
        let detection = &scored.detection;
        let asked = self
            .learned
            .queue(query, QUEUE_LEN + detection.num_explained);
        let is_open = |tree: &TreeIdx| detection.cause(*tree).is_none();
        asked.into_iter().filter(is_open).take(QUEUE_LEN).collect()
    }

    pub(super) fn doubts(&self) -> Arc<[Doubt]> {
        self.learned.doubts().into()
    }

    /// Returns the current model for use by other programs.
    pub(super) fn model(&self) -> Result<SavedModel, CommandError> {
        Ok(self.learned.model()?)
    }

    pub(super) fn model_text(&self) -> Result<String, CommandError> {
        Ok(self.learned.model_text()?)
    }

    /// Returns the representative of a selection: for trees of one incident, the one in which it began, otherwise the
    /// most abnormal one; for other groups, the centre.
    fn focus(&self, selection: &Selection, causes: Option<&TreeCauses>) -> Option<TreeIdx> {
        let trees = match selection {
            Selection::None => return None,
            Selection::One(tree) => return Some(*tree),
            Selection::Group(trees) => trees,
        };
        let of_incident = causes.filter(|it| it.common_incident(trees).is_some());
        let Some(causes) = of_incident else {
            return self.learned.centre(trees);
        };
        let most_abnormal = || {
            let order = self.detection()?.order.iter();
            order
                .copied()
                .find(|tree| trees.binary_search(tree).is_ok())
        };
        causes.root_among(trees).or_else(most_abnormal)
    }

    /// Returns why the focus of the selection has its score.
    pub(super) fn explain(
        &self,
        selection: &Selection,
        causes: Option<&TreeCauses>,
    ) -> Result<Option<Explanation>, CommandError> {
        let Some(focus) = self.focus(selection, causes) else {
            return Ok(None);
        };
        let Some(scored) = &self.scored else {
            return Ok(None);
        };
        Ok(Some(Explanation {
            neighbours: self.learned.neighbours(focus),
            ..self.explainer(scored)?.explanation(focus)
        }))
    }

    fn explainer<'a>(&self, scored: &'a ScoredForest) -> Result<&'a Explainer, CommandError> {
        if let Some(known) = scored.explainer.get() {
            return Ok(known);
        }
        let paths = if let Some(known) = self.paths.get() {
            known
        } else {
            let paths = CallPaths::of(self.forest(), Progress::none());
            let paths = Arc::new(paths.map_err(LearningError::from)?);
            self.paths.get_or_init(|| paths)
        };
        let (paths, labels) = (Arc::clone(paths), &scored.inputs.labels);
        let explainer = Explainer::with_paths(self.forest(), paths, &scored.detection, labels);
        Ok(scored.explainer.get_or_init(|| explainer))
    }

    /// Returns the map of the embedding, which is ready at once.
    pub(super) fn first_map(&self) -> Arc<TreeMap> {
        Arc::new(TreeMap::of_embedding(&self.learned))
    }

    /// Starts a map with another method; `false` if its map is ready at once.
    pub(super) fn begin_map(
        &mut self,
        method: MapMethod,
        progress: Progress<'_>,
    ) -> Result<bool, CommandError> {
        let begun = MapComputation::begin(&self.learned, method, progress)?;
        self.forming = begun.map(|map| PausableMap {
            map,
            is_paused: false,
        });
        Ok(self.forming.is_some())
    }

    /// Returns whether a map is being computed and is not paused.
    pub(super) fn is_forming(&self) -> bool {
        self.forming
            .as_ref()
            .is_some_and(|forming| !forming.is_paused)
    }

    /// Pauses or resumes the computation of the map. Returns the map in its present state.
    pub(super) fn pause_map(
        &mut self,
        is_paused: bool,
    ) -> Result<Option<Arc<TreeMap>>, CommandError> {
        let Some(forming) = &mut self.forming else {
            return Ok(None);
        };
        forming.is_paused = is_paused;
        let map = forming.map.snapshot(&self.learned, is_paused);
        Ok(Some(Arc::new(map.map_err(LearningError::from)?)))
    }

    /// Continues the computation of the map, and returns its present state. An error ends the computation.
    pub(super) fn advance_map(&mut self) -> Result<Option<Arc<TreeMap>>, CommandError> {
        let Some(mut forming) = self.forming.take() else {
            return Ok(None);
        };
        forming.map.advance()?;
        let map = forming.map.snapshot(&self.learned, forming.is_paused);
        let map = Arc::new(map.map_err(LearningError::from)?);
        if !forming.map.is_ready() {
            self.forming = Some(forming);
        }
        Ok(Some(map))
    }
}
