//! A field that a query names and no document can have, with the name that was probably meant.

use std::fmt;

use crate::Collection;

/// A field that neither the schema of a collection nor any of its documents has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    field: String,
    collection: Collection,
    /// Fields that the schema has in the place of this one, in the order of their names.
    known: Vec<String>,
}

impl UnknownField {
    /// A field that is not there, and those that are.
    pub(super) fn new(field: String, collection: Collection, mut known: Vec<String>) -> Self {
        known.sort();
        known.dedup();
        Self {
            field,
            collection,
            known,
        }
    }

    /// The known field whose name is most like this one, if one is like it.
    fn nearest(&self) -> Option<&str> {
        let near = self.known.iter().filter_map(|name| {
            let cost = unlikeness(&self.field, name)?;
            Some((cost, name.as_str()))
        });
        near.min().map(|(_, name)| name)
    }
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no field '{}' in {}", self.field, self.collection)?;
        match self.nearest() {
            Some(nearest) => write!(f, "; did you mean '{nearest}'?"),
            None if self.known.is_empty() => Ok(()),
            None => write!(f, "; take one of {}", self.known.join(", ")),
        }
    }
}

impl std::error::Error for UnknownField {}

/// How much a name differs from one that was meant, smaller for names that are more alike; none if they are not alike. A
/// part of a long name, such as `severity` of `outlier_severity`, is like it too.
fn unlikeness(written: &str, meant: &str) -> Option<usize> {
    let (written, meant): (Vec<char>, Vec<char>) = (lowercase(written), lowercase(meant));
    let as_whole = distance(&written, &meant, false);
    let as_part = distance(&written, &meant, true);
    let whole = (as_whole <= (written.len() / 3).max(1)).then_some(2 * as_whole);
    let part = (written.len() > 2 && as_part <= written.len() / 4).then_some(2 * as_part + 1);
    whole.into_iter().chain(part).min()
}

fn lowercase(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions and replacements that make `written` into `meant`, or into the most similar part of it.
fn distance(written: &[char], meant: &[char], is_part: bool) -> usize {
    let start = |at: usize| if is_part { 0 } else { at };
    let mut row: Vec<usize> = (0..=meant.len()).map(start).collect();
    for (idx, from) in written.iter().enumerate() {
        let mut diagonal = row.first().copied().unwrap_or_default();
        let mut left = idx + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, to) in row.iter_mut().skip(1).zip(meant) {
            let replaced = diagonal + usize::from(from != to);
            diagonal = *cell;
            left = replaced.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
    }
    let end = if is_part {
        row.iter().min()
    } else {
        row.last()
    };
    end.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: &str) {
        let known = [
            "fid",
            "func",
            "io_step",
            "outlier_score",
            "outlier_severity",
            "rid",
        ];
        let known = known.map(str::to_owned).to_vec();
        let error = UnknownField::new(written.to_owned(), Collection::Anomalies, known);
        let expected = format!("no field '{written}' in anomalies; {expected}");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_nearest_name_is_offered() {
        check("outlier_scor", "did you mean 'outlier_score'?");
        check("severty", "did you mean 'outlier_severity'?");
        check("SCORE", "did you mean 'outlier_score'?");
        check("rib", "did you mean 'rid'?");
        check("io-step", "did you mean 'io_step'?");
    }

    #[test]
    fn without_one_all_names_are_offered() {
        let all = "take one of fid, func, io_step, outlier_score, outlier_severity, rid";
        check("temperature", all);
        check("x", all);
    }
}
