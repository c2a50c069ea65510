//! Files derived from the example trace: the complete trace as pages open it, and the executions of one function as a
//! forest file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use callgrove_model::{Progress, Trace, TreeIdx};
use callgrove_packed::write_trace_file;
use callgrove_session::{forest_of_trees, grow_forest};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/lammps-4r-small");
const FUNCTION: &str = "PairEAM::compute";
/// Environment variable that, if set, makes the tests rewrite the file.
const UPDATE: &str = "CALLGROVE_UPDATE";

fn trace() -> Result<Trace> {
    let run = Path::new(FOLDER).join("bp");
    Ok(callgrove_formats::load(&run, Progress::none())?)
}

/// Checks that a file next to the trace has the given content, or updates it.
fn check_file(name: &str, content: &[u8]) -> Result<()> {
    let path = Path::new(FOLDER).join(name);
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, content)?;
    }
    ensure!(
        fs::read(&path)? == content,
        "{} differs from the trace; if the trace is right, rewrite it with {UPDATE}=1",
        path.display()
    );
    Ok(())
}

/// Returns the forest of [`FUNCTION`] as a forest file; times are nanoseconds since the first execution.
fn forest_file() -> Result<String> {
    let (forest, _) = grow_forest(&Arc::new(trace()?), FUNCTION)?;
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
fn the_forest_of_the_example_matches_its_trace() -> Result<()> {
    let text = forest_file()?;
    check_file("pair-eam-compute.jsonl", text.as_bytes())?;
    let file = Path::new(FOLDER).join("pair-eam-compute.jsonl");
    let trace = callgrove_formats::load(&file, Progress::none())?;
    let (forest, root) = forest_of_trees(Arc::new(trace));
    assert_eq!(forest.len(), 196);
    assert!(root.contains(FUNCTION), "{root}");
    Ok(())
}

#[test]
fn the_file_for_pages_matches_the_trace() -> Result<()> {
    let mut file = Vec::new();
    write_trace_file(&trace()?, &mut file, Progress::none())?;
    check_file("lammps-4r-small.callgrove", &file)
}
