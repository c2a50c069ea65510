//! The profiler that wrote a file, by the names in its schema.

use std::collections::BTreeMap;

use crate::database::Relation;

/// A profiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfilerTool {
    /// NVIDIA Nsight Systems.
    Nsight,
    /// rocprofv3 and rocprofiler-systems.
    Rocpd,
    /// rocmProfileData.
    Rpd,
}

/// Prefixes of the names of tables that only Nsight Systems writes.
const NSIGHT_PREFIXES: [&str; 5] = [
    "CUPTI_ACTIVITY_KIND_",
    "NVTX_EVENTS",
    "OSRT_API",
    "MPI_",
    "TARGET_INFO_",
];
/// The table of names in Nsight's files. nvprof, which has tables of the same names, keeps its own elsewhere.
const NSIGHT_STRINGS: &str = "StringIds";
/// Prefixes of the names of tables of rocpd from version 3 on; the rest of a name is that of the file.
const ROCPD_PREFIXES: [&str; 3] = ["rocpd_info_", "rocpd_kernel_dispatch", "rocpd_region"];
/// Tables of rpd.
const RPD_TABLES: [&str; 2] = ["rocpd_api", "rocpd_op"];

impl ProfilerTool {
    /// Returns the profiler whose tables a file has.
    pub(crate) fn of(relations: &BTreeMap<String, Relation>) -> Option<Self> {
        let has = |name: &str| relations.contains_key(name);
        let begins = |prefixes: &[&str]| {
            let mut names = relations.keys();
            names.any(|name| prefixes.iter().any(|it| name.starts_with(it)))
        };
        if has(NSIGHT_STRINGS) && begins(&NSIGHT_PREFIXES) {
            Some(Self::Nsight)
        } else if RPD_TABLES.iter().any(|it| has(it)) {
            Some(Self::Rpd)
        } else if begins(&ROCPD_PREFIXES) {
            Some(Self::Rocpd)
        } else {
            None
        }
    }

    /// Returns whether the first bytes of a damaged file name tables of a profiler.
    pub(crate) fn is_named_in(bytes: &[u8]) -> bool {
        let names = NSIGHT_PREFIXES.iter().take(1).chain(&ROCPD_PREFIXES);
        let mut names = names.chain(&RPD_TABLES);
        names.any(|name| bytes.windows(name.len()).any(|it| it == name.as_bytes()))
    }
}
