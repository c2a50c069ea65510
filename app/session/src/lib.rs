//! The application without a user interface.
//!
//! A user's requests come in as [`UserCommand`]s; the state to show goes out as [`Snapshot`]s. The
//! [`Engine`] between them owns trace, embedding and model, and does the long work. It runs where
//! the host application puts it (a thread on the desktop, a worker in the browser). Files, clocks and
//! threads belong to the host application, which provides them through [`Host`].
//!
//! ```text
//!                           ┌─▶ Engine ──▶ Host (trace files, journal)
//! views ── Command ──▶ Session
//!   ▲                    │  └─▶ callgrove_watch ──▶ server of a running job, or of its records
//!   └── Arc<Snapshot> ◀──┘
//!             └─ Calls ── question ─▶ callgrove_query ── answer ─▶ views
//! ```
//!
//! Views in another process have a session of their own, whose commands and snapshots the crate `wire` sends as bytes.
//!
//! A snapshot has names, trees and scores. Views query the calls on the lanes of a trace ([`Calls`]), in this
//! process or remotely. What is computed from a trace alone, and the questions about it, are in [`callgrove_query`].
//!
//! Labels cannot be recomputed, so every edit is appended to a journal before it is applied
//! ([`JournalWriter::append`]), and the journal is replayed when the source is opened again.

mod command;
mod comparison;
mod detection;
mod dismissed_alarms;
mod engine;
mod explain;
mod handle;
mod host;
mod learning;
mod map_computation;
mod model;
mod question;
mod root;
mod session;
mod session_file;
mod short_delays;
mod snapshot;
mod table;
mod tree_delays;
mod tree_map;
mod viewer;

pub use callgrove_edits::{
    LabelCsvError, LabelKey, LabelOrigin, LabelRow, LabelSet, Mark, ModelSettings, ModelUse,
    TreeKey, journal_run, label_rows,
};
pub use callgrove_judge::active::{Doubt, QueryStrategy};
pub use callgrove_judge::decision::{ByDesign, DesignClass, DesignKind};
pub use callgrove_judge::detector::{Cause, Misfit};
pub use callgrove_learn::cause::WriteShare;
pub use callgrove_model::{Label, Reason};
pub use callgrove_pserver::{
    ModelInForce, ModelPublication, TreeModelInfo, TreeModelList, TreeModelVersion,
};
pub use callgrove_query::{
    AnomalousOf, Arrow, ArrowOf, AskCalls, AskState, Bar, BarsOf, CallDetails, CallOf,
    CallQuestion, CallTimes, CallWay, Calls, CallsNamed, CallsOfFunction, CallsOutside, Cascade,
    CascadeStep, CauseEvidence, CauseKind, CausePhrase, ChangeRow, CounterDetails, CurveAxis,
    CurveOf, DelayCause, DelayRole, DurationHistogram, EventKey, FoundCalls, FunctionTotals,
    Imbalance, Incident, IterationAt, JudgedBy, JudgedPattern, Labelled, LaneBars, LaneLevels,
    LaneNames, LaneRow, LaneView, LevelsOf, ListedIterations, ListedOccurrence, ListedPattern,
    MergedSpan, MessageDetails, MessageQuery, MessagesInView, MessagesOf, NamedCall,
    OccurrenceOrder, OccurrencesIn, OutlineLine, OutlineOf, PartnersOf, PatternId, PatternList,
    PatternReference, RankFilter, RankSort, RootCause, RowKind, RowQuery, RunCauses, RunPatterns,
    RunTrends, SimilarIncidents, Span, SpanIndex, StepFrom, SummaryNode, SummaryOf, Tile,
    TimeRange, TimesOf, TotalsOf, TreeCauses, TreeOf, Trend, TrendKind, UnevenIteration, UnevenOf,
    Unfolding, WaitCell, WaitsIn, layout_lane, merge_spans, order_rows,
};
pub use callgrove_trees::explain::{Difference, DifferenceKind, TreeExplanation};
pub use command::{Command, InspectCommand, Selection, UserCommand};
pub use comparison::{COMPARED_ELSEWHERE, ComparedWith, UsualPair};
pub use detection::rareness_text;
pub use dismissed_alarms::{DismissedAlarms, VariedTimes};
pub use engine::{Engine, Wake};
pub use explain::{Explainer, design_text};
pub use handle::{SendError, SessionHandle, SnapshotCell};
pub use host::{Host, HostError, JournalWriter, OpenJournal, RunningJob};
pub use learning::{
    LearnSettings, Learned, LearningError, ModelJudgement, SavedModel, TreeScores, analyze,
    suggest_roots,
};
pub use model::{ModelOrigin, ModelTrial, RunningModels};
pub use question::{ModelAnswer, ModelQuestion, TrainingAnswer, TrainingQuestion};
pub use root::{RootError, forest_of_trees, grow_forest, median_duration};
pub use session::Session;
pub use session_file::is_session_file;
pub use snapshot::{
    Analysis, Change, Detection, EditsSnapshot, Explanation, ForestSnapshot, Inspected,
    ModelSnapshot, Move, Notice, RunSnapshot, Severity, Snapshot, Suggestion, ViewerState,
    ViewersSnapshot, Work,
};
pub use table::{Reasons, TreeRow, listed_rows, tree_rows};
pub use tree_delays::TreeDelays;
pub use tree_map::{MapMethod, TreeMap};
pub use viewer::{Presence, PresentViewer, ViewerId, guest_name};
