//! Expert settings of the model: false-alarm rate, ν and the kernel's width.

use callgrove_actions::context::ViewContext;
use callgrove_session::{Command, ModelSettings};
use egui::{Button, CollapsingHeader, Label, RichText, Slider, Ui};

/// Help text of the false-alarm rate.
const RATE_HELP: &str = "Fraction of the executions classified as abnormal that may be so by chance: 0.1 means about 1 in 10. A larger value classifies more as abnormal.";
/// Help text of ν.
const NU_HELP: &str = "Fraction of the normal executions that may lie outside the decision boundary. A larger value fits the bulk more tightly.";
/// Help text of γ.
const GAMMA_HELP: &str = "Inverse width of the kernel. With a larger value only very similar executions count as similar, and a label affects fewer of them.";

/// Settings while the user changes them.
#[derive(Default)]
pub(crate) struct SettingsDraft {
    draft: Option<Draft>,
}

struct Draft {
    /// The settings of the session when the change began.
    base: ModelSettings,
    wanted: ModelSettings,
    is_sent: bool,
}

impl SettingsDraft {
    /// Draws the sliders; a change is sent when a slider is released.
    pub(super) fn ui(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        if ctx.snapshot.detection().is_none() {
            return;
        }
        ui.add_space(2.0);
        CollapsingHeader::new("Model settings")
            .id_salt("model settings")
            .show(ui, |ui| {
                self.sliders_ui(ctx, ui);
                let is_default = ctx.snapshot.model.settings == ctx.snapshot.model.default_settings;
                if ui
                    .add_enabled(!is_default, Button::new("Defaults"))
                    .clicked()
                {
                    ctx.send(Command::Tune(None));
                }
            });
    }

    fn sliders_ui(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        let base = ctx.snapshot.model.settings;
        let draft = match &mut self.draft {
            Some(draft) if draft.base == base => draft,
            draft => draft.insert(Draft {
                base,
                wanted: base,
                is_sent: false,
            }),
        };
        let mut is_held = false;
        for (name, help, value, range) in [
            (
                "False alarms",
                RATE_HELP,
                &mut draft.wanted.rate,
                0.001..=0.5,
            ),
            ("Outliers ν", NU_HELP, &mut draft.wanted.nu, 0.001..=1.0),
            ("Kernel γ", GAMMA_HELP, &mut draft.wanted.gamma, 0.01..=10.0),
        ] {
            ui.horizontal(|ui| {
                let label = ui.label(name);
                let slider = Slider::new(value, range).logarithmic(true).max_decimals(3);
                let response = ui.add(slider).labelled_by(label.id);
                draft.is_sent &= !response.changed();
                is_held |= response.dragged();
            });
            ui.add(Label::new(RichText::new(help).weak().small()).wrap());
        }
        if draft.wanted != base && !draft.is_sent && !is_held {
            draft.is_sent = true;
            ctx.send(Command::Tune(Some(draft.wanted)));
        }
    }
}
