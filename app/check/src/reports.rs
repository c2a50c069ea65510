//! Reports as text, Markdown, JUnit, JSON and metrics.

use std::io::{Result, Write};

use callgrove_export::{
    JunitCase, JunitOutcome, JunitSuite, markdown_text, printable, write_junit,
    write_markdown_table,
};
use serde_json::{Value, json};

use super::outcome::{CheckReport, Outcome};

/// Maximum number of findings of a check that a report for readers lists.
const NUM_FOUND: usize = 20;
/// The version of the JSON.
const JSON_VERSION: u32 = 1;

impl CheckReport {
    /// Writes the report as text.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        for it in &self.results {
            let (verdict, summary) = (it.outcome.verdict().name(), it.outcome.summary());
            writeln!(out, "{}: {verdict}: {}", it.check, printable(summary))?;
            for sentence in listed(it.outcome.found()) {
                writeln!(out, "  {}", printable(&sentence))?;
            }
        }
        Ok(())
    }

    /// Writes the report as Markdown.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_markdown(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "## Callgrove: {}\n", markdown_text(&self.title()))?;
        let rows = self.results.iter().map(|it| {
            let outcome = &it.outcome;
            let cells = [it.check, outcome.verdict().name(), outcome.summary()];
            cells.map(str::to_owned).to_vec()
        });
        let rows: Vec<Vec<String>> = rows.collect();
        write_markdown_table(out, &["check", "outcome", "reason"], &rows)?;
        for it in &self.results {
            if it.outcome.found().is_empty() {
                continue;
            }
            writeln!(out, "\n### {}\n", it.check)?;
            for sentence in listed(it.outcome.found()) {
                writeln!(out, "* {}", markdown_text(&sentence))?;
            }
        }
        Ok(())
    }

    /// Writes the report as JUnit XML.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_junit(&self, out: &mut dyn Write) -> Result<()> {
        let cases = self.results.iter().map(|it| JunitCase {
            name: it.check.to_owned(),
            seconds: Some(it.seconds),
            outcome: match &it.outcome {
                Outcome::Passed(_) => JunitOutcome::Passed,
                Outcome::Failed { summary, found } => JunitOutcome::Failed {
                    message: summary.clone(),
                    details: found.join("\n"),
                },
                Outcome::Unchecked(reason) => JunitOutcome::Error(reason.clone()),
            },
        });
        let cases: Vec<JunitCase> = cases.collect();
        let named = |name: &str, values: &[String]| {
            let values = values.iter().map(|it| (name.to_owned(), it.clone()));
            values.collect::<Vec<_>>()
        };
        let mut properties = vec![("version".to_owned(), self.version.to_owned())];
        properties.extend(named("run", &self.runs));
        properties.extend(named("reference", &self.references));
        let figures = self.figures.iter();
        properties.extend(figures.map(|(name, figure)| ((*name).to_owned(), figure.to_string())));
        let suite = JunitSuite {
            name: "callgrove check".to_owned(),
            properties,
        };
        write_junit(out, &suite, &cases)
    }

    /// Writes the report as JSON: `schema` (1), `version`, `outcome`, `runs`, `references`, `figures`, and `checks` with
    /// `check`, `outcome`, `summary`, `found` and `seconds` each.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        let checks = self.results.iter().map(|it| {
            json!({
                "check": it.check,
                "outcome": it.outcome.verdict().name(),
                "summary": it.outcome.summary(),
                "found": it.outcome.found(),
                "seconds": it.seconds,
            })
        });
        let figures = self.figures.iter();
        let figures = figures.map(|(name, figure)| ((*name).to_owned(), json!(figure)));
        let report = json!({
            "schema": JSON_VERSION,
            "version": self.version,
            "outcome": self.verdict().name(),
            "runs": self.runs,
            "references": self.references,
            "figures": Value::Object(figures.collect()),
            "checks": checks.collect::<Vec<Value>>(),
        });
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)
    }

    /// Writes figures in the text format of OpenMetrics.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_metrics(&self, out: &mut dyn Write) -> Result<()> {
        for it in &self.results {
            let outcome = it.outcome.verdict().name();
            let found = it.outcome.found().len();
            writeln!(
                out,
                "callgrove_check{{check=\"{}\",outcome=\"{outcome}\"}} 1",
                it.check
            )?;
            writeln!(
                out,
                "callgrove_check_findings{{check=\"{}\"}} {found}",
                it.check
            )?;
        }
        for (name, figure) in &self.figures {
            writeln!(out, "{name} {figure}")?;
        }
        writeln!(out, "# EOF")
    }
}

/// Returns the first findings, and how many more there are.
pub(crate) fn listed(found: &[String]) -> Vec<String> {
    let mut listed: Vec<String> = found.iter().take(NUM_FOUND).cloned().collect();
    if let Some(more) = found.len().checked_sub(NUM_FOUND).filter(|more| *more > 0) {
        listed.push(format!("and {more} more"));
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::{failed, report};

    fn text(write: impl Fn(&mut dyn Write) -> Result<()>) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn reports_for_readers_list_the_first_findings_and_those_for_programs_all() {
        let report = report(&[failed()]);
        let plain = text(|out| report.write_text(out));
        assert!(
            plain.starts_with("slower: failed: `f<int>` takes 2 times"),
            "{plain}"
        );
        assert!(plain.ends_with("  and 5 more\n"), "{plain}");
        let markdown = text(|out| report.write_markdown(out));
        assert!(
            markdown.contains("## Callgrove: run compared with good\n"),
            "{markdown}"
        );
        assert_eq!(markdown.matches("\n* ").count(), 21, "{markdown}");
        let json: Value = serde_json::from_str(&text(|out| report.write_json(out))).unwrap();
        assert_eq!(json["outcome"], "failed");
        assert_eq!(json["checks"][0]["found"].as_array().unwrap().len(), 25);
        assert_eq!(json["figures"]["callgrove_smallest_visible_percent"], 4.5);
    }

    #[test]
    fn junit_has_times_and_properties() {
        let report = report(&[failed(), Outcome::Unchecked("too few".to_owned())]);
        let xml = text(|out| report.write_junit(out));
        assert!(
            xml.contains("<property name=\"reference\" value=\"good\"/>"),
            "{xml}"
        );
        assert!(xml.contains("name=\"slower\" time=\"0.250\""), "{xml}");
        assert!(xml.contains("<error message=\"too few\"/>"), "{xml}");
    }

    #[test]
    fn metrics_are_open_metrics() {
        let metrics = text(|out| report(&[failed()]).write_metrics(out));
        let expected = "callgrove_check{check=\"slower\",outcome=\"failed\"} 1\n\
                        callgrove_check_findings{check=\"slower\"} 25\n\
                        callgrove_smallest_visible_percent 4.5\n# EOF\n";
        assert_eq!(metrics, expected);
    }
}
