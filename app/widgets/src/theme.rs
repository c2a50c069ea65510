//! Design tokens: the only place where a colour is made.
//!
//! Colours are the Okabe–Ito set and tones between them, which people with any kind of colour vision can distinguish.
//! Vermillion is reserved for abnormal executions. MPI functions are blue and all others green or warm, so that waiting
//! and computing differ at first sight. A function has the same colour in all views of all runs.

mod functions;

use std::sync::Arc;

use callgrove_model::{FuncId, Trace};
use callgrove_session::{CauseKind, DelayRole, Label};
use egui::{
    Color32, CornerRadius, FontDefinitions, FontFamily, FontId, Rgba, Stroke, Style, TextStyle,
    Visuals, style::WidgetVisuals,
};

const SKY: Color32 = Color32::from_rgb(0x56, 0xB4, 0xE9);
const YELLOW: Color32 = Color32::from_rgb(0xF5, 0xC7, 0x10);
const BLUE: Color32 = Color32::from_rgb(0x00, 0x68, 0xA3);
const VERMILLION: Color32 = Color32::from_rgb(0xD5, 0x5E, 0x00);

/// The Cividis colour map from dark to light (Nuñez, Anderton and Renslow 2018, doi 10.1371/journal.pone.0199239): its
/// order is perceived alike with any kind of colour vision.
const HEAT: [[f32; 3]; 6] = [
    [0.0, 34.0, 78.0],
    [53.0, 69.0, 108.0],
    [102.0, 105.0, 112.0],
    [148.0, 142.0, 119.0],
    [200.0, 184.0, 102.0],
    [254.0, 232.0, 56.0],
];

/// Colours of classes: sky, green, purple, yellow, blue, and lighter or darker tones of the first three. None is close
/// to the colour of abnormal executions.
const CATEGORIES: [Color32; 8] = [
    Color32::from_rgb(0x56, 0xB4, 0xE9),
    Color32::from_rgb(0x00, 0x9E, 0x73),
    Color32::from_rgb(0xCC, 0x79, 0xA7),
    Color32::from_rgb(0xF5, 0xC7, 0x10),
    Color32::from_rgb(0x2F, 0x6D, 0xB5),
    Color32::from_rgb(0x8C, 0xD9, 0xC0),
    Color32::from_rgb(0x8A, 0x4F, 0x9E),
    Color32::from_rgb(0xB9, 0xD8, 0xF2),
];

/// Number of classes that have a colour of their own.
pub const NUM_CATEGORIES: usize = CATEGORIES.len();
/// Space between related items, in points.
pub const GAP: f32 = 6.0;
/// Corner radius of cards and marks, in points.
pub const RADIUS: f32 = 4.0;
/// Size of the smallest text, in points: explanations of a drawing, and counts next to marks.
pub const SMALLEST_TEXT: f32 = 11.0;

/// Colours of one appearance (dark or light), and of one trace's functions.
#[derive(Clone, Debug)]
pub struct Theme {
    is_dark: bool,
    is_for_picture: bool,
    /// Held so that its address is not reused.
    trace: Option<Arc<Trace>>,
    functions: Arc<[Color32]>,
}

impl Theme {
    /// Returns the colours of an appearance, with those of the trace's functions.
    pub fn new(is_dark: bool, trace: Option<&Arc<Trace>>) -> Self {
        let names = trace.into_iter().flat_map(|trace| trace.names.iter());
        Self {
            is_dark,
            is_for_picture: false,
            functions: names.map(|(_, name)| functions::color_of(name)).collect(),
            trace: trace.map(Arc::clone),
        }
    }

    /// Returns the same colours for a picture. Views then draw no controls, and plain shapes instead of textures.
    #[must_use]
    pub fn for_picture(self) -> Self {
        Self {
            is_for_picture: true,
            ..self
        }
    }

    /// Returns whether the view is drawn for a picture instead of the window.
    pub fn is_for_picture(&self) -> bool {
        self.is_for_picture
    }

    /// Installs the style of egui's own widgets, dark and light.
    pub fn install(ctx: &egui::Context) {
        let mut fonts = FontDefinitions::default();
        // The text font has no arrows or triangles; the code font does.
        let (text, code) = (FontFamily::Proportional, FontFamily::Monospace);
        let with_symbols = fonts.families.get(&code).cloned().unwrap_or_default();
        fonts.families.entry(text).or_default().extend(with_symbols);
        ctx.set_fonts(fonts);
        for theme in [egui::Theme::Dark, egui::Theme::Light] {
            ctx.style_mut_of(theme, |style| {
                apply_style(style, theme == egui::Theme::Dark);
            });
        }
    }

    /// Returns whether the theme is that of this appearance and this trace.
    pub fn is_of(&self, is_dark: bool, trace: Option<&Arc<Trace>>) -> bool {
        self.is_dark == is_dark && self.trace.as_ref().map(Arc::as_ptr) == trace.map(Arc::as_ptr)
    }

    /// Returns whether the background is dark.
    pub fn is_dark(&self) -> bool {
        self.is_dark
    }

    /// Returns the colour of a function of the trace; a neutral colour for a function of another trace.
    pub fn function(&self, func: FuncId) -> Color32 {
        let known = self.functions.get(func.index());
        known.copied().unwrap_or(self.normal())
    }

    /// Returns the colour of the function with this full or short name.
    #[expect(clippy::unused_self, reason = "a token of the theme like the others")]
    pub fn function_named(&self, name: &str) -> Color32 {
        functions::color_of(name)
    }

    /// Returns the colour of abnormal executions; nothing else has it.
    pub fn abnormal(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0xFF, 0x7A, 0x1F)
        } else {
            VERMILLION
        }
    }

    /// Returns the colour of text about abnormal executions: the same hue, dark enough to be legible.
    pub fn abnormal_text(&self) -> Color32 {
        if self.is_dark {
            self.abnormal()
        } else {
            Color32::from_rgb(0xB0, 0x48, 0x00)
        }
    }

    /// Returns the colour of normal executions.
    pub fn normal(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0x8F, 0xA3, 0xB5)
        } else {
            Color32::from_rgb(0x6B, 0x7F, 0x92)
        }
    }

    /// Returns the colour of executions that the user labelled normal.
    pub fn label_normal(&self) -> Color32 {
        if self.is_dark { SKY } else { BLUE }
    }

    /// Returns the colour of a label.
    pub fn label(&self, label: Label) -> Color32 {
        match label {
            Label::Normal => self.label_normal(),
            Label::Abnormal => self.abnormal(),
        }
    }

    /// Returns the colour of text about a label.
    pub fn label_text(&self, label: Label) -> Color32 {
        match label {
            Label::Normal => self.label_normal(),
            Label::Abnormal => self.abnormal_text(),
        }
    }

    /// Returns the colour of the root of a delay, and of its path.
    pub fn delay_root(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0xE8, 0x94, 0xC4)
        } else {
            Color32::from_rgb(0x99, 0x33, 0x70)
        }
    }

    /// Returns the colour of delayed executions.
    pub fn delay_victim(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0x33, 0xC2, 0x9C)
        } else {
            Color32::from_rgb(0x00, 0x74, 0x5A)
        }
    }

    /// Returns the colour of a role in a delay, also for text.
    pub fn role(&self, role: DelayRole) -> Color32 {
        match role {
            DelayRole::Root => self.delay_root(),
            DelayRole::Victim => self.delay_victim(),
            DelayRole::Undecided => self.warning(),
            DelayRole::OnTime => self.normal(),
        }
    }

    /// Returns the colour of a kind of cause, also for text.
    pub fn cause(&self, kind: CauseKind) -> Color32 {
        match kind {
            CauseKind::Stalled | CauseKind::NotEntered => self.delay_root(),
            CauseKind::Slow | CauseKind::Transfer => self.warning(),
            CauseKind::TracerWrite => self.text(),
            CauseKind::BusyHost => self.label_normal(),
            CauseKind::Serial | CauseKind::Imbalance | CauseKind::Noise | CauseKind::Unknown => {
                self.weak_text()
            }
        }
    }

    /// Returns the outline colour of the selection.
    pub fn selection(&self) -> Color32 {
        if self.is_dark {
            Color32::WHITE
        } else {
            Color32::BLACK
        }
    }

    /// Returns the colour of lines and arrows of messages.
    pub fn message(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0xD8)
        } else {
            Color32::from_gray(0x30)
        }
    }

    /// Returns the colour of grid lines.
    pub fn grid(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0x38)
        } else {
            Color32::from_gray(0xDE)
        }
    }

    /// Returns the background of a picture.
    pub fn page(&self) -> Color32 {
        visuals(self.is_dark).panel_fill
    }

    /// Returns the background of drawing areas.
    pub fn canvas(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0x14)
        } else {
            Color32::from_gray(0xFC)
        }
    }

    /// Returns the background of cards in a list.
    pub fn card(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0x24)
        } else {
            Color32::WHITE
        }
    }

    /// Returns the background of the card of the focused tree, and of selected rows.
    pub fn card_focused(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0x2B, 0x36, 0x42)
        } else {
            Color32::from_rgb(0xE3, 0xEE, 0xF8)
        }
    }

    /// Returns the colour of lines around cards and canvases.
    pub fn outline(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0x3A)
        } else {
            Color32::from_gray(0xD4)
        }
    }

    /// Returns the colour of secondary text.
    pub fn weak_text(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0xA2)
        } else {
            Color32::from_gray(0x62)
        }
    }

    /// Returns the colour of text.
    pub fn text(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0xDE)
        } else {
            Color32::from_gray(0x20)
        }
    }

    /// Returns the colour of the ring around the focused widget.
    pub fn focus(&self) -> Color32 {
        self.label_normal()
    }

    /// Returns the colour of the suggested next action.
    pub fn accent(&self) -> Color32 {
        accent(self.is_dark)
    }

    /// Returns the colour of warnings.
    pub fn warning(&self) -> Color32 {
        if self.is_dark {
            YELLOW
        } else {
            Color32::from_rgb(0x8A, 0x62, 0x00)
        }
    }

    /// Returns the colour of a class, numbered by size from the largest; `None` beyond [`NUM_CATEGORIES`].
    #[expect(clippy::unused_self, reason = "a token of the theme like the others")]
    pub fn category(&self, class: usize) -> Option<Color32> {
        CATEGORIES.get(class).copied()
    }

    /// Returns the colour of a share, from a little (0) to the most (1): larger shares contrast more with the canvas.
    pub fn heat(&self, share: f32) -> Color32 {
        // The very ends of the scale are too close to the canvas colour.
        let share = 0.12 + 0.88 * share.clamp(0.0, 1.0);
        let place = if self.is_dark { share } else { 1.0 - share };
        let place = place * (HEAT.len() - 1) as f32;
        let below = (place as usize).min(HEAT.len() - 2);
        let mix = place - below as f32;
        let channel = |at: usize| {
            let (low, high) = (HEAT[below][at], HEAT[below + 1][at]);
            (low + (high - low) * mix) as u8
        };
        Color32::from_rgb(channel(0), channel(1), channel(2))
    }

    /// Returns the colour of text on `background`: black or white, whichever has more contrast.
    #[expect(clippy::unused_self, reason = "a token of the theme like the others")]
    pub fn text_on(&self, background: Color32) -> Color32 {
        let is_better = |a: Color32, b: Color32| contrast(a, background) >= contrast(b, background);
        if is_better(Color32::BLACK, Color32::WHITE) {
            Color32::BLACK
        } else {
            Color32::WHITE
        }
    }
}

/// Returns the contrast of text and background, from 1 to 21 (WCAG 2.2, 1.4.3).
fn contrast(a: Color32, b: Color32) -> f32 {
    let [a, b] = [a, b].map(|color| {
        let light = Rgba::from(color);
        0.2126 * light.r() + 0.7152 * light.g() + 0.0722 * light.b() + 0.05
    });
    a.max(b) / a.min(b)
}

fn accent(is_dark: bool) -> Color32 {
    if is_dark {
        Color32::from_rgb(0x3E, 0x7C, 0xB8)
    } else {
        BLUE
    }
}

/// Sets surfaces, outlines, type sizes and spacing of egui's widgets.
fn apply_style(style: &mut Style, is_dark: bool) {
    let sizes = [
        (TextStyle::Small, FontId::proportional(12.0)),
        (TextStyle::Body, FontId::proportional(14.0)),
        (TextStyle::Button, FontId::proportional(14.0)),
        (TextStyle::Heading, FontId::proportional(20.0)),
        (TextStyle::Monospace, FontId::monospace(13.0)),
    ];
    style.text_styles.extend(sizes);
    style.spacing.item_spacing = egui::vec2(GAP, GAP);
    style.spacing.button_padding = egui::vec2(8.0, 4.0);
    style.spacing.interact_size.y = 24.0;
    style.interaction.tooltip_delay = 0.3;
    style.visuals = visuals(is_dark);
}

fn visuals(is_dark: bool) -> Visuals {
    let theme = Theme::new(is_dark, None);
    let mut visuals = if is_dark {
        Visuals::dark()
    } else {
        Visuals::light()
    };
    let gray = |dark: u8, light: u8| Color32::from_gray(if is_dark { dark } else { light });
    visuals.panel_fill = gray(0x1C, 0xF4);
    visuals.window_fill = gray(0x22, 0xFF);
    visuals.window_stroke = Stroke::new(1.0, theme.outline());
    visuals.extreme_bg_color = theme.canvas();
    visuals.faint_bg_color = gray(0x21, 0xEF);
    visuals.weak_text_color = Some(theme.weak_text());
    visuals.hyperlink_color = if is_dark { SKY } else { BLUE };
    visuals.warn_fg_color = theme.warning();
    visuals.error_fg_color = theme.abnormal_text();
    visuals.selection.bg_fill = if is_dark {
        Color32::from_rgb(0x2F, 0x58, 0x80)
    } else {
        Color32::from_rgb(0xBF, 0xDD, 0xF3)
    };
    visuals.selection.stroke = Stroke::new(1.0, gray(0xFF, 0x10));
    let radius = CornerRadius::same(RADIUS as u8);
    let widgets = &mut visuals.widgets;
    for state in [
        &mut widgets.noninteractive,
        &mut widgets.inactive,
        &mut widgets.hovered,
        &mut widgets.active,
        &mut widgets.open,
    ] {
        state.corner_radius = radius;
        state.expansion = 0.0;
    }
    widgets.noninteractive.fg_stroke.color = theme.text();
    widgets.noninteractive.bg_stroke.color = theme.outline();
    let fill = |state: &mut WidgetVisuals, color: Color32, line: Color32| {
        state.weak_bg_fill = color;
        state.bg_fill = color;
        state.bg_stroke = Stroke::new(1.0, line);
        state.fg_stroke = Stroke::new(1.0, theme.text());
    };
    fill(&mut widgets.inactive, gray(0x2E, 0xFF), gray(0x44, 0xC8));
    fill(&mut widgets.hovered, gray(0x3A, 0xF0), gray(0x66, 0x98));
    fill(&mut widgets.active, gray(0x46, 0xE2), gray(0x80, 0x70));
    fill(&mut widgets.open, gray(0x34, 0xEC), gray(0x55, 0xB0));
    visuals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_legible_on_every_background_in_both_appearances() {
        for is_dark in [true, false] {
            let (theme, visuals) = (Theme::new(is_dark, None), visuals(is_dark));
            let texts = [
                ("text", theme.text()),
                ("weak text", theme.weak_text()),
                ("abnormal", theme.abnormal_text()),
                ("normal label", theme.label_normal()),
                ("warning", theme.warning()),
                ("root of a delay", theme.delay_root()),
                ("victim of a delay", theme.delay_victim()),
                ("link", visuals.hyperlink_color),
                ("error", visuals.error_fg_color),
            ];
            let backgrounds = [
                ("panel", visuals.panel_fill),
                ("window", visuals.window_fill),
                ("canvas", theme.canvas()),
                ("card", theme.card()),
                ("selected card", theme.card_focused()),
                ("stripe", visuals.faint_bg_color),
            ];
            for (text, color) in texts {
                for (background, behind) in backgrounds {
                    let ratio = contrast(color, behind);
                    assert!(
                        ratio >= 4.5,
                        "{text} on {background}, dark {is_dark}: {ratio}"
                    );
                }
            }
            for (background, behind) in backgrounds {
                let ratio = contrast(theme.focus(), behind);
                assert!(
                    ratio >= 3.0,
                    "focus on {background}, dark {is_dark}: {ratio}"
                );
            }
            for fill in [
                theme.accent(),
                theme.label(Label::Normal),
                theme.label(Label::Abnormal),
            ] {
                assert!(contrast(theme.text_on(fill), fill) >= 4.5, "on {fill:?}");
            }
        }
    }

    #[test]
    fn contrast_follows_the_web_guidelines() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-3);
        let grey = contrast(Color32::from_gray(0x77), Color32::WHITE);
        assert!((grey - 4.48).abs() < 0.01, "{grey}");
    }
}
