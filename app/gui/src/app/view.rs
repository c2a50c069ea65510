//! The views that can be docked, and which keys each keeps for itself.

use callgrove_session::watch::Page;
use egui::Key;
use serde::{Deserialize, Serialize};

/// A view. The first has the key I; those after it have the digits, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum View {
    /// Delays that reached several ranks, and who began them; what is slower throughout.
    Incidents,
    /// Trees in order of their scores.
    Candidates,
    /// All trees in the plane.
    Map,
    /// The focused tree and what differs from the usual ones.
    Tree,
    /// All ranks over time.
    Timeline,
    /// The selected call.
    Details,
    /// Anomalies of the watched run by rank, function and step.
    Overview,
    /// Statistics of all functions.
    Profile,
    /// Executions looked up in the provenance database.
    Records,
    /// One of them.
    Record,
    /// Labels, questions and settings of the model.
    Training,
    /// Statistics of all counters.
    Counters,
    /// What recurs, and how long it usually takes.
    Patterns,
    /// Which rank waited for which, and who began it.
    Waits,
}

impl View {
    /// All views.
    pub(crate) const ALL: [Self; 14] = [
        Self::Incidents,
        Self::Candidates,
        Self::Map,
        Self::Tree,
        Self::Timeline,
        Self::Details,
        Self::Overview,
        Self::Profile,
        Self::Records,
        Self::Record,
        Self::Training,
        Self::Counters,
        Self::Patterns,
        Self::Waits,
    ];

    /// What a person calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Incidents => "Incidents",
            Self::Candidates => "Candidates",
            Self::Map => "Map",
            Self::Tree => "Tree",
            Self::Timeline => "Timeline",
            Self::Details => "Details",
            Self::Overview => "Overview",
            Self::Profile => "Profile",
            Self::Records => "Records",
            Self::Record => "Record",
            Self::Training => "Training",
            Self::Counters => "Counters",
            Self::Patterns => "Patterns",
            Self::Waits => "Waits",
        }
    }

    /// What it is for, in words.
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Incidents => {
                "Delays that reached several ranks, and who began them; what is slower throughout."
            }
            Self::Candidates => "The executions that are least like the others, to be judged.",
            Self::Map => "All executions of a function, like ones near each other.",
            Self::Tree => "The calls of one execution, and what differs from the usual ones.",
            Self::Timeline => "All ranks over time.",
            Self::Details => "One call: its times, messages and counters.",
            Self::Overview => "Anomalies of the run by rank, function and step.",
            Self::Profile => "Statistics of all functions.",
            Self::Records => "Executions that detectors recorded, looked up.",
            Self::Record => "One recorded execution, with what was around it.",
            Self::Training => "Labels, and the model that is learned from them.",
            Self::Counters => "Statistics of all counters.",
            Self::Patterns => "What recurs, how long it takes as a rule, and what took longer.",
            Self::Waits => "Who waited for whom, and how long.",
        }
    }

    /// Whether it shows the watched run, and so needs one; the others need a trace.
    pub(crate) fn is_of_watch(self) -> bool {
        self.page().is_some()
    }

    /// The page of the watched run that it shows.
    pub(crate) fn page(self) -> Option<Page> {
        match self {
            Self::Overview => Some(Page::Overview),
            Self::Profile => Some(Page::Functions),
            Self::Counters => Some(Page::Counters),
            Self::Records => Some(Page::Executions),
            Self::Record => Some(Page::Document),
            _ => None,
        }
    }

    /// The view of a page of the watched run.
    pub(crate) fn of_page(page: Page) -> Self {
        match page {
            Page::Overview => Self::Overview,
            Page::Functions => Self::Profile,
            Page::Counters => Self::Counters,
            Page::Executions => Self::Records,
            Page::Document => Self::Record,
        }
    }

    /// Whether a key without modifiers is the view's own while it has the focus.
    pub(crate) fn claims(self, key: Key) -> bool {
        let is_arrow = matches!(
            key,
            Key::ArrowUp | Key::ArrowDown | Key::ArrowLeft | Key::ArrowRight
        );
        match self {
            Self::Map | Self::Tree | Self::Overview | Self::Patterns | Self::Waits => is_arrow,
            Self::Timeline => is_arrow || key == Key::Slash,
            Self::Incidents => matches!(key, Key::ArrowLeft | Key::ArrowRight),
            _ => false,
        }
    }

    /// Keys of the view while it has the focus: as a person reads them, and what they do.
    pub(crate) fn keys(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Incidents => &[
                ("↑ ↓", "To the trend or incident before, to the next"),
                ("→ ←", "Unfold it to its executions, fold it"),
                ("N X", "Label all its executions at once"),
                ("F", "Show it whole on the timeline"),
            ],
            Self::Map => &[
                ("Arrows, Enter", "To the next point that way, select it"),
                (
                    "G U",
                    "Select the neighbours, all of the same structure; with Shift add them",
                ),
                ("W S", "Zoom"),
            ],
            Self::Tree => &[
                ("Arrows, Enter", "To caller, callee, sibling; show the call"),
                ("+ −", "Zoom"),
                ("[ ]", "List more or fewer differences"),
            ],
            Self::Timeline => &[
                ("W S", "Zoom"),
                ("A D, Home, End", "Move, to the ends of the run"),
                ("[  ]", "The view before, the one after"),
                ("Arrows", "To caller, callee, call before, call after"),
                ("Shift+↑ ↓", "To the call at the same time on the next row"),
                ("F", "Show the call, then incident, tree and run"),
                ("/", "Find calls of a function"),
                ("M", "Mark the moment or the chosen stretch of time"),
                ("Shift+drag", "Choose a stretch of time"),
            ],
            Self::Patterns => &[
                ("↑ ↓", "To the pattern before, to the next"),
                ("→ ←", "Unfold its definition a level, fold it"),
                (
                    "Tab, then arrows",
                    "Move q and s on the curve; with Shift a little",
                ),
            ],
            Self::Waits => &[(
                "Tab, then arrows",
                "Move in the matrix; Enter shows both ranks",
            )],
            Self::Overview => &[("Arrows, Enter", "Move in the heat map, look up executions")],
            _ => &[],
        }
    }
}
