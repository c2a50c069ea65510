//! Where a person is in a run, as text: what a link leads to, and what going back goes back to.

use std::fmt::Write as _;

use callgrove_model::{ProgramId, RankId, TimeNs, TreeCode, TreeIdx};
use callgrove_session::{Analysis, Command, Selection, Snapshot, TimeRange};

use super::CallgroveApp;
use super::layouts::{bring_to_front, is_in_front};
use super::view::View;

/// A larger group is left out: a link shall stay short.
const MAX_TREES: usize = 40;

/// Where a person is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Place {
    /// Root function.
    root: Option<String>,
    /// The selected trees.
    trees: Vec<(ProgramId, TreeCode)>,
    /// The incident that is looked at.
    incident: Option<usize>,
    /// The views in front.
    views: Vec<View>,
    /// What the timeline shows, in nanoseconds from the start of the run, unless it shows all.
    time: Option<(i64, i64)>,
}

/// On the way to a place.
#[derive(Default)]
pub(super) struct Way {
    place: Place,
    /// Whether the forest of its root was asked for.
    is_root_asked: bool,
}

impl Place {
    /// The place as text for an address; empty where nothing is open.
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

    /// The place that a text means; what is not understood is left out.
    pub fn from_text(text: &str) -> Self {
        let mut place = Self::default();
        for (name, value) in text.split('&').filter_map(|part| part.split_once('=')) {
            let value = unescaped(value);
            match name {
                "root" => place.root = Some(value),
                "trees" => place.trees = value.split(',').filter_map(tree_of).collect(),
                "incident" => place.incident = value.parse().ok(),
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

    /// Whether only what the timeline shows is another.
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

/// `rank-index`, or `program/rank-index`.
fn tree_of(text: &str) -> Option<(ProgramId, TreeCode)> {
    let (program, code) = text.split_once('/').unwrap_or(("0", text));
    let (rank, index) = code.split_once('-')?;
    let code = TreeCode {
        rank: RankId(rank.parse().ok()?),
        index: index.parse().ok()?,
    };
    Some((ProgramId(program.parse().ok()?), code))
}

/// A text as it may stand in an address.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:,/".contains(&byte) {
            escaped.push(byte.into());
        } else {
            // Writing to a string does not fail.
            write!(escaped, "%{byte:02X}").ok();
        }
    }
    escaped
}

fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        let meant = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(meant.unwrap_or(*first));
        rest = if meant.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl CallgroveApp {
    /// Where the person is; `None` while nothing is open, and on the way to another place.
    pub fn place(&self) -> Option<Place> {
        let snapshot = self.session.snapshot();
        let watch = &snapshot.watch;
        if self.way.is_some() || snapshot.analysis.is_none() && !watch.is_attached() {
            return None;
        }
        let analysis = snapshot.analysis.as_ref();
        let selected = match &snapshot.selection {
            Selection::None => &[][..],
            Selection::One(tree) => std::slice::from_ref(tree),
            Selection::Group(trees) => &trees[..],
        };
        let selected = analysis.zip((selected.len() <= MAX_TREES).then_some(selected));
        let trees = selected.into_iter().flat_map(|(analysis, trees)| {
            let forest = &analysis.forest;
            let code = |tree: &TreeIdx| (forest.lane_of(*tree).program, forest.code(*tree));
            trees.iter().map(code)
        });
        let in_front = |view: &View| is_in_front(&self.layout, *view);
        Some(Place {
            root: analysis.map(|analysis| analysis.root_name.clone()),
            trees: trees.collect(),
            incident: snapshot.incident,
            views: View::ALL.into_iter().filter(in_front).collect(),
            time: self.time_of_place(snapshot),
        })
    }

    fn time_of_place(&self, snapshot: &Snapshot) -> Option<(i64, i64)> {
        let (start, _) = snapshot.trace.as_ref()?.time_span()?;
        let seen = self.states.timeline.part_seen()?;
        Some((seen.from.since(start).0, seen.to.since(start).0))
    }

    /// Goes to a place, as soon as what is there has been opened.
    pub fn go_to_place(&mut self, place: Place) {
        self.way = Some(Way {
            place,
            is_root_asked: false,
        });
    }

    /// Goes on to the place that is wanted.
    pub(super) fn go_on(&mut self) {
        let Some(mut way) = self.way.take() else {
            return;
        };
        let snapshot = self.session.snapshot().clone();
        let Some(analysis) = &snapshot.analysis else {
            // Of a run that is only watched there is nothing to wait for.
            if snapshot.watch.is_attached() {
                self.bring_forward(&way.place.views);
            } else {
                self.way = Some(way);
            }
            return;
        };
        let root = way.place.root.as_ref();
        if let Some(root) = root.filter(|root| **root != analysis.root_name) {
            if !way.is_root_asked {
                let function = root.clone();
                self.session.send(Command::SetRoot { function });
                way.is_root_asked = true;
            }
            // A root that the run does not have ends the way.
            let has_failed = snapshot
                .notices
                .iter()
                .any(|it| it.text.contains(root.as_str()));
            self.way = Some(way).filter(|_| !has_failed);
            return;
        }
        if way.place.incident.is_some() && snapshot.causes.is_none() {
            self.way = Some(way);
            return;
        }
        let place = way.place;
        let selection = place.selection(analysis);
        self.session.send(Command::Select(selection));
        if place.incident.is_some() {
            self.session.send(Command::SelectIncident(place.incident));
        }
        self.bring_forward(&place.views);
        let start = snapshot.trace.as_ref().and_then(|trace| trace.time_span());
        let time = place.time.zip(start).map(|((from, to), (start, _))| {
            let after = |ns: i64| TimeNs(start.0.saturating_add(ns));
            TimeRange {
                from: after(from),
                to: after(to),
            }
        });
        self.states.timeline.restore(time);
    }

    fn bring_forward(&mut self, views: &[View]) {
        for view in views {
            bring_to_front(&mut self.layout, *view);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::Window;
    use super::*;
    use crate::test_support::demo_snapshot;

    fn any_place() -> impl Strategy<Value = Place> {
        let tree = (0..3_u32, 0..99_u32, 0..9999_u32).prop_map(|(program, rank, index)| {
            let rank = RankId(rank);
            (ProgramId(program), TreeCode { rank, index })
        });
        (
            proptest::option::of("\\PC{1,20}"),
            proptest::collection::vec(tree, 0..4),
            proptest::option::of(0..100_usize),
            proptest::sample::subsequence(View::ALL.to_vec(), 0..4),
            proptest::option::of((-5..1000_i64, 1000..i64::MAX)),
        )
            .prop_map(|(root, trees, incident, views, time)| Place {
                root,
                trees,
                incident,
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

    #[test]
    fn a_link_leads_back_to_trees_views_and_time() {
        let mut window = Window::new(demo_snapshot());
        let text = "root=compute&trees=0-2,1-3&time=1000..9000&views=timeline,waits";
        let wanted = Place::from_text(text);
        window.harness.state_mut().go_to_place(wanted.clone());
        window.harness.run();
        let there = window.harness.state().place().unwrap();
        assert_eq!(there.trees, wanted.trees);
        assert_eq!(there.time, wanted.time);
        for view in &wanted.views {
            assert!(there.views.contains(view), "{there:?}");
        }
        assert!(!there.differs_in_time_alone(&wanted));
    }

    #[test]
    fn another_root_is_asked_for_once() {
        let mut window = Window::new(demo_snapshot());
        let place = Place::from_text("root=ev_tally&trees=1-3");
        window.harness.state_mut().go_to_place(place);
        window.harness.run();
        let asked = window.sent();
        let roots = asked
            .iter()
            .filter(|it| matches!(it, Command::SetRoot { .. }));
        assert_eq!(roots.count(), 1, "{asked:?}");
        assert_eq!(window.harness.state().place(), None, "it is on the way");
    }
}
