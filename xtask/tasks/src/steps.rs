//! Steps of a task: the current one, and the duration of each.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::shell;

/// A run with a known number of steps.
pub(crate) struct Steps {
    num_steps: usize,
    done: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// Begins a run of `num_steps` steps.
    pub(crate) fn new(num_steps: usize) -> Self {
        Self {
            num_steps,
            done: Vec::new(),
        }
    }

    /// Runs the next step under its title.
    ///
    /// # Errors
    /// Those of the step.
    pub(crate) fn run<T>(
        &mut self,
        title: &'static str,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let number = self.done.len() + 1;
        shell::heading(&format!("{number} of {}: {title}", self.num_steps));
        let start = Instant::now();
        let result = step();
        self.done.push((title, start.elapsed()));
        result
    }

    /// Returns a table of the durations of all steps so far, and their sum.
    pub(crate) fn table(&self) -> String {
        let total = ("total", self.done.iter().map(|(_, time)| *time).sum());
        let rows = self.done.iter().chain([&total]);
        let lines = rows.map(|(title, time)| {
            let seconds = time.as_secs();
            format!("{:>4} min {:02} s  {title}", seconds / 60, seconds % 60)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_step_and_their_sum() {
        let steps = Steps {
            num_steps: 3,
            done: vec![
                ("lints", Duration::from_secs(61)),
                ("tests", Duration::from_secs(605)),
            ],
        };
        assert_eq!(
            steps.table(),
            "   1 min 01 s  lints\n  10 min 05 s  tests\n  11 min 06 s  total"
        );
    }

    #[test]
    fn a_step_that_fails_is_in_the_table() {
        let mut steps = Steps::new(2);
        assert_eq!(steps.run("good", || Ok(7)).unwrap(), 7);
        let failed = steps.run("bad", || anyhow::bail!("broken"));
        assert!(failed.map(|()| 0).is_err());
        assert!(steps.table().contains("bad"));
    }
}
