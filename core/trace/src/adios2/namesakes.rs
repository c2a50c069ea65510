//! SST writers that ADIOS2 does not tell apart.
//!
//! ADIOS2 2.12 knows the processes that it talks to by a number, which each takes from a generator that it starts with its
//! process id plus the second in which it opens its first stream. Ranks of one host have ids in a row; of two that open their
//! streams on both sides of a second, many have one number. Who reads both reaches the first one for both, and names it places
//! in the memory of the other: the rank of the *job* dies of that. So each of them is read by an ADIOS2 of its own.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use callgrove_adios2_sys::{Adios2Error, Library};

/// What the number of a process is called in an address: `CM_CMANAGER_ID`, as EVPath's attribute lists hash it.
const NUMBER: [u8; 4] = 0xc490_e7de_u32.to_le_bytes();

/// The writers that each ADIOS2 of this process was told of; the first is the one that all else uses.
static TOLD: Mutex<Vec<Told>> = Mutex::new(Vec::new());

/// The writers that one ADIOS2 was told of.
#[derive(Debug)]
struct Told<L = Library> {
    library: L,
    writers: Vec<Writer>,
}

/// The process of a writer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Writer {
    number: [u8; 4],
    /// Where it is reached, with its number; the same for all of its streams.
    address: Vec<u8>,
}

/// The ADIOS2 by which the stream with this contact file can be read: `library`, unless that would take its writer for
/// another one.
///
/// # Errors
/// [`Adios2Error::NotTwice`].
pub(super) fn library_for(contact: &Path, library: &Library) -> Result<Library, Adios2Error> {
    let text = fs::read_to_string(contact).unwrap_or_default();
    let Some(writer) = Writer::of_contact(&text) else {
        // ADIOS2 says what is wrong with it.
        return Ok(library.clone());
    };
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    tell(&mut told, writer, library, Library::load_again)
}

/// Notes a writer with the first of all libraries that knows no namesake of it, or with another one.
fn tell<L: Clone, E>(
    told: &mut Vec<Told<L>>,
    writer: Writer,
    library: &L,
    load_again: impl FnOnce(&L) -> Result<L, E>,
) -> Result<L, E> {
    let knows_none = |it: &&mut Told<L>| !it.writers.iter().any(|it| it.is_namesake(&writer));
    if let Some(told) = told.iter_mut().find(knows_none) {
        if !told.writers.contains(&writer) {
            told.writers.push(writer);
        }
        return Ok(told.library.clone());
    }
    let library = if told.is_empty() {
        library.clone()
    } else {
        load_again(library)?
    };
    told.push(Told {
        library: library.clone(),
        writers: vec![writer],
    });
    Ok(library)
}

impl Writer {
    /// The one that left this text for its readers: a line of its own, then the stream's place in its memory and its
    /// address, which is a head of four bytes and pairs of name and number.
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

    /// Whether it is another process with the same number.
    fn is_namesake(&self, other: &Self) -> bool {
        self.number == other.number && self.address != other.address
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// What ADIOS2 2.12.1 wrote for two processes, of which the second began a second later and has an id less by one.
    const FIRST: &str = "#ADIOS2-SST v0\n0x7f05bc04b150:AAMAAJTJ8o3vqAAAATkCmAICAMDe55DEmGxYPQ==";
    const NAMESAKE: &str =
        "#ADIOS2-SST v0\n0x7f0ebc04b5b0:AAMAAJTJ8o0NlQAAATkCmAICAMDe55DEmGxYPQ==";
    const OTHER: &str = "#ADIOS2-SST v0\n0x7f095004b5b0:AAMAAJTJ8o1z4wAAATkCmAICAMDe55DEwe38bA==";

    #[test]
    fn processes_with_one_number_are_told_from_streams_of_one_process() {
        let [first, namesake, other] =
            [FIRST, NAMESAKE, OTHER].map(|text| Writer::of_contact(text).unwrap());
        assert!(first.is_namesake(&namesake));
        assert!(!first.is_namesake(&first) && !first.is_namesake(&other));
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
    fn no_library_is_told_of_two_namesakes() {
        let [first, namesake, other] =
            [FIRST, NAMESAKE, OTHER].map(|text| Writer::of_contact(text).unwrap());
        let third = Writer {
            address: b"elsewhere".to_vec(),
            ..first.clone()
        };
        let (mut told, mut num_loaded) = (Vec::new(), 0);
        let mut library_of = |writer: &Writer| {
            let load_again = |_: &u32| {
                num_loaded += 1;
                Ok::<_, Infallible>(num_loaded)
            };
            tell(&mut told, writer.clone(), &0, load_again).unwrap()
        };
        let writers = [&first, &first, &namesake, &other, &third, &namesake, &first];
        assert_eq!(writers.map(&mut library_of), [0, 0, 1, 0, 2, 1, 0]);
    }
}
