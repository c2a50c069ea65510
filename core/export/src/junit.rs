//! JUnit's XML, which servers for continuous integration display.

use std::fmt::Write as _;
use std::io::{Result, Write};

/// The outcome of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JunitOutcome {
    /// It passed.
    Passed,
    /// It failed: the reason in one line, and the details.
    Failed {
        /// One line.
        message: String,
        /// More lines; may be empty.
        details: String,
    },
    /// It could not be done, for this reason.
    Error(String),
    /// It was left out, for this reason.
    Skipped(String),
}

/// The suite of checks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct JunitSuite {
    /// Its name.
    pub name: String,
    /// What is known of it: names and values.
    pub properties: Vec<(String, String)>,
}

/// One check.
#[derive(Clone, PartialEq, Debug)]
pub struct JunitCase {
    /// Name of the check.
    pub name: String,
    /// How long it took, if that is known.
    pub seconds: Option<f64>,
    /// Its outcome.
    pub outcome: JunitOutcome,
}

/// Writes the checks of a suite as one XML document. Characters that XML does not allow are replaced by `�`.
///
/// # Errors
/// Those of the output.
pub fn write_junit(out: &mut dyn Write, suite: &JunitSuite, cases: &[JunitCase]) -> Result<()> {
    let num = |is_counted: fn(&JunitOutcome) -> bool| {
        let counted = cases.iter().filter(|case| is_counted(&case.outcome));
        counted.count()
    };
    let failures = num(|it| matches!(it, JunitOutcome::Failed { .. }));
    let errors = num(|it| matches!(it, JunitOutcome::Error(_)));
    let skipped = num(|it| matches!(it, JunitOutcome::Skipped(_)));
    let (name, tests) = (escaped(&suite.name), cases.len());
    let all: f64 = cases.iter().filter_map(|case| case.seconds).sum();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">"
    )?;
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" \
         skipped=\"{skipped}\" time=\"{all:.3}\">"
    )?;
    if !suite.properties.is_empty() {
        writeln!(out, "    <properties>")?;
        for (property, value) in &suite.properties {
            let (property, value) = (escaped(property), escaped(value));
            writeln!(
                out,
                "      <property name=\"{property}\" value=\"{value}\"/>"
            )?;
        }
        writeln!(out, "    </properties>")?;
    }
    for case in cases {
        let of_case = escaped(&case.name);
        write!(out, "    <testcase classname=\"{name}\" name=\"{of_case}\"")?;
        if let Some(seconds) = case.seconds {
            write!(out, " time=\"{seconds:.3}\"")?;
        }
        match &case.outcome {
            JunitOutcome::Passed => writeln!(out, "/>")?,
            JunitOutcome::Failed { message, details } => {
                let (message, details) = (escaped(message), escaped(details));
                writeln!(
                    out,
                    ">\n      <failure message=\"{message}\">{details}</failure>\n    </testcase>"
                )?;
            }
            JunitOutcome::Error(reason) => {
                let reason = escaped(reason);
                writeln!(
                    out,
                    ">\n      <error message=\"{reason}\"/>\n    </testcase>"
                )?;
            }
            JunitOutcome::Skipped(reason) => {
                let reason = escaped(reason);
                writeln!(
                    out,
                    ">\n      <skipped message=\"{reason}\"/>\n    </testcase>"
                )?;
            }
        }
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// Returns a text for content and for attributes in double quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // In attributes these would be read as spaces.
            '\n' | '\t' => write!(escaped, "&#{};", u32::from(c)).unwrap_or_default(),
            c if is_allowed(c) => escaped.push(c),
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}

/// Returns whether XML 1.0 allows a character (production 2 of the recommendation); tabs and line ends are handled
/// before.
fn is_allowed(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')
}
