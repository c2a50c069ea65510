//! The views, one folder each; no view uses another.

pub mod candidates;
pub(crate) mod changes;
pub(crate) mod counters;
pub mod details;
mod focus;
pub(crate) mod incidents;
mod labels;
pub(crate) mod overview;
pub(crate) mod patterns;
pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod records;
pub mod scatter;
pub mod timeline;
pub mod tree;
pub(crate) mod waits;

/// The states of all views.
#[derive(Default)]
pub(crate) struct ViewStates {
    pub(crate) incidents: incidents::IncidentsState,
    pub(crate) candidates: candidates::CandidatesState,
    pub(crate) scatter: scatter::ScatterState,
    pub(crate) tree: tree::TreeState,
    pub(crate) timeline: timeline::TimelineState,
    pub(crate) patterns: patterns::PatternsState,
    pub(crate) waits: waits::WaitsState,
    pub(crate) changes: changes::ChangesState,
    pub(crate) details: details::DetailsState,
    pub(crate) overview: overview::OverviewState,
    pub(crate) profile: profile::FunctionsState,
    pub(crate) counters: counters::CountersState,
    pub(crate) records: records::ExecutionsState,
    pub(crate) record: record::DocumentState,
}
