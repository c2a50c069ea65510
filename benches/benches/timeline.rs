//! A frame of the timeline without a screen: layout, drawing and tessellation while panning and zooming in a large run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_actions::context::ViewContext;
use callgrove_model::{
    CommKind, CommRef, Comms, Counters, DurationNs, ExecIdx, Executions, FuncId, Lane, LaneIdx,
    Message, NameTable, NonMaxIdx, ProgramId, RankId, StepId, ThreadId, TimeNs, Trace,
};
use callgrove_query::Calls;
use callgrove_session::{RunSnapshot, Snapshot};
use callgrove_timeline_view::{TimelineState, timeline_ui};
use callgrove_widgets::theme::Theme;
use criterion::{Criterion, criterion_group, criterion_main};
use egui::{
    Context, Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, Pos2, RawInput, Rect,
    TouchPhase, Vec2,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const WINDOW: Vec2 = Vec2::new(1600.0, 700.0);
const NAMES: [&str; 8] = [
    "main", "step", "compute", "force", "pair", "MPI_Send", "MPI_Wait", "output",
];

/// main { step { compute { force { pair … } … } MPI_Send MPI_Wait } … } on every lane.
fn trace(num_lanes: usize, executions_per_lane: usize, num_messages: usize) -> Trace {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut names = NameTable::default();
    for name in NAMES {
        names.intern(name);
    }
    let mut lanes: Vec<Lane> = (0..num_lanes)
        .map(|rank| Lane {
            program: ProgramId(0),
            rank: RankId(rank as u32),
            thread: ThreadId(0),
            executions: executions(executions_per_lane, &mut random),
            comms: Comms::default(),
            counters: Counters::default(),
        })
        .collect();
    let messages = messages(&mut lanes, num_messages);
    Trace {
        names,
        lanes,
        messages,
        ..Trace::default()
    }
}

fn executions(num: usize, random: &mut ChaCha8Rng) -> Executions {
    let mut all = Executions::default();
    let mut now = 0;
    open(&mut all, 0, None, now);
    while all.len() < num {
        let step = open(&mut all, 1, Some(0), now);
        let compute = open(&mut all, 2, Some(step), now + 50);
        now += 100;
        for _ in 0..random.random_range(4..12) {
            let force = open(&mut all, 3, Some(compute), now);
            for _ in 0..random.random_range(2..20) {
                let pair = open(&mut all, 4, Some(force), now + 20);
                now += random.random_range(200..3_000);
                close(&mut all, pair, now);
            }
            now += 100;
            close(&mut all, force, now);
        }
        close(&mut all, compute, now);
        for func in [5, 6] {
            let call = open(&mut all, func, Some(step), now + 10);
            now += random.random_range(500..20_000);
            close(&mut all, call, now);
        }
        now += 100;
        close(&mut all, step, now);
    }
    close(&mut all, 0, now);
    all
}

fn open(all: &mut Executions, func: u32, caller: Option<usize>, time_ns: i64) -> usize {
    let row = all.len();
    all.func.push(FuncId(func));
    all.entry.push(TimeNs(time_ns));
    all.inclusive.push(DurationNs(0));
    all.exclusive.push(DurationNs(0));
    all.parent
        .push(caller.map(|row| NonMaxIdx::from(ExecIdx::from_index(row))));
    all.subtree_end.push(ExecIdx::from_index(row + 1));
    all.depth
        .push(caller.map_or(0, |caller| all.depth[caller] + 1));
    all.step.push(StepId(0));
    all.row.push(row as u32);
    all.closed.push(true);
    row
}

fn close(all: &mut Executions, row: usize, time_ns: i64) {
    all.inclusive[row] = TimeNs(time_ns).since(all.entry[row]);
    all.subtree_end[row] = ExecIdx::from_index(all.len());
}

/// Returns messages to the next rank, the same number from each rank, sent in MPI_Send and received in MPI_Wait.
fn messages(lanes: &mut [Lane], num: usize) -> Vec<Message> {
    let num_lanes = lanes.len();
    let mut events: Vec<Vec<(TimeNs, CommKind, u32, usize)>> = vec![Vec::new(); num_lanes];
    for from in 0..num_lanes {
        let to = (from + 1) % num_lanes;
        let of = |lane: &Lane, func| -> Vec<usize> {
            (0..lane.executions.len())
                .filter(|&row| lane.executions.func[row] == func)
                .collect()
        };
        let (sends, waits) = (of(&lanes[from], FuncId(5)), of(&lanes[to], FuncId(6)));
        let stride = (sends.len() / (num / num_lanes).max(1)).max(1);
        for (&send, &wait) in sends.iter().zip(&waits).step_by(stride) {
            let sent = lanes[from].executions.entry[send];
            let received = lanes[to].executions.exit(ExecIdx::from_index(wait));
            events[from].push((sent, CommKind::Send, to as u32, send));
            events[to].push((received, CommKind::Recv, from as u32, wait));
        }
    }
    for (lane, mut events) in lanes.iter_mut().zip(events) {
        events.sort_unstable_by_key(|event| (event.0, event.3));
        for (time, kind, partner, exec) in events {
            lane.comms.time.push(time);
            lane.comms.kind.push(kind);
            lane.comms.partner.push(RankId(partner));
            lane.comms.tag.push(1);
            lane.comms.size_bytes.push(4_096);
            lane.comms
                .exec
                .push(Some(NonMaxIdx::from(ExecIdx::from_index(exec))));
            lane.comms.mate.push(None);
        }
    }
    join(lanes)
}

fn join(lanes: &mut [Lane]) -> Vec<Message> {
    let rows = |lane: &Lane, kind| -> Vec<u32> {
        (0..lane.comms.len() as u32)
            .filter(|&row| lane.comms.kind[row as usize] == kind)
            .collect()
    };
    let mut messages = Vec::new();
    for from in 0..lanes.len() {
        let to = (from + 1) % lanes.len();
        let (sends, recvs) = (
            rows(&lanes[from], CommKind::Send),
            rows(&lanes[to], CommKind::Recv),
        );
        for (send, recv) in sends.into_iter().zip(recvs) {
            let end = |lane, row| CommRef {
                lane: LaneIdx::from_index(lane),
                row,
            };
            let message = Message {
                send: end(from, send),
                recv: end(to, recv),
            };
            lanes[from].comms.mate[send as usize] = Some(message.recv);
            lanes[to].comms.mate[recv as usize] = Some(message.send);
            messages.push(message);
        }
    }
    let sent =
        |message: &Message| lanes[message.send.lane.index()].comms.time[message.send.row as usize];
    messages.sort_by_key(|message| (sent(message), message.send));
    messages
}

/// A window with only the timeline.
struct Window {
    ctx: Context,
    theme: Theme,
    snapshot: Snapshot,
    state: TimelineState,
    frame: u32,
}

impl Window {
    fn new(calls: Arc<Calls>) -> Self {
        let mut window = Self {
            ctx: Context::default(),
            theme: Theme::new(true, Some(calls.trace())),
            snapshot: Snapshot {
                run: Some(RunSnapshot::new(calls, Arc::new([]))),
                ..Snapshot::default()
            },
            state: TimelineState::default(),
            frame: 0,
        };
        let pointer = Pos2::new(WINDOW.x * 0.6, WINDOW.y * 0.6);
        let start = Instant::now();
        window.frame(vec![Event::PointerMoved(pointer)]);
        println!("first frame in {:?}", start.elapsed());
        (0..12).for_each(|_| window.frame(Vec::new()));
        window
    }

    fn press(&mut self, key: Key) {
        let event = |pressed| Event::Key {
            key,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        };
        self.frame(vec![event(true), event(false)]);
    }

    /// Scrolls by a little, and back after a while.
    fn pan(&mut self) {
        let step = if (self.frame / 400).is_multiple_of(2) {
            -24.0
        } else {
            24.0
        };
        self.frame(vec![Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta: Vec2::new(step, 0.0),
            phase: TouchPhase::Move,
            source: MouseWheelSource::Trackpad,
            modifiers: Modifiers::NONE,
        }]);
    }

    fn frame(&mut self, events: Vec<Event>) {
        self.frame += 1;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, WINDOW)),
            time: Some(f64::from(self.frame) / 60.0),
            events,
            ..RawInput::default()
        };
        let mut output = self.ctx.run_ui(input, |ui| {
            ViewContext::alone(&self.snapshot, &self.theme, |ctx| {
                timeline_ui(ctx, &mut self.state, ui);
            });
        });
        output.textures_delta.clear();
        std::hint::black_box(self.ctx.tessellate(output.shapes, output.pixels_per_point));
    }
}

/// Prints the slowest of many frames, which a mean hides: those that lay out newly visible content.
fn print_slowest(name: &str, mut frame: impl FnMut()) {
    let mut times: Vec<Duration> = (0..400)
        .map(|_| {
            let start = Instant::now();
            frame();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{name}: median {:?}, 99 % {:?}, slowest {:?}",
        at(50),
        at(99),
        at(100)
    );
}

fn bench_frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("timeline, CPU of a frame");
    group
        .measurement_time(Duration::from_secs(4))
        .sample_size(20);
    for (num_lanes, per_lane, num_messages) in [(16, 300_000, 100_000), (64, 781_250, 650_000)] {
        let trace = Arc::new(trace(num_lanes, per_lane, num_messages));
        let start = Instant::now();
        let calls = Arc::new(Calls::local(&trace));
        println!(
            "{} messages indexed in {:?}",
            trace.messages.len(),
            start.elapsed()
        );
        for (zooms, zoom) in [
            (0, "whole run"),
            (8, "a fifteenth"),
            (24, "a three-thousandth"),
        ] {
            let mut window = Window::new(Arc::clone(&calls));
            for _ in 0..zooms {
                window.press(Key::W);
            }
            (0..12).for_each(|_| window.frame(Vec::new()));
            let name = format!(
                "{} executions on {num_lanes} lanes, {zoom}",
                trace.num_executions()
            );
            print_slowest(&name, || window.pan());
            group.bench_function(name, |bencher| bencher.iter(|| window.pan()));
        }
    }
    group.finish();
}

criterion_group!(benches, bench_frames);
criterion_main!(benches);
