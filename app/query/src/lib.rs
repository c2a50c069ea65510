//! Questions about a run, and their answers.
//!
//! The results are computed once per trace: the causes of its delays ([`RunCauses`]), its repeated patterns
//! ([`RunPatterns`]) and its trends ([`RunTrends`]). Their rows and sentences are for tables. Views ask about single
//! calls, lanes and time ranges ([`AskCalls`]), of a trace in this process or in another one ([`Calls`]).
//!
//! ```text
//!         ┌─▶ timeline ─ lanes, messages, single calls ─┐
//!         ├─▶ summary ── calls by path ─────────────────┤
//! Trace ──┼─▶ causes ─── waits, delays, incidents ──────┼─▶ calls ◀─ question ─▶ answer ─▶ views
//!         ├─▶ patterns ─ repeated parts, iterations ────┘
//!         └─▶ trends ─── slow lanes, growth, change points
//!               └─▶ rows and sentences of causes, patterns and trends ─▶ tables
//! ```
//!
//! Callers pass in the trace and the progress; an answer depends on nothing else.

mod calls;
mod causes;
mod compare;
mod event_key;
mod nodes;
mod patterns;
mod summary;
mod time_range;
mod timeline;
mod trends;

pub use calls::{
    AnomalousOf, AskCalls, AskState, BarsOf, CallOf, CallQuestion, CallRequest, CallWay, Calls,
    CallsFacts, CallsNamed, CallsOfFunction, CallsOutside, CallsRefusal, CallsReply, CurveOf,
    FoundCall, FoundCalls, IterationAt, JudgedBy, JudgedPattern, Labelled, LaneBars, LaneLevels,
    LevelsOf, ListedOccurrence, LocalCalls, MessagesOf, OccurrenceOrder, OccurrencesIn, OutlineOf,
    PartnersOf, StepFrom, SummaryOf, TimesOf, TotalsOf, TreeOf, UnevenIteration, UnevenOf, WaitsIn,
};
pub use causes::{
    Cascade, CascadeStep, CauseEvidence, CauseKind, CausePhrase, CauseRow, DelayCause, DelayRole,
    Hop, HopRow, Incident, IncidentFacts, IncidentRow, OpenCallRow, RootCause, RootFacts,
    RunCauses, SimilarIncidents, TreeCause, TreeCauses, WaitCell, open_call_rows,
    open_calls_sentence,
};
pub use compare::{
    COMPARED_SIDES, ChangeRow, ComparedPart, ComparedRun, RunComparison, unplaced_name,
};
pub use event_key::EventKey;
pub use nodes::{NodeRow, Nodes, NodesOfRun};
pub use patterns::{
    AnomalyRow, CurveAxis, Imbalance, IterationsRow, ListedIterations, ListedPattern, Occurrence,
    OutlineLine, OutlinePath, Pattern, PatternCurve, PatternId, PatternList, PatternReference,
    PatternRow, ReferenceCurve, RunPatterns, Standing, Unfolding,
};
pub use summary::{SummaryNode, summarize};
pub use time_range::TimeRange;
pub use timeline::{
    Arrow, ArrowOf, Bar, CallDetails, CallTimes, CounterDetails, DurationHistogram, FunctionTotals,
    LaneNames, LaneRow, LaneView, MergedSpan, MessageDetails, MessageIndex, MessageQuery,
    MessagesInView, NamedCall, RankFilter, RankFilterError, RankSort, RowKind, RowQuery, Span,
    SpanIndex, Tile, innermost_at, layout_lane, merge_spans, num_levels, order_rows, partners_of,
};
pub use trends::{RunTrends, Trend, TrendDoubt, TrendKind, TrendRow};
