//! The rank that the environment of a process states.

/// Variables with the rank of a process and the number of ranks, as launchers set them; those of MPI first, since a
/// launcher of one kind may start another.
const VARIABLES: [(&str, &str); 6] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];
/// Maximum number of ranks that is plausible.
const MAX_RANKS: u32 = 1 << 24;

/// A rank that an environment states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StatedRank {
    pub(crate) rank: u32,
    /// Number of ranks of the run.
    pub(crate) num_ranks: Option<u32>,
}

impl StatedRank {
    /// Returns the rank in the text of an environment, whether it is JSON, or lines of `NAME=value`.
    pub(crate) fn in_environment(text: &str) -> Option<Self> {
        VARIABLES.iter().find_map(|(rank, size)| {
            let rank = number_of(text, rank).filter(|it| *it < MAX_RANKS)?;
            let num_ranks = number_of(text, size).filter(|it| rank < *it && *it <= MAX_RANKS);
            Some(Self { rank, num_ranks })
        })
    }
}

/// Returns the number that follows a variable.
fn number_of(text: &str, name: &str) -> Option<u32> {
    let is_of_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    text.match_indices(name).find_map(|(at, _)| {
        let (before, after) = (text.get(..at)?, text.get(at + name.len()..)?);
        if before.ends_with(is_of_name) || after.starts_with(is_of_name) {
            return None;
        }
        let value = after.trim_start_matches(['"', '\\', '=', ':', ' ']);
        let end = value.find(|it: char| !it.is_ascii_digit());
        value.get(..end.unwrap_or(value.len()))?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(u32, Option<u32>)>) {
        let found = StatedRank::in_environment(text);
        assert_eq!(found.map(|it| (it.rank, it.num_ranks)), expected, "{text}");
    }

    #[test]
    fn ranks_are_found_in_json_and_in_lines() {
        check(
            r#"{"PATH": "/bin", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"}"#,
            Some((3, Some(8))),
        );
        check("SLURM_PROCID=5\nRANK=2\n", Some((2, None)));
        check(
            "LOCAL_RANK=7\nMY_RANKS=9\nRANK_ZERO=4\nSLURM_PROCID=1;SLURM_NTASKS=1",
            Some((1, None)),
        );
        check("RANK=\nPMI_RANK=x\nRANK", None);
        check("PMI_RANK=99999999999", None);
    }
}
