//! Persistent and slow changes of a run, for tables and as sentences.

mod rows;

use std::sync::Arc;

use callgrove_model::{Cancelled, Progress, Trace};
use callgrove_trends::Trends;

pub use callgrove_trends::{Trend, TrendDoubt, TrendKind};
pub use rows::TrendRow;

/// The persistent and slow changes of a run: slow lanes, growth and change points.
#[derive(Clone, Debug)]
pub struct RunTrends {
    trace: Arc<Trace>,
    trends: Trends,
}

impl RunTrends {
    /// Finds the trends of a trace. Cost: linear in its executions.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller cancelled.
    pub fn find(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        Ok(Self {
            trends: Trends::find(trace, progress)?,
            trace: Arc::clone(trace),
        })
    }

    /// Combines a trace, or its head, with trends that were found in it before.
    pub fn of_found(trace: Arc<Trace>, trends: Trends) -> Self {
        Self { trace, trends }
    }

    /// Returns the trends without the trace.
    pub fn found(&self) -> &Trends {
        &self.trends
    }

    /// Returns the trace, or its head.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the trends, the costliest first.
    pub fn all(&self) -> &[Trend] {
        self.trends.all()
    }

    /// Returns the rows of the trends, in the same order.
    pub fn rows(&self) -> impl Iterator<Item = TrendRow> {
        let numbered = self.all().iter().enumerate();
        numbered.map(|(number, trend)| TrendRow::new(&self.trace, number, trend))
    }

    /// Returns the trends as sentences, each with its doubt, in the same order.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.all().iter().map(|trend| {
            let doubt = trend.doubt.map(|doubt| format!(" ({})", doubt.reason()));
            trend.summary(&self.trace) + &doubt.unwrap_or_default()
        })
    }
}
