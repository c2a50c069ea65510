//! Numbers, colours and texts as attributes of SVG.

use egui::{Color32, Stroke};

/// Decimals of a coordinate, as a factor: a hundredth of a point.
const PRECISION: f32 = 100.0;
/// Decimals of an opacity, as a factor.
const OPACITY_PRECISION: f32 = 1_000.0;

/// Appends a coordinate, in points.
pub(crate) fn push_number(out: &mut String, value: f32) {
    push_rounded(out, value, PRECISION);
}

fn push_rounded(out: &mut String, value: f32, precision: f32) {
    // Adding 0 makes -0 positive.
    let rounded = (value * precision).round() / precision + 0.0;
    out.push_str(&rounded.to_string());
}

/// Appends ` name="value"`.
pub(crate) fn push_attribute(out: &mut String, name: &str, value: f32) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    push_number(out, value);
    out.push('"');
}

/// Appends a colour as `name`, and its opacity as `name-opacity` unless it is opaque.
pub(crate) fn push_color(out: &mut String, name: &str, color: Color32) {
    let [r, g, b, a] = color.to_srgba_unmultiplied();
    out.push_str(&format!(" {name}=\"#{r:02x}{g:02x}{b:02x}\""));
    if a < u8::MAX {
        out.push_str(&format!(" {name}-opacity=\""));
        push_rounded(out, f32::from(a) / f32::from(u8::MAX), OPACITY_PRECISION);
        out.push('"');
    }
}

/// Appends the attributes of a stroke.
pub(crate) fn push_stroke(out: &mut String, stroke: Stroke) {
    push_color(out, "stroke", stroke.color);
    push_attribute(out, "stroke-width", stroke.width);
}

/// Returns whether a colour changes what is below it.
pub(crate) fn is_visible(color: Color32) -> bool {
    color.a() > 0
}

/// Returns whether a stroke changes what is below it.
pub(crate) fn is_stroke_visible(stroke: Stroke) -> bool {
    stroke.width > 0.0 && is_visible(stroke.color)
}

/// Appends text as the content of an element or an attribute; characters that XML forbids become U+FFFD.
pub(crate) fn push_text(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{FFFE}' | '\u{FFFF}' => out.push(char::REPLACEMENT_CHARACTER),
            letter if letter.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_hundredths() {
        for (value, expected) in [(1.0, "1"), (0.126, "0.13"), (-0.001, "0"), (-2.5, "-2.5")] {
            let mut out = String::new();
            push_number(&mut out, value);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn colours_are_not_premultiplied() {
        let mut out = String::new();
        push_color(
            &mut out,
            "fill",
            Color32::from_rgba_unmultiplied(200, 100, 0, 128),
        );
        assert!(out.contains("fill-opacity=\"0.502\""), "{out}");
        // A colour is stored premultiplied, in bytes: 200 comes back as 199.
        assert!(out.contains("#c76400"), "{out}");
    }

    #[test]
    fn text_is_escaped() {
        let mut out = String::new();
        push_text(&mut out, "a<b> & \"c\"\u{1}");
        assert_eq!(out, "a&lt;b&gt; &amp; &quot;c&quot;\u{FFFD}");
    }
}
