//! Damaged traces: whatever bytes they have, the program ends by itself, and says what it left out.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use callgrove_tests::shell::{COMPUTE, callgrove, copy_of, data, example};

/// Damaged traces in a test that everybody runs; `CALLGROVE_FUZZ=600` tries more.
const FEW: u64 = 24;

#[test]
fn damage_that_ends_adios2_leaves_out_its_rank_alone() -> Result<()> {
    // One byte each; with ADIOS2 2.12 the first three end in a signal, and the last in a loop.
    for (rank, file, at, byte) in [
        (3, "md.0", 15_986, 64),
        (1, "mmd.0", 891, 127),
        (3, "md.0", 7_367, 255),
        (3, "md.0", 3_662, 128),
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
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(3),
                "{file} {at}, {args:?}: {told}"
            );
            let rank = format!("rank {rank}: ");
            assert!(told.contains(&rank), "{file} {at}, {args:?}: {told}");
            assert!(!output.stdout.is_empty(), "{file} {at}, {args:?}");
        }
    }
    Ok(())
}

/// Numbers that look random (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Changes up to 16 bytes or numbers of a file, and now and then cuts it.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..[1, 1, 2, 4, 16][self.below(5)] {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 255][self.below(2)],
                2 => bytes[at] = self.below(256) as u8,
                _ => {
                    let number = [0, 1 << 31, u64::from(u32::MAX), 1 << 40, 1 << 63];
                    let number = number[self.below(5)].to_le_bytes();
                    for (place, byte) in bytes[at..].iter_mut().zip(number) {
                        *place = byte;
                    }
                }
            }
        }
        if self.below(20) == 0 {
            bytes.truncate(self.below(bytes.len()));
        }
    }
}

/// A file of a stream that has it.
fn some_file(stream: &Path, numbers: &mut Numbers) -> Result<std::path::PathBuf> {
    let names = ["md.0", "mmd.0", "md.idx", "data.0"].map(|name| stream.join(name));
    let there: Vec<_> = names.into_iter().filter(|path| path.is_file()).collect();
    let at = numbers.below(there.len());
    there.into_iter().nth(at).context("a file")
}

#[test]
fn traces_with_bytes_changed_at_random_end_no_process() -> Result<()> {
    let num_traces = match std::env::var("CALLGROVE_FUZZ") {
        Ok(text) => text.parse()?,
        Err(_) => FEW,
    };
    for seed in 0..num_traces {
        let mut numbers = Numbers(seed);
        let bp5 = example();
        let bp4 = data("tests/data/lammps-4r-small-bp4");
        let disk = copy_of(if numbers.below(4) > 0 { &bp5 } else { &bp4 })?;
        let stream = format!("bp/tau-metrics-lmp_tau-{}.bp", numbers.below(4));
        let damaged = some_file(&disk.path().join(stream), &mut numbers)?;
        let mut bytes = fs::read(&damaged)?;
        numbers.damage(&mut bytes);
        fs::write(&damaged, bytes)?;
        let run = disk.path().to_string_lossy().into_owned();
        for args in [&["analyze", &run, "-f", COMPUTE][..], &["ad", &run]] {
            let output = callgrove(args)?;
            let told = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 1 | 3)),
                "seed {seed}, {}, {args:?}: {}: {told}",
                damaged.display(),
                output.status
            );
        }
    }
    Ok(())
}
