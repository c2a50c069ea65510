//! SARIF 2.1.0, which servers for code scanning show.
//!
//! Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, sections 3.13 to 3.28. A finding is of
//! a run and not of a line of source, so its place is the run.

use std::io::{Result, Write};

use serde_json::{Value, json};

use super::outcome::{CheckReport, CheckVerdict};

impl CheckReport {
    /// Writes what was found as SARIF. What could not be checked is a notification of the run of the tool.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_sarif(&self, out: &mut dyn Write) -> Result<()> {
        let failed = |it: &&super::CheckResult| it.outcome.verdict() == CheckVerdict::Failed;
        let unchecked = |it: &&super::CheckResult| it.outcome.verdict() == CheckVerdict::Unchecked;
        let rules = self.results.iter().map(|it| {
            json!({
                "id": it.check,
                "shortDescription": { "text": format!("callgrove check: {}", it.check) },
            })
        });
        let uri = self.runs.first().map_or("run", String::as_str);
        let results = self.results.iter().filter(failed).flat_map(|it| {
            let found = it.outcome.found().iter();
            found.map(move |sentence| {
                json!({
                    "ruleId": it.check,
                    "level": "error",
                    "message": { "text": sentence },
                    "locations": [{
                        "physicalLocation": {
                            "artifactLocation": { "uri": uri_of(uri) },
                            "region": { "startLine": 1 },
                        }
                    }],
                })
            })
        });
        let notifications = self.results.iter().filter(unchecked).map(|it| {
            let text = format!("{} was not checked: {}", it.check, it.outcome.summary());
            json!({ "level": "warning", "message": { "text": text } })
        });
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {
                    "driver": {
                        "name": "Callgrove",
                        "version": self.version,
                        "rules": rules.collect::<Vec<Value>>(),
                    }
                },
                "invocations": [{
                    "executionSuccessful": self.verdict() != CheckVerdict::Unchecked,
                    "toolExecutionNotifications": notifications.collect::<Vec<Value>>(),
                }],
                "results": results.collect::<Vec<Value>>(),
            }],
        });
        serde_json::to_writer_pretty(&mut *out, &log)?;
        writeln!(out)
    }
}

/// Returns a path as a relative reference of a URI: what is no letter, digit or one of `-._~/` is escaped.
fn uri_of(path: &str) -> String {
    let path = path.trim_start_matches("./");
    let escaped = path.bytes().map(|byte| match byte {
        b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::outcome::tests::{failed, report};

    #[test]
    fn findings_are_results_and_the_unchecked_is_a_notification() {
        let mut report = report(&[failed(), Outcome::Unchecked("too few".to_owned())]);
        report.runs = vec!["./runs/run 1".to_owned()];
        let mut bytes = Vec::new();
        report.write_sarif(&mut bytes).unwrap();
        let log: Value = serde_json::from_slice(&bytes).unwrap();
        let run = &log["runs"][0];
        assert_eq!(run["results"].as_array().unwrap().len(), 25);
        let location = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "runs/run%201");
        let notification = &run["invocations"][0]["toolExecutionNotifications"][0];
        assert_eq!(
            notification["message"]["text"],
            "slower was not checked: too few"
        );
        assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    }
}
