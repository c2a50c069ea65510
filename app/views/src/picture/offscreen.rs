//! A context of egui without a window: frames go in, a picture comes out.

use std::time::Duration;

#[cfg(feature = "png")]
use callgrove_picture::{FontAtlas, PixelPage, write_png};
use callgrove_picture::{PaintError, SvgPage, write_svg};
use callgrove_widgets::begin_picture;
use callgrove_widgets::theme::Theme;
use egui::epaint::ClippedShape;
use egui::{Color32, Context, Pos2, RawInput, Rect, Ui, Vec2, ViewportId};

use super::error::PictureError;

/// Seconds between two frames.
const FRAME: f64 = 1.0 / 60.0;
/// Delay of the next frame below which a frame asks for another at once.
const AT_ONCE: Duration = Duration::from_millis(50);

/// A context of one size.
pub(super) struct Sheet {
    ctx: Context,
    size: Vec2,
    scale: f32,
    num_frames: u32,
    shapes: Vec<ClippedShape>,
    #[cfg(feature = "png")]
    font: FontAtlas,
}

/// A drawn view: the shapes of its last frame.
pub struct DrawnPicture {
    #[cfg_attr(
        not(feature = "png"),
        expect(dead_code, reason = "it tessellates the shapes for PNG")
    )]
    ctx: Context,
    size: Vec2,
    #[cfg_attr(
        not(feature = "png"),
        expect(dead_code, reason = "only pixels have a scale")
    )]
    scale: f32,
    background: Color32,
    title: String,
    id_prefix: String,
    shapes: Vec<ClippedShape>,
    #[cfg(feature = "png")]
    font: FontAtlas,
}

impl Sheet {
    pub(super) fn new(size: [f32; 2], scale: f32, is_dark: bool) -> Self {
        let ctx = Context::default();
        Theme::install(&ctx);
        ctx.set_theme(egui::Theme::from_dark_mode(is_dark));
        ctx.all_styles_mut(|style| {
            style.animation_time = 0.0;
            style.interaction.selectable_labels = false;
            let scroll = &mut style.spacing.scroll;
            scroll.floating = true;
            scroll.floating_allocated_width = 0.0;
            scroll.bar_width = 0.0;
            scroll.floating_width = 0.0;
            scroll.fade.strength = 0.0;
            for opacity in [
                &mut scroll.dormant_background_opacity,
                &mut scroll.dormant_handle_opacity,
                &mut scroll.active_background_opacity,
                &mut scroll.active_handle_opacity,
                &mut scroll.interact_background_opacity,
                &mut scroll.interact_handle_opacity,
            ] {
                *opacity = 0.0;
            }
        });
        Self {
            ctx,
            size: size.into(),
            scale,
            num_frames: 0,
            shapes: Vec::new(),
            #[cfg(feature = "png")]
            font: FontAtlas::default(),
        }
    }

    /// Draws a frame. Returns whether it asks for another one.
    pub(super) fn frame(&mut self, draw: impl FnMut(&mut Ui)) -> bool {
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
            time: Some(f64::from(self.num_frames) * FRAME),
            ..RawInput::default()
        };
        let root = input.viewports.entry(ViewportId::ROOT).or_default();
        root.native_pixels_per_point = Some(self.scale);
        self.num_frames += 1;
        begin_picture(&self.ctx);
        let mut output = self.ctx.run_ui(input, draw);
        self.shapes = output.shapes;
        #[cfg(feature = "png")]
        self.font.update(&output.textures_delta);
        // egui expects every texture to be taken over.
        output.textures_delta.clear();
        let viewport = output.viewport_output.get(&ViewportId::ROOT);
        viewport.is_some_and(|viewport| viewport.repaint_delay < AT_ONCE)
    }

    /// Returns the last frame as a picture.
    pub(super) fn into_picture(
        self,
        theme: &Theme,
        title: String,
        id_prefix: &str,
    ) -> DrawnPicture {
        DrawnPicture {
            ctx: self.ctx,
            size: self.size,
            scale: self.scale,
            background: theme.page(),
            title,
            id_prefix: id_prefix.to_owned(),
            shapes: self.shapes,
            #[cfg(feature = "png")]
            font: self.font,
        }
    }
}

impl DrawnPicture {
    /// Returns the title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the picture as an SVG document that can also be put into HTML.
    ///
    /// # Errors
    /// If a shape has no form in SVG.
    pub fn svg(&self) -> Result<String, PaintError> {
        let page = SvgPage {
            size: self.size,
            background: self.background,
            title: &self.title,
            id_prefix: &self.id_prefix,
        };
        write_svg(&self.shapes, &page)
    }

    /// Returns the content of a file with this name: SVG or PNG by its extension.
    ///
    /// # Errors
    /// If the name has another extension, and those of [`DrawnPicture::svg`] and [`DrawnPicture::png`].
    pub fn file(&self, name: &str) -> Result<Vec<u8>, PictureError> {
        let extension = name
            .rsplit_once('.')
            .map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(self.svg()?.into_bytes()),
            #[cfg(feature = "png")]
            Some("png") => Ok(self.png()?),
            _ => Err(PictureError::Extension {
                name: name.to_owned(),
            }),
        }
    }

    /// Returns the picture as a PNG file.
    ///
    /// # Errors
    /// If the picture has too many pixels, or cannot be encoded.
    #[cfg(feature = "png")]
    pub fn png(&self) -> Result<Vec<u8>, PaintError> {
        let primitives = self.ctx.tessellate(self.shapes.clone(), self.scale);
        let size_px = self.size * self.scale;
        let page = PixelPage {
            size_px: [size_px.x.round() as u32, size_px.y.round() as u32],
            pixels_per_point: self.scale,
            background: self.background,
            font: &self.font,
        };
        write_png(&primitives, &page)
    }
}
