//! The process that publishes one stream of a replay.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use callgrove_adios2_sys::{Library, LibraryOnDemand};
use callgrove_model::Cancelled;

use super::copy::Copier;
use super::messages::{FromPublisher, ToPublisher};
use crate::adios2::{BeginResult, BpStream, QueueFull, SstWriter, WriterEngine, write_error};
use crate::error::TauError;

/// Time allowed for a stream to close after the replay was stopped. A reader that is there takes less for the steps
/// that wait for it; one that hangs must not hold up the end.
pub(super) const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Number of orders that can wait: the answer to the one request, and the order to stop.
const MAX_ORDERS: usize = 2;

/// A stream to be published, as the arguments of its process state it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StreamCopy {
    /// The recorded stream.
    pub(super) path: PathBuf,
    /// The published stream.
    pub(super) out: PathBuf,
    /// The engine that writes.
    pub(super) engine: WriterEngine,
}

impl StreamCopy {
    /// Returns the arguments, which [`StreamCopy::parse`] reads.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let engine = match self.engine {
            WriterEngine::Bp4 => "bp4".to_owned(),
            WriterEngine::Bp5 => "bp5".to_owned(),
            WriterEngine::Sst(SstWriter {
                num_readers,
                queue_limit,
                queue_full,
            }) => {
                let queue_full = match queue_full {
                    QueueFull::Block => "block",
                    QueueFull::Discard => "discard",
                };
                format!("sst:{num_readers}:{queue_limit}:{queue_full}")
            }
        };
        vec![
            engine.into(),
            self.path.clone().into(),
            self.out.clone().into(),
        ]
    }

    fn parse(arguments: &[OsString]) -> Option<Self> {
        let [engine, path, out] = arguments else {
            return None;
        };
        Some(Self {
            path: path.into(),
            out: out.into(),
            engine: parse_engine(engine)?,
        })
    }
}

fn parse_engine(text: &OsStr) -> Option<WriterEngine> {
    let words: Vec<&str> = text.to_str()?.split(':').collect();
    Some(match words[..] {
        ["bp4"] => WriterEngine::Bp4,
        ["bp5"] => WriterEngine::Bp5,
        ["sst", num_readers, queue_limit, queue_full] => WriterEngine::Sst(SstWriter {
            num_readers: num_readers.parse().ok()?,
            queue_limit: queue_limit.parse().ok()?,
            queue_full: match queue_full {
                "block" => QueueFull::Block,
                "discard" => QueueFull::Discard,
                _ => return None,
            },
        }),
        _ => return None,
    })
}

/// Publishes one stream in a process that serves only this purpose, as [`super::PublisherProgram`] says. The replay
/// states on standard input when it is due, and each step is reported on standard output. The process must end when
/// this returns, since ADIOS2 may still wait for a reader.
///
/// # Errors
/// [`TauError::Publisher`] if the arguments are not those of a replay; the operating system starts no thread.
pub fn publish(arguments: &[OsString], adios2: &LibraryOnDemand) -> Result<(), TauError> {
    let copy = StreamCopy::parse(arguments).ok_or_else(|| TauError::Publisher {
        reason: "the arguments are not those of a replay".to_owned(),
        path: PathBuf::new(),
    })?;
    let path = copy.path.clone();
    let (sender, orders) = mpsc::sync_channel(MAX_ORDERS);
    let (end, ended) = mpsc::sync_channel(1);
    let adios2 = adios2.clone();
    let started = thread::Builder::new()
        .name("publisher".to_owned())
        .spawn(move || {
            run(copy, orders, &adios2);
            // The receiver is gone if the process ends.
            end.send(()).ok();
        });
    started.map_err(|source| TauError::Io { source, path })?;
    let orders = io::stdin().lines().map_while(Result::ok);
    for order in orders.filter_map(|line| ToPublisher::parse(&line)) {
        // A publisher that has failed takes no more orders.
        sender.send(order).ok();
        if order == ToPublisher::Stop {
            ended.recv_timeout(CLOSE_GRACE).ok();
            break;
        }
    }
    Ok(())
}

/// Publishes the stream and reports the result.
fn run(copy: StreamCopy, orders: Receiver<ToPublisher>, adios2: &LibraryOnDemand) {
    let publisher = Publisher { copy, orders };
    let published = adios2.get().map_err(TauError::from);
    let message = match published.and_then(|library| publisher.publish(&library)) {
        Ok(()) => FromPublisher::Closed,
        Err(error) => FromPublisher::Failed(error.with_causes()),
    };
    // Without a reader of these messages the process is about to end.
    report(&message).ok();
}

/// Publishes one stream.
struct Publisher {
    copy: StreamCopy,
    orders: Receiver<ToPublisher>,
}

impl Publisher {
    fn publish(&self, library: &Library) -> Result<(), TauError> {
        let StreamCopy { path, out, engine } = &self.copy;
        let mut stream = BpStream::open(path, library)?;
        let mut copier = Copier::default();
        let mut is_step = self.read(&mut stream, &mut copier)?;
        self.ask(&FromPublisher::Opened(stream.num_steps()))?;
        let mut engine = engine.open(out, library, |_| Ok(()))?;
        self.ask(&FromPublisher::Ready(copier.newest_us()))?;
        while is_step {
            self.ask(&FromPublisher::Step(copier.newest_us()))?;
            let written = copier.write(&mut engine);
            written.map_err(|source| write_error(source, out))?;
            Self::send(&FromPublisher::Published);
            is_step = self.read(&mut stream, &mut copier)?;
        }
        engine.close().map_err(|source| write_error(source, out))
    }

    /// Reads the next step; returns `false` at the end of the stream.
    fn read(&self, stream: &mut BpStream, copier: &mut Copier) -> Result<bool, TauError> {
        let mut step = || match stream.begin_step(Duration::ZERO)? {
            BeginResult::Step(..) => {
                // There is an engine, because the stream was opened with one.
                let read = stream.engine().map_or(Ok(()), |it| copier.read(it));
                read.map_err(|source| TauError::Stream {
                    source,
                    path: self.copy.path.clone(),
                })?;
                stream.end_step()?;
                Ok(None)
            }
            BeginResult::End => Ok(Some(None)),
            BeginResult::NotReady => Ok(Some(Some(
                "the writer has not closed the stream".to_owned(),
            ))),
            BeginResult::Truncated(reason) => Ok(Some(Some(reason))),
        };
        let outcome: Result<Option<Option<String>>, TauError> = step();
        let reason = match outcome {
            Ok(None) => return Ok(true),
            Ok(Some(reason)) => reason,
            // Damage after the first steps keeps these.
            Err(error) if stream.steps_read() > 0 => Some(error.with_causes()),
            Err(error) => return Err(error),
        };
        if let Some(reason) = reason {
            Self::send(&FromPublisher::Truncated(reason));
        }
        Ok(false)
    }

    /// Reports, and waits until the replay answers.
    fn ask(&self, request: &FromPublisher) -> Result<(), TauError> {
        Self::send(request);
        match self.orders.recv() {
            Ok(ToPublisher::Go) => Ok(()),
            Ok(ToPublisher::Stop) => Err(Cancelled.into()),
            Err(_) => wait_for_end(),
        }
    }

    fn send(message: &FromPublisher) {
        if report(message).is_err() {
            wait_for_end();
        }
    }
}

/// Waits until this process ends, because that of the replay has ended. To return would close the stream, which must
/// look like that of a killed program.
fn wait_for_end() -> ! {
    loop {
        thread::park();
    }
}

/// Prints a message on a line of its own, also after other text without a line break.
fn report(message: &FromPublisher) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "\n{message}\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_state_the_stream() {
        let engines = [QueueFull::Block, QueueFull::Discard].map(|queue_full| {
            WriterEngine::Sst(SstWriter {
                num_readers: 2,
                queue_limit: 3,
                queue_full,
            })
        });
        for engine in engines
            .into_iter()
            .chain([WriterEngine::Bp4, WriterEngine::Bp5])
        {
            let copy = StreamCopy {
                path: "run/a 0.bp".into(),
                out: "live/a 0.bp".into(),
                engine,
            };
            assert_eq!(StreamCopy::parse(&copy.arguments()), Some(copy));
        }
    }

    #[test]
    fn other_arguments_are_an_error() {
        let adios2 = LibraryOnDemand::new([]);
        for arguments in [&["bp6", "a", "b"][..], &["bp4", "a"], &["sst:1", "a", "b"]] {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let error = publish(&arguments, &adios2).unwrap_err();
            assert!(matches!(error, TauError::Publisher { .. }), "{error}");
        }
    }
}
