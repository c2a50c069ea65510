//! Methods by name.

use std::fmt;
use std::str::FromStr;

use crate::baselines::{Baseline, Rule};

/// The rows that a baseline uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RowsOf {
    /// The rows of our detector; their name is empty.
    Excess,
    /// The paper's embedding, `stack2vec+`.
    Stack2vec,
    /// Times without call stacks, `time+`.
    Time,
}

/// A way to score trees. Its name is `ours`, `paper`, that of a rule (`duration`), or the name of its rows followed
/// by that of a baseline: `lof`, `stack2vec+lof`, `time+lof`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Method {
    /// Our detector, which learns from labels.
    Ours,
    /// The detector with the settings of the paper, which learns from labels.
    Paper,
    /// A rule, which does not learn.
    Rule(Rule),
    /// A baseline, which does not learn (or from all labels at once).
    Baseline(RowsOf, Baseline),
}

/// A name that no method has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "unknown method `{name}`; there are ours, paper, {} and, alone or after stack2vec+ or time+, {}",
    rule_names(),
    baseline_names()
)]
pub struct UnknownMethod {
    /// The name.
    pub name: String,
}

fn rule_names() -> String {
    let names: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    names.join(", ")
}

fn baseline_names() -> String {
    let names: Vec<&str> = Baseline::ALL
        .iter()
        .map(|baseline| baseline.name())
        .collect();
    names.join(", ")
}

impl Method {
    /// Returns whether it can learn from a few labels.
    pub fn learns(self) -> bool {
        matches!(self, Self::Ours | Self::Paper)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours => f.write_str("ours"),
            Self::Paper => f.write_str("paper"),
            Self::Rule(rule) => write!(f, "{rule}"),
            Self::Baseline(RowsOf::Excess, baseline) => write!(f, "{baseline}"),
            Self::Baseline(RowsOf::Stack2vec, baseline) => write!(f, "stack2vec+{baseline}"),
            Self::Baseline(RowsOf::Time, baseline) => write!(f, "time+{baseline}"),
        }
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        if let Some(rule) = Rule::from_name(name) {
            return Ok(Self::Rule(rule));
        }
        let (rows, baseline) = match name.split_once('+') {
            None if name == "ours" => return Ok(Self::Ours),
            None if name == "paper" => return Ok(Self::Paper),
            None => (Some(RowsOf::Excess), name),
            Some(("stack2vec", baseline)) => (Some(RowsOf::Stack2vec), baseline),
            Some(("time", baseline)) => (Some(RowsOf::Time), baseline),
            Some(_) => (None, name),
        };
        rows.zip(Baseline::from_name(baseline))
            .map(|(rows, baseline)| Self::Baseline(rows, baseline))
            .ok_or_else(|| UnknownMethod {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let rows = [RowsOf::Excess, RowsOf::Stack2vec, RowsOf::Time];
        let baselines = rows.into_iter().flat_map(|rows| {
            let of_rows = move |&baseline: &Baseline| Method::Baseline(rows, baseline);
            Baseline::ALL.iter().map(of_rows)
        });
        let rules = Rule::ALL.iter().map(|&rule| Method::Rule(rule));
        let known = [Method::Ours, Method::Paper].into_iter().chain(rules);
        for method in known.chain(baselines) {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        for name in [
            "",
            "Ours",
            "time+",
            "time+ours",
            "time+duration",
            "x+lof",
            "lof+time",
        ] {
            assert!(name.parse::<Method>().is_err(), "{name}");
        }
    }
}
