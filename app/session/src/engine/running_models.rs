//! The tree models of a running job: comparing, publishing and reverting them.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_model::{Forest, Label, TreeIdx};
use callgrove_pserver::{ModelInForce, ModelPublication};
use callgrove_query::EventKey;

use super::Engine;
use super::error::CommandError;
use crate::host::{HostError, RunningJob};
use crate::learning::SavedModel;
use crate::model::{ModelTrial, RunningModels};
use crate::snapshot::Severity;

impl Engine {
    /// Fetches the active models of a job from its server, and compares the trained model with the active one.
    pub(super) fn fetch_running_models(&mut self, server: &str) -> Result<(), CommandError> {
        let mut job = self.executor.host.running_job(server)?;
        let list = job.tree_models()?;
        let model = self
            .state
            .forest()
            .ok()
            .and_then(|(_, embedded)| embedded.model().ok());
        let trial = match model {
            None => None,
            Some(model) => {
                let name = model.default_name();
                let known = list.models.iter().find(|known| known.name == name);
                let current = match known.and_then(|known| known.in_force) {
                    None => None,
                    Some(version) => {
                        let text = job.tree_model(&name, version)?;
                        Some((version, SavedModel::read(text.as_bytes())?))
                    }
                };
                Some(self.compare_models(name, &model, current)?)
            }
        };
        let num_new_trees = match self.state.forest() {
            Ok((_, embedded)) => num_new_trees(&mut *job, embedded.forest())?,
            Err(_) => 0,
        };
        self.executor.publisher.view.model.running_models = Some(Arc::new(RunningModels {
            server: server.to_owned(),
            list,
            trial,
            num_new_trees,
        }));
        Ok(())
    }

    /// Compares the results of two models for the open forest.
    fn compare_models(
        &self,
        name: String,
        model: &SavedModel,
        current: Option<(u32, SavedModel)>,
    ) -> Result<ModelTrial, CommandError> {
        let (_, embedded) = self.state.forest()?;
        let abnormal = |model: &SavedModel| -> Result<BTreeSet<usize>, CommandError> {
            let verdicts = model.verdicts(embedded.forest())?.into_iter().enumerate();
            let abnormal = verdicts.filter(|(_, verdict)| verdict.is_abnormal);
            Ok(abnormal.map(|(tree, _)| tree).collect())
        };
        let after = abnormal(model)?;
        let before = match &current {
            Some((_, current)) => abnormal(current)?,
            None => BTreeSet::new(),
        };
        let labels = self
            .executor
            .publisher
            .view
            .edits
            .labels
            .by_tree(embedded.forest());
        let labels = labels.iter().enumerate();
        let labelled = labels.filter(|(_, label)| **label == Some(Label::Abnormal));
        Ok(ModelTrial {
            name,
            in_force: current.map(|(version, _)| version),
            num_trees: embedded.forest().len(),
            num_abnormal: after.len(),
            num_new: after.difference(&before).count(),
            num_gone: before.difference(&after).count(),
            num_missed: labelled.filter(|(tree, _)| !after.contains(tree)).count(),
        })
    }

    /// Publishes the trained model to the AD instances of a job.
    pub(super) fn publish_model(&mut self, server: &str, note: &str) -> Result<(), CommandError> {
        let (_, embedded) = self.state.forest()?;
        let name = embedded.model()?.default_name();
        let publication = ModelPublication {
            model: embedded.model_text()?,
            name,
            note: note.to_owned(),
            by: self.executor.user().unwrap_or_default(),
        };
        let version = self.request_job(server, "Publishing the model", |job| {
            job.publish(&publication)
        })?;
        let text = format!(
            "Version {version} of {} is in force: the detectors use it from their next step on.",
            publication.name
        );
        self.executor.notice(Severity::Info, text);
        self.fetch_running_models(server)
    }

    /// Sends a job a request that it acknowledges once its database has stored it, which may take a while.
    fn request_job<T>(
        &mut self,
        server: &str,
        stage: &str,
        message: impl FnOnce(&mut dyn RunningJob) -> Result<T, HostError>,
    ) -> Result<T, CommandError> {
        let (host, publisher) = (&mut self.executor.host, &self.executor.publisher);
        publisher.stage(stage, |progress| {
            progress.at(0.0)?;
            Ok(message(&mut *host.running_job(server)?)?)
        })
    }

    /// Activates a version again, or deactivates the model.
    pub(super) fn put_model_in_force(
        &mut self,
        server: &str,
        wanted: &ModelInForce,
    ) -> Result<(), CommandError> {
        self.request_job(server, "Changing the model in force", |job| {
            job.put_in_force(wanted)
        })?;
        let name = &wanted.name;
        let text = match wanted.version {
            Some(version) => format!("Version {version} of {name} is in force again."),
            None => {
                format!("No version of {name} is in force: its executions are no longer scored.")
            }
        };
        self.executor.notice(Severity::Info, text);
        self.fetch_running_models(server)
    }
}

/// Returns the number of abnormal trees that the job has recorded of a forest's functions and that are not in it.
fn num_new_trees(job: &mut dyn RunningJob, forest: &Forest) -> Result<usize, CommandError> {
    let trace = forest.trace();
    if !trace.is_selection {
        return Ok(0);
    }
    let trees = (0..forest.len()).map(TreeIdx::from_index);
    let open: BTreeSet<EventKey> = trees.map(|tree| EventKey::of(forest, tree)).collect();
    let mut num_new = 0;
    for &func in forest.functions() {
        let recorded = job.abnormal_trees(trace.names.name(func))?;
        num_new += recorded.iter().filter(|key| !open.contains(key)).count();
    }
    Ok(num_new)
}
