//! The views that can be docked, and which keys each keeps for itself.

use callgrove_watch::Page;
use egui::Key;
use serde::{Deserialize, Serialize};

/// A dockable view. The first has the key I; those after it have the digits, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Incidents and trends.
    Incidents,
    /// Trees in order of their scores.
    Candidates,
    /// All trees on a 2D map.
    Map,
    /// The focused tree and how it differs from usual ones.
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
    /// One such execution.
    Record,
    /// Labels, questions and settings of the model.
    Training,
    /// Statistics of all counters.
    Counters,
    /// Recurring patterns and their usual durations.
    Patterns,
    /// Wait states between ranks.
    Waits,
    /// Changes from an earlier run to the open one.
    Changes,
}

impl View {
    /// All views.
    pub const ALL: [Self; 15] = [
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
        Self::Changes,
    ];

    /// Returns the name that the user sees.
    pub fn name(self) -> &'static str {
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
            Self::Changes => "Changes",
        }
    }

    /// Returns a sentence that says what the view shows.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Incidents => "Delays that reached several ranks, where they began, and trends.",
            Self::Candidates => "The most unusual executions, for labelling.",
            Self::Map => "All executions of a function; similar ones are close together.",
            Self::Tree => "The calls of one execution, and how they differ from usual ones.",
            Self::Timeline => "All ranks over time.",
            Self::Details => "One call: its times, messages and counters.",
            Self::Overview => "Anomalies of the run by rank, function and step.",
            Self::Profile => "Statistics of all functions.",
            Self::Records => "Queries of the executions that the detectors recorded.",
            Self::Record => "One recorded execution with its context.",
            Self::Training => "Labels, and the model trained on them.",
            Self::Counters => "Statistics of all counters.",
            Self::Patterns => {
                "Recurring patterns of calls, their usual durations, and the outliers."
            }
            Self::Waits => "Which ranks waited for which, and for how long.",
            Self::Changes => "What changed since an earlier run, the costliest change first.",
        }
    }

    /// Returns whether the view needs a watched run; the others need a trace.
    pub fn is_of_watch(self) -> bool {
        self.page().is_some()
    }

    /// Returns the page of the watched run that the view shows.
    pub fn page(self) -> Option<Page> {
        match self {
            Self::Overview => Some(Page::Overview),
            Self::Profile => Some(Page::Functions),
            Self::Counters => Some(Page::Counters),
            Self::Records => Some(Page::Executions),
            Self::Record => Some(Page::Document),
            _ => None,
        }
    }

    /// Returns the view of a page of the watched run.
    pub fn of_page(page: Page) -> Self {
        match page {
            Page::Overview => Self::Overview,
            Page::Functions => Self::Profile,
            Page::Counters => Self::Counters,
            Page::Executions => Self::Records,
            Page::Document => Self::Record,
        }
    }

    /// Returns whether the focused view handles a key without modifiers itself.
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

    /// Returns the keys of the focused view and what they do.
    pub fn keys(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Incidents => &[
                ("↑ ↓", "Previous, next trend or incident"),
                ("→ ←", "Unfold to its executions, fold"),
                ("N X", "Label all its executions"),
                ("F", "Show all of it on the timeline"),
            ],
            Self::Map => &[
                ("Arrows, Enter", "Move to the next point, select it"),
                (
                    "G U",
                    "Select the neighbours, or all of the same structure; with Shift add to the selection",
                ),
                ("W S", "Zoom"),
            ],
            Self::Tree => &[
                (
                    "Arrows, Enter",
                    "Move to caller, callee, sibling; show the call",
                ),
                ("+ −", "Zoom"),
                ("[ ]", "Show fewer, more differences"),
            ],
            Self::Timeline => &[
                ("W S", "Zoom"),
                ("A D, Home, End", "Pan; go to the start, end of the run"),
                ("[  ]", "Previous, next view range"),
                ("Arrows", "Move to caller, callee, previous call, next call"),
                (
                    "Shift+↑ ↓",
                    "Move to the call at the same time on the next row",
                ),
                ("F", "Fit the call, then incident, tree and run"),
                ("/", "Find calls of a function"),
                ("M", "Mark the selected time or time range"),
                ("Shift+drag", "Select a time range"),
            ],
            Self::Patterns => &[
                ("↑ ↓", "Previous, next pattern"),
                ("→ ←", "Unfold its definition one level, fold"),
                (
                    "Tab, then arrows",
                    "Move q and s on the curve; with Shift in small steps",
                ),
            ],
            Self::Changes => &[("↑ ↓", "Previous, next change, shown in the other views")],
            Self::Waits => &[(
                "Tab, then arrows",
                "Move in the matrix; Enter shows both ranks",
            )],
            Self::Overview => &[(
                "Arrows, Enter",
                "Move in the heat map; query its executions",
            )],
            _ => &[],
        }
    }
}
