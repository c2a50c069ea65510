//! The application without a user interface.
//!
//! A user's requests come in as [`Command`]s; the state to show goes out as [`Snapshot`]s. The
//! [`Engine`] between them owns trace, embedding and model, and does the long work. It runs where
//! the host application puts it (a thread on the desktop, a worker in the browser). Files, clocks and
//! threads belong to the host application, which provides them through [`Host`].
//!
//! ```text
//!                           ┌─▶ Engine ──▶ Host (trace files, journal)
//! views ── Command ──▶ Session
//!   ▲                    │  └─▶ watch ──▶ transport ──▶ server of a running job, or of its records
//!   └── Arc<Snapshot> ◀──┘
//! ```
//!
//! A snapshot has names, trees and scores. Views query the calls on the lanes of a trace ([`Calls`]), in this
//! process or remotely.
//!
//! Labels cannot be recomputed, so every edit is appended to a journal before it is applied
//! ([`JournalWriter::append`]), and the journal is replayed when the source is opened again.

mod calls;
mod causes;
mod command;
mod detection;
mod edit;
mod engine;
mod explain;
mod forming_map;
mod handle;
mod history;
mod host;
mod journal;
mod label;
mod learning;
mod mark;
mod model;
mod patterns;
mod question;
mod root;
mod session;
mod session_file;
mod snapshot;
mod table;
mod timeline;
mod tree_map;
mod trends;
mod viewer;
pub mod watch;
pub mod wire;

pub use callgrove_judge::active::{Doubt, QueryStrategy};
pub use callgrove_judge::decision::{ByDesign, DesignClass, DesignKind};
pub use callgrove_judge::detector::{Cause, Misfit};
pub use callgrove_learn::cause::WriteShare;
pub use callgrove_model::{Label, Reason};
pub use callgrove_pserver::{
    ModelInForce, ModelPublication, TreeModelInfo, TreeModelList, TreeModelVersion,
};
pub use callgrove_trees::explain::{Difference, DifferenceKind};
pub use callgrove_trees::forest_file::ForestFileError;
pub use calls::{
    AnomalousOf, AskCalls, AskState, BarsOf, CallOf, CallQuestion, CallWay, Calls, CallsNamed,
    CallsOfFunction, CallsOutside, CallsRefusal, CallsReply, CurveOf, FoundCall, FoundCalls,
    IterationAt, JudgedBy, JudgedPattern, Labelled, LaneBars, LaneLevels, LevelsOf,
    ListedOccurrence, LocalCalls, MessagesOf, OccurrenceOrder, OccurrencesIn, OutlineOf,
    PartnersOf, StepFrom, SummaryOf, TimesOf, TotalsOf, TreeOf, UnevenIteration, UnevenOf, WaitsIn,
};
pub use causes::{
    Cascade, CascadeStep, CauseEvidence, CauseKind, CausePhrase, CauseRow, DelayCause, DelayRole,
    Hop, HopRow, Incident, IncidentRow, RootCause, RunCauses, SimilarIncidents, TreeCause,
    TreeCauses, WaitCell,
};
pub use command::{Command, Selection, TimeRange};
pub use detection::rareness_text;
pub use engine::{Engine, Wake};
pub use explain::{Explainer, SummaryNode, design_text, summarize};
pub use handle::{SendError, SessionHandle, SnapshotCell};
pub use host::{Host, HostError, JournalWriter, OpenJournal, RunningJob};
pub use journal::journal_run;
pub use label::{EventKey, LabelCsvError, LabelKey, LabelRow, LabelSet, TreeKey, label_rows};
pub use learning::{
    LearnSettings, Learned, LearningError, ModelJudgement, SavedModel, TreeScores, analyze,
    suggest_roots,
};
pub use mark::Mark;
pub use model::{ModelOrigin, ModelSettings, ModelTrial, ModelUse, RunningModels};
pub use patterns::{
    AnomalyRow, CurveAxis, Imbalance, IterationsRow, ListedIterations, ListedPattern, Occurrence,
    OutlineLine, OutlinePath, Pattern, PatternCurve, PatternId, PatternList, PatternReference,
    PatternRow, ReferenceCurve, RunPatterns, Standing, Unfolding,
};
pub use question::{ModelAnswer, ModelQuestion, TrainingAnswer, TrainingQuestion};
pub use root::{RootError, grow_forest, median_duration, read_forest, trace_of_forest};
pub use session::Session;
pub use snapshot::{
    Analysis, Change, Detection, Explanation, Move, Notice, Severity, Snapshot, Suggestion,
    ViewerState, Work,
};
pub use table::{Reasons, TreeRow, tree_rows};
pub use timeline::{
    Arrow, ArrowOf, Bar, CallDetails, CallTimes, CounterDetails, DurationHistogram, FunctionTotals,
    LaneNames, LaneRow, LaneView, MergedSpan, MessageDetails, MessageIndex, MessageQuery,
    MessagesInView, NamedCall, RankFilter, RankFilterError, RankSort, RowKind, RowQuery, Span,
    SpanIndex, Tile, innermost_at, layout_lane, merge_spans, num_levels, order_rows, partners_of,
};
pub use tree_map::{MapMethod, TreeMap};
pub use trends::{RunTrends, Trend, TrendDoubt, TrendKind, TrendRow};
pub use viewer::{Presence, PresentViewer, ViewerId};
