//! The command lines of `callgrove causes`, `incidents`, `patterns` and `trends`.

use callgrove_query::PatternReference;
use clap::Args;

use super::common::{ListingArgs, TraceArgs};
use super::connection::ConnectArgs;

#[derive(Args, Debug)]
pub struct CausesArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Function, as for analyze
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    /// List all executions, not only the abnormal ones; nothing is learned
    #[arg(long)]
    pub all: bool,
    /// Seed of all random numbers; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub listing: ListingArgs,
}

#[derive(Args, Debug)]
pub struct IncidentsArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// List only incidents that delayed executions of this function, which are counted
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    /// Leave out incidents by design: waits that the program always makes, and the machine's noise
    #[arg(long)]
    pub not_by_design: bool,
    #[command(flatten)]
    pub listing: ListingArgs,
}

#[derive(Args, Debug)]
pub struct NodesArgs {
    /// Runs: traces, and provenance databases (folder, postgres://… or the URL of `callgrove provdb`)
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub listing: ListingArgs,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub struct PatternsArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Share of the fastest occurrences of a pattern that serve as its reference, above 0 up to 1. The slowest of them
    /// has the usual duration d
    #[arg(
        long,
        alias = "q",
        value_name = "SHARE",
        default_value_t = PatternReference::default().share,
        value_parser = share
    )]
    pub reference_share: f64,
    /// An occurrence is anomalous if it takes longer than this factor times d, at least 1
    #[arg(
        long,
        alias = "s",
        value_name = "FACTOR",
        default_value_t = PatternReference::default().factor,
        value_parser = factor
    )]
    pub slow_factor: f64,
    #[command(flatten)]
    pub listing: ListingArgs,
}

#[derive(Args, Debug)]
pub struct TrendsArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    #[command(flatten)]
    pub listing: ListingArgs,
}

fn share(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a number above 0 and up to 1"),
    }
}

fn factor(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(factor) if (1.0..f64::INFINITY).contains(&factor) => Ok(factor),
        _ => Err("expected a number of at least 1"),
    }
}
