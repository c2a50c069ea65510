//! The states of all views.

use callgrove_finding_views::changes::ChangesState;
use callgrove_finding_views::incidents::IncidentsState;
use callgrove_finding_views::patterns::PatternsState;
use callgrove_finding_views::waits::WaitsState;
use callgrove_job_views::counters::CountersState;
use callgrove_job_views::overview::OverviewState;
use callgrove_job_views::profile::FunctionsState;
use callgrove_job_views::record::DocumentState;
use callgrove_job_views::records::ExecutionsState;
use callgrove_timeline_view::TimelineState;
use callgrove_tree_views::candidates::CandidatesState;
use callgrove_tree_views::details::DetailsState;
use callgrove_tree_views::scatter::ScatterState;
use callgrove_tree_views::tree::TreeState;

/// The states of all views.
#[derive(Default)]
pub struct ViewStates {
    /// The Incidents view.
    pub incidents: IncidentsState,
    /// The Candidates view.
    pub candidates: CandidatesState,
    /// The Map view.
    pub scatter: ScatterState,
    /// The Tree view.
    pub tree: TreeState,
    /// The Timeline view.
    pub timeline: TimelineState,
    /// The Patterns view.
    pub patterns: PatternsState,
    /// The Waits view.
    pub waits: WaitsState,
    /// The Changes view.
    pub changes: ChangesState,
    /// The Details view.
    pub details: DetailsState,
    /// The Overview view.
    pub overview: OverviewState,
    /// The Profile view.
    pub profile: FunctionsState,
    /// The Counters view.
    pub counters: CountersState,
    /// The Records view.
    pub records: ExecutionsState,
    /// The Record view.
    pub record: DocumentState,
}
