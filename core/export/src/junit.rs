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

/// One check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JunitCase {
    /// Name of the check.
    pub name: String,
    /// Its outcome.
    pub outcome: JunitOutcome,
}

/// Writes the checks of a suite as one XML document. Characters that XML does not allow are replaced by `�`.
///
/// # Errors
/// Those of the output.
pub fn write_junit(out: &mut dyn Write, suite: &str, cases: &[JunitCase]) -> Result<()> {
    let num = |is_counted: fn(&JunitOutcome) -> bool| {
        let counted = cases.iter().filter(|case| is_counted(&case.outcome));
        counted.count()
    };
    let failures = num(|it| matches!(it, JunitOutcome::Failed { .. }));
    let errors = num(|it| matches!(it, JunitOutcome::Error(_)));
    let skipped = num(|it| matches!(it, JunitOutcome::Skipped(_)));
    let (suite, tests) = (escaped(suite), cases.len());
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">"
    )?;
    writeln!(
        out,
        "  <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" \
         skipped=\"{skipped}\">"
    )?;
    for case in cases {
        let name = escaped(&case.name);
        write!(out, "    <testcase classname=\"{suite}\" name=\"{name}\"")?;
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
