//! Remote calls: answers over the wire equal local ones; questions are sent once, and only while wanted.

use std::sync::Arc;

use callgrove_model::{
    DurationNs, ExecIdx, ExecLabel, ExecRef, FuncId, LaneIdx, ProgramId, RankId, StepId, TimeNs,
};
use callgrove_query::{
    AnomalousOf, AskCalls, AskState, BarsOf, CallOf, CallQuestion, CallWay, Calls, CallsNamed,
    CallsOfFunction, CallsOutside, CurveOf, IterationAt, JudgedBy, Labelled, LaneView, LevelsOf,
    MessageQuery, MessagesOf, OccurrenceOrder, OccurrencesIn, OutlineOf, PartnersOf, PatternId,
    PatternReference, RowKind, StepFrom, SummaryOf, Tile, TimeRange, TimesOf, TotalsOf, TreeOf,
    UnevenOf, Unfolding, WaitsIn,
};
use callgrove_session::{Session, SessionHandle, Snapshot, UserCommand, ViewerId};
use callgrove_wire::{
    SessionLink, SnapshotSender, ViewerMessage, answer_frame, refusal_frame, welcome_frame,
};
use proptest::prelude::*;

use callgrove_app_tests::small_session::*;

/// A session, a remote view of it, and the wire between them.
struct Wire {
    session: SmallSession,
    handle: SessionHandle,
    link: SessionLink,
    sender: SnapshotSender,
}

impl Wire {
    fn new() -> Self {
        let (handle, link) = SessionLink::new(7, None);
        let mut wire = Self {
            session: SmallSession::opened(&Disk::default()),
            handle,
            link,
            sender: SnapshotSender::new(ViewerId(0)),
        };
        wire.connect(1);
        wire
    }

    /// Connects to an epoch of the session.
    fn connect(&mut self, epoch: u64) {
        self.link.connected().unwrap();
        self.link.take(&welcome_frame(epoch).unwrap()).unwrap();
        self.sender = SnapshotSender::new(ViewerId(0));
        self.send_all();
    }

    fn send_all(&mut self) {
        while let Some(frame) = self.sender.next_frame(&self.session.seen()).unwrap() {
            self.link.take(&frame).unwrap();
        }
    }

    fn seen(&self) -> Arc<Snapshot> {
        self.handle.snapshot()
    }

    fn calls(&self) -> Arc<Calls> {
        self.seen().calls().cloned().unwrap()
    }

    fn whole(&self) -> Arc<Calls> {
        self.session.seen().calls().cloned().unwrap()
    }

    /// Returns the messages of the view.
    fn pending_messages(&mut self) -> Vec<ViewerMessage> {
        let messages = std::iter::from_fn(|| self.link.next_message(|_| None).unwrap());
        let read = |message: Vec<u8>| ViewerMessage::from_bytes(&message).unwrap();
        messages.map(read).collect()
    }

    /// Answers all questions of the view. Returns the number of bytes of the answers.
    fn answer(&mut self) -> usize {
        let mut num_bytes = 0;
        for message in self.pending_messages() {
            let ViewerMessage::Ask {
                trace,
                number,
                question,
            } = message
            else {
                continue;
            };
            let calls = self.sender.calls(trace).unwrap();
            let frame = answer_frame(calls, (number, &question), || false);
            let frame = frame.unwrap().unwrap();
            num_bytes += frame.len();
            self.link.take(&frame).unwrap();
        }
        num_bytes
    }

    fn check<Q>(&mut self, question: &Q)
    where
        Q: AskCalls + Clone + Into<CallQuestion> + std::fmt::Debug,
        Q::Answer: std::fmt::Debug,
    {
        let (local, remote) = (self.whole(), self.calls());
        let expected = loop {
            if let Some(answer) = local.ask(question) {
                break answer;
            }
        };
        assert!(remote.ask(question).is_none(), "{question:?} is remote");
        assert!(self.answer() > 0);
        let answer = remote.ask(question).unwrap();
        assert_eq!(
            format!("{answer:?}"),
            format!("{expected:?}"),
            "{question:?}"
        );
    }
}

fn exec(lane: u32, exec: u32) -> ExecRef {
    ExecRef {
        lane: LaneIdx(lane),
        exec: ExecIdx(exec),
    }
}

fn bars(lane: u32) -> BarsOf {
    BarsOf {
        lane: LaneIdx(lane),
        kind: RowKind::Strip,
        tile: Tile {
            from: TimeNs(0),
            to: TimeNs(1_000_000_000),
            min_bar_ns: 1_000_000,
        },
    }
}

#[test]
fn remote_answers_equal_local_ones() {
    let mut wire = Wire::new();
    let (from, to) = wire.whole().time_span().unwrap();
    let range = TimeRange { from, to };
    let root = exec(1, 0);
    for kind in [RowKind::Strip, RowKind::Stack, RowKind::Tree(root.exec)] {
        let lane = root.lane;
        let min_bar_ns = to.since(from).0 / 1_000;
        let tile = Tile {
            from,
            to,
            min_bar_ns,
        };
        wire.check(&BarsOf { lane, kind, tile });
        wire.check(&LevelsOf { lane, kind });
    }
    wire.check(&MessagesOf {
        query: MessageQuery {
            from,
            to,
            num_columns: 50,
            max_arrows: 100,
            call: Some(exec(0, 1)),
            tree: Some(root),
        },
        views: vec![LaneView::InView; 4],
    });
    wire.check(&CallOf(exec(0, 2)));
    wire.check(&TimesOf(vec![exec(3, 0), exec(0, 5)]));
    wire.check(&CallsOutside {
        calls: vec![exec(0, 0), exec(1, 3)],
        functions: vec![FuncId(0)],
    });
    for way in [
        CallWay::Caller,
        CallWay::LongestCallee,
        CallWay::Before,
        CallWay::After,
        CallWay::SameTime(LaneIdx(2)),
    ] {
        wire.check(&StepFrom {
            call: exec(0, 2),
            way,
        });
    }
    wire.check(&PartnersOf(root));
    wire.check(&Labelled {
        program: ProgramId(0),
        label: wire.session.seen().trace().unwrap().label(root),
    });
    wire.check(&CallsNamed("mpi".to_owned()));
    let func = FuncId(0);
    wire.check(&CallsOfFunction { func, range });
    let lanes = (0..4).map(LaneIdx).collect();
    wire.check(&TotalsOf { range, lanes });
    wire.check(&TreeOf(root));
    wire.check(&SummaryOf { root, max_nodes: 9 });
}

#[test]
fn remote_patterns_and_waits_equal_local_ones() {
    let mut wire = Wire::new();
    let list = wire.seen().patterns().cloned().unwrap();
    assert_eq!(wire.whole().patterns().unwrap().list(), &list);
    let (from, to) = wire.whole().time_span().unwrap();
    wire.check(&WaitsIn(None));
    wire.check(&WaitsIn(Some(TimeRange { from, to: from })));
    let reference = PatternReference {
        share: 0.5,
        factor: 1.0,
    };
    wire.check(&JudgedBy(reference));
    let lane = LaneIdx(1);
    for listed in &list.patterns {
        let pattern = listed.id;
        wire.check(&CurveOf {
            pattern,
            num_columns: 40,
        });
        for order in [
            OccurrenceOrder::Lane,
            OccurrenceOrder::Time,
            OccurrenceOrder::Duration,
        ] {
            wire.check(&AnomalousOf {
                pattern,
                reference,
                order,
                is_descending: order != OccurrenceOrder::Time,
                from: 1,
                num: 5,
            });
        }
        let tile = Tile {
            from,
            to,
            min_bar_ns: to.since(from).0 / 100,
        };
        wire.check(&OccurrencesIn {
            pattern,
            limit: listed.shortest,
            lane,
            tile,
        });
        let unfolding = Unfolding::to_depth(1);
        wire.check(&OutlineOf { pattern, unfolding });
    }
    wire.check(&UnevenOf { num_columns: 7 });
    wire.check(&IterationAt { lane, time: to });
}

#[test]
fn questions_about_missing_results_are_refused() {
    let trace = SmallSession::opened(&Disk::default())
        .seen()
        .trace()
        .cloned();
    let calls = Calls::local(&trace.unwrap());
    assert_eq!(calls.reply(&WaitsIn(None)), AskState::Refused);
    let unknown = CurveOf {
        pattern: PatternId(7),
        num_columns: 1,
    };
    assert_eq!(calls.reply(&unknown), AskState::Refused);
}

#[test]
fn a_question_is_sent_once_and_cancelled_when_it_is_not_repeated() {
    let mut wire = Wire::new();
    let calls = wire.calls();
    for _ in 0..3 {
        calls.begin_frame();
        assert!(calls.ask(&bars(0)).is_none() && calls.is_waiting());
    }
    let asked = wire.pending_messages();
    assert!(
        matches!(&asked[..], [ViewerMessage::Ask { .. }]),
        "{asked:?}"
    );
    let ViewerMessage::Ask {
        number, question, ..
    } = &asked[0]
    else {
        panic!("it asks");
    };
    calls.ask(&bars(1));
    // The view moves on before the second question is sent.
    for _ in 0..3 {
        calls.begin_frame();
    }
    let number = *number;
    assert_eq!(wire.pending_messages(), [ViewerMessage::Forget { number }]);
    assert!(!calls.is_waiting());
    // The answer was already on its way.
    let late = answer_frame(&wire.whole(), (number, question), || false);
    wire.link.take(&late.unwrap().unwrap()).unwrap();
    assert!(calls.ask(&bars(0)).is_none(), "it was cancelled");
    assert!(wire.answer() > 0);
    assert!(calls.ask(&bars(0)).is_some());
}

#[test]
fn questions_of_a_lost_connection_are_repeated_and_answers_are_kept() {
    let mut wire = Wire::new();
    let calls = wire.calls();
    calls.ask(&bars(0));
    wire.answer();
    calls.ask(&bars(1));
    assert_eq!(wire.pending_messages().len(), 1);
    wire.link.lost("gone");
    wire.connect(1);
    assert!(Arc::ptr_eq(&calls, &wire.calls()), "the run is the same");
    assert!(calls.ask(&bars(0)).is_some() && calls.ask(&bars(1)).is_none());
    assert!(wire.answer() > 0);
    assert!(calls.ask(&bars(1)).is_some());
    // Another epoch of the session may have another trace of the same name.
    wire.link.lost("gone");
    wire.connect(2);
    assert!(!Arc::ptr_eq(&calls, &wire.calls()));
}

#[test]
fn questions_about_an_old_trace_are_not_answered() {
    let mut wire = Wire::new();
    wire.calls().ask(&bars(0));
    let asked = wire.pending_messages();
    let [ViewerMessage::Ask { trace, .. }] = &asked[..] else {
        panic!("it asks {asked:?}");
    };
    wire.session.run(open("other run", "compute"));
    wire.send_all();
    assert!(wire.sender.calls(*trace).is_none());
    wire.calls().ask(&bars(0));
    assert!(wire.answer() > 0, "questions about the current trace are");
}

#[test]
fn refused_questions_are_not_repeated() {
    let mut wire = Wire::new();
    let calls = wire.calls();
    assert!(calls.ask(&CallOf(exec(77, 0))).is_none());
    assert!(wire.answer() > 0);
    calls.begin_frame();
    assert!(calls.ask(&CallOf(exec(77, 0))).is_none());
    assert_eq!(wire.pending_messages(), []);
    calls.ask(&bars(0));
    let asked = wire.pending_messages();
    let [ViewerMessage::Ask { number, .. }] = &asked[..] else {
        panic!("it asks {asked:?}");
    };
    let refusal = refusal_frame(*number, "too many questions").unwrap();
    wire.link.take(&refusal).unwrap();
    assert!(calls.ask(&bars(0)).is_none() && wire.pending_messages().is_empty());
}

#[test]
fn an_execution_of_a_record_is_found_remotely() {
    let mut wire = Wire::new();
    let mut window = Session::new(wire.handle.clone(), None);
    let label = wire.session.seen().trace().unwrap().label(exec(2, 3));
    let program = ProgramId(0);
    window.send(UserCommand::OpenExecution { program, label });
    assert_eq!(
        window.snapshot().inspected.call,
        None,
        "it is being searched for"
    );
    window.update();
    wire.answer();
    window.update();
    assert_eq!(window.snapshot().inspected.call, Some(exec(2, 3)));
}

/// Generates a valid number of a small trace, or an arbitrary one.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0..6_u32, any::<u32>()]
}

fn call() -> impl Strategy<Value = ExecRef> {
    (number(), number()).prop_map(|(lane, at)| exec(lane, at))
}

fn time() -> impl Strategy<Value = TimeNs> {
    prop_oneof![-5..3_000_000_000_i64, any::<i64>()].prop_map(TimeNs)
}

fn tile() -> impl Strategy<Value = Tile> {
    (time(), time(), any::<i64>()).prop_map(|(from, to, min_bar_ns)| Tile {
        from,
        to,
        min_bar_ns: min_bar_ns >> (min_bar_ns & 63),
    })
}

fn kind() -> impl Strategy<Value = RowKind> {
    prop_oneof![
        Just(RowKind::Strip),
        Just(RowKind::Stack),
        number().prop_map(|at| RowKind::Tree(ExecIdx(at))),
    ]
}

fn question() -> impl Strategy<Value = CallQuestion> {
    let lane = || number().prop_map(LaneIdx);
    let range = || (time(), time()).prop_map(|(from, to)| TimeRange { from, to });
    let way = prop_oneof![
        Just(CallWay::Caller),
        Just(CallWay::LongestCallee),
        Just(CallWay::Before),
        Just(CallWay::After),
        lane().prop_map(CallWay::SameTime),
    ];
    let views = prop::collection::vec(Just(LaneView::InView), 3..6);
    let messages = (
        tile(),
        any::<u16>(),
        any::<u16>(),
        prop::option::of(call()),
        views,
    );
    prop_oneof![
        (lane(), kind(), tile()).prop_map(|(lane, kind, tile)| BarsOf { lane, kind, tile }.into()),
        (lane(), kind()).prop_map(|(lane, kind)| LevelsOf { lane, kind }.into()),
        messages.prop_map(|(tile, columns, arrows, call, views)| {
            let query = MessageQuery {
                from: tile.from,
                to: tile.to,
                num_columns: columns.into(),
                max_arrows: arrows.into(),
                call,
                tree: call,
            };
            MessagesOf { query, views }.into()
        }),
        call().prop_map(|call| CallOf(call).into()),
        prop::collection::vec(call(), 0..4).prop_map(|calls| TimesOf(calls).into()),
        (call(), number()).prop_map(|(call, func)| {
            let (calls, functions) = (vec![call], vec![FuncId(func)]);
            CallsOutside { calls, functions }.into()
        }),
        (call(), way).prop_map(|(call, way)| StepFrom { call, way }.into()),
        call().prop_map(|call| PartnersOf(call).into()),
        (number(), number(), number()).prop_map(|(rank, step, row)| {
            let label = ExecLabel {
                rank: RankId(rank),
                step: StepId(step),
                row,
            };
            let program = ProgramId(0);
            Labelled { program, label }.into()
        }),
        ".{0,9}".prop_map(|text| CallsNamed(text).into()),
        (number(), range()).prop_map(|(func, range)| {
            let func = FuncId(func);
            CallsOfFunction { func, range }.into()
        }),
        (range(), prop::collection::vec(lane(), 0..6)).prop_map(|(range, lanes)| TotalsOf {
            range,
            lanes
        }
        .into()),
        call().prop_map(|call| TreeOf(call).into()),
        (call(), 0..2_000_usize).prop_map(|(root, max_nodes)| SummaryOf { root, max_nodes }.into()),
    ]
}

fn question_of_patterns() -> impl Strategy<Value = CallQuestion> {
    let pattern = || number().prop_map(PatternId);
    let reference = || {
        (-1.0..2.0_f64, -1.0..9.0_f64)
            .prop_map(|(share, factor)| PatternReference { share, factor })
    };
    let orders = prop_oneof![
        Just(OccurrenceOrder::Lane),
        Just(OccurrenceOrder::Time),
        Just(OccurrenceOrder::Duration),
    ];
    let rows = (any::<usize>(), 0..2_000_usize, any::<bool>());
    let path = prop::collection::vec(number(), 0..3);
    prop_oneof![
        prop::option::of((time(), time()))
            .prop_map(|range| WaitsIn(range.map(|(from, to)| TimeRange { from, to })).into()),
        reference().prop_map(|reference| JudgedBy(reference).into()),
        (pattern(), any::<u16>()).prop_map(|(pattern, columns)| {
            let num_columns = columns.into();
            CurveOf {
                pattern,
                num_columns,
            }
            .into()
        }),
        (pattern(), reference(), orders, rows).prop_map(|(pattern, reference, order, rows)| {
            let (from, num, is_descending) = rows;
            AnomalousOf {
                pattern,
                reference,
                order,
                is_descending,
                from: from >> (from & 63),
                num,
            }
            .into()
        }),
        (pattern(), any::<i64>(), number(), tile()).prop_map(|(pattern, limit, lane, tile)| {
            OccurrencesIn {
                pattern,
                limit: DurationNs(limit),
                lane: LaneIdx(lane),
                tile,
            }
            .into()
        }),
        (pattern(), 0..99_usize, path).prop_map(|(pattern, depth, path)| {
            let exceptions = [path].into();
            let unfolding = Unfolding { depth, exceptions };
            OutlineOf { pattern, unfolding }.into()
        }),
        (number(), time()).prop_map(|(lane, time)| {
            let lane = LaneIdx(lane);
            IterationAt { lane, time }.into()
        }),
        any::<u16>().prop_map(|columns| {
            let num_columns = columns.into();
            UnevenOf { num_columns }.into()
        }),
    ]
}

proptest! {
    #[test]
    fn any_question_is_answered_or_refused(question in prop_oneof![question(), question_of_patterns()]) {
        static CALLS: std::sync::OnceLock<Arc<Calls>> = std::sync::OnceLock::new();
        let calls = CALLS.get_or_init(|| Wire::new().whole());
        prop_assert!(answer_frame(calls, (1, &question), || false).unwrap().is_some());
        let message = ViewerMessage::Ask { trace: 1, number: 1, question };
        let bytes = message.to_bytes().unwrap();
        prop_assert_eq!(ViewerMessage::from_bytes(&bytes).unwrap(), message);
    }
}
