//! Written data is read back, and misuse returns typed errors. Needs an ADIOS2 library.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::path::Path;
use std::time::Duration;

use callgrove_adios2_sys::{
    Adios, Adios2Error, AdiosEngine, DataType, ErrorCode, Io, Library, OpenMode, StepStatus,
    default_candidates,
};

fn library() -> Library {
    Library::load(&default_candidates()).unwrap_or_else(|error| panic!("{error}"))
}

fn io(engine: &str) -> Io {
    let io = Adios::new(&library()).unwrap().declare_io("test").unwrap();
    io.set_engine(engine).unwrap();
    io.set_parameters([("OpenTimeoutSecs", "0")]).unwrap();
    io
}

/// Writes three steps with arrays of 2, 0 (left out) and 5 rows of 3 columns; one more attribute in each step.
fn write(path: &Path, engine: &str) {
    let io = io(engine);
    io.define_variable("count", DataType::I32, &[], &[], &[])
        .unwrap();
    io.define_variable("rows", DataType::U64, &[1, 3], &[0, 0], &[1, 3])
        .unwrap();
    io.define_attribute("numbers", &[1.5_f64, 2.5]).unwrap();
    let mut engine = io.open(path, OpenMode::Write).unwrap();
    for (step, num_rows) in [2_usize, 0, 5].into_iter().enumerate() {
        assert_eq!(engine.begin_step_to_write().unwrap(), StepStatus::Ok);
        let text = "name ".repeat(step * 2000 + 1);
        engine
            .io()
            .define_text_attribute(&format!("name {step}"), &text)
            .unwrap();
        let count = engine.io().variable("count").unwrap().unwrap();
        engine.put(&count, &[num_rows as i32]).unwrap();
        if num_rows > 0 {
            let rows = engine.io().variable("rows").unwrap().unwrap();
            rows.set_shape(&[num_rows, 3]).unwrap();
            rows.set_selection(&[0, 0], &[num_rows, 3]).unwrap();
            engine.put(&rows, &values(step, num_rows)).unwrap();
        }
        engine.end_step().unwrap();
    }
    engine.close().unwrap();
}

fn values(step: usize, num_rows: usize) -> Vec<u64> {
    (0..num_rows * 3)
        .map(|cell| (step * 1000 + cell) as u64)
        .collect()
}

fn read_step(engine: &AdiosEngine, step: usize) {
    let count = engine.io().variable("count").unwrap().unwrap();
    let num_rows = engine.get_value::<i32>(&count).unwrap() as usize;
    assert_eq!(num_rows, [2, 0, 5][step]);
    if num_rows > 0 {
        let rows = engine.io().variable("rows").unwrap().unwrap();
        assert_eq!(rows.shape().unwrap(), [num_rows, 3]);
        rows.set_selection(&[0, 0], &[num_rows, 3]).unwrap();
        let mut together = vec![0; num_rows * 3];
        let mut gets = engine.gets();
        gets.add(&rows, &mut together).unwrap();
        gets.perform().unwrap();
        let mut at_once = vec![0; num_rows * 3];
        engine.get(&rows, &mut at_once).unwrap();
        assert_eq!(together, values(step, num_rows));
        assert_eq!(at_once, together);
    }
    let name = engine
        .io()
        .attribute(&format!("name {step}"))
        .unwrap()
        .unwrap();
    assert_eq!(name.text().unwrap(), "name ".repeat(step * 2000 + 1));
}

#[test]
fn steps_arrays_and_attributes_come_back_as_written() {
    for kind in ["BP4", "BP5"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.bp");
        write(&path, kind);
        let mut engine = io("BPFile").open(&path, OpenMode::Read).unwrap();
        assert!(engine.engine_type().unwrap().contains(kind));
        for step in 0..3 {
            assert_eq!(
                engine.begin_step(Duration::from_secs(1)).unwrap(),
                StepStatus::Ok
            );
            assert_eq!(engine.current_step().unwrap(), step);
            read_step(&engine, step);
            engine.end_step().unwrap();
        }
        let numbers = engine.io().attribute("numbers").unwrap().unwrap();
        assert_eq!(numbers.numbers::<f64>().unwrap(), [1.5, 2.5]);
        assert_eq!(engine.io().attributes().unwrap().len(), 4);
        assert_eq!(
            engine.begin_step(Duration::from_secs(1)).unwrap(),
            StepStatus::EndOfStream
        );
    }
}

#[test]
fn all_steps_of_a_file_can_be_read_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.bp");
    write(&path, "BP5");
    let engine = io("BPFile")
        .open(&path, OpenMode::ReadRandomAccess)
        .unwrap();
    assert_eq!(engine.steps().unwrap(), 3);
    let names: Vec<_> = engine
        .io()
        .variables()
        .unwrap()
        .iter()
        .map(|variable| variable.name().to_owned())
        .collect();
    assert_eq!(names, ["count", "rows"]);
    let count = engine.io().variable("count").unwrap().unwrap();
    assert_eq!(count.steps().unwrap(), 3);
    count.set_step_selection(2, 1).unwrap();
    assert_eq!(engine.get_value::<i32>(&count).unwrap(), 5);
}

#[test]
fn a_reader_of_an_open_writer_waits_no_longer_than_its_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.bp");
    let writer_io = io("BP5");
    writer_io
        .define_variable("count", DataType::I32, &[], &[], &[])
        .unwrap();
    let mut writer = writer_io.open(&path, OpenMode::Write).unwrap();
    writer.begin_step_to_write().unwrap();
    let count = writer.io().variable("count").unwrap().unwrap();
    writer.put(&count, &[7]).unwrap();
    writer.end_step().unwrap();

    let mut reader = io("BPFile").open(&path, OpenMode::Read).unwrap();
    assert_eq!(reader.begin_step(Duration::ZERO).unwrap(), StepStatus::Ok);
    reader.end_step().unwrap();
    assert_eq!(
        reader.begin_step(Duration::from_millis(1)).unwrap(),
        StepStatus::NotReady
    );
}

#[test]
fn a_missing_file_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing.bp");
    let error = io("BP5").open(&path, OpenMode::Read).unwrap_err();
    let Adios2Error::Call {
        operation,
        name,
        code,
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (*operation, name.as_str(), *code),
        ("open", path.to_str().unwrap(), ErrorCode::NullHandle)
    );
}

#[test]
fn buffers_that_do_not_fit_are_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.bp");
    write(&path, "BP5");
    let mut engine = io("BPFile").open(&path, OpenMode::Read).unwrap();
    engine.begin_step(Duration::ZERO).unwrap();
    let rows = engine.io().variable("rows").unwrap().unwrap();
    rows.set_selection(&[0, 0], &[2, 3]).unwrap();
    assert!(matches!(
        engine.get(&rows, &mut [0_u32; 6]),
        Err(Adios2Error::WrongType {
            expected: DataType::U32,
            found: DataType::U64,
            ..
        })
    ));
    assert!(matches!(
        engine.get(&rows, &mut [0_u64; 5]),
        Err(Adios2Error::WrongLength {
            expected: 6,
            found: 5,
            ..
        })
    ));
    let mut six = [0; 6];
    let mut gets = engine.gets();
    gets.add(&rows, &mut six).unwrap();
    rows.set_selection(&[0, 0], &[1, 3]).unwrap();
    assert!(matches!(
        gets.perform(),
        Err(Adios2Error::WrongLength {
            expected: 3,
            found: 6,
            ..
        })
    ));
    rows.set_selection(&[0, 0], &[2, 3]).unwrap();
    engine.get(&rows, &mut six).unwrap();
    assert_eq!(six.to_vec(), values(0, 2));
}

#[test]
fn an_engine_that_failed_is_not_called_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.bp");
    write(&path, "BP5");
    let mut engine = io("BPFile").open(&path, OpenMode::Read).unwrap();
    engine.begin_step(Duration::ZERO).unwrap();
    assert!(matches!(
        engine.begin_step(Duration::ZERO),
        Err(Adios2Error::Call {
            operation: "begin_step",
            ..
        })
    ));
    assert!(matches!(
        engine.end_step(),
        Err(Adios2Error::Poisoned { .. })
    ));
}

#[test]
fn names_with_a_zero_byte_are_refused() {
    let io = io("BP5");
    assert!(matches!(
        io.variable("a\0b"),
        Err(Adios2Error::ZeroByte { .. })
    ));
    assert!(io.variable("unknown").unwrap().is_none());
}

#[cfg(target_os = "linux")]
#[test]
fn a_copy_serves_threads_that_did_not_load_it() {
    let copy = library().load_again().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("absent.bp");
    let open = || {
        let io = Adios::new(&copy).unwrap().declare_io("test").unwrap();
        io.set_engine("SST").unwrap();
        io.set_parameter("OpenTimeoutSecs", "1").unwrap();
        io.open(&path, OpenMode::Read).unwrap_err().to_string()
    };
    let error = std::thread::scope(|scope| scope.spawn(open).join().unwrap());
    assert!(error.contains("absent.bp"), "{error}");
}
