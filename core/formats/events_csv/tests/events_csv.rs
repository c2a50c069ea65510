//! Files of events: their contents, and damage, which never ends the work.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use callgrove_events_csv::EventsCsvFormat;
use callgrove_model::{ProgramId, Progress, RankId, Trace, WarningKind};
use callgrove_source::{
    Contents, EventStream, FileSystem, Format as _, Input, MemoryFiles, Next, OneByOne, Part,
    Projection, Ranks, Registry, SourceError, call_lines,
};
use proptest::prelude::*;

/// Two ranks that exchange a message, in columns as Pandas writes them.
const PING: &str = "\
Timestamp (ns),Event Type,Name,Thread,Process,Attributes
0.0,Instant,ProgramBegin,0,1,\"{'program_name': 'ping'}\"
10.9,Enter,\"main(int, char**)\",0,0,{'region': 'Region 3'}
11.0,Enter,\"main(int, char**)\",0,1,
20.0,Enter,MPI_Send,0,0,
25.5,Instant,MpiSend,0,0,\"{'receiver': 1, 'communicator': 'Comm 1', 'msg_tag': 10, 'msg_length': 16384}\"
30.0,Enter,MPI_Recv,0,1,
40.0,Leave,MPI_Send,0,0,
45.0,Instant,MpiRecv,0,1,\"{'sender': 0, 'msg_tag': 10, 'msg_length': 16384}\"
50.0,Leave,MPI_Recv,0,1,
60.0,Leave,\"main(int, char**)\",0,0,
61.0,Leave,\"main(int, char**)\",0,1,
";

fn files(text: &[u8]) -> Arc<dyn FileSystem> {
    let mut files = MemoryFiles::default();
    files.put("run-7.csv", text);
    Arc::new(files)
}

fn read(text: &[u8]) -> Result<Trace, SourceError> {
    let registry = Registry::new(files(text), vec![Box::new(EventsCsvFormat)]);
    registry.load(Path::new("run-7.csv"), &OneByOne, Progress::none())
}

fn part(text: &[u8]) -> Box<dyn Part> {
    let input = Input::new(Path::new("run-7.csv"), &files(text));
    let Contents::Events(mut parts) = EventsCsvFormat.open(&input).unwrap() else {
        panic!("the format has events")
    };
    parts.remove(0)
}

#[test]
fn calls_and_messages_of_all_ranks_are_read() {
    let trace = read(PING.as_bytes()).unwrap();
    let expected = [
        "0.0 0 main(int, char**) 10-60",
        "0.0 1 MPI_Send 20-40",
        "1.0 0 main(int, char**) 11-61",
        "1.0 1 MPI_Recv 30-50",
    ];
    assert_eq!(call_lines(&trace), expected);
    assert_eq!(trace.messages.len(), 1);
    assert_eq!(trace.lanes[0].comms.tag, [10]);
    assert_eq!(trace.lanes[1].comms.size_bytes, [16384]);
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
}

#[test]
fn columns_may_be_missing_spaced_and_in_another_order_and_unit() {
    let text = "Name, Timestamp (s), Event Type, Cost\n\
                main, 0, Enter, 1\nwork, 0.0000005, Enter, 2\n\
                work, 1.5e-6, Leave, 3\nmain, 1, Leave, 4\n";
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(
        call_lines(&trace),
        ["0.0 0 main 0-1000000000", "0.0 1 work 500-1500"]
    );
}

#[test]
fn invalid_rows_are_counted_with_their_line() {
    let text = format!(
        "{PING}soon,Enter,f,0,0,\n70,Entry,f,0,0,\n70,Enter,,0,0,\n70,Enter,f,0,-1,\n70,Enter\n\
         70,Instant,MpiSend,0,0,\n"
    );
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(call_lines(&trace).len(), 4);
    assert_eq!(trace.warnings.total(WarningKind::BadRow), 6);
    let mut of_rank_0 = trace
        .warnings
        .iter()
        .filter(|it| it.rank == Some(RankId(0)));
    let first = of_rank_0.next().unwrap().first;
    assert_eq!(first.since(None), "line 13: run-7.csv");
}

#[test]
fn rows_out_of_order_are_sorted_and_counted() {
    let text = "Timestamp (ns),Event Type,Name\n0,Enter,main\n30,Enter,b\n40,Leave,b\n\
                10,Enter,a\n20,Leave,a\n50,Leave,main\n";
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(
        call_lines(&trace),
        ["0.0 0 main 0-50", "0.0 1 a 10-20", "0.0 1 b 30-40"]
    );
    assert_eq!(trace.warnings.total(WarningKind::TimeWentBack), 1);
}

#[test]
fn other_files_are_not_taken_for_events() {
    for text in ["", "a,b,c\n1,2,3\n", "Timestamp (ns),Name\n", "{\"a\":1}\n"] {
        let error = read(text.as_bytes()).unwrap_err();
        let is_unknown = matches!(error, SourceError::UnknownFormat { .. });
        assert!(
            is_unknown && error.to_string().contains("run-7.csv"),
            "{error}"
        );
    }
}

/// Reads the events of a stream as text.
fn events(stream: &mut dyn EventStream) -> Vec<String> {
    let mut steps = Vec::new();
    while let Next::Step(batch) = stream.next_step(Duration::ZERO).unwrap() {
        let names = stream.names();
        let events = batch.funcs.iter().map(|event| {
            let row = event.row();
            format!("{row} {} {}", names.name(event.func), event.time.0)
        });
        let events: Vec<_> = events.collect();
        steps.push(format!("{} {} {events:?}", batch.rank, batch.step));
    }
    steps
}

#[test]
fn one_rank_alone_has_the_same_steps_and_rows_as_among_others() {
    let mut text = "Timestamp (ns),Event Type,Name,Process\n".to_owned();
    for number in 0..30_000 {
        for rank in [5, 2] {
            let kind = if number % 2 == 0 { "Enter" } else { "Leave" };
            text += &format!("{number},{kind},f{rank},{rank}\n");
        }
    }
    let part = part(text.as_bytes());
    let ranks = [2, 5].map(|rank| (ProgramId(0), RankId(rank)));
    assert_eq!(part.ranks().unwrap(), ranks);
    let mut together = events(&mut *part.open(&Projection::default()).unwrap());
    let mut apart = Vec::new();
    for (program, rank) in ranks {
        let projection = Projection {
            ranks: Ranks::One(program, rank),
            ..Projection::default()
        };
        apart.extend(events(&mut *part.open(&projection).unwrap()));
    }
    together.sort();
    apart.sort();
    assert_eq!(together.len(), 8);
    assert_eq!(together, apart);
}

proptest! {
    #[test]
    fn damage_is_never_fatal(
        at in 0..PING.len(),
        bytes in prop::collection::vec(any::<u8>(), 0..4),
        length in 0..=PING.len(),
    ) {
        let mut text = PING.as_bytes().to_vec();
        text.splice(at..(at + bytes.len()).min(PING.len()), bytes);
        text.truncate(length);
        if let Ok(trace) = read(&text) {
            prop_assert!(trace.num_executions() <= 4);
        }
    }
}
