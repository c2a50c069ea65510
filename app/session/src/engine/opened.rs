//! An open trace: its journal, its histories, and the forest of the root function.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{Forest, Trace, TreeIdx};

use super::Stop;
use super::publisher::Publisher;
use crate::history::{EditState, History};
use crate::host::Host;
use crate::journal::{Entry, Journal};
use crate::learning::{self, LearnSettings, Learned, LearningError};
use crate::map::{FormingMap, MapMethod, TreeMap};
use crate::root::{RootError, grow_forest};
use crate::session_file::SessionFile;
use crate::{Analysis, Detection, Explanation, ModelSettings, Selection, Severity, Suggestion};

/// Trees that are told to be judged next; after each training there are new ones.
const QUEUE_LEN: usize = 64;

pub(super) struct Opened {
    source: String,
    trace: Arc<Trace>,
    suggestions: Arc<[Suggestion]>,
    /// Whether the journal could be opened; without it labels live in memory only.
    has_journal: bool,
    histories: BTreeMap<String, History>,
    last_root: Option<String>,
    grown: Option<Grown>,
}

/// The forest of the root function and what was learned about it.
struct Grown {
    analysis: Arc<Analysis>,
    learned: Learned,
    /// The newest scores, and the state that they belong to.
    detection: Option<(EditState, Arc<Detection>)>,
    /// The map that is not done yet, and whether it waits.
    forming: Option<(FormingMap, bool)>,
}

impl Opened {
    /// Reads a trace and replays its journal.
    pub(super) fn read(
        host: &mut dyn Host,
        publisher: &mut Publisher,
        source: &str,
    ) -> Result<Self, Stop> {
        let trace = publisher.stage("Reading the trace", |progress| {
            host.load_trace(source, progress)
        })?;
        let suggestions = publisher.stage("Looking for root functions", |_| {
            learning::suggest_roots(&trace)
        });
        let (lines, has_journal) = match host.open_journal(source) {
            Ok(lines) => (lines, true),
            Err(error) => {
                let text =
                    format!("Labels cannot be journalled and would be lost in a crash: {error}.");
                publisher.notice(Severity::Warning, text);
                (Vec::new(), false)
            }
        };
        let journal = Journal::replay(&lines);
        for (number, cause) in &journal.unreadable {
            publisher.notice(
                Severity::Warning,
                format!("Line {number} of the journal was left out: {cause}."),
            );
        }
        let num_labels: usize = journal
            .histories
            .values()
            .map(|history| history.now().labels.len())
            .sum();
        if num_labels > 0 {
            publisher.notice(
                Severity::Info,
                format!("{num_labels} labels of your last session are back."),
            );
        }
        let opened = Self {
            source: source.to_owned(),
            trace: Arc::new(trace),
            suggestions: suggestions.into(),
            has_journal,
            histories: journal.histories,
            last_root: journal.root,
            grown: None,
        };
        if lines.is_empty() {
            opened.journal(host, &Entry::header(source))?;
        }
        Ok(opened)
    }

    /// Puts the trace into the next snapshot; the forest of an earlier one goes.
    pub(super) fn show(&self, publisher: &mut Publisher) {
        let view = &mut publisher.view;
        view.source = Some(self.source.clone());
        view.trace = Some(Arc::clone(&self.trace));
        view.suggestions = Arc::clone(&self.suggestions);
        clear_forest(publisher);
        publisher.publish();
    }

    /// The root function of the last session.
    pub(super) fn last_root(&self) -> Option<&str> {
        self.last_root.as_deref()
    }

    /// The most promising root function.
    pub(super) fn best_root(&self) -> Result<String, RootError> {
        if self.trace.num_executions() == 0 {
            return Err(RootError::EmptyTrace);
        }
        self.suggestions
            .first()
            .map(|best| best.name.clone())
            .ok_or(RootError::NothingToSuggest)
    }

    /// Grows and embeds the forest of a root function.
    pub(super) fn grow(
        &mut self,
        pattern: &str,
        settings: &LearnSettings,
        publisher: &mut Publisher,
    ) -> Result<(), Stop> {
        let (forest, root_name) = grow_forest(&self.trace, pattern)?;
        let num_unclosed = forest.num_unclosed();
        let (analysis, learned) = publisher.stage("Learning the trees", |progress| {
            learning::analyze(forest, root_name, settings, progress)
        })?;
        if num_unclosed > 0 {
            let text = format!(
                "{num_unclosed} executions of {} never ended and are left out.",
                analysis.root_name
            );
            publisher.notice(Severity::Warning, text);
        }
        clear_forest(publisher);
        self.histories
            .entry(analysis.root_name.clone())
            .or_default();
        let analysis = Arc::new(analysis);
        publisher.view.analysis = Some(Arc::clone(&analysis));
        publisher.view.map = Some(Arc::new(TreeMap::of_embedding(&learned)));
        self.grown = Some(Grown {
            analysis,
            learned,
            detection: None,
            forming: None,
        });
        Ok(())
    }

    /// Begins a map by another method; the old one stays until the new one has a shape.
    pub(super) fn draw_map(
        &mut self,
        method: MapMethod,
        publisher: &mut Publisher,
    ) -> Result<(), Stop> {
        let grown = self.grown.as_mut().ok_or(Stop::NothingOpen)?;
        let learned = &grown.learned;
        let begun = publisher.stage("Looking for neighbours", |progress| {
            FormingMap::begin(learned, method, progress)
        })?;
        if begun.is_none() {
            publisher.view.map = Some(Arc::new(TreeMap::of_embedding(learned)));
        }
        grown.forming = begun.map(|map| (map, false));
        Ok(())
    }

    /// Whether a map is forming and may go on.
    pub(super) fn is_forming(&self) -> bool {
        let forming = self.grown.as_ref().and_then(|grown| grown.forming.as_ref());
        forming.is_some_and(|(_, is_paused)| !is_paused)
    }

    pub(super) fn pause_map(
        &mut self,
        is_paused: bool,
        publisher: &mut Publisher,
    ) -> Result<(), Stop> {
        let Some(grown) = &mut self.grown else {
            return Ok(());
        };
        if let Some((map, waits)) = &mut grown.forming {
            *waits = is_paused;
            let look = map.look(&grown.learned, is_paused);
            publisher.view.map = Some(Arc::new(look.map_err(LearningError::from)?));
        }
        Ok(())
    }

    /// Goes on with the map that forms and shows it.
    pub(super) fn advance_map(&mut self, publisher: &mut Publisher) -> Result<(), Stop> {
        let Some(grown) = &mut self.grown else {
            return Ok(());
        };
        let Some((mut map, is_paused)) = grown.forming.take() else {
            return Ok(());
        };
        map.advance()?;
        let look = map.look(&grown.learned, is_paused);
        publisher.view.map = Some(Arc::new(look.map_err(LearningError::from)?));
        if !map.is_ready() {
            grown.forming = Some((map, is_paused));
        }
        Ok(())
    }

    /// The journal line that names the root function.
    pub(super) fn root_entry(&self) -> Result<Entry, Stop> {
        Ok(Entry::Root(self.grown()?.analysis.root_name.clone()))
    }

    /// Appends to the journal, if there is one.
    pub(super) fn journal(&self, host: &mut dyn Host, entry: &Entry) -> Result<(), Stop> {
        if self.has_journal {
            host.append_journal(&entry.to_line())?;
        }
        Ok(())
    }

    pub(super) fn forest(&self) -> Result<&Forest, Stop> {
        Ok(&self.grown()?.analysis.forest)
    }

    fn grown(&self) -> Result<&Grown, Stop> {
        self.grown.as_ref().ok_or(Stop::NothingOpen)
    }

    pub(super) fn history_mut(&mut self) -> Result<&mut History, Stop> {
        let root = self.grown()?.analysis.root_name.clone();
        Ok(self.histories.entry(root).or_default())
    }

    fn history(&self) -> Result<&History, Stop> {
        self.histories
            .get(&self.grown()?.analysis.root_name)
            .ok_or(Stop::NothingOpen)
    }

    /// Brings the next snapshot up to the history: labels, and new scores if the model changed.
    pub(super) fn refresh(
        &mut self,
        host: &mut dyn Host,
        defaults: &LearnSettings,
        publisher: &mut Publisher,
    ) -> Result<(), Stop> {
        let history = self.history()?;
        let now = history.now().clone();
        let forest = self.forest()?;
        let view = &mut publisher.view;
        view.undo = history.undo_text().map(str::to_owned);
        view.redo = history.redo_text().map(str::to_owned);
        view.auto_train = now.auto_train;
        view.labels_by_tree = now.labels.by_tree(forest).into();
        view.num_untrained = num_untrained(&now);
        view.default_settings = defaults.of_model();
        view.settings = now.settings.unwrap_or(view.default_settings);
        view.doubts = self.grown()?.learned.doubts(&view.labels_by_tree).into();
        view.labels = Arc::clone(&now.labels);
        publisher.publish();
        let before = self.grown()?.detection.clone();
        let is_current = before
            .as_ref()
            .is_some_and(|(state, _)| state.has_same_model(&now));
        if is_current {
            return Ok(());
        }
        let before = before.map(|(_, detection)| detection);
        let detection = if let Some(path) = &now.model {
            let scores = self.score_with_file(host, path)?;
            Detection::new(scores, before.as_deref())
        } else {
            self.tune(publisher.view.settings)?;
            self.train(&now, before.as_deref(), publisher)?
        };
        let detection = Arc::new(detection);
        publisher.view.detection = Some(Arc::clone(&detection));
        if let Some(grown) = &mut self.grown {
            grown.detection = Some((now, detection));
        }
        self.ask(publisher);
        Ok(())
    }

    /// Takes other settings for the next training.
    pub(super) fn tune(&mut self, settings: ModelSettings) -> Result<(), Stop> {
        let grown = self.grown.as_mut().ok_or(Stop::NothingOpen)?;
        Ok(grown.learned.tune(settings)?)
    }

    /// Puts the next trees to judge into the next snapshot.
    pub(super) fn ask(&self, publisher: &mut Publisher) {
        let view = &mut publisher.view;
        let own = self.grown.as_ref().filter(|grown| {
            let state = grown.detection.as_ref();
            state.is_some_and(|(state, _)| state.model.is_none())
        });
        view.queue = own.map_or_else(
            || Arc::new([]) as Arc<[TreeIdx]>,
            |grown| grown.learned.queue(view.query, QUEUE_LEN).into(),
        );
    }

    fn train(
        &mut self,
        now: &EditState,
        before: Option<&Detection>,
        publisher: &Publisher,
    ) -> Result<Detection, Stop> {
        let grown = self.grown.as_mut().ok_or(Stop::NothingOpen)?;
        let labels = now.trained.by_tree(&grown.analysis.forest);
        let scores = publisher.stage("Training", |progress| {
            grown.learned.train(&labels, progress)
        })?;
        Ok(Detection::new(scores, before))
    }

    /// Scores of the forest by a model file, shape `[n_trees]`.
    pub(super) fn score_with_file(
        &self,
        host: &mut dyn Host,
        path: &str,
    ) -> Result<Vec<f64>, Stop> {
        let bytes = host.read_file(path)?;
        learning::score_with_model(self.forest()?, &bytes).map_err(|cause| Stop::File {
            cause: cause.to_string(),
            path: path.to_owned(),
        })
    }

    /// The model as it would be saved.
    pub(super) fn model_text(&self) -> Result<String, Stop> {
        Ok(self.grown()?.learned.model_text()?)
    }

    /// Why the focus of the selection has its score.
    pub(super) fn explain(&self, selection: &Selection) -> Result<Option<Explanation>, Stop> {
        let grown = self.grown()?;
        let focus = match selection {
            Selection::None => return Ok(None),
            Selection::One(tree) => *tree,
            Selection::Group(trees) => match grown.learned.centre(trees) {
                Some(centre) => centre,
                None => return Ok(None),
            },
        };
        Ok(grown.learned.explain(focus)?)
    }

    /// The session as it would be saved.
    pub(super) fn session_file(&self) -> Result<SessionFile, Stop> {
        Ok(SessionFile::of(
            &self.source,
            &self.grown()?.analysis.root_name,
            self.history()?.now(),
        ))
    }
}

fn clear_forest(publisher: &mut Publisher) {
    let view = &mut publisher.view;
    view.analysis = None;
    view.map = None;
    view.detection = None;
    view.selection = Selection::None;
    view.explanation = None;
    view.queue = Arc::new([]);
    view.doubts = Arc::new([]);
}

/// Labels that were given, changed or taken away since the last training.
fn num_untrained(now: &EditState) -> usize {
    let differs = |(tree, label)| now.trained.get(&tree) != Some(label);
    let new = now.labels.iter().filter(|&label| differs(label)).count();
    let removed = now
        .trained
        .iter()
        .filter(|(tree, _)| now.labels.get(tree).is_none())
        .count();
    new + removed
}
