//! The study behind the detector's defaults, as Markdown: on traces with a known truth, what each
//! choice is worth, how flat the settings are around the defaults, what labels add, and what other
//! methods find.
//!
//! `cargo xtask study FOLDER` runs it on a folder of packed traces. By hand:
//! `cargo run --release -p callgrove-benches --example study -- TRACE:FUNCTION:TRUTH.csv …`; the truth
//! has the columns rank, exec, label and, if known, ratio (duration / median of its class). Labels:
//! 1 stopped rank, 2 its victim, 3 slow by a hogged core or disk, 4 unexpected structure, which are the
//! anomalies; 5 rare by design and 0 all others, which are not.

mod case;
mod kinds;
mod labels;
mod methods;
mod reasons;
mod settings;
mod table;

use std::error::Error;
use std::io::{BufWriter, Write};

use self::case::Case;

fn main() -> Result<(), Box<dyn Error>> {
    let cases: Vec<Case> = std::env::args()
        .skip(1)
        .map(|arg| Case::load(&arg).map_err(|error| format!("{arg}: {error}").into()))
        .collect::<Result<_, Box<dyn Error>>>()?;
    if cases.is_empty() {
        return Err("name at least one TRACE:FUNCTION:TRUTH.csv".into());
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    case::traces(&cases).print(&mut out)?;
    settings::choices(&cases)?.print(&mut out)?;
    settings::neighbourhood(&cases)?.print(&mut out)?;
    kinds::kinds(&cases)?.print(&mut out)?;
    for case in &cases {
        labels::curves(case)?.print(&mut out)?;
    }
    labels::correction(&cases)?.print(&mut out)?;
    methods::methods(&cases)?.print(&mut out)?;
    reasons::reasons(&cases)?.print(&mut out)?;
    out.flush()?;
    Ok(())
}
