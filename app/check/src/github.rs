//! Annotations of GitHub Actions: lines on standard output that the runner shows next to a commit.

use std::fmt::Write as _;
use std::io::{Result, Write};

use super::outcome::{CheckReport, CheckVerdict};
use super::reports::listed;

impl CheckReport {
    /// Writes an annotation for each check that did not pass.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_github(&self, out: &mut dyn Write) -> Result<()> {
        for it in &self.results {
            let level = match it.outcome.verdict() {
                CheckVerdict::Passed => continue,
                CheckVerdict::Failed => "error",
                CheckVerdict::Unchecked => "warning",
            };
            let verdict = it.outcome.verdict().name();
            let title = escaped(&format!("Callgrove {}: {verdict}", it.check), ":,");
            let mut lines = vec![it.outcome.summary().to_owned()];
            lines.extend(listed(it.outcome.found()));
            writeln!(
                out,
                "::{level} title={title}::{}",
                escaped(&lines.join("\n"), "")
            )?;
        }
        Ok(())
    }
}

/// Returns a text in which percent signs, line ends and `more` characters are escaped.
fn escaped(text: &str, more: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '\r' | '\n') || more.contains(c) {
            write!(escaped, "%{:02X}", u32::from(c)).unwrap_or_default();
        } else if !c.is_control() {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use crate::outcome::Outcome;
    use crate::outcome::tests::{failed, report};

    #[test]
    fn what_was_found_cannot_end_its_line() {
        let failed = match failed() {
            Outcome::Failed { summary, .. } => Outcome::Failed {
                summary,
                found: vec!["one\n::error::two".to_owned()],
            },
            other => other,
        };
        let mut bytes = Vec::new();
        let passed = Outcome::Passed("well".to_owned());
        let unchecked = Outcome::Unchecked("too few".to_owned());
        report(&[passed, failed, unchecked])
            .write_github(&mut bytes)
            .unwrap();
        let expected = "::error title=Callgrove slower%3A failed::`f<int>` takes 2 times as long: 50 %25%0Aone%0A::error::two\n\
                        ::warning title=Callgrove slower%3A not checked::too few\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
