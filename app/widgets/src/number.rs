//! Formatting of decision values.

/// Formats a signed decision value with three significant digits: `−0.0123`, `+1.2`, `0`.
pub fn score_text(score: f64) -> String {
    let size = score.abs();
    let sign = if score < 0.0 { "−" } else { "+" };
    match size {
        _ if score.is_nan() => "–".to_owned(),
        0.0..1e-9 => "0".to_owned(),
        1e-9..1e-3 => format!("{sign}{size:.1e}"),
        1e-3..1.0 => format!("{sign}{size:.4}"),
        _ => format!("{sign}{size:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_show_their_sign_at_every_size() {
        let shown = [0.0, -0.01234, 2.0, -4.2e-7, f64::NAN].map(score_text);
        assert_eq!(shown, ["0", "−0.0123", "+2.00", "−4.2e-7", "–"]);
    }
}
