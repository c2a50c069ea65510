//! A file that is read as a whole is read once, whether its ranks are asked for before or not.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use callgrove_model::{FuncId, ProgramId, RankId, TimeNs, WarningKind};
use callgrove_source::{
    Contents, DecodedRun, FileDecoder, Input, LaneIdentity, MemoryFiles, Next, Part, Projection,
    RankEvents, Ranks, SourceError, decoded_file,
};

/// A decoder of a file of one rank, or of two, with a function for each rank.
struct Ranked {
    ranks: Vec<u32>,
    num_left: u32,
    is_stated: bool,
}

impl FileDecoder for Ranked {
    fn read_on(&mut self) -> Result<bool, SourceError> {
        self.num_left -= 1;
        Ok(self.num_left > 0)
    }

    fn position(&self) -> f32 {
        0.5
    }

    fn only_rank(&self) -> Option<RankId> {
        self.is_stated.then(|| RankId(self.ranks[0]))
    }

    fn finish(self: Box<Self>) -> DecodedRun {
        let mut run = DecodedRun::default();
        for rank in self.ranks {
            let func = run.names.intern(&format!("f{rank}"));
            let mut events = RankEvents::default();
            let lane = events.lane(LaneIdentity::Thread(0));
            events.call(lane, func, TimeNs(1), TimeNs(5));
            run.ranks.insert(RankId(rank), events);
        }
        run.warnings.count(WarningKind::BadRow, None, String::new);
        run
    }
}

fn part(open: callgrove_source::OpenDecoder) -> Box<dyn Part> {
    let mut files = MemoryFiles::default();
    files.put("a.json", b"x");
    let files: Arc<dyn callgrove_source::FileSystem> = Arc::new(files);
    let input = Input::new(Path::new("a.json"), &files);
    match decoded_file(&input, open) {
        Contents::Events(mut parts) => parts.pop().unwrap(),
        Contents::Trace(_) => panic!("it has events"),
    }
}

/// Reads a stream of the part; returns the function of each call that begins, and the number of warnings.
fn read(part: &dyn Part, ranks: Ranks) -> (Vec<String>, u64) {
    let projection = Projection {
        ranks,
        ..Projection::default()
    };
    let mut stream = part.open(&projection).unwrap();
    let mut funcs = Vec::new();
    loop {
        match stream.next_step(Duration::ZERO).unwrap() {
            Next::Step(batch) => funcs.extend(batch.funcs.iter().map(|it| it.func)),
            Next::Reading => {}
            Next::NotReady | Next::End => break,
        }
    }
    let name = |func: &FuncId| stream.names().name(*func).to_owned();
    let names = funcs.iter().step_by(2).map(name).collect();
    (names, stream.take_warnings().total(WarningKind::BadRow))
}

fn one(rank: u32) -> Ranks {
    Ranks::One(ProgramId(0), RankId(rank))
}

#[test]
fn a_file_of_several_ranks_is_read_once_for_all_of_them() {
    static NUM_OPENED: AtomicU32 = AtomicU32::new(0);
    let part = part(|_, _| {
        NUM_OPENED.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Ranked {
            ranks: vec![3, 4],
            num_left: 3,
            is_stated: false,
        }))
    });
    let ranks = part.ranks().unwrap().into_iter().map(|it| it.1.0);
    assert_eq!(ranks.collect::<Vec<_>>(), [3, 4]);
    assert_eq!(read(&*part, one(4)), (vec!["f4".to_owned()], 1));
    assert_eq!(read(&*part, one(3)), (vec!["f3".to_owned()], 0));
    assert_eq!(NUM_OPENED.load(Ordering::Relaxed), 1);
    // A stream that begins again reads the file again.
    assert_eq!(read(&*part, one(4)), (vec!["f4".to_owned()], 1));
    assert_eq!(NUM_OPENED.load(Ordering::Relaxed), 2);
    let both = vec!["f3".to_owned(), "f4".to_owned()];
    assert_eq!(read(&*part, Ranks::All), (both, 1));
}

#[test]
fn a_file_that_states_its_rank_is_read_on_from_there() {
    static NUM_OPENED: AtomicU32 = AtomicU32::new(0);
    let mut part = part(|_, _| {
        NUM_OPENED.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Ranked {
            ranks: vec![5],
            num_left: 3,
            is_stated: true,
        }))
    });
    assert_eq!(part.ranks().unwrap(), [(ProgramId(0), RankId(5))]);
    assert_eq!(read(&*part, Ranks::Own), (vec!["f5".to_owned()], 1));
    assert_eq!(NUM_OPENED.load(Ordering::Relaxed), 1);
    part.ranks().unwrap();
    part.assume_rank(RankId(9));
    assert_eq!(read(&*part, Ranks::All), (vec!["f5".to_owned()], 1));
    assert_eq!(NUM_OPENED.load(Ordering::Relaxed), 3);
}
