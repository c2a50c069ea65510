//! Reads rows that the data file stores uncompressed directly from that file.
//!
//! ADIOS2 would fill memory with zeros, read into it, and copy it row by row, which is a fifth of all instructions of a
//! detector.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use super::stored_step::StoredStep;

/// The known contents of a step, and the file that stores its arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredRows<'a> {
    pub(super) file: &'a File,
    pub(super) step: &'a StoredStep,
}

impl StoredRows<'_> {
    /// Reads a block of an array from row `first` on, until `rows` is full.
    pub(super) fn read(
        &self,
        [array, block]: [usize; 2],
        first: usize,
        rows: &mut [u64],
    ) -> io::Result<()> {
        let Some(stored) = self.step.arrays[array].get(block) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mut file = self.file;
        let first_bytes = 8 * stored.num_columns * first as u64;
        file.seek(SeekFrom::Start(stored.offset + first_bytes))?;
        file.read_exact(bytemuck::cast_slice_mut(rows))?;
        if cfg!(target_endian = "big") {
            // The stored numbers are little-endian. The index of a folder from a big-endian machine is refused.
            for number in rows {
                *number = number.swap_bytes();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use callgrove_adios2_sys::{Library, default_candidates};

    use super::super::schema::COUNTS;
    use super::super::{ARRAYS, BeginResult, BpStream};

    #[test]
    fn stored_rows_equal_those_of_adios2() {
        let run =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/lammps-4r-small-bp4");
        let library = Library::load(&default_candidates()).unwrap();
        let folder = run.join("bp/tau-metrics-lmp_tau-0.bp");
        let mut stream = BpStream::open(&folder, &library).unwrap();
        let mut all_rows = [0; ARRAYS.len()];
        while let BeginResult::Step(..) = stream.begin_step(Duration::ZERO).unwrap() {
            let (engine, stored) = (stream.engine().unwrap(), stream.stored_rows().unwrap());
            let variable = |name| engine.io().variable(name).unwrap().unwrap();
            let counts = COUNTS.map(|name| engine.get_value::<i32>(&variable(name)).unwrap());
            let counts = counts.map(|count| u32::try_from(count).ok());
            assert_eq!(stored.step.counts, counts);
            for (array, (count, name, num_columns)) in ARRAYS.into_iter().enumerate() {
                let num_rows = engine.get_value::<u64>(&variable(count)).unwrap();
                assert_eq!(stored.step.num_rows[array], Some(num_rows));
                let num_rows = usize::try_from(num_rows).unwrap();
                let has = |num_rows| stored.step.has(array, num_rows as u64);
                assert_eq!(has(num_rows), num_rows > 0);
                assert!(!has(num_rows + 1));
                if num_rows == 0 {
                    continue;
                }
                let variable = variable(name);
                variable
                    .set_selection(&[0, 0], &[num_rows, num_columns])
                    .unwrap();
                let mut by_adios2 = vec![0_u64; num_rows * num_columns];
                let mut gets = engine.gets();
                gets.add(&variable, &mut by_adios2).unwrap();
                gets.perform().unwrap();
                for first in [0, num_rows / 2] {
                    let by_adios2 = &by_adios2[first * num_columns..];
                    let mut from_file = vec![1; by_adios2.len()];
                    stored.read([array, 0], first, &mut from_file).unwrap();
                    assert_eq!(from_file, by_adios2);
                }
                all_rows[array] += num_rows;
            }
            stream.end_step().unwrap();
        }
        assert!(all_rows.iter().all(|&it| it > 10), "{all_rows:?}");
    }
}
