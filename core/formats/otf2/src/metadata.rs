//! Metadata that an archive states about a process.

use callgrove_model::{Metadata, ProgramId, Property, RankId, ThreadId};

use crate::archive::Archive;
use crate::local_definitions::IdMap;
use crate::processes::{Otf2Process, STREAM};

/// Returns the metadata in the definitions of a process: its host, and the threads that are streams of a GPU.
pub(crate) fn of_process(archive: &Archive, process: &Otf2Process) -> Vec<Metadata> {
    let definitions = &archive.definitions;
    // TAU numbers a node for each process, whatever host it is on.
    let numbered = format!("node {}", process.rank);
    let host = definitions
        .host(process.group)
        .filter(|host| *host != numbered);
    let host = host.into_iter();
    let host = host.map(|host| entry(process.rank, ThreadId(0), Property::Host, host.to_owned()));
    let streams = process.locations.iter().filter_map(|(id, thread)| {
        let location = definitions.locations.get(id)?;
        (location.kind == STREAM).then_some((location, *thread))
    });
    let streams = streams.flat_map(|(location, thread)| {
        let (device, stream) = device_and_stream(definitions.location_name(location), thread);
        [
            entry(process.rank, thread, Property::GpuDevice, device),
            entry(process.rank, thread, Property::GpuStream, stream),
        ]
    });
    host.chain(streams).collect()
}

/// Returns the numbers of device and stream in a name such as `CUDA[0:7]`; without them, the thread is the stream.
fn device_and_stream(name: &str, thread: ThreadId) -> (String, String) {
    let numbers = name.split_once('[').and_then(|(_, rest)| {
        let (device, stream) = rest.strip_suffix(']')?.split_once(':')?;
        let is_number = |text: &str| text.parse::<u64>().is_ok();
        (is_number(device) && is_number(stream)).then(|| (device.to_owned(), stream.to_owned()))
    });
    numbers.unwrap_or_else(|| ("0".to_owned(), thread.0.to_string()))
}

fn entry(rank: RankId, thread: ThreadId, property: Property, value: String) -> Metadata {
    Metadata {
        program: ProgramId(0),
        rank,
        thread,
        key: property.key().to_owned(),
        value,
    }
}

/// Returns the metadata that the start of the program states.
pub(crate) fn of_program(
    archive: &Archive,
    strings: &IdMap,
    (rank, thread): (RankId, ThreadId),
    (name, arguments): (u32, &[u32]),
) -> Vec<Metadata> {
    let text = |local: &u32| {
        let id = strings.global(*local);
        archive.definitions.text(id).unwrap_or_default()
    };
    let line = [&name].into_iter().chain(arguments).map(text);
    let line: Vec<&str> = line.collect();
    let facts = [
        (Property::Executable, line[0].to_owned()),
        (Property::CommandLine, line.join(" ")),
    ];
    let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
    known
        .map(|(property, value)| entry(rank, thread, property, value))
        .collect()
}
