//! Models of the running job: the versions in force, a trial of another one, and its publication.

use callgrove_actions::context::ViewContext;
use callgrove_model::count_of;
use callgrove_model::thousands;
use callgrove_session::{Command, ModelInForce, ModelTrial, RunningModels, TreeModelInfo};
use egui::{RichText, TextEdit, Ui};

/// Maximum number of listed versions, the newest ones.
const MAX_VERSIONS: usize = 6;

/// The note for the next publication.
#[derive(Default)]
pub(crate) struct PublicationDraft {
    note: String,
}

impl PublicationDraft {
    /// Draws the section; empty if no running job is watched.
    pub(crate) fn ui(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        let watch = &ctx.snapshot.watch;
        if !watch.is_attached() {
            return;
        }
        let server = watch.address().to_owned();
        self.job_ui(ctx, &server, ui);
    }

    fn job_ui(&mut self, ctx: &mut ViewContext<'_>, server: &str, ui: &mut Ui) {
        let shown = ctx.snapshot.model.running_models.clone();
        let shown = shown.filter(|models| models.server == server);
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            ui.label(RichText::new("Running job").strong())
                .on_hover_text("The model that the detectors of the job score new executions with");
            let text = if shown.is_some() {
                "Check again"
            } else {
                "Compare with the job's model"
            };
            let help = "Query the models in force in the job, and compare yours with them";
            if ui.button(text).on_hover_text(help).clicked() {
                let server = server.to_owned();
                ctx.send(Command::FetchRunningModels { server });
            }
        });
        let Some(models) = shown else { return };
        new_trees_ui(ctx, models.num_new_trees, ui);
        if let Some(trial) = &models.trial {
            trial_ui(ctx, trial, ui);
            ui.horizontal(|ui| {
                let note = TextEdit::singleline(&mut self.note).hint_text("why (optional)");
                ui.add(note.desired_width(180.0).char_limit(1000));
                let publish = ui.button("Publish");
                let help =
                    "The detectors use it from their next step on; you can revert with one click";
                if publish.on_hover_text(help).clicked() {
                    ctx.send(Command::PublishModel {
                        server: server.to_owned(),
                        note: std::mem::take(&mut self.note),
                    });
                }
            });
        } else {
            ui.weak("Train a model first to compare and publish it.");
        }
        versions_ui(ctx, &models, ui);
    }
}

/// Shows the number of abnormal executions recorded since, and a button that loads them.
fn new_trees_ui(ctx: &mut ViewContext<'_>, num_new: usize, ui: &mut Ui) {
    if num_new == 0 {
        return;
    }
    ui.horizontal(|ui| {
        let new = count_of(num_new, "abnormal execution");
        ui.label(format!("{new} recorded since you opened these."));
        let help = "Read the job's records again; labels and selection are kept";
        if ui.button("Reload").on_hover_text(help).clicked() {
            ctx.send(Command::Reload);
        }
    });
}

/// Describes what the trained model would change.
fn trial_ui(ctx: &ViewContext<'_>, trial: &ModelTrial, ui: &mut Ui) {
    let all = count_of(trial.num_trees, "execution");
    let mut text = format!(
        "Of {all} here, your model classifies {} as abnormal",
        thousands(trial.num_abnormal)
    );
    match trial.in_force {
        Some(version) => {
            text += &format!(
                ". Compared with version {version}: {} added, {} removed",
                thousands(trial.num_new),
                thousands(trial.num_gone)
            );
        }
        None => text += "; the job has no model of this function in force",
    }
    ui.label(text + ".");
    if trial.num_missed > 0 {
        let missed = format!(
            "It misses {} that you labelled abnormal.",
            count_of(trial.num_missed, "execution")
        );
        ui.label(RichText::new(missed).color(ctx.theme.warning()));
    }
}

fn versions_ui(ctx: &mut ViewContext<'_>, models: &RunningModels, ui: &mut Ui) {
    if models.list.models.is_empty() {
        ui.weak("The job has no tree model.");
    }
    for model in &models.list.models {
        model_ui(ctx, &models.server, model, ui);
    }
    let instances = &models.list.instances;
    if !instances.is_empty() {
        let num_current = instances.iter().filter(|it| it.is_current).count();
        ui.weak(format!(
            "Active on {num_current} of {}",
            count_of(instances.len(), "AD instance")
        ));
    }
}

fn model_ui(ctx: &mut ViewContext<'_>, server: &str, model: &TreeModelInfo, ui: &mut Ui) {
    let put = |version: Option<u32>| Command::PutModelInForce {
        server: server.to_owned(),
        wanted: ModelInForce {
            name: model.name.clone(),
            version,
        },
    };
    ui.horizontal(|ui| {
        ui.label(&model.name);
        match model.in_force {
            Some(_) => {
                let off = ui.small_button("Turn off");
                if off
                    .on_hover_text("The detectors then score these executions without a model")
                    .clicked()
                {
                    ctx.send(put(None));
                }
            }
            None => {
                ui.weak("no version in force");
            }
        }
    });
    egui::Grid::new(("versions", &model.name))
        .num_columns(3)
        .spacing([12.0, 2.0])
        .show(ui, |ui| {
            for version in model.versions.iter().rev().take(MAX_VERSIONS) {
                let number = version.version;
                let is_in_force = model.in_force == Some(number);
                if is_in_force {
                    ui.strong(format!("version {number}"));
                    ui.label("in force");
                } else {
                    ui.label(format!("version {number}"));
                    let button = ui.small_button("Use");
                    let name = format!("Use version {number} of {}", model.name);
                    let help = "Reactivate this version";
                    if button.on_hover_text(help).accessible_name(name).clicked() {
                        ctx.send(put(Some(number)));
                    }
                }
                let by = if version.by.is_empty() {
                    String::new()
                } else {
                    format!("{}: ", version.by)
                };
                ui.add(egui::Label::new(RichText::new(by + &version.note).weak()).truncate());
                ui.end_row();
            }
        });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgrove_app_tests::changed;
    use callgrove_app_tests::demo_run::demo_snapshot;
    use callgrove_session::{Snapshot, TreeModelList, TreeModelVersion};
    use callgrove_view_tests::harness_of;
    use egui_kittest::kittest::Queryable as _;

    use callgrove_session::UserCommand;

    use super::*;

    const JOB: &str = "http://127.0.0.1:5559";

    fn version(version: u32, note: &str) -> TreeModelVersion {
        TreeModelVersion {
            version,
            note: note.to_owned(),
            by: "me".to_owned(),
            time_us: 0,
            num_bytes: 9,
        }
    }

    fn snapshot() -> Snapshot {
        let models = RunningModels {
            server: JOB.to_owned(),
            list: TreeModelList {
                models: vec![TreeModelInfo {
                    name: "a".to_owned(),
                    in_force: Some(2),
                    versions: vec![version(1, "first"), version(2, "second")],
                }],
                instances: Vec::new(),
            },
            trial: Some(ModelTrial {
                name: "a".to_owned(),
                in_force: Some(2),
                num_trees: 1_000,
                num_abnormal: 14,
                num_new: 2,
                num_gone: 3,
                num_missed: 1,
            }),
            num_new_trees: 12,
        };
        changed(demo_snapshot(), |it| {
            it.model.running_models = Some(Arc::new(models));
        })
    }

    #[test]
    fn a_trial_shows_changes_and_its_model_is_published_with_a_note_and_reverted() {
        let (mut harness, sent) =
            harness_of::<PublicationDraft>(snapshot(), [600.0, 400.0], |ctx, draft, ui| {
                draft.job_ui(ctx, JOB, ui);
            });
        harness.get_by_label(
            "Of 1,000 executions here, your model classifies 14 as abnormal. Compared with version 2: 2 added, 3 removed.",
        );
        harness.get_by_label("It misses 1 execution that you labelled abnormal.");
        harness.get_by_label("12 abnormal executions recorded since you opened these.");
        harness.get_by_label("Reload").click();
        harness.run();
        harness.state_mut().note = "fewer alarms".to_owned();
        harness.get_by_label("Publish").click();
        harness.run();
        harness.get_by_label("Use version 1 of a").click();
        harness.run();
        let wanted = ModelInForce {
            name: "a".to_owned(),
            version: Some(1),
        };
        let server = JOB.to_owned();
        let expected = [
            Command::Reload,
            Command::PublishModel {
                server: server.clone(),
                note: "fewer alarms".to_owned(),
            },
            Command::PutModelInForce { server, wanted },
        ];
        assert_eq!(*sent.borrow(), expected.map(UserCommand::from));
    }
}
