//! Text as text: each row of a galley, in parts of one format.

use egui::epaint::TextShape;
use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, FontFamily, Pos2, Rect, Stroke};

use crate::number::{
    is_stroke_visible, is_visible, push_attribute, push_color, push_number, push_stroke, push_text,
};

/// Fonts of ordinary text: that of the window, then similar ones.
pub(crate) const PROPORTIONAL: &str = "Ubuntu, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";
/// Fonts of code.
const MONOSPACE: &str = "Hack, 'DejaVu Sans Mono', Menlo, Consolas, monospace";

/// Letters of a row that have one format.
struct Run {
    text: String,
    /// Index of the section of the job.
    section: usize,
    /// Start of the base line, relative to the galley.
    start: Pos2,
    /// End of the last letter that is no space, relative to the galley.
    end: f32,
    /// The area of the letters, relative to the galley.
    area: Rect,
}

/// Appends the texts of a galley, each with its width, so that another font takes the same space.
pub(crate) fn push_galley(out: &mut String, shape: &TextShape) {
    let runs = runs_of(shape);
    if runs.is_empty() {
        return;
    }
    let is_turned = shape.angle.abs() > 1e-4;
    let origin = if is_turned {
        out.push_str("<g transform=\"translate(");
        push_number(out, shape.pos.x);
        out.push(' ');
        push_number(out, shape.pos.y);
        out.push_str(") rotate(");
        push_number(out, shape.angle.to_degrees());
        out.push_str(")\">\n");
        Pos2::ZERO
    } else {
        shape.pos
    };
    for run in &runs {
        push_run(out, shape, run, origin);
    }
    if is_turned {
        out.push_str("</g>\n");
    }
}

/// Returns the runs of all rows, from the top.
fn runs_of(shape: &TextShape) -> Vec<Run> {
    let job = &shape.galley.job;
    let mut letters = job.text.char_indices().peekable();
    let mut section = 0;
    let mut runs: Vec<Run> = Vec::new();
    for row in &shape.galley.rows {
        let mut is_new = true;
        for glyph in &row.glyphs {
            // The sign of a text that was cut off is no letter of the job.
            if let Some((byte, _)) = letters.next_if(|(_, letter)| *letter == glyph.chr) {
                section = section_at(job, byte);
            }
            let start = row.pos + glyph.pos.to_vec2();
            let area = glyph.logical_rect().translate(row.pos.to_vec2());
            let last = runs
                .last_mut()
                .filter(|it| !is_new && it.section == section);
            let run = if let Some(last) = last {
                last
            } else if glyph.chr == ' ' {
                continue;
            } else {
                runs.push(Run {
                    text: String::new(),
                    section,
                    start,
                    end: start.x,
                    area,
                });
                let Some(run) = runs.last_mut() else { continue };
                run
            };
            is_new = false;
            run.text.push(glyph.chr);
            run.area = run.area.union(area);
            if glyph.chr != ' ' {
                run.end = start.x + glyph.advance_width;
            }
        }
        if row.ends_with_newline {
            letters.next_if(|(_, letter)| *letter == '\n');
        }
    }
    runs
}

fn section_at(job: &LayoutJob, byte: usize) -> usize {
    let sections = job.sections.iter();
    let found = sections
        .enumerate()
        .find(|(_, section)| byte < usize::from(section.byte_range.end));
    found.map_or(job.sections.len().saturating_sub(1), |(at, _)| at)
}

fn push_run(out: &mut String, shape: &TextShape, run: &Run, origin: Pos2) {
    let Some(section) = shape.galley.job.sections.get(run.section) else {
        return;
    };
    let format = &section.format;
    let color = shape.override_text_color.unwrap_or(format.color);
    let of_placeholder = |color: Color32| {
        if color == Color32::PLACEHOLDER {
            shape.fallback_color
        } else {
            color
        }
    };
    let faded = |color: Color32| of_placeholder(color).gamma_multiply(shape.opacity_factor);
    let area = run.area.translate(origin.to_vec2());
    if is_visible(format.background) {
        out.push_str("<rect");
        push_attribute(out, "x", area.left());
        push_attribute(out, "y", area.top());
        push_attribute(out, "width", area.width());
        push_attribute(out, "height", area.height());
        push_color(out, "fill", faded(format.background));
        out.push_str("/>\n");
    }
    let start = origin + run.start.to_vec2();
    let end = origin.x + run.end;
    let text = run.text.trim_end();
    if !text.is_empty() && is_visible(faded(color)) {
        push_letters(out, (text, format), (start, end), faded(color));
    }
    let below = [format.underline, shape.underline]
        .into_iter()
        .find(|it| is_stroke_visible(*it));
    for (stroke, y) in [
        (below.unwrap_or(Stroke::NONE), area.bottom()),
        (format.strikethrough, area.center().y),
    ] {
        if is_stroke_visible(stroke) {
            out.push_str("<line");
            push_attribute(out, "x1", start.x);
            push_attribute(out, "y1", y);
            push_attribute(out, "x2", end);
            push_attribute(out, "y2", y);
            push_stroke(out, Stroke::new(stroke.width, faded(stroke.color)));
            out.push_str("/>\n");
        }
    }
}

fn push_letters(
    out: &mut String,
    (text, format): (&str, &TextFormat),
    (start, end): (Pos2, f32),
    color: Color32,
) {
    out.push_str("<text");
    push_attribute(out, "x", start.x);
    push_attribute(out, "y", start.y);
    push_attribute(out, "font-size", format.font_id.size);
    if format.font_id.family == FontFamily::Monospace {
        out.push_str(&format!(" font-family=\"{MONOSPACE}\""));
    }
    if format.italics {
        out.push_str(" font-style=\"italic\"");
    }
    if text.contains("  ") {
        out.push_str(" xml:space=\"preserve\"");
    }
    push_attribute(out, "textLength", end - start.x);
    out.push_str(" lengthAdjust=\"spacingAndGlyphs\"");
    push_color(out, "fill", color);
    out.push('>');
    push_text(out, text);
    out.push_str("</text>\n");
}

#[cfg(test)]
mod tests {
    use egui::text::TextWrapping;
    use egui::{Context, FontId, RawInput, pos2};

    use super::*;

    fn svg(job: &LayoutJob, angle: f32) -> String {
        let ctx = Context::default();
        let mut out = String::new();
        let mut ran = ctx.run_ui(RawInput::default(), |ui| {
            let galley = ui.painter().layout_job(job.clone());
            out.clear();
            let shape = TextShape::new(pos2(10.0, 20.0), galley, Color32::RED).with_angle(angle);
            push_galley(&mut out, &shape);
        });
        ran.textures_delta.clear();
        format!("<svg>{out}</svg>")
    }

    fn texts(svg: &str) -> Vec<(String, String)> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let all = document.descendants();
        let texts = all.filter(|node| node.has_tag_name("text"));
        texts
            .map(|node| {
                let fill = node.attribute("fill").unwrap_or_default();
                (node.text().unwrap_or_default().to_owned(), fill.to_owned())
            })
            .collect()
    }

    fn format(color: Color32) -> TextFormat {
        TextFormat::simple(FontId::proportional(12.0), color)
    }

    #[test]
    fn each_format_of_a_row_is_a_text_of_its_own() {
        let mut job = LayoutJob::default();
        job.append("a<b ", 0.0, format(Color32::BLACK));
        job.append("&c", 0.0, format(Color32::PLACEHOLDER));
        let pair = |text: &str, fill: &str| (text.to_owned(), fill.to_owned());
        assert_eq!(
            texts(&svg(&job, 0.0)),
            [pair("a<b", "#000000"), pair("&c", "#ff0000")]
        );
    }

    #[test]
    fn rows_and_cut_texts_are_written_as_they_are_shown() {
        let mut job =
            LayoutJob::single_section("one two\nthree".to_owned(), format(Color32::BLACK));
        let rows: Vec<String> = texts(&svg(&job, 0.0)).into_iter().map(|it| it.0).collect();
        assert_eq!(rows, ["one two", "three"]);
        job.wrap = TextWrapping::truncate_at_width(30.0);
        let cut = texts(&svg(&job, 0.0));
        assert_eq!(cut.len(), 1);
        assert!(cut[0].0.ends_with('…'), "{cut:?}");
    }

    #[test]
    fn turned_text_is_in_a_turned_group() {
        let job = LayoutJob::single_section("up".to_owned(), format(Color32::BLACK));
        let turned = svg(&job, -std::f32::consts::FRAC_PI_2);
        assert!(turned.contains("translate(10 20) rotate(-90)"), "{turned}");
    }
}
