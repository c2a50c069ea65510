//! Rows that lie in the data file as they are: they are read from there.
//!
//! ADIOS2 would fill memory with zeros, read into that, and copy it row by row: a fifth of all instructions of a detector.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use super::bp4_lists::StoredArray;

/// The arrays of a step, and the file that they are in.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredRows<'a> {
    pub(super) file: &'a File,
    /// In the order of [`super::ARRAYS`]; none for what ADIOS2 has to read.
    pub(super) arrays: &'a [Option<StoredArray>; 3],
}

impl StoredRows<'_> {
    /// Reads the array of this shape from row `first` on, as many rows as there is room for; says whether it lies there.
    pub(super) fn read(
        &self,
        array: usize,
        (num_rows, num_columns): (usize, usize),
        first: usize,
        rows: &mut [u64],
    ) -> io::Result<bool> {
        let [num_rows, num_columns, first] = [num_rows, num_columns, first].map(|it| it as u64);
        let stored = self.arrays[array].as_ref();
        let shape = (num_rows, num_columns);
        let Some(stored) = stored.filter(|it| (it.num_rows, it.num_columns) == shape) else {
            return Ok(false);
        };
        let mut file = self.file;
        let row_bytes = 8 * num_columns;
        file.seek(SeekFrom::Start(stored.offset + first * row_bytes))?;
        file.read_exact(bytemuck::cast_slice_mut(rows))?;
        if cfg!(target_endian = "big") {
            // The index of a folder that was written on such a machine is refused.
            for number in rows {
                *number = number.swap_bytes();
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use callgrove_adios2_sys::{Library, default_candidates};

    use super::super::{ARRAYS, Begun, BpStream};

    #[test]
    fn rows_are_those_that_adios2_reads() {
        let run =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lammps-4r-small-bp4");
        let library = Library::load(&default_candidates()).unwrap();
        let folder = run.join("bp/tau-metrics-lmp_tau-0.bp");
        let mut stream = BpStream::open(&folder, &library).unwrap();
        let mut num_rows = [0; ARRAYS.len()];
        while let Begun::Step(..) = stream.begin_step(Duration::ZERO).unwrap() {
            let stored = stream.stored_rows().unwrap();
            for (array, (count, name, num_columns)) in ARRAYS.into_iter().enumerate() {
                let engine = &stream.engine;
                let count = engine.io().variable(count).unwrap().unwrap();
                let rows = engine.get_value::<u64>(&count).unwrap() as usize;
                if rows == 0 {
                    continue;
                }
                let shape = (rows, num_columns);
                let variable = engine.io().variable(name).unwrap().unwrap();
                variable
                    .set_selection(&[0, 0], &[rows, num_columns])
                    .unwrap();
                let mut by_adios2 = vec![0_u64; rows * num_columns];
                let mut gets = engine.gets();
                gets.add(&variable, &mut by_adios2).unwrap();
                gets.perform().unwrap();
                for first in [0, rows / 2] {
                    let by_adios2 = &by_adios2[first * num_columns..];
                    let mut from_file = vec![1; by_adios2.len()];
                    assert!(stored.read(array, shape, first, &mut from_file).unwrap());
                    assert_eq!(from_file, by_adios2);
                }
                let other = (rows + 1, num_columns);
                assert!(!stored.read(array, other, 0, &mut [0]).unwrap());
                num_rows[array] += rows;
            }
            stream.end_step().unwrap();
        }
        assert!(num_rows.iter().all(|&it| it > 10), "{num_rows:?}");
    }
}
