//! The composition of a pipeline without the program: streams, an AD instance and a parameter server.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callgrove_ad::Instance;
use callgrove_detect::Params;
use callgrove_formats::local_registry;
use callgrove_model::ProgramId;
use callgrove_pipeline::{
    PipelineError, StreamInput, StreamOptions, open_streams, state_of_one_instance,
};

fn options(input: StreamInput) -> StreamOptions {
    StreamOptions {
        input,
        program: ProgramId(0),
        connect_timeout: Duration::from_secs(30),
    }
}

/// Returns the error of streams that cannot be opened by a program that is to stop.
fn refused(input: StreamInput) -> PipelineError {
    let registry = local_registry(None);
    let waits = Cell::new(0);
    let mut on_wait = |_| waits.set(waits.get() + 1);
    let opened = open_streams(&options(input), registry, &|| true, &mut on_wait);
    assert_eq!(waits.get(), 0);
    opened.err().expect("there are no streams")
}

#[test]
fn an_instance_reads_all_ranks_of_a_recorded_run() {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lammps-4r-small-bp4");
    let options = options(StreamInput::Recorded(run));
    let registry = local_registry(None);
    let opened = open_streams(&options, registry, &|| false, &mut |_| {}).unwrap();
    assert_eq!(opened.streams.len(), 4);
    let settings = options.instance_options(Params::default()).unwrap();
    let exchange = Box::new(state_of_one_instance().session());
    let instance = Instance::start(opened.streams, settings, exchange, None, "test").unwrap();
    let status = instance.run(|_| ControlFlow::Continue(())).unwrap();
    assert!(status.num_executions > 0);
}

#[test]
fn files_that_never_appear_are_not_waited_for_after_a_stop() {
    let error = refused(StreamInput::Growing(PathBuf::from("/absent/run")));
    assert!(matches!(error, PipelineError::Source(_)), "{error}");
}

#[test]
fn live_streams_cannot_be_named_by_a_pattern() {
    let error = refused(StreamInput::Live(vec!["bp/tau-*.bp".to_owned()]));
    assert!(error.to_string().starts_with("bp/tau-*.bp is a pattern"));
}
