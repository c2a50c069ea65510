//! Arguments of the commands that say who did it, and what recurs.

use callgrove_session::PatternReference;
use clap::Args;

use super::common::{ListingArgs, TRACE_HELP};

#[derive(Args, Debug)]
pub(crate) struct CausesArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// Function, as for analyze
    #[arg(long, short, value_name = "A")]
    pub(crate) function: Option<String>,
    /// All executions, not only the abnormal ones; nothing is learned
    #[arg(long)]
    pub(crate) all: bool,
    /// Seed of everything random; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) listing: ListingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct IncidentsArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// Only incidents that hit executions of a function; these are counted
    #[arg(long, short, value_name = "A")]
    pub(crate) function: Option<String>,
    /// Leave out what is by design: waits that the program makes every time, and the machine's noise
    #[arg(long)]
    pub(crate) not_by_design: bool,
    #[command(flatten)]
    pub(crate) listing: ListingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct PatternsArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// Share of the fastest occurrences of a pattern that are its reference, above 0 up to 1; the slowest of
    /// them took the usual duration d
    #[arg(long, value_name = "SHARE", default_value_t = PatternReference::default().share, value_parser = share)]
    pub(crate) q: f64,
    /// An occurrence is anomalous beyond this many times d, from 1 on
    #[arg(long, value_name = "FACTOR", default_value_t = PatternReference::default().factor, value_parser = factor)]
    pub(crate) s: f64,
    #[command(flatten)]
    pub(crate) listing: ListingArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TrendsArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    #[command(flatten)]
    pub(crate) listing: ListingArgs,
}

fn share(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("a share is a number above 0 and up to 1"),
    }
}

fn factor(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(factor) if (1.0..f64::INFINITY).contains(&factor) => Ok(factor),
        _ => Err("a factor is a number from 1 on"),
    }
}
