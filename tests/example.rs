//! The example that pages open: the executions of one function of the example trace, as a forest file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use callgrove_model::{Progress, TreeIdx};
use callgrove_session::{grow_forest, read_forest};
use callgrove_trace::{ReadOptions, find_streams, read_trace};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/lammps-4r-small");
const FUNCTION: &str = "PairEAM::compute";
/// Set to any text, the file is written anew.
const UPDATE: &str = "CALLGROVE_UPDATE";

/// The forest of [`FUNCTION`] as a forest file; times are nanoseconds from the first execution on.
fn forest_file() -> Result<String> {
    let streams = find_streams(&Path::new(FOLDER).join("bp"))?;
    let trace = read_trace(&streams, &ReadOptions::of_this_machine(), Progress::none())?;
    let (forest, _) = grow_forest(&Arc::new(trace), FUNCTION)?;
    let trees = || (0..forest.len()).map(|index| forest.tree(TreeIdx::from_index(index)));
    let start = trees()
        .map(|tree| tree.entry()[0].0)
        .min()
        .context("trees")?;
    let mut functions: Vec<_> = trees().flat_map(|tree| tree.funcs().to_vec()).collect();
    functions.sort_unstable();
    functions.dedup();
    let names: Vec<&str> = functions
        .iter()
        .map(|func| forest.trace().names.name(*func))
        .collect();
    let header = serde_json::json!({
        "format": "callgrove-forest", "version": 1, "unit": "ns", "functions": names,
    });
    let mut text = format!("{header}\n");
    for (index, tree) in trees().enumerate() {
        let rank = forest.lane_of(TreeIdx::from_index(index)).rank;
        let parents = (0..tree.len()).map(|at| tree.parent(at).map_or(-1, |it| it as i64));
        let places = tree
            .funcs()
            .iter()
            .map(|func| functions.binary_search(func));
        let places: Vec<usize> = places
            .map(|place| place.ok().context("a function without a place"))
            .collect::<Result<_>>()?;
        let weights: Vec<i64> = tree.inclusive().iter().map(|weight| weight.0).collect();
        let line = serde_json::json!({
            "id": index, "rank": rank.0, "entry": tree.entry()[0].0 - start,
            "parent": parents.collect::<Vec<_>>(), "fn": places, "w": weights,
        });
        writeln!(text, "{line}")?;
    }
    Ok(text)
}

#[test]
fn the_forest_of_the_example_is_that_of_its_trace() -> Result<()> {
    let path = Path::new(FOLDER).join("pair-eam-compute.jsonl");
    let text = forest_file()?;
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, &text)?;
    }
    ensure!(
        fs::read_to_string(&path)? == text,
        "{} is not what the trace says; if the trace is right, write it anew with {UPDATE}=1",
        path.display()
    );
    let (forest, root) = read_forest(text.as_bytes(), 0, Progress::none())?;
    assert_eq!(forest.len(), 196);
    assert!(root.contains(FUNCTION), "{root}");
    Ok(())
}
