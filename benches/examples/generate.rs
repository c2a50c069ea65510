//! Writes generated forests as JSON lines. Either a forest like that of a molecular dynamics program to standard
//! output: `cargo run --release -p callgrove-benches --example generate -- TREES [SEED] [small] > forest.jsonl`; or one
//! forest of each varied family with its truth (`FAMILY-sSEED.jsonl` and `.truth.csv`) into a folder: `cargo run
//! --release -p callgrove-benches --example generate -- varied FOLDER [TREES] [SEED]`.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use callgrove_benches::generator::varied::{Family, VariedForest};
use callgrove_benches::generator::{ForestSpec, Shape, write_forest};

/// Default number of trees of a varied forest.
const NUM_VARIED: u64 = 3_000;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| args.get(place).map(|arg| arg.parse::<u64>()).transpose();
    if args.first().is_some_and(|arg| arg == "varied") {
        let folder = args
            .get(1)
            .ok_or("usage: generate varied FOLDER [TREES] [SEED]")?;
        let num_trees = number(2)?.unwrap_or(NUM_VARIED) as usize;
        return write_varied(Path::new(folder), num_trees, number(3)?.unwrap_or(1));
    }
    let spec = ForestSpec {
        num_trees: number(0)?.ok_or("usage: generate TREES [SEED] [small]")? as usize,
        seed: number(1)?.unwrap_or(1),
        shape: match args.get(2).map(String::as_str) {
            None => Shape::Full,
            Some("small") => Shape::Small,
            Some(other) => {
                return Err(format!("{other} is not a shape; use small, or omit it").into());
            }
        },
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    write_forest(spec, &mut out)?;
    out.flush()?;
    Ok(())
}

fn write_varied(folder: &Path, num_trees: usize, seed: u64) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    for family in Family::ALL {
        let forest = VariedForest::make(family, num_trees, seed);
        let file = |end: &str| File::create(folder.join(format!("{}-s{seed}{end}", family.name())));
        let mut out = BufWriter::new(file(".jsonl")?);
        forest.write(&mut out)?;
        out.flush()?;
        let mut out = BufWriter::new(file(".truth.csv")?);
        forest.write_truth(&mut out)?;
        out.flush()?;
    }
    Ok(())
}
