//! Progress and cancellation: one small type that every long function takes.

use std::ops::ControlFlow;

/// The caller asked to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// The progress of a long function: it reports fractions and returns whether to stop.
///
/// A function with several stages passes each its [`Progress::part`], so that the caller sees one fraction from 0 to 1.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    sink: &'a (dyn Fn(f32) -> ControlFlow<()> + Sync),
    from: f32,
    to: f32,
}

impl<'a> Progress<'a> {
    /// Returns a progress that reports fractions from 0 to 1 to `sink`, which returns whether to continue.
    pub fn new(sink: &'a (dyn Fn(f32) -> ControlFlow<()> + Sync)) -> Self {
        Self {
            sink,
            from: 0.0,
            to: 1.0,
        }
    }

    /// Returns a progress that is neither shown nor cancelled.
    pub fn none() -> Progress<'static> {
        Progress::new(&|_| ControlFlow::Continue(()))
    }

    /// Returns the part of this work from fraction `from` to fraction `to`.
    #[must_use]
    pub fn part(self, from: f32, to: f32) -> Self {
        let span = self.to - self.from;
        Self {
            sink: self.sink,
            from: self.from + span * from,
            to: self.from + span * to,
        }
    }

    /// Reports that `fraction` of this work is done.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn at(self, fraction: f32) -> Result<(), Cancelled> {
        let fraction = fraction.clamp(0.0, 1.0);
        match (self.sink)(self.from + (self.to - self.from) * fraction) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Cancelled),
        }
    }
}

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Progress({}..{})", self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn parts_of_parts_report_in_the_range_of_the_whole() {
        let seen = Mutex::new(Vec::new());
        let sink = |fraction| {
            seen.lock().unwrap().push(fraction);
            ControlFlow::Continue(())
        };
        let inner = Progress::new(&sink).part(0.5, 1.0).part(0.0, 0.5);
        assert_eq!(inner.at(0.0), Ok(()));
        assert_eq!(inner.at(2.0), Ok(()));
        assert_eq!(*seen.lock().unwrap(), [0.5, 0.75]);
    }

    #[test]
    fn a_sink_that_breaks_cancels() {
        assert_eq!(
            Progress::new(&|_| ControlFlow::Break(())).at(0.1),
            Err(Cancelled)
        );
    }
}
