//! The common clock by which all streams of a replay publish their steps.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Latest time within a second at which the streams open. An SST writer gets its number, for which its process id counts
/// as well as the second, some 10 ms after it starts to open; the rest is for a busy machine.
const LATEST_OPEN: Duration = Duration::from_millis(500);

/// The replay was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stopped;

/// The clock that the streams share. It starts when all of them have their readers.
#[derive(Debug)]
pub(super) struct ReplayClock {
    num_streams: usize,
    speed: f64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    num_to_open: usize,
    opens: Option<Instant>,
    num_ready: usize,
    /// The time of the newest event of the earliest first step, in µs.
    first_us: Option<u64>,
    started: Option<Instant>,
    is_stopped: bool,
}

impl ReplayClock {
    pub(super) fn new(num_streams: usize, speed: f64) -> Self {
        Self {
            num_streams,
            speed,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Waits until all streams have called this, and until they can open within one second of the clock, so that ADIOS2
    /// distinguishes their processes (`adios2::colliding_writers`).
    pub(super) fn open_together(&self) -> Result<(), Stopped> {
        let mut state = self.state();
        state.num_to_open += 1;
        if state.num_to_open == self.num_streams {
            state.opens = Some(Instant::now() + self.time_until_open());
            self.changed.notify_all();
        }
        while !state.is_stopped {
            let left = match state.opens {
                None => Duration::MAX,
                Some(opens) => opens.saturating_duration_since(Instant::now()),
            };
            if left.is_zero() {
                break;
            }
            (state, _) = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        check(&state)
    }

    fn time_until_open(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let within = Duration::from_nanos(now.unwrap_or_default().subsec_nanos().into());
        if self.num_streams == 1 || within <= LATEST_OPEN {
            return Duration::ZERO;
        }
        Duration::from_secs(1).saturating_sub(within)
    }

    /// Waits until all streams have called this. Each states the recorded time of its first step.
    pub(super) fn start(&self, first_us: Option<u64>) -> Result<(), Stopped> {
        let mut state = self.state();
        state.num_ready += 1;
        state.first_us = state.first_us.into_iter().chain(first_us).min();
        if state.num_ready == self.num_streams {
            state.started = Some(Instant::now());
            self.changed.notify_all();
        }
        while state.started.is_none() && !state.is_stopped {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        check(&state)
    }

    /// Waits until a step is due whose newest event was recorded at `newest_us`. A step without events does not wait.
    pub(super) fn wait_for(&self, newest_us: Option<u64>) -> Result<(), Stopped> {
        let mut state = self.state();
        while let Some(left) = self.time_left(&state, newest_us)
            && !state.is_stopped
        {
            (state, _) = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        check(&state)
    }

    /// Ends all waits, current and future.
    pub(super) fn stop(&self) {
        self.state().is_stopped = true;
        self.changed.notify_all();
    }

    fn time_left(&self, state: &State, newest_us: Option<u64>) -> Option<Duration> {
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            return None;
        }
        let recorded = Duration::from_micros(newest_us?.checked_sub(state.first_us?)?);
        let wait = Duration::try_from_secs_f64(recorded.as_secs_f64() / self.speed);
        wait.unwrap_or(Duration::MAX)
            .checked_sub(state.started?.elapsed())
            .filter(|left| !left.is_zero())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(state: &State) -> Result<(), Stopped> {
    if state.is_stopped {
        Err(Stopped)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn streams_keep_the_time_between_them_divided_by_the_speed() {
        let clock = ReplayClock::new(2, 10.0);
        let times_ms: Vec<u128> = thread::scope(|scope| {
            let stream = |first_us, second_us| {
                let clock = &clock;
                scope.spawn(move || {
                    // Measured before the clock starts, as a busy machine may resume this thread late.
                    let start = Instant::now();
                    clock.start(Some(first_us)).unwrap();
                    clock.wait_for(Some(first_us)).unwrap();
                    clock.wait_for(Some(second_us)).unwrap();
                    start.elapsed().as_millis()
                })
            };
            let streams = [stream(5_000_000, 6_000_000), stream(4_500_000, 5_500_000)];
            streams.map(|stream| stream.join().unwrap()).into()
        });
        // 1.5 s and 1 s after the first event of all, ten times as fast. A busy machine is only later.
        assert!(times_ms[0] >= 149, "{times_ms:?}");
        assert!(times_ms[1] >= 99, "{times_ms:?}");
    }

    #[test]
    fn streams_open_within_one_second_of_the_clock() {
        let clock = ReplayClock::new(3, 1.0);
        let opened: Vec<Duration> = thread::scope(|scope| {
            let open = || {
                clock.open_together().unwrap();
                SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
            };
            let streams = [(); 3].map(|()| scope.spawn(open));
            streams.map(|stream| stream.join().unwrap()).into()
        });
        let first = opened.iter().min().unwrap();
        assert!(first.subsec_millis() <= 501, "{opened:?}");
    }

    #[test]
    fn zero_and_infinite_speed_do_not_wait() {
        for speed in [0.0, f64::INFINITY, f64::NAN, -1.0] {
            let clock = ReplayClock::new(1, speed);
            clock.start(Some(0)).unwrap();
            assert_eq!(clock.wait_for(Some(u64::MAX)), Ok(()), "{speed}");
        }
    }

    #[test]
    fn stopping_ends_every_wait() {
        let clock = ReplayClock::new(2, 1.0);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| clock.start(Some(0)));
            let to_open = scope.spawn(|| clock.open_together());
            clock.stop();
            assert_eq!(waiting.join().unwrap(), Err(Stopped));
            assert_eq!(to_open.join().unwrap(), Err(Stopped));
        });
        assert_eq!(clock.wait_for(Some(u64::MAX)), Err(Stopped));
    }
}
