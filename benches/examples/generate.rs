//! Writes a generated forest as JSON lines to standard output:
//! `cargo run --release -p callgrove-benches --example generate -- TREES [SEED] [small] > forest.jsonl`.

use std::error::Error;
use std::io::{BufWriter, Write};

use callgrove_benches::generator::{ForestSpec, Shape, write_forest};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| args.get(place).map(|arg| arg.parse::<u64>()).transpose();
    let spec = ForestSpec {
        num_trees: number(0)?.ok_or("how many trees?")? as usize,
        seed: number(1)?.unwrap_or(1),
        shape: match args.get(2).map(String::as_str) {
            None => Shape::Full,
            Some("small") => Shape::Small,
            Some(other) => return Err(format!("{other} is no shape; say small or nothing").into()),
        },
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    write_forest(spec, &mut out)?;
    out.flush()?;
    Ok(())
}
