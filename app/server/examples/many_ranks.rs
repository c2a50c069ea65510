//! Bytes and CPU time of what a viewer of a job gets, by the number of ranks: without blocks, and with them.
//!
//! `cargo run --release -p callgrove-server --example many_ranks`

#[path = "../tests/support/big_job.rs"]
mod big_job;

use std::time::Instant;

use callgrove_overview::packet::PacketDigest;
use callgrove_overview::{Overview, RankHosts, RankRange};
use serde::Serialize;

/// Number of steps of the job.
const NUM_STEPS: u64 = 64;

fn main() -> serde_json::Result<()> {
    for num_ranks in [100, 10_000, 100_000] {
        let mut overview = Overview::default();
        for step in 0..NUM_STEPS {
            overview.apply(&big_job::packet(num_ranks, step));
        }
        let packet = big_job::packet(num_ranks, NUM_STEPS);
        println!("{num_ranks} ranks");
        measure("overview, all ranks", || serialized(&overview))?;
        measure("packet, all ranks", || serialized(&packet))?;
        let hosts = RankHosts::default();
        measure("overview, blocks", || {
            serialized(&overview.condensed(&hosts))
        })?;
        measure("digest", || serialized(&PacketDigest::of(&packet)))?;
        let block = RankRange {
            app: 0,
            first_rank: 0,
            last_rank: 127,
        };
        measure("one block of 128 ranks", || {
            serialized(&overview.of_ranks(block))
        })?;
    }
    Ok(())
}

fn serialized(value: &impl Serialize) -> serde_json::Result<usize> {
    Ok(serde_json::to_vec(value)?.len())
}

/// Prints the number of bytes, and the mean time of ten calls.
fn measure(name: &str, work: impl Fn() -> serde_json::Result<usize>) -> serde_json::Result<()> {
    let num_bytes = work()?;
    let begun = Instant::now();
    for _ in 0..10 {
        work()?;
    }
    let time_ms = begun.elapsed().as_secs_f64() * 100.0;
    println!("  {name:24} {num_bytes:>12} bytes {time_ms:>9.2} ms");
    Ok(())
}
