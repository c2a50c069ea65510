//! Sums that mergers make of the logs of groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::FuncId;
use callgrove_pserver::{
    Contribution, GroupMerger, GroupSum, LoggedPart, PartNumber, PserverError, Retention,
    ServerState, StateOptions,
};
use proptest::prelude::*;

use crate::support::{PROGRAM, Saved, global_model, hello, model, new_state, report};

const F: FuncId = FuncId(7);
const GROUP: u32 = 3;
const LOG: &str = "group's log";

/// What happens to the processes of a job with a group of three instances.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// An instance writes a contribution.
    Write(usize),
    /// It writes its last one again, since it got no answer.
    Repeat(usize),
    /// A merger reads entries.
    Merge(usize, usize),
    /// It writes its sum.
    Sum(usize),
    /// It is killed before, or after it has written its sum and before it knows.
    Kill { merger: usize, has_written: bool },
    /// It asks whether the server has its sums.
    Check(usize),
    /// The server reads entries.
    Read(usize),
    /// It saves its state.
    Save,
    /// It is killed, and the next one starts.
    Restart,
}

fn event() -> impl Strategy<Value = Event> {
    let merger = 0_usize..2;
    prop_oneof![
        4 => (0_usize..3).prop_map(Event::Write),
        1 => (0_usize..3).prop_map(Event::Repeat),
        4 => (merger.clone(), 1_usize..5).prop_map(|(it, num)| Event::Merge(it, num)),
        3 => merger.clone().prop_map(Event::Sum),
        1 => (merger.clone(), any::<bool>())
            .prop_map(|(merger, has_written)| Event::Kill { merger, has_written }),
        1 => merger.prop_map(Event::Check),
        3 => (1_usize..5).prop_map(Event::Read),
        1 => Just(Event::Save),
        1 => Just(Event::Restart),
    ]
}

/// A server, mergers, instances, and the logs between them.
struct Job {
    group_log: Vec<LoggedPart>,
    log: Vec<LoggedPart>,
    mergers: [Option<GroupMerger>; 2],
    state: Arc<ServerState>,
    num_read: usize,
    saved: Saved,
    has_saved: bool,
    sequences: [u64; 3],
    num_restarts: u64,
    /// The log of the group has forgotten entries up to this one.
    num_forgotten: u64,
}

impl Job {
    fn new() -> Self {
        Self {
            group_log: Vec::new(),
            log: Vec::new(),
            mergers: [None, None],
            state: started(new_state(options(1))),
            num_read: 0,
            saved: Saved::default(),
            has_saved: false,
            sequences: [0; 3],
            num_restarts: 0,
            num_forgotten: 0,
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Write(instance) => {
                self.sequences[instance] += 1;
                self.write(instance);
            }
            Event::Repeat(instance) if self.sequences[instance] > 0 => self.write(instance),
            Event::Repeat(_) => {}
            Event::Merge(merger, num) => self.merge(merger, num),
            Event::Sum(merger) => {
                let mut running = self.mergers[merger].take();
                self.log
                    .extend(running.as_mut().map(sum_of).unwrap_or_default());
                self.mergers[merger] = running;
            }
            Event::Kill {
                merger,
                has_written,
            } => {
                let killed = self.mergers[merger].take();
                if let Some(mut killed) = killed.filter(|_| has_written) {
                    self.log.extend(sum_of(&mut killed));
                }
            }
            Event::Check(merger) => {
                self.read(usize::MAX);
                let position = self.state.group_position(GROUP, LOG);
                self.mergers[merger].take_if(|it| it.taken() != position);
            }
            Event::Read(num) => self.read(num),
            Event::Save => {
                let taken = self.saved.take(&self.state);
                self.state.confirm_saved(&taken);
                self.has_saved = true;
                let saved = self.state.saved_groups().remove(&GROUP);
                self.num_forgotten = saved.unwrap_or_default().position;
            }
            Event::Restart => {
                self.num_restarts += 1;
                let options = options(1 + self.num_restarts);
                self.state = started(if self.has_saved {
                    Arc::new(self.saved.restore(options).expect("saved"))
                } else {
                    new_state(options)
                });
                self.num_read = self.state.begin_log("log") as usize;
            }
        }
    }

    /// Writes the last contribution of an instance, in two parts if its number is even.
    fn write(&mut self, instance: usize) {
        let sequence = self.sequences[instance];
        let parts = if sequence.is_multiple_of(2) { 2 } else { 1 };
        for index in 0..parts {
            self.group_log
                .push(part(instance, sequence, index, parts - 1 - index));
        }
    }

    fn merge(&mut self, merger: usize, num: usize) {
        if self.mergers[merger].is_none() {
            self.read(usize::MAX);
            let start = self.state.merger_start(GROUP, LOG);
            assert!(start.position >= self.num_forgotten, "it is needed");
            self.mergers[merger] = Some(GroupMerger::new(GROUP, LOG, start));
        }
        let running = self.mergers[merger].as_mut().expect("it was started");
        let mut position = running.position();
        let entries = self.group_log.iter().skip(position as usize);
        // The parts of a contribution arrive together.
        let is_between = |it: &&LoggedPart| it.number.num_left > 0;
        let num_parts = self.group_log.iter().skip(position as usize + num - 1);
        let num = num.saturating_add(num_parts.take_while(is_between).count());
        for entry in entries.take(num) {
            position += 1;
            running.add(entry.clone(), position).expect("it fits");
        }
    }

    fn read(&mut self, num: usize) {
        let unread = self.log.iter().enumerate().skip(self.num_read).take(num);
        for (index, entry) in unread {
            let added = self.state.add_logged(entry.clone(), index as u64 + 1, 0);
            added.expect("it fits");
        }
        self.num_read = self.num_read.saturating_add(num).min(self.log.len());
    }

    /// Starts all again, and lets them read everything.
    fn finish(&mut self) {
        self.happen(Event::Kill {
            merger: 0,
            has_written: false,
        });
        self.happen(Event::Restart);
        self.happen(Event::Merge(0, self.group_log.len() + 1));
        self.happen(Event::Sum(0));
        self.read(usize::MAX);
    }
}

fn options(epoch: u64) -> StateOptions {
    StateOptions {
        retention: Retention::Saved,
        epoch,
        ..StateOptions::default()
    }
}

fn started(state: Arc<ServerState>) -> Arc<ServerState> {
    state.begin_log("log");
    state.add_registration(&hello(0), 0);
    for instance in 0..3 {
        state.join_group(&name(instance), GROUP);
    }
    state
}

fn name(instance: usize) -> String {
    format!("instance {instance}")
}

fn part(instance: usize, sequence: u64, index: u32, num_left: u32) -> LoggedPart {
    let values = [sequence * 10 + u64::from(index)];
    let reports = [report(instance as u32, sequence as u32, F, &values)];
    LoggedPart {
        instance: name(instance),
        number: PartNumber {
            sequence,
            index,
            num_left,
        },
        functions: vec![(F, PROGRAM, "f".to_owned())],
        contribution: Contribution::new(vec![(F, model(&values))], &reports),
        sum: None,
    }
}

/// Takes the sum of a merger as entries of the server's log, in parts.
fn sum_of(merger: &mut GroupMerger) -> Vec<LoggedPart> {
    let Some(sum) = merger.take() else {
        return Vec::new();
    };
    let (instance, origin) = (sum.name(), sum.origin.clone());
    let function = |fid| {
        let (program, name) = merger.function(fid).expect("it is in the sum");
        (fid, program, name.to_owned())
    };
    let parts = GroupSum::into_parts(sum, 200).into_iter();
    parts
        .map(|(number, contribution)| LoggedPart {
            instance: instance.clone(),
            number,
            functions: contribution.fids().map(function).collect(),
            contribution,
            sum: Some(origin.clone()),
        })
        .collect()
}

/// Returns sum and number of the run times of `f` in the model, and their number in the statistics.
fn counted(state: &Arc<ServerState>) -> (u64, u64, u64) {
    state.fold();
    if state.documents().func_stats.is_empty() {
        return (0, 0, 0);
    }
    let model = global_model(state, "f");
    let moments = model.moments();
    let functions = state.documents().func_stats;
    let runtimes = functions.iter().map(|it| &it.runtime_profile);
    let sum = moments.mean() * moments.count() as f64;
    (
        sum.round() as u64,
        moments.count(),
        runtimes.map(|it| it.exclusive_runtime.count).sum(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn each_contribution_counts_once_in_spite_of_kills(
        events in prop::collection::vec(event(), 0..60),
    ) {
        let mut job = Job::new();
        for event in events {
            job.happen(event);
        }
        job.finish();
        let mut all = BTreeMap::new();
        for entry in &job.group_log {
            let number = entry.number;
            let key = (entry.instance.clone(), number.sequence, number.index);
            all.insert(key, number.sequence * 10 + u64::from(number.index));
        }
        let num = all.len() as u64;
        prop_assert_eq!(counted(&job.state), (all.values().sum(), num, num));
        let mut last = BTreeMap::new();
        for (instance, sequence) in (0..).zip(job.sequences) {
            if sequence > 0 {
                last.insert(name(instance), sequence);
            }
        }
        prop_assert_eq!(job.state.merger_start(GROUP, LOG).members, last);
    }
}

#[test]
fn an_instance_whose_ranks_others_took_adds_nothing_after_its_fence() {
    let mut job = Job::new();
    for event in [
        Event::Write(0),
        Event::Write(1),
        Event::Merge(0, 2),
        Event::Sum(0),
    ] {
        job.happen(event);
    }
    let fenced_at = job.group_log.len() as u64 + 1;
    let merger = job.mergers[0].as_mut().expect("it runs");
    merger.fence(name(0), fenced_at);
    let late = part(0, 2, 0, 0);
    merger
        .add(late.clone(), fenced_at + 1)
        .expect("it is left out");
    job.happen(Event::Sum(0));
    job.read(usize::MAX);
    assert_eq!(job.state.group_position(GROUP, LOG), fenced_at + 1);
    assert_eq!(counted(&job.state), (20, 2, 2));
    // The next merger knows it from the server, also from a restarted one.
    job.happen(Event::Save);
    job.happen(Event::Restart);
    let start = job.state.merger_start(GROUP, LOG);
    let mut next = GroupMerger::new(GROUP, LOG, start);
    next.add(late, fenced_at + 2).expect("it is left out");
    next.add(part(1, 2, 0, 0), fenced_at + 3).expect("it fits");
    job.log.extend(sum_of(&mut next));
    job.read(usize::MAX);
    assert_eq!(counted(&job.state), (40, 3, 3));
}

#[test]
fn a_sum_that_the_server_refuses_is_left_out_and_the_next_one_counts() {
    let mut job = Job::new();
    job.happen(Event::Write(0));
    job.happen(Event::Merge(0, 1));
    let mut merger = job.mergers[0].take().expect("it runs");
    for mut entry in sum_of(&mut merger) {
        entry.functions.clear();
        let refused = job.state.add_logged(entry, 1, 0);
        assert_eq!(refused, Err(PserverError::UnknownFunction { fid: F }));
    }
    let unknown = LoggedPart {
        functions: Vec::new(),
        ..part(1, 1, 0, 0)
    };
    let fid = FuncId(9);
    let other = |_| fid;
    let unknown = LoggedPart {
        contribution: unknown.contribution.clone().renumbered(other),
        ..unknown
    };
    let refused = merger.add(unknown, 2);
    assert_eq!(refused, Err(PserverError::UnknownFunction { fid }));
    merger.add(part(2, 1, 0, 0), 3).expect("it fits");
    for entry in sum_of(&mut merger) {
        job.state.add_logged(entry, 2, 0).expect("it fits");
    }
    assert_eq!(counted(&job.state), (10, 1, 1));
    assert_eq!(job.state.group_position(GROUP, LOG), 3);
}
