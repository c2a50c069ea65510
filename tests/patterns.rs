//! Patterns on the command line: a real run as input, iterations and patterns as output.

use anyhow::{Context, Result};
use callgrove_tests::shell::{callgrove, data, example, stdout};
use serde_json::Value;

fn records(trace: &str, more: &[&str]) -> Result<Vec<Value>> {
    let text = stdout(&[&["patterns", trace, "--format", "json"][..], more].concat())?;
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
}

#[test]
fn the_iterations_of_both_runs_of_48_steps_are_counted_exactly() -> Result<()> {
    for trace in ["assets/lammps-4r-small", "tests/data/lammps-4r-small-bp4"] {
        let records = records(&data(trace).to_string_lossy(), &[])?;
        let first = records.first().context("no output")?;
        assert_eq!(first["record"], "iterations", "{first}");
        assert_eq!(first["num_iterations"], 48, "{first}");
        let name = first["name"].as_str().context("no name")?;
        assert!(name.contains("Verlet::run"), "{name}");
    }
    Ok(())
}

#[test]
fn anomalous_occurrences_lie_beyond_s_times_the_reference() -> Result<()> {
    let trace = example();
    let trace = trace.to_string_lossy();
    let num_anomalous = |more: &[&str]| -> Result<u64> {
        let mut sum = 0;
        for row in records(&trace, more)?.iter().skip(1) {
            let number = |name: &str| row[name].as_f64().context("not a number");
            let anomalous = row["anomalous"].as_array().context("no list")?;
            assert_eq!(row["num_anomalous"], anomalous.len(), "{row}");
            for occurrence in anomalous {
                let duration = occurrence["duration_us"].as_f64().context("no duration")?;
                assert!(duration > number("limit_us")?, "{occurrence}");
            }
            assert!(number("limit_us")? >= number("reference_us")?);
            sum += row["num_anomalous"].as_u64().context("no count")?;
        }
        Ok(sum)
    };
    let usual = num_anomalous(&[])?;
    assert!(usual > 0);
    assert!(num_anomalous(&["--s", "10"])? < usual);
    assert!(num_anomalous(&["--q", "0.5"])? > usual);
    Ok(())
}

#[test]
fn the_table_begins_with_the_iterations() -> Result<()> {
    let text = stdout(&["patterns", &example().to_string_lossy(), "-n", "5"])?;
    let first = text.lines().next().context("no output")?;
    assert!(first.starts_with("48 iterations of "), "{first}");
    assert!(text.contains(" × "), "a definition has loops:\n{text}");
    Ok(())
}

#[test]
fn meaningless_shares_and_factors_are_usage_errors() -> Result<()> {
    for wrong in [["--q", "0"], ["--q", "1.5"], ["--s", "0.5"], ["--s", "nan"]] {
        let output = callgrove(&["patterns", "run/", wrong[0], wrong[1]])?;
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
    Ok(())
}
