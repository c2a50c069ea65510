//! Rules of a site: ignored functions, thresholds of single functions, and watched counters of the node state. Each is
//! a file in the format of Chimbuko.

use callgrove_detect::ValidParams;
use callgrove_model::{FunctionName, FunctionPattern};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::AdError;

/// Rules by function name. Names are patterns ([`FunctionPattern`]), so a full name matches itself.
#[derive(Clone, Debug, Default)]
pub struct FunctionRules {
    ignored: Vec<Rule>,
    thresholds: Vec<(Rule, f64)>,
}

/// A pattern and its source text.
#[derive(Clone, Debug)]
struct Rule {
    pattern: FunctionPattern,
    text: String,
}

impl Rule {
    fn new(text: &str) -> Self {
        Self {
            pattern: FunctionPattern::new(text),
            text: text.to_owned(),
        }
    }
}

/// An entry of the threshold file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Threshold {
    fname: String,
    threshold: f64,
}

fn from_json<T: DeserializeOwned>(text: &str, path: &str) -> Result<T, AdError> {
    serde_json::from_str(text).map_err(|cause| AdError::File {
        cause,
        path: path.to_owned(),
    })
}

impl FunctionRules {
    /// Adds functions that are not judged. `text` has one name per line; empty lines and lines that begin with `#` are
    /// ignored.
    pub fn ignore(&mut self, text: &str) {
        let names = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        self.ignored.extend(names.map(Rule::new));
    }

    /// Adds thresholds of single functions. `text` is JSON, `[{"fname": NAME, "threshold": NUMBER}, …]`. The number
    /// replaces the severe time in µs (excess), the share of the score's range (HBOS, COPOD) or sigma (SSTD). If
    /// several match a function, the last one counts. `params` defines the valid range.
    ///
    /// # Errors
    /// [`AdError::File`] or [`AdError::Threshold`], naming `path`.
    pub fn set_thresholds(
        &mut self,
        text: &str,
        path: &str,
        params: &ValidParams,
    ) -> Result<(), AdError> {
        let thresholds: Vec<Threshold> = from_json(text, path)?;
        for Threshold { fname, threshold } in thresholds {
            match params.check_threshold(threshold) {
                Ok(threshold) => self.thresholds.push((Rule::new(&fname), threshold)),
                Err(cause) => {
                    return Err(AdError::Threshold {
                        function: fname,
                        cause,
                        path: path.to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns whether the function is not judged.
    pub(crate) fn is_ignored(&self, name: &str) -> bool {
        let name = FunctionName::parse(name);
        self.ignored.iter().any(|rule| rule.pattern.matches(&name))
    }

    /// Returns the function's own threshold, if it has one.
    pub(crate) fn threshold(&self, name: &str) -> Option<f64> {
        let name = FunctionName::parse(name);
        let mut all = self.thresholds.iter().rev();
        all.find(|(rule, _)| rule.pattern.matches(&name))
            .map(|&(_, threshold)| threshold)
    }

    /// Returns the patterns, as written, that match none of these functions.
    pub(crate) fn without_effect<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<String> {
        let names: Vec<FunctionName<'_>> = names.map(FunctionName::parse).collect();
        let rules = self.ignored.iter();
        let rules = rules.chain(self.thresholds.iter().map(|(rule, _)| rule));
        let idle = rules.filter(|rule| !names.iter().any(|name| rule.pattern.matches(name)));
        idle.map(|rule| rule.text.clone()).collect()
    }
}

/// Selects the counters that report the state of the node, and their fields.
#[derive(Clone, Debug)]
pub enum Watchlist {
    /// All counters whose names begin with the prefix; the rest of the name is the field. An empty prefix selects none.
    Prefix(String),
    /// These pairs of counter and field.
    Listed(Vec<(String, String)>),
}

impl Default for Watchlist {
    fn default() -> Self {
        Self::Prefix("monitoring: ".to_owned())
    }
}

impl Watchlist {
    /// Reads a list of pairs, `[[COUNTER, FIELD], …]` in JSON.
    ///
    /// # Errors
    /// [`AdError::File`] naming `path`.
    pub fn parse(text: &str, path: &str) -> Result<Self, AdError> {
        from_json(text, path).map(Self::Listed)
    }

    /// Returns the field that the counter updates, if it is watched.
    pub(crate) fn field<'a>(&'a self, counter: &'a str) -> Option<&'a str> {
        match self {
            Self::Prefix(prefix) if prefix.is_empty() => None,
            Self::Prefix(prefix) => counter.strip_prefix(prefix.as_str()),
            Self::Listed(pairs) => {
                let mut pairs = pairs.iter();
                pairs
                    .find(|(name, _)| name == counter)
                    .map(|(_, field)| field.as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_detect::Params;

    use super::*;

    fn params() -> ValidParams {
        Params::default().check().unwrap()
    }

    #[test]
    fn full_names_and_patterns_are_ignored() {
        let mut rules = FunctionRules::default();
        rules.ignore("# MPI\nMPI_*\n\nint main(int, char **) [{main.cpp} {3,1}]\n");
        assert!(rules.is_ignored("MPI_Send()"));
        assert!(rules.is_ignored("int main(int, char **) [{main.cpp} {3,1}]"));
        assert!(!rules.is_ignored("PairEAM::compute(int, int)"));
        let names = ["main", "MPI_Recv()"];
        let idle = rules.without_effect(names.into_iter());
        assert_eq!(idle, ["int main(int, char **) [{main.cpp} {3,1}]"]);
    }

    #[test]
    fn the_last_matching_threshold_counts() {
        let mut rules = FunctionRules::default();
        let text =
            r#"[{"fname": "MPI_*", "threshold": 0.9}, {"fname": "MPI_Send", "threshold": 0.999}]"#;
        rules.set_thresholds(text, "t.json", &params()).unwrap();
        assert_eq!(rules.threshold("MPI_Recv()"), Some(0.9));
        assert_eq!(rules.threshold("MPI_Send()"), Some(0.999));
        assert_eq!(rules.threshold("main"), None);
    }

    #[test]
    fn invalid_files_are_refused_with_their_name() {
        let mut rules = FunctionRules::default();
        for text in [
            "{}",
            r#"[{"fname": "f", "threshold": -1}]"#,
            r#"[{"name": "f", "threshold": 1}]"#,
        ] {
            let error = rules
                .set_thresholds(text, "t.json", &params())
                .unwrap_err()
                .to_string();
            assert!(error.contains("t.json"), "{error}");
        }
        assert!(Watchlist::parse(r#"[["a"]]"#, "w.json").is_err());
    }

    #[test]
    fn counters_are_watched_by_prefix_or_by_list() {
        let by_prefix = Watchlist::default();
        assert_eq!(
            by_prefix.field("monitoring: Memory Available (MB)"),
            Some("Memory Available (MB)")
        );
        assert_eq!(by_prefix.field("Message size for broadcast"), None);
        assert_eq!(Watchlist::Prefix(String::new()).field("x"), None);
        let listed = Watchlist::parse(r#"[["cpu: User %", "user"]]"#, "w.json").unwrap();
        assert_eq!(listed.field("cpu: User %"), Some("user"));
        assert_eq!(listed.field("monitoring: x"), None);
    }
}
