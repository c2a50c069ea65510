//! Damaged traces: whatever their bytes, the program ends by itself and reports what it left out.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use callgrove_tests::numbers::Numbers;
use callgrove_tests::shell::{COMPUTE, callgrove, copy_of, data, error_output, example};

/// Number of damaged traces in a normal test run; `CALLGROVE_FUZZ=600` tries more, and `CALLGROVE_FUZZ_SEED=9000`
/// others.
const DEFAULT_NUM_TRACES: u64 = 24;
/// Seeds that once crashed a process, which are always tried.
const ONCE_FATAL: [u64; 7] = [
    777_005, 777_382, 777_551, 2_002_285, 3_001_001, 24_111_112, 24_116_249,
];

#[test]
fn damage_that_ends_adios2_leaves_out_its_rank_alone() -> Result<()> {
    // One byte each. With ADIOS2 2.12 the fourth causes an endless loop, and the others a signal, in most processes.
    for (rank, file, at, byte) in [
        (3, "md.0", 15_986, 64),
        (1, "mmd.0", 891, 127),
        (3, "md.0", 7_367, 255),
        (3, "md.0", 3_662, 128),
        (3, "md.0", 177, 64),
        (1, "mmd.0", 1_205, 255),
    ] {
        let disk = copy_of(&example())?;
        let damaged = format!("bp/tau-metrics-lmp_tau-{rank}.bp/{file}");
        let damaged = disk.path().join(damaged);
        let mut bytes = fs::read(&damaged)?;
        bytes[at] = byte;
        fs::write(&damaged, bytes)?;
        let run = disk.path().to_string_lossy().into_owned();
        for args in [&["analyze", &run, "-f", COMPUTE][..], &["ad", &run]] {
            let output = callgrove(args)?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(3),
                "{file} {at}, {args:?}: {stderr}"
            );
            let rank = format!("rank {rank}: ");
            assert!(stderr.contains(&rank), "{file} {at}, {args:?}: {stderr}");
            assert!(!output.stdout.is_empty(), "{file} {at}, {args:?}");
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_replaced_while_running_still_guards_itself() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let copy = disk.path().join("callgrove");
    fs::copy(callgrove_tests::program::path()?, &copy)?;
    // Started from a file that is then deleted, as after an update.
    let script = "exec 9< \"$0\"; rm \"$0\"; exec /proc/self/fd/9 ad \"$1\"";
    // A run that was not closed is read by ADIOS2, and therefore first in another process.
    let run = data("tests/data/lammps-4r-killed");
    let output = Command::new("bash")
        .args(["-c", script])
        .args([&copy, &run])
        .output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let expected = callgrove(&["ad", &run.to_string_lossy()])?;
    assert_eq!(stderr, String::from_utf8_lossy(&expected.stderr));
    assert_eq!(output.status, expected.status);
    Ok(())
}

/// Changes up to 16 bytes or numbers of a file, and sometimes truncates it.
fn damage(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..[1, 1, 2, 4, 16][numbers.below(5)] {
        let at = numbers.below(bytes.len());
        match numbers.below(4) {
            0 => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes[at] = [0, 255][numbers.below(2)],
            2 => bytes[at] = numbers.below(256) as u8,
            _ => {
                let number = [0, 1 << 31, u64::from(u32::MAX), 1 << 40, 1 << 63];
                let number = number[numbers.below(5)].to_le_bytes();
                for (place, byte) in bytes[at..].iter_mut().zip(number) {
                    *place = byte;
                }
            }
        }
    }
    if numbers.below(20) == 0 {
        bytes.truncate(numbers.below(bytes.len()));
    }
}

/// Returns an existing file of a stream.
fn some_file(stream: &Path, numbers: &mut Numbers) -> Result<std::path::PathBuf> {
    let names = ["md.0", "mmd.0", "md.idx", "data.0"].map(|name| stream.join(name));
    let there: Vec<_> = names.into_iter().filter(|path| path.is_file()).collect();
    let at = numbers.below(there.len());
    there.into_iter().nth(at).context("a file")
}

#[test]
fn random_damage_crashes_no_process() -> Result<()> {
    let number = |variable, otherwise| match std::env::var(variable) {
        Ok(text) => text.parse::<u64>(),
        Err(_) => Ok(otherwise),
    };
    let first = number("CALLGROVE_FUZZ_SEED", 0)?;
    let others = first..first + number("CALLGROVE_FUZZ", DEFAULT_NUM_TRACES)?;
    for seed in ONCE_FATAL.into_iter().chain(others) {
        let mut numbers = Numbers::with_seed(seed);
        let bp5 = example();
        let bp4 = data("tests/data/lammps-4r-small-bp4");
        let disk = copy_of(if numbers.below(4) > 0 { &bp5 } else { &bp4 })?;
        let stream = format!("bp/tau-metrics-lmp_tau-{}.bp", numbers.below(4));
        let damaged = some_file(&disk.path().join(stream), &mut numbers)?;
        let mut bytes = fs::read(&damaged)?;
        damage(&mut bytes, &mut numbers);
        fs::write(&damaged, bytes)?;
        let run = disk.path().to_string_lossy().into_owned();
        for args in [&["analyze", &run, "-f", COMPUTE][..], &["ad", &run]] {
            let output = callgrove(args)?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 1 | 3)),
                "seed {seed}, {}, {args:?}: {}: {stderr}",
                damaged.display(),
                output.status
            );
        }
    }
    Ok(())
}

#[test]
fn two_streams_of_one_rank_are_refused_by_every_command() -> Result<()> {
    let folder = copy_of(&example())?;
    let stream = |name: &str| folder.path().join("bp").join(name);
    // Its name says rank 1, its contents say rank 0.
    fs::remove_dir_all(stream("tau-metrics-lmp_tau-1.bp"))?;
    fs::create_dir(stream("tau-metrics-lmp_tau-1.bp"))?;
    for file in fs::read_dir(stream("tau-metrics-lmp_tau-0.bp"))? {
        let file = file?;
        fs::copy(
            file.path(),
            stream("tau-metrics-lmp_tau-1.bp").join(file.file_name()),
        )?;
    }
    let run = folder.path().join("bp");
    let run = run.to_string_lossy();
    for command in ["info", "run"] {
        let error = error_output(&[command, &run])?;
        assert!(error.contains("rank 0 occurs twice"), "{command}: {error}");
    }
    Ok(())
}

#[test]
fn a_page_of_an_absent_run_is_an_error_at_once() -> Result<()> {
    let error = error_output(&["serve", "--port", "0", "no/such/run"])?;
    assert!(error.contains("no/such/run"), "{error}");
    Ok(())
}
