//! The run that is open, and the questions that tools ask about it.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use callgrove_actions::PictureView;
use callgrove_headless::HeadlessSession;
use callgrove_model::{Forest, Label, Progress, TreeIdx};
use callgrove_query::{IncidentRow, RunCauses, RunPatterns};
use callgrove_session::{Command, Detection, Explainer, Snapshot, TreeRow, tree_rows};
use callgrove_source::PATH_SEPARATOR;
use callgrove_tables::RunContents;
use callgrove_views::picture::{PictureSubject, ViewPicture, draw_view};
use serde_json::{Value, json};

use crate::access::{RunAccess, ServerSettings, WantedRecords};
use crate::allowed_places::AllowedPlaces;
use crate::answer::RowAnswer;

/// Size of pictures, in points: legible where assistants show them.
const PICTURE_SIZE: [f32; 2] = [1_200.0, 720.0];

/// The open run. Another one replaces it when a tool names it.
pub(crate) struct OpenRuns {
    access: Box<dyn RunAccess>,
    allowed: AllowedPlaces,
    /// Sources of the run that is meant if a tool names none.
    usual: Vec<String>,
    function: Option<String>,
    open: Option<OpenRun>,
}

/// A run, its session, and what was computed for its newest scores.
struct OpenRun {
    sources: Vec<String>,
    /// The function that a tool named last.
    function: Option<String>,
    session: HeadlessSession,
    explainer: Option<(Arc<Snapshot>, Arc<Explainer>)>,
}

/// A picture that a tool asks for.
pub(crate) struct WantedPicture {
    pub(crate) view: PictureView,
    /// Number of the incident, from 1.
    pub(crate) incident: Option<usize>,
    /// Name of the execution.
    pub(crate) execution: Option<String>,
    /// The earlier run that the run is compared with.
    pub(crate) before: Option<String>,
    pub(crate) is_dark: bool,
}

/// Which run and function a tool is about.
pub(crate) struct ToolSubject {
    pub(crate) run: Option<String>,
    pub(crate) function: Option<String>,
}

impl OpenRuns {
    pub(crate) fn new(access: Box<dyn RunAccess>, settings: ServerSettings) -> Self {
        let named = settings.sources.iter().cloned();
        Self {
            access,
            allowed: AllowedPlaces::new(named.chain(settings.allowed)),
            usual: settings.sources,
            function: settings.function,
            open: None,
        }
    }

    /// Returns the session of a run, opened if it is not.
    fn session_of(&mut self, run: Option<&str>) -> Result<&mut OpenRun> {
        let sources = if let Some(run) = run {
            self.allowed.check(run)?;
            vec![run.to_owned()]
        } else {
            self.usual.clone()
        };
        ensure!(
            !sources.is_empty(),
            "no run is named: pass its path as `run`, or start `callgrove mcp` with one"
        );
        let is_open = self.open.as_ref().is_some_and(|it| it.sources == sources);
        if !is_open {
            self.open = None;
            let source = sources.join(PATH_SEPARATOR);
            let function = self.function.as_deref();
            self.open = Some(OpenRun {
                session: self.access.open_session(&source, function)?,
                sources,
                function: self.function.clone(),
                explainer: None,
            });
        }
        self.open.as_mut().context("the run was closed")
    }

    /// Returns the state of a run.
    fn snapshot_of(&mut self, run: Option<&str>) -> Result<Arc<Snapshot>> {
        Ok(self.session_of(run)?.snapshot())
    }

    /// Returns what a run consists of, and what is damaged in it.
    pub(crate) fn info(&mut self, run: Option<&str>) -> Result<Value> {
        let snapshot = self.snapshot_of(run)?;
        let trace = snapshot.trace().context("no trace is open")?;
        let source = snapshot.source.as_deref().unwrap_or_default();
        let contents = RunContents {
            source,
            trace,
            suggestions: snapshot.suggestions(),
        };
        Ok(contents.to_json())
    }

    /// Returns the incidents of a run, the costliest first.
    pub(crate) fn incidents(
        &mut self,
        run: Option<&str>,
        with_by_design: bool,
        limit: usize,
    ) -> Result<Value> {
        let snapshot = self.snapshot_of(run)?;
        let causes = causes_of(&snapshot)?;
        let rows: Vec<IncidentRow> = causes
            .incidents()
            .iter()
            .enumerate()
            .filter(|(_, incident)| with_by_design || !incident.kind.is_by_design())
            .map(|(number, incident)| causes.incident_row(number, incident))
            .collect();
        RowAnswer::of(&rows, limit)
    }

    /// Returns the executions of a function, the most abnormal first, with the reasons.
    pub(crate) fn analyze(
        &mut self,
        subject: &ToolSubject,
        only_abnormal: bool,
        limit: usize,
    ) -> Result<Value> {
        let open = self.judged(subject)?;
        let (snapshot, explainer) = open.explained()?;
        let (forest, detection) = forest_of(&snapshot)?;
        // Reasons are computed for the rows that are returned.
        let rows: Vec<TreeRow> = tree_rows(
            forest,
            detection,
            &snapshot.edits.labels_by_tree,
            snapshot.causes().map(AsRef::as_ref),
            |tree| explainer.reasons(tree),
        )
        .filter(|row| row.abnormal || !only_abnormal)
        .take(limit)
        .collect();
        let num_all = if only_abnormal {
            detection.abnormal.iter().filter(|it| **it).count()
        } else {
            forest.len()
        };
        let mut answer = RowAnswer::of_part(&rows, num_all)?;
        let root = snapshot.analysis().map(|it| it.root_name.clone());
        answer["function"] = root.into();
        answer["num_executions"] = forest.len().into();
        answer["num_abnormal"] = detection.num_abnormal.into();
        Ok(answer)
    }

    /// Returns what delayed the abnormal executions of a function.
    pub(crate) fn causes(&mut self, subject: &ToolSubject, limit: usize) -> Result<Value> {
        let snapshot = self.judged(subject)?.snapshot();
        let (forest, detection) = forest_of(&snapshot)?;
        let causes = causes_of(&snapshot)?;
        let listed = detection
            .order
            .iter()
            .filter(|&&tree| detection.is_unusual(tree));
        let rows: Vec<_> = listed.map(|&tree| causes.row(forest, tree)).collect();
        RowAnswer::of(&rows, limit)
    }

    /// Returns the repeated patterns of a run.
    pub(crate) fn patterns(&mut self, run: Option<&str>, limit: usize) -> Result<Value> {
        let snapshot = self.snapshot_of(run)?;
        let trace = snapshot.trace().context("no trace is open")?;
        let patterns = RunPatterns::find(trace, Progress::none())?;
        let listed = patterns.listed();
        let rows = listed.iter().take(limit);
        let rows: Vec<_> = rows
            .map(|pattern| patterns.row(pattern, snapshot.inspected.reference))
            .collect();
        let mut answer = RowAnswer::of_part(&rows, listed.len())?;
        answer["iterations"] = serde_json::to_value(patterns.iterations_row())?;
        Ok(answer)
    }

    /// Returns what changed between two runs, the costliest change first.
    pub(crate) fn compare(&self, before: &str, after: &str, limit: usize) -> Result<Value> {
        self.allowed.check(before)?;
        self.allowed.check(after)?;
        let comparison = self.access.compare(before, after)?;
        let mut answer = RowAnswer::of(&comparison.rows(), limit)?;
        answer["limits"] = comparison.limits().into();
        Ok(answer)
    }

    /// Returns records of a provenance database, and the number of those that are left out.
    pub(crate) fn records(&self, wanted: &WantedRecords) -> Result<Value> {
        self.allowed.check(&wanted.database)?;
        let found = self.access.records(wanted)?;
        RowAnswer::of_part(&found.records, found.num_all)
    }

    /// Draws a view of a run, and returns its title and the picture as PNG.
    pub(crate) fn draw(
        &mut self,
        subject: &ToolSubject,
        wanted: &WantedPicture,
    ) -> Result<(String, Vec<u8>)> {
        if let Some(before) = &wanted.before {
            self.allowed.check(before)?;
        }
        let open = self.judged(subject)?;
        if let Some(source) = wanted.before.clone() {
            open.perform([Command::CompareWith { source }])?;
        }
        let snapshot = open.snapshot();
        let drawn = match (wanted.incident, &wanted.execution) {
            (Some(number), _) => {
                let index = number.checked_sub(1);
                PictureSubject::Incident(index.context("incidents are counted from 1")?)
            }
            (None, Some(name)) => PictureSubject::Tree(tree_named(forest_of(&snapshot)?.0, name)?),
            (None, None) => PictureSubject::Run,
        };
        let wanted = ViewPicture {
            subject: drawn,
            is_dark: wanted.is_dark,
            ..ViewPicture::new(wanted.view, PICTURE_SIZE)
        };
        let (session, wait) = open.session.parts();
        let picture = draw_view(session, &wanted, wait)?;
        Ok((picture.title().to_owned(), picture.png()?))
    }

    /// Labels an execution, or removes its label, and returns the number of labels.
    pub(crate) fn label(
        &mut self,
        subject: &ToolSubject,
        execution: &str,
        label: Option<Label>,
    ) -> Result<Value> {
        let author = author(self.access.user());
        let open = self.judged(subject)?;
        let snapshot = open.snapshot();
        let (forest, _) = forest_of(&snapshot)?;
        let tree = tree_named(forest, execution)?;
        let trees = vec![tree];
        open.perform([Command::SetName(author), Command::SetLabel { trees, label }])?;
        let now = open.snapshot();
        // A training that would change many results waits for a person's answer.
        Ok(json!({
            "num_labels": now.edits.labels.len(),
            "num_untrained": now.edits.num_untrained,
            "waits_for_a_person": now.model.question.is_some(),
        }))
    }

    /// Returns the run with the forest of a function judged.
    fn judged(&mut self, subject: &ToolSubject) -> Result<&mut OpenRun> {
        let open = self.session_of(subject.run.as_deref())?;
        if subject.function.is_some() && subject.function != open.function {
            let function = subject.function.clone().unwrap_or_default();
            open.perform([Command::SetRoot { function }])?;
            open.function.clone_from(&subject.function);
        }
        Ok(open)
    }
}

impl OpenRun {
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(self.session.session.snapshot())
    }

    /// Carries out commands.
    fn perform(&mut self, commands: impl IntoIterator<Item = Command>) -> Result<()> {
        match self.session.perform(commands)? {
            Some(error) => bail!("{error}"),
            None => Ok(()),
        }
    }

    /// Returns the state, and what compares its trees with usual ones.
    fn explained(&mut self) -> Result<(Arc<Snapshot>, Arc<Explainer>)> {
        let snapshot = self.snapshot();
        let (forest, detection) = forest_of(&snapshot)?;
        if let Some((of, explainer)) = &self.explainer
            && of.revision == snapshot.revision
        {
            return Ok((snapshot, Arc::clone(explainer)));
        }
        let labels = &snapshot.edits.labels_by_tree;
        let explainer = Explainer::new(forest, detection, labels, Progress::none())?;
        let explainer = Arc::new(explainer);
        self.explainer = Some((Arc::clone(&snapshot), Arc::clone(&explainer)));
        Ok((snapshot, explainer))
    }
}

/// Returns the author of an assistant's labels, so that a person can recognise them.
fn author(user: Option<String>) -> String {
    user.map_or_else(
        || "an assistant".to_owned(),
        |user| format!("{user}, by an assistant"),
    )
}

fn forest_of(snapshot: &Snapshot) -> Result<(&Forest, &Detection)> {
    let analysis = snapshot.analysis();
    let analysis =
        analysis.context("no function of this run is analysed: name one as `function`")?;
    let detection = snapshot.detection();
    Ok((
        &analysis.forest,
        detection.context("the executions are not judged")?,
    ))
}

fn causes_of(snapshot: &Snapshot) -> Result<&RunCauses> {
    let causes = snapshot
        .causes()
        .map(AsRef::as_ref)
        .filter(|it| it.is_timed());
    causes.context("causes need a trace: the trees of a file have no times")
}

/// Returns the tree with a code such as `#0-40`, or with an event label such as `0:3:17`.
fn tree_named(forest: &Forest, name: &str) -> Result<TreeIdx> {
    let mut trees = (0..forest.len()).map(TreeIdx::from_index);
    let found = trees.find(|&tree| {
        forest.code(tree).to_string() == name || forest.label(tree).to_string() == name
    });
    found.with_context(|| {
        format!(
            "no analysed execution is {name}: name it as `analyze` does, #RANK-INDEX or an event_id"
        )
    })
}
