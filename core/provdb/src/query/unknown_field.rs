//! An unknown field of a query, with the name that was probably meant.

use std::fmt;

use crate::collection::Collection;

/// A field that is neither in the schema of a collection nor in any of its documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    field: String,
    collection: Collection,
    /// The known fields at this position, ordered by name.
    known: Vec<String>,
}

impl UnknownField {
    /// Creates the error from the unknown field and the known ones.
    pub(crate) fn new(field: String, collection: Collection, mut known: Vec<String>) -> Self {
        known.sort();
        known.dedup();
        Self {
            field,
            collection,
            known,
        }
    }

    /// Returns the most similar known field, if one is similar.
    fn nearest(&self) -> Option<&str> {
        let near = self.known.iter().filter_map(|name| {
            let cost = dissimilarity(&self.field, name)?;
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
            None => write!(f, "; use one of {}", self.known.join(", ")),
        }
    }
}

impl std::error::Error for UnknownField {}

/// Returns how much a name differs from the meant one, smaller for more similar names; `None` if they are not similar.
/// A part of a long name, such as `severity` of `outlier_severity`, is similar too.
fn dissimilarity(written: &str, meant: &str) -> Option<usize> {
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

/// Returns the number of insertions, deletions and replacements from `written` to `meant`, or to the most similar part
/// of it.
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
        let all = "use one of fid, func, io_step, outlier_score, outlier_severity, rid";
        check("temperature", all);
        check("x", all);
    }
}
