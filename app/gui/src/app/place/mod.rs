//! A location in a run as text: the target of a link, and an entry of the history.

mod navigation;

use std::fmt::Write as _;

use callgrove_actions::View;
use callgrove_model::{ProgramId, RankId, TreeCode, TreeIdx, percent_decoded, percent_encoded};
use callgrove_session::{Analysis, Selection};

/// A location in a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Place {
    /// Root function.
    root: Option<String>,
    /// The selected trees.
    trees: Vec<(ProgramId, TreeCode)>,
    /// The selected incident.
    incident: Option<usize>,
    /// The selected trend.
    trend: Option<usize>,
    /// The views in front.
    views: Vec<View>,
    /// The time range of the timeline, in nanoseconds since the start of the run; `None` for the whole run.
    time: Option<(i64, i64)>,
}

/// A navigation in progress.
#[derive(Default)]
pub(super) struct Destination {
    place: Place,
    /// True if the forest of its root has been requested.
    is_root_requested: bool,
}

impl Place {
    /// Returns the location as text for an address; empty if nothing is open.
    pub fn to_text(&self) -> String {
        let trees = self.trees.iter().map(|(program, code)| match program.0 {
            0 => format!("{}-{}", code.rank, code.index),
            program => format!("{program}/{}-{}", code.rank, code.index),
        });
        let trees: Vec<String> = trees.collect();
        let views: Vec<String> = (self.views.iter().copied().map(View::name))
            .map(str::to_lowercase)
            .collect();
        let parts = [
            ("root", self.root.clone()),
            ("trees", Some(trees.join(","))),
            ("incident", self.incident.map(|it| it.to_string())),
            ("trend", self.trend.map(|it| it.to_string())),
            ("time", self.time.map(|(from, to)| format!("{from}..{to}"))),
            ("views", Some(views.join(","))),
        ];
        let mut text = String::new();
        for (name, value) in parts {
            let Some(value) = value.filter(|value| !value.is_empty()) else {
                continue;
            };
            let between = if text.is_empty() { "" } else { "&" };
            // Writing to a string does not fail.
            write!(text, "{between}{name}={}", escaped(&value)).ok();
        }
        text
    }

    /// Parses a location; parts that cannot be parsed are left out.
    pub fn from_text(text: &str) -> Self {
        let mut place = Self::default();
        for (name, value) in text.split('&').filter_map(|part| part.split_once('=')) {
            let value = unescaped(value);
            match name {
                "root" => place.root = Some(value),
                "trees" => place.trees = value.split(',').filter_map(tree_of).collect(),
                "incident" => place.incident = value.parse().ok(),
                "trend" => place.trend = value.parse().ok(),
                "time" => {
                    let ends = value.split_once("..");
                    let ends = ends.and_then(|(from, to)| from.parse().ok().zip(to.parse().ok()));
                    place.time = ends.filter(|(from, to)| from < to);
                }
                "views" => {
                    let named = |name: &str| {
                        let mut all = View::ALL.into_iter();
                        all.find(|view| view.name().eq_ignore_ascii_case(name))
                    };
                    place.views = value.split(',').filter_map(named).collect();
                }
                _ => {}
            }
        }
        place
    }

    /// Returns whether the locations differ only in the time range of the timeline.
    pub fn differs_in_time_alone(&self, other: &Self) -> bool {
        let without_time = |place: &Self| Self {
            time: None,
            ..place.clone()
        };
        self.time != other.time && without_time(self) == without_time(other)
    }

    fn selection(&self, analysis: &Analysis) -> Selection {
        let forest = &analysis.forest;
        let find = |(program, code): &(ProgramId, TreeCode)| {
            let mut trees = forest.find(*code);
            trees.find(|tree| forest.lane_of(*tree).program == *program)
        };
        let mut trees: Vec<TreeIdx> = self.trees.iter().filter_map(find).collect();
        trees.sort_unstable();
        match trees[..] {
            [] => Selection::None,
            [tree] => Selection::One(tree),
            _ => Selection::Group(trees),
        }
    }
}

/// Parses `rank-index` or `program/rank-index`.
fn tree_of(text: &str) -> Option<(ProgramId, TreeCode)> {
    let (program, code) = text.split_once('/').unwrap_or(("0", text));
    let (rank, index) = code.split_once('-')?;
    let code = TreeCode {
        rank: RankId(rank.parse().ok()?),
        index: index.parse().ok()?,
    };
    Some((ProgramId(program.parse().ok()?), code))
}

/// Returns the text escaped for an address.
fn escaped(text: &str) -> String {
    percent_encoded(text.as_bytes(), |byte| {
        byte.is_ascii_alphanumeric() || b"-_.~:,/".contains(&byte)
    })
}

fn unescaped(text: &str) -> String {
    let (bytes, _) = percent_decoded(text);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_place() -> impl Strategy<Value = Place> {
        let tree = (0..3_u32, 0..99_u32, 0..9999_u32).prop_map(|(program, rank, index)| {
            let rank = RankId(rank);
            (ProgramId(program), TreeCode { rank, index })
        });
        (
            proptest::option::of("\\PC{1,20}"),
            proptest::collection::vec(tree, 0..4),
            (0..3_usize, 0..100_usize),
            proptest::sample::subsequence(View::ALL.to_vec(), 0..4),
            proptest::option::of((-5..1000_i64, 1000..i64::MAX)),
        )
            .prop_map(|(root, trees, (kind, number), views, time)| Place {
                root,
                trees,
                incident: (kind == 1).then_some(number),
                trend: (kind == 2).then_some(number),
                views,
                time,
            })
    }

    proptest! {
        #[test]
        fn a_place_comes_back_from_its_text(place in any_place()) {
            let text = place.to_text();
            prop_assert!(text.is_ascii() && !text.contains(' '), "{text}");
            prop_assert_eq!(Place::from_text(&text), place);
        }

        #[test]
        fn any_text_is_some_place(text in "\\PC*") {
            let _ = Place::from_text(&text).to_text();
        }
    }
}
