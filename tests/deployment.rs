//! The examples for service managers and batch systems are well-formed, and use existing options.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use callgrove_tests::program;
use callgrove_tests::shell::{data, stdout};

/// Path of the program in the examples.
const PROGRAM: &str = "/usr/local/bin/callgrove";
const UNITS: [&str; 2] = ["callgrove-provdb@.service", "callgrove-pserver@.service"];

fn unit(name: &str) -> Result<String> {
    let path = data("app/cli/examples/systemd").join(name);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

fn batch_script() -> PathBuf {
    data("app/cli/examples/slurm/lammps.sbatch")
}

/// Returns the calls of the program in a text: the subcommand of each, and its long options.
fn calls(text: &str) -> Vec<(String, Vec<String>)> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().filter(|line| !line.starts_with('#'));
    let calls = lines.filter_map(|line| {
        let (_, call) = line.split_once("callgrove --log-format full ")?;
        let subcommand = call.split(' ').next()?.to_owned();
        let options = call.split(' ').filter(|word| word.starts_with("--"));
        Some((subcommand, options.map(str::to_owned).collect()))
    });
    calls.collect()
}

#[test]
fn examples_use_existing_options() -> Result<()> {
    let mut texts = vec![fs::read_to_string(batch_script())?];
    for name in UNITS {
        texts.push(unit(name)?);
    }
    let calls: Vec<_> = texts.iter().flat_map(|text| calls(text)).collect();
    let subcommands: Vec<&str> = calls.iter().map(|call| call.0.as_str()).collect();
    assert_eq!(
        subcommands,
        ["provdb", "pserver", "ad", "provdb", "pserver"]
    );
    for (subcommand, options) in &calls {
        let help = stdout(&[subcommand, "--help"])?;
        assert!(!options.is_empty(), "{subcommand}");
        for option in options {
            assert!(
                help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")),
                "{subcommand} {option}"
            );
        }
    }
    Ok(())
}

#[test]
fn units_do_not_restart_after_permanent_errors() -> Result<()> {
    let table = fs::read_to_string(data("docs/guide.md"))?;
    for name in UNITS {
        let unit = unit(name)?;
        let line = unit
            .lines()
            .find_map(|line| line.strip_prefix("RestartPreventExitStatus="));
        let codes = line.context("no such line")?;
        assert!(codes.split(' ').any(|code| code == "2"), "{name}: {codes}");
        for code in codes.split(' ') {
            assert!(table.contains(&format!("\n| {code} | ")), "{name}: {code}");
        }
    }
    Ok(())
}

#[test]
fn the_batch_script_is_well_formed() -> Result<()> {
    let output = Command::new("bash")
        .arg("-n")
        .arg(batch_script())
        .output()?;
    let error_output = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && error_output.is_empty(),
        "{error_output}"
    );
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn units_are_well_formed() -> Result<()> {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("not checked: systemd-analyze is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let program = program::path()?;
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for name in UNITS {
        let text = unit(name)?;
        assert!(text.contains(PROGRAM), "{name}");
        let text = text.replace(PROGRAM, &program.to_string_lossy());
        // A template is verified as an instance of it.
        let instance = folder.path().join(name.replace('@', "@lammps-42"));
        fs::write(folder.path().join(name), &text)?;
        fs::write(&instance, text)?;
        verify.arg(instance);
    }
    let output = verify.output()?;
    let error_output = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && error_output.is_empty(),
        "{error_output}"
    );
    Ok(())
}
