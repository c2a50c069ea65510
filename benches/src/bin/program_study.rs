//! Prints the accuracy of the decision on simulated programs, as Markdown.
//!
//! `program_study [FIRST_SEED [PROGRAM …]]`: runs have the seeds from `FIRST_SEED` (31) on; with programs, only these.

use std::error::Error;
use std::io::Write;

use callgrove_benches::program_study::program_study;
use callgrove_benches::programs::PROGRAMS;

/// Seed of the first run of the tables in `ml/STUDY.md`.
const FIRST_SEED: u64 = 31;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let first_seed = args.next().map_or(Ok(FIRST_SEED), |seed| seed.parse())?;
    let names: Vec<String> = args.collect();
    let programs = PROGRAMS.into_iter();
    let programs: Vec<_> = programs
        .filter(|it| names.is_empty() || names.iter().any(|name| name == it.name))
        .collect();
    let mut out = std::io::stdout().lock();
    for table in program_study(
        &programs,
        first_seed,
        names.is_empty() && first_seed == FIRST_SEED,
    )? {
        table.print(&mut out)?;
    }
    out.flush()?;
    Ok(())
}
