//! Reads one rank's stream of TAU, step by step.

use std::mem;
use std::path::Path;
use std::time::Duration;

use callgrove_adios2_sys::{Library, LibraryOnDemand};
use callgrove_model::{
    CounterId, FuncId, NameTable, ProgramId, RankId, StepId, TimeNs, WarningKind, Warnings,
};
use callgrove_source::{Announcement, EventStream, Next, SourceError};

use super::other_ranks::RowOwner;
use super::run_clock::RunClock;
use super::step::{StepPlace, StepReader};
use super::stream::{BeginResult, BpStream, writer_died};
use crate::error::TauError;
use crate::live_options::LiveOptions;

/// One rank's stream of TAU.
#[derive(Debug)]
pub(crate) struct TauSource {
    stream: BpStream,
    reader: StepReader,
    has_ended: bool,
}

impl TauSource {
    /// Opens a folder whose writer has ended.
    ///
    /// # Errors
    /// Any [`TauError`] that concerns one stream.
    pub(crate) fn open(
        path: &Path,
        program: ProgramId,
        adios2: &LibraryOnDemand,
    ) -> Result<Self, TauError> {
        let stream = BpStream::open_for_tau(path, adios2)?;
        Ok(Self::new(stream, program))
    }

    /// Waits for the writer, then opens its stream.
    ///
    /// # Errors
    /// [`SourceError::NoWriter`], and any other [`TauError`] that concerns one stream.
    pub(crate) fn open_live(
        path: &Path,
        options: &LiveOptions,
        library: &Library,
    ) -> Result<Self, TauError> {
        let stream = BpStream::open_live(path, options, library)?;
        Ok(Self::new(stream, options.program))
    }

    /// Limits reading to the first and last rows of each array, which suffice to show whether ADIOS2 can read it.
    pub(crate) fn edges_only(&mut self) {
        self.reader.wanted.edges_only = true;
    }

    /// Selects the rank whose rows are read from a stream that several ranks wrote, before the first step; `None` is
    /// the stream's own rank. Other readers read the other ranks, so their rows are not counted as lost.
    pub(crate) fn select(&mut self, rank: Option<(ProgramId, RankId)>) {
        self.reader.has_readers_of_others = true;
        if let Some((program, rank)) = rank {
            self.reader.select(RowOwner { program, rank });
        }
    }

    /// Returns whether the steps so far have rows or metadata of other ranks.
    pub(crate) fn is_shared(&self) -> bool {
        self.reader.others.are_known(self.reader.rank)
    }

    /// Sets a time of the run, from [`EventStream::late_clock`] of another reader, before the first step.
    pub(crate) fn set_clock(&mut self, time: TimeNs) {
        self.reader.clock = RunClock::known(time);
    }

    fn new(stream: BpStream, program: ProgramId) -> Self {
        let mut reader = StepReader::new(&stream.path, program);
        reader.names.unreported = stream.contact.is_some().then(Vec::new);
        Self {
            stream,
            reader,
            has_ended: false,
        }
    }

    fn step(&mut self, wait: Duration) -> Result<Next, TauError> {
        let step = match self.stream.begin_step(wait)? {
            BeginResult::Step(step, missing) => {
                self.warn_missing(step, missing);
                step
            }
            BeginResult::NotReady => return Ok(Next::NotReady),
            BeginResult::End => return Ok(Next::End),
            BeginResult::Truncated(reason) => {
                self.warn_truncated(&reason);
                return Ok(Next::End);
            }
        };
        let data_bytes = self.stream.data_bytes()?;
        let batch = self.reader.read(&StepPlace {
            origin: &self.stream.origin,
            path: &self.stream.path,
            step,
            data_bytes,
            stored: self.stream.stored_rows(),
        })?;
        if self.reader.has_attributes {
            self.stream.forget_attributes()?;
        }
        self.stream.end_step()?;
        Ok(Next::Step(Box::new(batch)))
    }

    /// Returns the next step, and waits for it no longer than `wait`.
    ///
    /// # Errors
    /// Any [`TauError`] that concerns one stream.
    pub(crate) fn read_step(&mut self, wait: Duration) -> Result<Next, TauError> {
        if self.has_ended {
            return Ok(Next::End);
        }
        let next = match self.step(wait) {
            // The steps that were read are complete. The writer died while it sent the next one.
            Err(TauError::Stream { source, .. }) if self.stream.is_sst() => {
                self.warn_truncated(&writer_died(&source.to_string()));
                Ok(Next::End)
            }
            next => next,
        };
        self.has_ended = matches!(next, Ok(Next::End) | Err(_));
        next
    }

    fn warn_missing(&mut self, step: StepId, missing: usize) {
        let place = || {
            format!(
                "{missing} before step {step}: {}",
                self.stream.path.display()
            )
        };
        let (kind, rank) = (WarningKind::StepMissing, self.reader.rank);
        self.reader
            .warnings
            .count_many(kind, rank, missing as u64, place);
    }

    fn warn_truncated(&mut self, reason: &str) {
        let place = || format!("{reason}: {}", self.stream.path.display());
        let (kind, rank) = (WarningKind::StreamTruncated, self.reader.rank);
        self.reader.warnings.count(kind, rank, place);
    }
}

impl EventStream for TauSource {
    fn next_step(&mut self, wait: Duration) -> Result<Next, SourceError> {
        Ok(self.read_step(wait)?)
    }

    fn rank(&self) -> Option<RankId> {
        self.reader.rank
    }

    fn num_ranks(&self) -> Option<u32> {
        self.reader.num_ranks
    }

    #[expect(clippy::cast_precision_loss, reason = "a position is only shown")]
    fn position(&self) -> f32 {
        match self.stream.num_steps() {
            0 => 0.0,
            num_steps => (self.stream.steps_read() as f32 / num_steps as f32).min(1.0),
        }
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.reader.names.timers.table
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.reader.names.counters.table
    }

    fn identity(&self) -> Option<String> {
        self.stream.contact.clone()
    }

    fn take_announced(&mut self) -> Vec<Announcement> {
        self.reader.names.take_unreported()
    }

    fn recall(&mut self, identity: &str, announced: Vec<Announcement>) {
        if self.stream.contact.as_deref() == Some(identity) {
            self.reader.names.recall(&announced);
        }
    }

    fn functions_only(&mut self) {
        self.reader.wanted.functions_only = true;
    }

    fn late_clock(&self) -> Option<TimeNs> {
        self.reader.clock.found_late()
    }

    fn other_ranks(&self) -> Vec<(ProgramId, RankId)> {
        let others = self.reader.others.list().into_iter();
        others.map(|it| (it.program, it.rank)).collect()
    }

    fn take_warnings(&mut self) -> Warnings {
        mem::take(&mut self.reader.warnings)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use callgrove_adios2_sys::{Io, default_candidates};
    use callgrove_model::{MAX_COUNTER_NAME_BYTES, Progress};
    use callgrove_source::{OneByOne, Part, read_parts};
    use tempfile::TempDir;

    use super::super::writer::{TauStep, TauWriter, WriterEngine, begin_step, put};
    use super::*;
    use crate::format::TauFormat;

    /// Reads a stream to its end or its first error, and returns the results as text, step by step.
    fn read_as_text(mut source: TauSource) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let next = source.next_step(Duration::ZERO);
            let names = source.names().iter().map(|(_, name)| name);
            let counters = source.counter_names().iter().map(|(_, name)| name);
            let names: Vec<_> = names.chain(counters).collect();
            let ranks = (source.rank(), source.num_ranks());
            let read = format!("{next:?} {names:?} {ranks:?}");
            lines.push(format!("{read} {:?}", source.take_warnings()));
            if !matches!(next, Ok(Next::Step(_))) {
                return lines;
            }
        }
    }

    /// Reads a stream with ADIOS2, with the results as text or the error of opening the folder.
    fn read_by_adios2(path: &Path, library: &Library) -> Vec<String> {
        let opened = BpStream::open(path, library);
        let opened = opened.map(|stream| read_as_text(TauSource::new(stream, ProgramId(0))));
        opened.unwrap_or_else(|error| vec![error.to_string()])
    }

    /// Checks that ADIOS2 and the files give the same result, and returns whether ADIOS2 was needed.
    fn is_read_by_adios2(path: &Path) -> bool {
        let adios2 = LibraryOnDemand::of_this_machine();
        let opened = TauSource::open(path, ProgramId(0), &adios2);
        let (needs_adios2, found) = match opened {
            Ok(source) => (source.stream.engine().is_some(), read_as_text(source)),
            Err(error) => (true, vec![error.to_string()]),
        };
        assert_eq!(
            found,
            read_by_adios2(path, &adios2.get().unwrap()),
            "{}",
            path.display()
        );
        needs_adios2
    }

    const ENGINES: [WriterEngine; 2] = [WriterEngine::Bp4, WriterEngine::Bp5];
    const ENTRY: u64 = 0;
    const EXIT: u64 = 1;

    /// Writes a stream of three steps, the second without rows, with these attributes.
    fn write(
        engine: WriterEngine,
        attributes: &[(&str, &str)],
        define: impl Fn(&Io),
    ) -> (TempDir, PathBuf) {
        let library = Library::load(&default_candidates()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream.bp");
        let mut writer = TauWriter::open(&path, engine, &library).unwrap();
        let mut step = TauStep {
            num_ranks: 2,
            num_threads: 1,
            num_timers: 2,
            num_counters: 1,
            ..TauStep::default()
        };
        let named = [("timer 0", "main"), ("counter 0", "Message size")];
        let named = named.iter().chain(attributes);
        step.attributes
            .extend(named.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        step.funcs = vec![[0, 1, 0, ENTRY, 0, 1_000], [0, 1, 0, ENTRY, 1, 1_001]];
        step.counters = vec![[0, 1, 0, 0, 64, 1_001]];
        step.comms = vec![[0, 1, 0, 2, 7, 0, 64, 1_001]];
        writer.write(&step).unwrap();
        define(writer.engine.io());
        step.attributes = vec![("MetaData:1:1:tid".to_owned(), "17".to_owned())];
        (step.funcs, step.counters, step.comms) = Default::default();
        writer.write(&step).unwrap();
        step.attributes = vec![("timer 2".to_owned(), "late".to_owned())];
        (step.num_timers, step.num_threads) = (3, 2);
        step.funcs = vec![
            [0, 1, 1, ENTRY, 2, 1_005],
            [0, 1, 0, EXIT, 1, 1_002],
            [0, 1, 0, EXIT, 0, 1_003],
            [1, 1, 0, EXIT, 0, 1_003],
        ];
        writer.write(&step).unwrap();
        writer.close().unwrap();
        (folder, path)
    }

    #[test]
    fn a_run_is_read_without_adios2_as_with_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        for run in ["tests/data/lammps-4r-small-bp4", "assets/lammps-4r-small"] {
            for rank in 0..4 {
                let stream = format!("bp/tau-metrics-lmp_tau-{rank}.bp");
                assert!(!is_read_by_adios2(&root.join(run).join(stream)), "{run}");
            }
        }
    }

    #[test]
    fn texts_of_all_kinds_are_read_without_adios2_as_with_it() {
        let long = "x".repeat(MAX_COUNTER_NAME_BYTES + 1);
        let lists: [&[(&str, &str)]; 5] = [
            &[("timer 1", "solve")],
            // Timer 1 has no name, and the metadata are in the order of the names.
            &[
                ("MetaData:1:0:b", "1"),
                ("MetaData:1:0:a", "2"),
                ("MetaData:1:0:B", "3"),
                ("MetaData:1:0:ä", "4"),
            ],
            &[("timer 1", ""), ("MetaData:1:0:empty", "")],
            &[
                ("timer 1", "a\tb\u{1b}[1m"),
                ("MetaData:1:0:key", &long),
                ("timer x", "odd"),
                ("timer 99999", "large index"),
            ],
            &[
                ("counter 1", &long),
                ("event_type 9", "OTHER"),
                ("program_name 0", "lmp"),
                ("", "no name"),
            ],
        ];
        for attributes in lists {
            for engine in ENGINES {
                let (_folder, path) = write(engine, attributes, |_| {});
                assert!(!is_read_by_adios2(&path), "{engine:?} {attributes:?}");
            }
        }
    }

    /// Writes a stream of two steps with rows, each followed by a step with at most an attribute.
    fn write_with_empty_steps(engine: WriterEngine, attribute: Option<&str>) -> (TempDir, PathBuf) {
        let library = Library::load(&default_candidates()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream-3.bp");
        let mut writer = TauWriter::open(&path, engine, &library).unwrap();
        for (event_type, time) in [(ENTRY, 1_000), (EXIT, 1_001)] {
            let step = TauStep {
                attributes: vec![(format!("timer {event_type}"), "main".to_owned())],
                num_ranks: 4,
                num_threads: 1,
                num_timers: 1,
                funcs: vec![[0, 3, 0, event_type, 0, time]],
                ..TauStep::default()
            };
            writer.write(&step).unwrap();
            begin_step(&mut writer.engine).unwrap();
            if let Some(text) = attribute {
                let name = format!("MetaData:3:0:key {event_type}");
                writer
                    .engine
                    .io()
                    .define_text_attribute(&name, text)
                    .unwrap();
            }
            writer.engine.end_step().unwrap();
        }
        writer.close().unwrap();
        (folder, path)
    }

    #[test]
    fn steps_without_variables_are_skipped() {
        for engine in ENGINES {
            for attribute in [None, Some("text")] {
                let (_folder, path) = write_with_empty_steps(engine, attribute);
                // ADIOS2 crashes on such a folder of BP4.
                assert!(engine == WriterEngine::Bp4 || !is_read_by_adios2(&path));
                let adios2 = LibraryOnDemand::new([]);
                let mut source = TauSource::open(&path, ProgramId(0), &adios2).unwrap();
                let mut num_rows = 0;
                while let Next::Step(batch) = source.next_step(Duration::ZERO).unwrap() {
                    num_rows += batch.funcs.len();
                }
                assert_eq!(num_rows, 2, "{engine:?} {attribute:?}");
                assert!(source.take_warnings().is_empty());
            }
        }
    }

    #[test]
    fn overlapping_blocks_are_all_read() {
        let library = Library::load(&default_candidates()).unwrap();
        for engine in ENGINES {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("stream.bp");
            let mut writer = TauWriter::open(&path, engine, &library).unwrap();
            begin_step(&mut writer.engine).unwrap();
            let io = writer.engine.io();
            io.define_text_attribute("timer 0", "main").unwrap();
            let counts = [
                ("comm_rank_count", 3),
                ("thread_count", 1),
                ("event_type_count", 4),
            ];
            for (name, count) in counts
                .into_iter()
                .chain([("timer_count", 1), ("counter_count", 0)])
            {
                put(&writer.engine, name, &[count], &[]).unwrap();
            }
            let num_rows = [
                ("timer_event_count", 2_u64),
                ("counter_event_count", 0),
                ("comm_count", 0),
            ];
            for (name, count) in num_rows {
                put(&writer.engine, name, &[count], &[]).unwrap();
            }
            for rank in [2, 0, 1] {
                let rows = [[0, rank, 0, ENTRY, 0, 1_000], [0, rank, 0, EXIT, 0, 1_001]];
                put(
                    &writer.engine,
                    "event_timestamps",
                    rows.as_flattened(),
                    &[2, 6],
                )
                .unwrap();
            }
            writer.engine.end_step().unwrap();
            writer.close().unwrap();
            let part: Box<dyn Part> =
                Box::new(TauFormat::new(LibraryOnDemand::new([]), None).part(&path));
            let trace = read_parts(&[part], &OneByOne, Progress::none()).unwrap();
            let ranks: Vec<_> = trace
                .lanes
                .iter()
                .map(|it| (it.rank.0, it.executions.len()))
                .collect();
            assert_eq!(ranks, [(0, 1), (1, 1), (2, 1)], "{engine:?}");
            assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
        }
    }

    #[test]
    fn attributes_other_than_texts_need_adios2() {
        for engine in ENGINES {
            let version = |io: &Io| io.define_attribute("version", &[1.5]).unwrap();
            let sizes = |io: &Io| io.define_attribute("sizes", &[1_u64, 2]).unwrap();
            for path in [write(engine, &[], version), write(engine, &[], sizes)] {
                assert!(is_read_by_adios2(&path.1), "{engine:?}");
            }
        }
    }

    /// Writes a stream, and replaces the first occurrence of `bytes` in one of its files by `changed`.
    fn write_with(
        engine: WriterEngine,
        name: &str,
        bytes: &[u8],
        changed: &[u8],
    ) -> (TempDir, PathBuf) {
        let (folder, path) = write(engine, &[("timer 1", "solve")], |_| {});
        let file = path.join(name);
        let mut content = fs::read(&file).unwrap();
        let mut places = content.windows(bytes.len());
        let place = places.position(|it| it == bytes).unwrap();
        content[place..place + bytes.len()].copy_from_slice(changed);
        fs::write(&file, content).unwrap();
        (folder, path)
    }

    /// Returns whether such a stream needs ADIOS2.
    fn is_read_by_adios2_with(
        engine: WriterEngine,
        name: &str,
        bytes: &[u8],
        changed: &[u8],
    ) -> bool {
        let (_folder, path) = write_with(engine, name, bytes, changed);
        is_read_by_adios2(&path)
    }

    #[test]
    fn rows_outside_any_block_are_skipped() {
        let first_step = |path: &Path| {
            let adios2 = LibraryOnDemand::of_this_machine();
            let mut source = TauSource::open(path, ProgramId(0), &adios2).unwrap();
            source.functions_only();
            let Ok(Next::Step(batch)) = source.next_step(Duration::ZERO) else {
                panic!("a step is there");
            };
            let num_bad = source.take_warnings().total(WarningKind::BadRow);
            (batch.funcs.len(), num_bad)
        };
        // The shape of the first array, the shape of its block, and the start of that block.
        let whole = [2, 6, 2, 6, 0, 0].map(u64::to_le_bytes);
        let moved = [2, 6, 2, 6, 1, 0].map(u64::to_le_bytes);
        let (whole, moved) = (whole.as_flattened(), moved.as_flattened());
        let (_folder, path) = write_with(WriterEngine::Bp5, "md.0", whole, whole);
        assert_eq!(first_step(&path), (2, 0));
        // The memory that is read into contains these rows now.
        let (_folder, path) = write_with(WriterEngine::Bp5, "md.0", whole, moved);
        assert_eq!(first_step(&path), (1, 1));
    }

    #[test]
    fn bp4_contents_that_tau_does_not_write_need_adios2() {
        let with = |name: &str, bytes: &[u8], changed: &[u8]| {
            is_read_by_adios2_with(WriterEngine::Bp4, name, bytes, changed)
        };
        assert!(
            with("md.idx", b"\x04\0\0", b"\x04\x01\0"),
            "an active writer"
        );
        assert!(with("md.0", b"timer_count", b"timer_kount"), "no count");
        assert!(
            with("md.0", b"timer 1", b"timer 0"),
            "two texts of one name"
        );
        let (name, path) = (b"timer 1\0\0\x09", b"timer \x01\0x\x09");
        assert!(with("md.0", name, path), "a path before a name");
        assert!(with("md.0", name, b"timer 1\0\0\x0c"), "a list of texts");
        assert!(with("md.0", b"solve", b"so\0ve"), "a zero byte");
        // The characteristics up to the number of the data file.
        let mut array = *b"event_timestampsK\x006\x01\0\0\0\0\0\0\0\x06c\0\0\0\x08\x01\0\0\0\x07\0";
        let whole = array;
        array[array.len() - 1] = 1;
        assert!(with("md.0", &whole, &array), "rows in another file");
    }

    #[test]
    fn bp5_contents_that_tau_does_not_write_need_adios2() {
        let with = |name: &str, bytes: &[u8], changed: &[u8]| {
            is_read_by_adios2_with(WriterEngine::Bp5, name, bytes, changed)
        };
        assert!(
            with("md.idx", b"\x05\x02\0", b"\x05\x02\x01"),
            "an active writer"
        );
        // The numbers of writers, aggregators and data files, and the data file of the first writer.
        let (one, two) = (
            [1, 1, 1, 0].map(u64::to_le_bytes),
            [1, 1, 2, 0].map(u64::to_le_bytes),
        );
        let (one, two) = (one.as_flattened(), two.as_flattened());
        assert!(with("md.idx", one, two), "several data files");
        assert!(
            with("md.0", b">timer 1", b">timer 0"),
            "two texts of one name"
        );
        // The number of dimensions, of blocks, and their product.
        let array = [2, 1, 2].map(u64::to_le_bytes);
        let other = [1, 1, 1].map(u64::to_le_bytes);
        let (array, other) = (array.as_flattened(), other.as_flattened());
        assert!(with("md.0", array, other), "one dimension");
        // The number of words of the bit field, and its offset.
        let (bits, fewer) = (
            [1, 0x180].map(u64::to_le_bytes),
            [0, 0x180].map(u64::to_le_bytes),
        );
        assert!(
            with("md.0", bits.as_flattened(), fewer.as_flattened()),
            "no variable was put"
        );
    }

    #[test]
    fn unknown_names_and_invalid_utf8_do_not_need_adios2() {
        for engine in ENGINES {
            let with = |bytes: &[u8], changed: &[u8]| {
                is_read_by_adios2_with(engine, "md.0", bytes, changed)
            };
            assert!(!with(b"timer 1", b"timer x"), "a name of no use");
            assert!(!with(b"solve", b"so\xffve"), "not UTF-8");
        }
        let with = is_read_by_adios2_with;
        let (known, unknown) = (b"program_count", b"program_kount");
        assert!(!with(WriterEngine::Bp4, "md.0", known, unknown), "not read");
    }
}
