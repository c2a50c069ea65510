//! The study behind the detector's defaults, as Markdown. On traces with known truth: the effect of each choice, the
//! sensitivity of the settings around the defaults, the effect of labels, and the results of other methods. And the
//! results on forests with planted anomalies.
//!
//! `cargo xtask study FOLDER …` runs it on folders of packed traces and forest files. To run it directly: `cargo run
//! --release -p callgrove-benches --example study -- TRACE:FUNCTION:TRUTH.csv FOREST.jsonl …`; without arguments it
//! uses only the generated forests. The trees of a forest file have a `label` and a `kind`. The truth of a trace has
//! the columns rank, exec, label and, if known, ratio (duration / median of its class). Labels 1 to 4 are anomalies: 1
//! stopped rank, 2 its victim, 3 slowed by a hogged core or disk, 4 unexpected structure. Labels 5 (rare by design) and
//! 0 (all others) are not.

mod alternatives;
mod case;
mod forests;
mod kinds;
mod labels;
mod methods;
mod reasons;
mod settings;
mod tracer;
mod trust;

use std::error::Error;
use std::io::{BufWriter, Write};

use self::case::Case;
use self::forests::KnownForest;

fn main() -> Result<(), Box<dyn Error>> {
    let (files, traces): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|arg| KnownForest::is_file(arg));
    let cases: Vec<Case> = load(&traces, Case::load)?;
    let files: Vec<KnownForest> = load(&files, KnownForest::load)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if !cases.is_empty() {
        on_traces(&cases, &mut out)?;
    }
    for table in forests::tables(&files)? {
        table.print(&mut out)?;
    }
    if !cases.is_empty() {
        methods::margins(&cases)?.print(&mut out)?;
        tracer::tracer(&cases)?.print(&mut out)?;
        reasons::reasons(&cases)?.print(&mut out)?;
        trust::parts(&cases)?.print(&mut out)?;
        trust::labels(&cases)?.print(&mut out)?;
    }
    out.flush()?;
    Ok(())
}

fn load<T>(
    args: &[String],
    load: fn(&str) -> Result<T, Box<dyn Error>>,
) -> Result<Vec<T>, Box<dyn Error>> {
    let loaded = args.iter().map(|arg| {
        let named = |error| format!("{arg}: {error}").into();
        load(arg).map_err(named)
    });
    loaded.collect()
}

fn on_traces(cases: &[Case], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    case::traces(cases).print(out)?;
    settings::choices(cases)?.print(out)?;
    settings::sensitivity(cases)?.print(out)?;
    kinds::kinds(cases)?.print(out)?;
    for case in cases {
        labels::curves(case)?.print(out)?;
    }
    methods::methods(cases)?.print(out)?;
    Ok(())
}
