//! Calls that lie elsewhere: every view draws what it draws of calls that are here, once it has been told, and nothing
//! breaks before.

use callgrove_model::{ExecIdx, ExecRef, LaneIdx, TreeIdx};
use callgrove_session::wire::{
    SessionLink, SnapshotSender, ViewerMessage, answer_frame, welcome_frame,
};
use callgrove_session::{Snapshot, TimeRange, ViewerId};
use egui::Ui;

use crate::context::ViewContext;
use crate::stall_for_tests::{stalled_snapshot, with_incident};
use crate::test_support::{demo_snapshot, dressed, harness_of, with_focus, with_patterns, written};
use crate::trend_for_tests::trend_snapshot;
use crate::views;

/// Frames after which nothing moves any more: a drawn tree takes some to lay itself out.
const SETTLED: usize = 30;

/// A page that looks at a snapshot, and who serves it.
struct FarPage {
    link: SessionLink,
    sender: SnapshotSender,
    /// What the page sees.
    seen: Snapshot,
}

impl FarPage {
    fn new(whole: &Snapshot) -> Self {
        let (handle, mut link) = SessionLink::new(1, None);
        link.connected().expect("it says hello");
        link.take(&welcome_frame(1).expect("a frame"))
            .expect("it is understood");
        let mut sender = SnapshotSender::new(ViewerId(0));
        while let Some(frame) = sender.next_frame(whole).expect("a frame") {
            link.take(&frame).expect("it is understood");
        }
        let seen = Snapshot {
            call: whole.call,
            range: whole.range,
            incident: whole.incident,
            trend: whole.trend,
            pattern: whole.pattern,
            ..Snapshot::clone(&handle.snapshot())
        };
        Self { link, sender, seen }
    }

    /// Answers what the page asks; whether it asked anything.
    fn answer(&mut self) -> bool {
        let mut has_asked = false;
        while let Some(message) = self.link.next_message(|_| None).expect("a message") {
            let message = ViewerMessage::from_bytes(&message).expect("it is understood");
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
            self.link.take(&frame).expect("it is understood");
            has_asked = true;
        }
        has_asked
    }
}

/// Draws a view of calls that are here and of calls that are far, and compares what is written.
fn check<State: Default + 'static>(
    name: &str,
    whole: &Snapshot,
    view: impl Fn(&mut ViewContext<'_>, &mut State, &mut Ui) + Copy + 'static,
) {
    let size = [1000.0, 700.0];
    let (mut here, _) = harness_of(whole.clone(), size, dressed(view));
    here.run_steps(SETTLED);
    let mut page = FarPage::new(whole);
    let calls = page.seen.calls.clone().expect("a run is open");
    assert!(calls.is_far());
    let (mut far, _) = harness_of(page.seen.clone(), size, dressed(view));
    far.run_steps(SETTLED);
    let mut num_rounds = 0;
    while page.answer() {
        calls.begin_frame();
        far.run_steps(SETTLED);
        num_rounds += 1;
        assert!(num_rounds < 50, "{name} asks for ever");
    }
    assert!(num_rounds > 0, "{name} asks for calls");
    let texts = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    let here = texts(written(&here).into_iter().map(|it| it.text).collect());
    let far = texts(written(&far).into_iter().map(|it| it.text).collect());
    assert_eq!(far, here, "{name}");
}

fn with_call(snapshot: Snapshot) -> Snapshot {
    let call = ExecRef {
        lane: LaneIdx(1),
        exec: ExecIdx(2),
    };
    Snapshot {
        call: Some(call),
        ..snapshot
    }
}

#[test]
fn views_draw_of_calls_elsewhere_what_they_draw_of_calls_here() {
    let demo = with_call(with_focus(&demo_snapshot(), TreeIdx(3)));
    check("timeline", &demo, views::timeline::timeline_ui);
    check("tree", &demo, views::tree::tree_ui);
    check("details", &demo, views::details::details_ui);
    check("candidates", &demo, views::candidates::candidates_ui);
    let (from, to) = demo.time_span().expect("there are calls");
    let range = Some(TimeRange { from, to });
    let chosen = Snapshot { range, ..demo };
    check("statistics", &chosen, views::timeline::timeline_ui);
}

#[test]
fn delays_are_told_of_calls_elsewhere_as_of_calls_here() {
    let stalled = with_call(with_incident(&stalled_snapshot(), 0));
    check("the way of a delay", &stalled, views::timeline::timeline_ui);
    check("why a call was late", &stalled, views::details::details_ui);
    let patterns = with_patterns(&stalled);
    check("iterations", &patterns, views::timeline::timeline_ui);
}

#[test]
fn what_recurs_and_who_waited_is_told_of_calls_elsewhere_as_of_calls_here() {
    let stalled = with_patterns(&stalled_snapshot());
    check("waits", &stalled, views::waits::waits_ui);
    check("patterns", &stalled, views::patterns::patterns_ui);
}

#[test]
fn trends_are_drawn_of_calls_elsewhere_as_of_calls_here() {
    let trends = Snapshot {
        trend: Some(0),
        ..trend_snapshot()
    };
    check(
        "the timeline of a trend",
        &trends,
        views::timeline::timeline_ui,
    );
}
