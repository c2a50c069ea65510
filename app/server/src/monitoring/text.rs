//! The text format of Prometheus, version 0.0.4. It is implemented here, since it takes a few lines, and a dependency
//! would add a registry of its own to the counters that exist.

use std::fmt::Display;

/// The media type of the format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The kind of a metric.
#[derive(Clone, Copy, Debug)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// Metrics as text, in the order in which they are added.
#[derive(Debug, Default)]
pub(super) struct MetricsText {
    text: String,
}

impl MetricsText {
    /// Starts a metric; its samples follow.
    pub(super) fn begin(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Adds a sample.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        self.text += name;
        if !labels.is_empty() {
            self.text += &format!("{{{}}}", labels.join(","));
        }
        self.text += &format!(" {value}\n");
    }

    /// Adds a metric with one sample and no labels.
    pub(super) fn single(&mut self, name: &str, kind: MetricKind, help: &str, value: impl Display) {
        self.begin(name, kind, help);
        self.sample(name, &[], value);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Returns the value of a label, escaped for quotes.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_help_are_escaped() {
        let mut metrics = MetricsText::default();
        metrics.begin("a_total", MetricKind::Counter, "One\nline, \\ too.");
        metrics.sample("a_total", &[("x", "a\"b\\c\nd"), ("y", "")], 3);
        metrics.single("b_seconds", MetricKind::Gauge, "Seconds.", 0.5);
        let expected = [
            r"# HELP a_total One\nline, \\ too.",
            "# TYPE a_total counter",
            r#"a_total{x="a\"b\\c\nd",y=""} 3"#,
            "# HELP b_seconds Seconds.",
            "# TYPE b_seconds gauge",
            "b_seconds 0.5",
            "",
        ];
        assert_eq!(metrics.into_text(), expected.join("\n"));
    }
}
