//! Separates SST writers that ADIOS2 confuses, or that it would make wait for one another.
//!
//! ADIOS2 2.12 identifies its peer processes by a number. Each process takes it from a generator seeded with its
//! process id plus the second in which it opens its first stream. Ranks of one host have consecutive ids. So of ranks
//! that open their streams before and after the change of a second, many share a number. A reader of two such ranks
//! sends the messages for both to the first one, with addresses in the memory of the other, and the rank of the *job*
//! crashes. So such writers are read by separate copies of ADIOS2.
//!
//! A copy opens one stream at a time, and a writer may admit its reader only with its next step. That step may depend on
//! another writer, which waits for its reader in this process. So the latter is read by another copy.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use callgrove_adios2_sys::{Adios2Error, Library};

/// The key of the number of a process in an address: `CM_CMANAGER_ID`, hashed as in EVPath's attribute lists.
const NUMBER: [u8; 4] = 0xc490_e7de_u32.to_le_bytes();

/// The writers that each copy of ADIOS2 in this process has connected to. The first copy is the one that all other code
/// uses.
static LIBRARIES: Mutex<Vec<LibraryWriters>> = Mutex::new(Vec::new());

/// The writers that one copy of ADIOS2 has connected to.
#[derive(Debug)]
struct LibraryWriters<L = Library> {
    library: L,
    writers: Vec<Writer>,
}

/// The process of a writer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Writer {
    number: [u8; 4],
    /// The address of the process, which contains its number; the same for all of its streams.
    address: Vec<u8>,
}

/// Returns the copy of ADIOS2 that can open the stream with this contact file now: `library`, unless that would confuse
/// its writer with another one, or waits for another one.
///
/// # Errors
/// [`Adios2Error::NotTwice`].
pub(super) fn library_for(contact: &Path, library: &Library) -> Result<Library, Adios2Error> {
    let text = fs::read_to_string(contact).unwrap_or_default();
    let Some(writer) = Writer::of_contact(&text) else {
        // ADIOS2 reports the error in the file.
        return Ok(library.clone());
    };
    let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    let waits = Library::waits_for_peer;
    assign_library(&mut libraries, writer, library, waits, Library::load_again)
}

/// Adds a writer to the first copy that has none with its number and does not wait for one, or to a new copy.
fn assign_library<L: Clone, E>(
    libraries: &mut Vec<LibraryWriters<L>>,
    writer: Writer,
    library: &L,
    waits: impl Fn(&L) -> bool,
    load_again: impl FnOnce(&L) -> Result<L, E>,
) -> Result<L, E> {
    let is_usable = |it: &&mut LibraryWriters<L>| {
        !waits(&it.library) && !it.writers.iter().any(|it| it.collides_with(&writer))
    };
    if let Some(known) = libraries.iter_mut().find(is_usable) {
        if !known.writers.contains(&writer) {
            known.writers.push(writer);
        }
        return Ok(known.library.clone());
    }
    let library = if libraries.is_empty() {
        library.clone()
    } else {
        load_again(library)?
    };
    libraries.push(LibraryWriters {
        library: library.clone(),
        writers: vec![writer],
    });
    Ok(library)
}

impl Writer {
    /// Returns the writer that left this contact text: after a line of its own, the stream's location in its memory and
    /// its address, which is a head of four bytes and pairs of name and number.
    fn of_contact(text: &str) -> Option<Self> {
        let (_, address) = text.lines().nth(1)?.split_once(':')?;
        let address = BASE64_STANDARD.decode(address.trim()).ok()?;
        let (pairs, _) = address.get(4..)?.as_chunks::<8>();
        let number = pairs.iter().find_map(|pair| pair.strip_prefix(&NUMBER))?;
        Some(Self {
            number: number.try_into().ok()?,
            address,
        })
    }

    /// Returns whether it is another process with the same number.
    fn collides_with(&self, other: &Self) -> bool {
        self.number == other.number && self.address != other.address
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Contact texts of ADIOS2 2.12.1. The process of [`COLLIDING`] started a second later than that of [`FIRST`], with
    /// an id smaller by one.
    const FIRST: &str = "#ADIOS2-SST v0\n0x7f05bc04b150:AAMAAJTJ8o3vqAAAATkCmAICAMDe55DEmGxYPQ==";
    const COLLIDING: &str =
        "#ADIOS2-SST v0\n0x7f0ebc04b5b0:AAMAAJTJ8o0NlQAAATkCmAICAMDe55DEmGxYPQ==";
    const OTHER: &str = "#ADIOS2-SST v0\n0x7f095004b5b0:AAMAAJTJ8o1z4wAAATkCmAICAMDe55DEwe38bA==";

    #[test]
    fn colliding_processes_differ_from_streams_of_one_process() {
        let [first, colliding, other] =
            [FIRST, COLLIDING, OTHER].map(|text| Writer::of_contact(text).unwrap());
        assert!(first.collides_with(&colliding));
        assert!(!first.collides_with(&first) && !first.collides_with(&other));
        for damaged in [
            "",
            "#ADIOS2-SST v0",
            "\n0x1:%",
            "\n0x1:AAMA",
            "\n0x1:AAMAAJTJ8o3vqAAA",
        ] {
            assert_eq!(Writer::of_contact(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn colliding_writers_get_separate_libraries() {
        let [first, colliding, other] =
            [FIRST, COLLIDING, OTHER].map(|text| Writer::of_contact(text).unwrap());
        let third = Writer {
            address: b"elsewhere".to_vec(),
            ..first.clone()
        };
        let (mut libraries, mut num_loaded) = (Vec::new(), 0);
        let mut library_of = |writer: &Writer| {
            let load_again = |_: &u32| {
                num_loaded += 1;
                Ok::<_, Infallible>(num_loaded)
            };
            assign_library(&mut libraries, writer.clone(), &0, |_| false, load_again).unwrap()
        };
        let writers = [
            &first, &first, &colliding, &other, &third, &colliding, &first,
        ];
        assert_eq!(writers.map(&mut library_of), [0, 0, 1, 0, 2, 1, 0]);
    }
    #[test]
    fn a_copy_that_waits_for_a_writer_gets_no_other_one() {
        let [first, other] = [FIRST, OTHER].map(|text| Writer::of_contact(text).unwrap());
        let mut libraries = Vec::new();
        let mut library_of = |writer: &Writer, waiting: &[u32]| {
            let waits = |library: &u32| waiting.contains(library);
            assign_library(&mut libraries, writer.clone(), &0, waits, |_| {
                Ok::<_, Infallible>(1)
            })
        };
        assert_eq!(library_of(&first, &[]), Ok(0));
        assert_eq!(library_of(&other, &[0]), Ok(1));
        assert_eq!(library_of(&other, &[]), Ok(0));
    }
}
