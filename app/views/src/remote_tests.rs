//! Views of remote calls: every view draws them like local calls once their answers have arrived, and does not fail
//! before.

use callgrove_actions::context::ViewContext;
use callgrove_app_tests::changed;
use callgrove_app_tests::demo_run::{demo_snapshot, with_focus, with_patterns};
use callgrove_app_tests::stall_run::{stalled_snapshot, with_incident};
use callgrove_app_tests::trend_run::trend_snapshot;
use callgrove_finding_views::{patterns, waits};
use callgrove_model::{ExecIdx, ExecRef, LaneIdx, TreeIdx};
use callgrove_session::{Snapshot, TimeRange, ViewerId};
use callgrove_timeline_view::timeline_ui;
use callgrove_tree_views::{candidates, details, tree};
use callgrove_view_tests::{harness_of, themed, written};
use callgrove_wire::{SessionLink, SnapshotSender, ViewerMessage, answer_frame, welcome_frame};
use egui::Ui;

/// Number of frames after which nothing moves any more: a drawn tree needs some for its layout.
const SETTLED: usize = 30;

/// A page that shows a snapshot, and the session that serves it.
struct RemotePage {
    link: SessionLink,
    sender: SnapshotSender,
    /// The snapshot of the page.
    seen: Snapshot,
}

impl RemotePage {
    fn new(whole: &Snapshot) -> Self {
        let (handle, mut link) = SessionLink::new(1, None);
        link.connected().expect("it connects");
        link.take(&welcome_frame(1).expect("a frame"))
            .expect("it is valid");
        let mut sender = SnapshotSender::new(ViewerId(0));
        while let Some(frame) = sender.next_frame(whole).expect("a frame") {
            link.take(&frame).expect("it is valid");
        }
        let seen = changed(Snapshot::clone(&handle.snapshot()), |it| {
            it.inspected.call = whole.inspected.call;
            it.inspected.range = whole.inspected.range;
            it.inspected.incident = whole.inspected.incident;
            it.inspected.trend = whole.inspected.trend;
            it.inspected.pattern = whole.inspected.pattern;
        });
        Self { link, sender, seen }
    }

    /// Answers the queries of the page. Returns whether there were any.
    fn answer(&mut self) -> bool {
        let mut has_asked = false;
        while let Some(message) = self.link.next_message(|_| None).expect("a message") {
            let message = ViewerMessage::from_bytes(&message).expect("it is valid");
            let ViewerMessage::Ask {
                trace,
                number,
                question,
            } = message
            else {
                continue;
            };
            let calls = self.sender.calls(trace).expect("the trace is shown");
            let frame = answer_frame(calls, (number, &question), || false);
            let frame = frame.expect("a frame").expect("it is wanted");
            self.link.take(&frame).expect("it is valid");
            has_asked = true;
        }
        has_asked
    }
}

/// Draws a view of local calls and of remote calls, and compares the texts.
fn check<State: Default + 'static>(
    name: &str,
    whole: &Snapshot,
    view: impl Fn(&mut ViewContext<'_>, &mut State, &mut Ui) + Copy + 'static,
) {
    let size = [1000.0, 700.0];
    let (mut local, _) = harness_of(whole.clone(), size, themed(view));
    local.run_steps(SETTLED);
    let mut page = RemotePage::new(whole);
    let calls = page.seen.calls().cloned().expect("a run is open");
    assert!(calls.is_remote());
    let (mut remote, _) = harness_of(page.seen.clone(), size, themed(view));
    remote.run_steps(SETTLED);
    let mut num_rounds = 0;
    while page.answer() {
        calls.begin_frame();
        remote.run_steps(SETTLED);
        num_rounds += 1;
        assert!(num_rounds < 50, "{name} never stops asking");
    }
    assert!(num_rounds > 0, "{name} asks for calls");
    let texts = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    let local = texts(written(&local).into_iter().map(|it| it.text).collect());
    let remote = texts(written(&remote).into_iter().map(|it| it.text).collect());
    assert_eq!(remote, local, "{name}");
}

fn with_call(snapshot: Snapshot) -> Snapshot {
    let call = ExecRef {
        lane: LaneIdx(1),
        exec: ExecIdx(2),
    };
    changed(snapshot, |it| it.inspected.call = Some(call))
}

#[test]
fn views_draw_remote_calls_like_local_ones() {
    let demo = with_call(with_focus(&demo_snapshot(), TreeIdx(3)));
    check("timeline", &demo, timeline_ui);
    check("tree", &demo, tree::tree_ui);
    check("details", &demo, details::details_ui);
    check("candidates", &demo, candidates::candidates_ui);
    let (from, to) = demo.time_span().expect("there are calls");
    let range = Some(TimeRange { from, to });
    let chosen = changed(demo, |it| it.inspected.range = range);
    check("statistics", &chosen, timeline_ui);
}

#[test]
fn delays_of_remote_calls_are_described_like_local_ones() {
    let stalled = with_call(with_incident(&stalled_snapshot(), 0));
    check("the path of a delay", &stalled, timeline_ui);
    check("the cause of a delay", &stalled, details::details_ui);
    let patterns = with_patterns(&stalled);
    check("iterations", &patterns, timeline_ui);
}

#[test]
fn patterns_and_waits_of_remote_calls_are_shown_like_local_ones() {
    let stalled = with_patterns(&stalled_snapshot());
    check("waits", &stalled, waits::waits_ui);
    check("patterns", &stalled, patterns::patterns_ui);
}

#[test]
fn trends_of_remote_calls_are_drawn_like_local_ones() {
    let trends = changed(trend_snapshot(), |it| it.inspected.trend = Some(0));
    check("the timeline of a trend", &trends, timeline_ui);
}
