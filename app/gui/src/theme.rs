//! Design tokens: the only place where a colour is made.
//!
//! Colours are the Okabe–Ito set, which people with any kind of colour vision can tell apart.
//! Vermillion is kept for what is abnormal and stands for nothing else. MPI functions are blue, all
//! others have the warm and green hues, so that waiting and working differ at first sight. A
//! function has the same colour in all views.

use std::collections::BTreeMap;

use callgrove_model::FuncId;
use callgrove_session::{Label, LegendEntry};
use egui::{
    Color32, CornerRadius, FontDefinitions, FontFamily, FontId, Stroke, Style, TextStyle, Visuals,
    style::WidgetVisuals,
};

const ORANGE: Color32 = Color32::from_rgb(0xE6, 0x9F, 0x00);
const SKY: Color32 = Color32::from_rgb(0x56, 0xB4, 0xE9);
const GREEN: Color32 = Color32::from_rgb(0x00, 0x9E, 0x73);
const YELLOW: Color32 = Color32::from_rgb(0xF5, 0xC7, 0x10);
const BLUE: Color32 = Color32::from_rgb(0x00, 0x72, 0xB2);
const VERMILLION: Color32 = Color32::from_rgb(0xD5, 0x5E, 0x00);
const PURPLE: Color32 = Color32::from_rgb(0xCC, 0x79, 0xA7);

const MPI_HUES: [Color32; 2] = [BLUE, SKY];
/// Orange comes last, since it is nearest to vermillion.
const OTHER_HUES: [Color32; 4] = [GREEN, PURPLE, YELLOW, ORANGE];
/// Lightness steps once the hues are used up; later functions share the last.
const SHADES: [f32; 4] = [0.0, 0.45, -0.35, 0.68];

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

/// Colours of one appearance (dark or light) and of one forest's functions.
#[derive(Clone, Debug)]
pub struct Theme {
    is_dark: bool,
    legend: Vec<FuncId>,
    functions: BTreeMap<FuncId, Color32>,
}

impl Theme {
    /// Gives the functions of `legend` (largest share first) their colours.
    pub fn new(is_dark: bool, legend: &[LegendEntry]) -> Self {
        let (mut num_mpi, mut num_other) = (0, 0);
        let functions = legend
            .iter()
            .map(|entry| {
                let (hues, count) = if entry.is_mpi {
                    (&MPI_HUES[..], &mut num_mpi)
                } else {
                    (&OTHER_HUES[..], &mut num_other)
                };
                let hue = hues[*count % hues.len()];
                let shade = SHADES[(*count / hues.len()).min(SHADES.len() - 1)];
                *count += 1;
                (entry.func, shaded(hue, shade))
            })
            .collect();
        let legend = legend.iter().map(|entry| entry.func).collect();
        Self {
            is_dark,
            legend,
            functions,
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

    /// Whether it was made for this appearance and these functions.
    pub fn is_of(&self, is_dark: bool, legend: &[LegendEntry]) -> bool {
        self.is_dark == is_dark
            && self
                .legend
                .iter()
                .copied()
                .eq(legend.iter().map(|entry| entry.func))
    }

    /// Whether the background is dark.
    pub fn is_dark(&self) -> bool {
        self.is_dark
    }

    /// The colour of a function; grey for one that is not in the forest.
    pub fn function(&self, func: FuncId) -> Color32 {
        self.functions
            .get(&func)
            .copied()
            .unwrap_or(if self.is_dark {
                Color32::from_gray(0x60)
            } else {
                Color32::from_gray(0xB4)
            })
    }

    /// What is abnormal; nothing else has this colour.
    pub fn abnormal(&self) -> Color32 {
        if self.is_dark {
            Color32::from_rgb(0xFF, 0x7A, 0x1F)
        } else {
            VERMILLION
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
            Color32::from_gray(0x9C)
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
        let [r, g, b, _] = background.to_array().map(f32::from);
        if 0.299 * r + 0.587 * g + 0.114 * b > 140.0 {
            Color32::BLACK
        } else {
            Color32::WHITE
        }
    }
}

/// Towards white for positive `shade`, towards black for negative.
fn shaded(color: Color32, shade: f32) -> Color32 {
    let target = if shade >= 0.0 { 255.0 } else { 0.0 };
    let mix =
        |channel: u8| (f32::from(channel) + (target - f32::from(channel)) * shade.abs()) as u8;
    Color32::from_rgb(mix(color.r()), mix(color.g()), mix(color.b()))
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
    let theme = Theme::new(is_dark, &[]);
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
    visuals.error_fg_color = theme.abnormal();
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
