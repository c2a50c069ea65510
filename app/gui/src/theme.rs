//! Design tokens: the only place where a colour is made.
//!
//! Colours are the Okabe–Ito set and tones between them, which people with any kind of colour vision
//! can tell apart. Vermillion is kept for what is abnormal and stands for nothing else. MPI functions
//! are blue, all others have the green and warm hues, so that waiting and working differ at first
//! sight. A function has the same colour in all views of all runs.

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

/// Cividis from dark to light (Nuñez, Anderton and Renslow 2018, doi 10.1371/journal.pone.0199239): its order
/// is seen alike with any kind of colour vision.
const HEAT: [[f32; 3]; 6] = [
    [0.0, 34.0, 78.0],
    [53.0, 69.0, 108.0],
    [102.0, 105.0, 112.0],
    [148.0, 142.0, 119.0],
    [200.0, 184.0, 102.0],
    [254.0, 232.0, 56.0],
];

/// Colours of classes: sky, green, purple, yellow, blue, and lighter or darker tones of the first three.
/// None is near to the colour of what is abnormal.
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

/// Classes that have a colour of their own.
pub const NUM_CATEGORIES: usize = CATEGORIES.len();
/// Space between things that belong together, in points.
pub const GAP: f32 = 6.0;
/// Corner radius of cards and marks.
pub const RADIUS: f32 = 4.0;
/// Size of the smallest text, in points: what explains a drawing, and counts beside marks.
pub const SMALLEST_TEXT: f32 = 11.0;

/// Colours of one appearance (dark or light), and of one trace's functions.
#[derive(Clone, Debug)]
pub struct Theme {
    is_dark: bool,
    /// Held so that its address stays its own.
    trace: Option<Arc<Trace>>,
    functions: Arc<[Color32]>,
}

impl Theme {
    /// The colours, with those of the trace's functions looked up already.
    pub fn new(is_dark: bool, trace: Option<&Arc<Trace>>) -> Self {
        let names = trace.into_iter().flat_map(|trace| trace.names.iter());
        Self {
            is_dark,
            functions: names.map(|(_, name)| functions::color_of(name)).collect(),
            trace: trace.map(Arc::clone),
        }
    }

    /// Gives egui's own widgets the look of the house, dark and light.
    pub fn install(ctx: &egui::Context) {
        let mut fonts = FontDefinitions::default();
        // The text font has no arrows and triangles; the code font has.
        let (text, code) = (FontFamily::Proportional, FontFamily::Monospace);
        let with_symbols = fonts.families.get(&code).cloned().unwrap_or_default();
        fonts.families.entry(text).or_default().extend(with_symbols);
        ctx.set_fonts(fonts);
        for theme in [egui::Theme::Dark, egui::Theme::Light] {
            ctx.style_mut_of(theme, |style| dress(style, theme == egui::Theme::Dark));
        }
    }

    /// Whether it was made for this appearance and this trace.
    pub fn is_of(&self, is_dark: bool, trace: Option<&Arc<Trace>>) -> bool {
        self.is_dark == is_dark && self.trace.as_ref().map(Arc::as_ptr) == trace.map(Arc::as_ptr)
    }

    /// Whether the background is dark.
    pub fn is_dark(&self) -> bool {
        self.is_dark
    }

    /// The colour of a function of the trace; that of nothing for a function of another.
    pub fn function(&self, func: FuncId) -> Color32 {
        let known = self.functions.get(func.index());
        known.copied().unwrap_or(self.normal())
    }

    /// The colour of the function with this full or short name.
    #[expect(clippy::unused_self, reason = "a token of the theme like the others")]
    pub fn function_named(&self, name: &str) -> Color32 {
        functions::color_of(name)
    }

    /// What is abnormal; nothing else has this colour.
    pub fn abnormal(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0xFF, 0x7A, 0x1F)
        } else {
            VERMILLION
        }
    }

    /// Text about what is abnormal: the same hue, dark enough to be read.
    pub fn abnormal_text(&self) -> Color32 {
        if self.is_dark {
            self.abnormal()
        } else {
            Color32::from_rgb(0xB0, 0x48, 0x00)
        }
    }

    /// What is normal.
    pub fn normal(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0x8F, 0xA3, 0xB5)
        } else {
            Color32::from_rgb(0x6B, 0x7F, 0x92)
        }
    }

    /// What a person called normal.
    pub fn label_normal(&self) -> Color32 {
        if self.is_dark { SKY } else { BLUE }
    }

    /// The colour of a label.
    pub fn label(&self, label: Label) -> Color32 {
        match label {
            Label::Normal => self.label_normal(),
            Label::Abnormal => self.abnormal(),
        }
    }

    /// Text about a label.
    pub fn label_text(&self, label: Label) -> Color32 {
        match label {
            Label::Normal => self.label_normal(),
            Label::Abnormal => self.abnormal_text(),
        }
    }

    /// Where a delay began, and the way that it took.
    pub fn delay_root(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0xE8, 0x94, 0xC4)
        } else {
            Color32::from_rgb(0x99, 0x33, 0x70)
        }
    }

    /// Who was made late.
    pub fn delay_victim(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0x33, 0xC2, 0x9C)
        } else {
            Color32::from_rgb(0x00, 0x74, 0x5A)
        }
    }

    /// What an execution was in a delay; text can have it too.
    pub fn role(&self, role: DelayRole) -> Color32 {
        match role {
            DelayRole::Root => self.delay_root(),
            DelayRole::Victim => self.delay_victim(),
            DelayRole::Undecided => self.warning(),
            DelayRole::OnTime => self.normal(),
        }
    }

    /// A kind of cause; text can have it too.
    pub fn cause(&self, kind: CauseKind) -> Color32 {
        match kind {
            CauseKind::Stalled => self.delay_root(),
            CauseKind::Slow | CauseKind::Transfer => self.warning(),
            CauseKind::TracerWrite => self.text(),
            CauseKind::BusyHost => self.label_normal(),
            CauseKind::Serial | CauseKind::Imbalance | CauseKind::Noise | CauseKind::Unknown => {
                self.weak_text()
            }
        }
    }

    /// Outline of what is selected.
    pub fn selection(&self) -> Color32 {
        if self.is_dark {
            Color32::WHITE
        } else {
            Color32::BLACK
        }
    }

    /// Lines and arrows of messages.
    pub fn message(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0xD8)
        } else {
            Color32::from_gray(0x30)
        }
    }

    /// Lines that help the eye and carry nothing.
    pub fn grid(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0x38)
        } else {
            Color32::from_gray(0xDE)
        }
    }

    /// Background of drawing areas.
    pub fn canvas(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0x14)
        } else {
            Color32::from_gray(0xFC)
        }
    }

    /// Background of cards in a list.
    pub fn card(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0x24)
        } else {
            Color32::WHITE
        }
    }

    /// Background of the card of the focused tree, and of chosen rows.
    pub fn card_focused(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0x2B, 0x36, 0x42)
        } else {
            Color32::from_rgb(0xE3, 0xEE, 0xF8)
        }
    }

    /// Lines around cards and canvases.
    pub fn outline(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0x3A)
        } else {
            Color32::from_gray(0xD4)
        }
    }

    /// Text that says less than the text beside it.
    pub fn weak_text(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0xA2)
        } else {
            Color32::from_gray(0x62)
        }
    }

    /// Text.
    pub fn text(&self) -> Color32 {
        if self.is_dark {
            Color32::from_gray(0xDE)
        } else {
            Color32::from_gray(0x20)
        }
    }

    /// The ring around the widget that keys act on.
    pub fn focus(&self) -> Color32 {
        self.label_normal()
    }

    /// What the person is asked to do next.
    pub fn accent(&self) -> Color32 {
        accent(self.is_dark)
    }

    /// A thing to know that is not an error.
    pub fn warning(&self) -> Color32 {
        if self.is_dark {
            YELLOW
        } else {
            Color32::from_rgb(0x8A, 0x62, 0x00)
        }
    }

    /// The colour of a class, of which the first is the largest; `None` for those that have none of their own.
    #[expect(clippy::unused_self, reason = "a token of the theme like the others")]
    pub fn category(&self, class: usize) -> Option<Color32> {
        CATEGORIES.get(class).copied()
    }

    /// How much there is, from a little (0) to the most (1): what is most stands out from the canvas most.
    pub fn heat(&self, share: f32) -> Color32 {
        // The very ends of the scale are too near to the canvas.
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

    /// Text that stands on `background`: black or white, whichever is read better.
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

/// Contrast of text and background, from 1 to 21 (WCAG 2.2, 1.4.3).
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

/// Surfaces, outlines, type sizes and spacing of egui's widgets.
fn dress(style: &mut Style, is_dark: bool) {
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
    fn text_is_read_on_every_background_in_both_appearances() {
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
                ("chosen card", theme.card_focused()),
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
    fn contrast_is_that_of_the_web_guidelines() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-3);
        let grey = contrast(Color32::from_gray(0x77), Color32::WHITE);
        assert!((grey - 4.48).abs() < 0.01, "{grey}");
    }
}
