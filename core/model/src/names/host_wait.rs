//! The API calls of CUDA and HIP that return only when work of a GPU has ended.
//!
//! Source: the chapters on synchronisation behaviour in the CUDA runtime, driver and HIP references.

/// Prefixes of the functions of the APIs. The longer one comes first.
const API_PREFIXES: [&str; 3] = ["cuda", "cu", "hip"];
/// Functions that wait for all work of a GPU or a context.
const OF_DEVICE: [&str; 3] = ["DeviceSynchronize", "CtxSynchronize", "ThreadSynchronize"];
/// Functions that wait for a stream, or for what was launched before an event was recorded.
const OF_STREAM: [&str; 2] = ["StreamSynchronize", "EventSynchronize"];
/// Beginning of the functions that copy.
const COPY: &str = "Memcpy";
/// Parts of the names of copies that do not wait: those between two GPUs do not either.
const NOT_BLOCKING: [&str; 2] = ["Async", "Peer"];

/// What an API call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostWait {
    /// All work of the GPU.
    Device,
    /// The work of a stream, which the name does not state.
    Stream,
    /// The copy that it starts, if that is from or to the memory of the host.
    Copy,
}

impl HostWait {
    /// Returns what the function of a name waits for, with or without a version: `cudaStreamSynchronize_v3020`.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.split(['_', '(']).next().unwrap_or(name);
        let function = API_PREFIXES.iter().find_map(|it| name.strip_prefix(it))?;
        if OF_DEVICE.contains(&function) {
            Some(Self::Device)
        } else if OF_STREAM.contains(&function) {
            Some(Self::Stream)
        } else {
            let is_copy =
                function.starts_with(COPY) && !NOT_BLOCKING.iter().any(|it| function.contains(it));
            is_copy.then_some(Self::Copy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_all_apis_are_known_with_their_versions() {
        let check = |name, expected| assert_eq!(HostWait::of_name(name), expected, "{name}");
        check("cudaDeviceSynchronize_v3020", Some(HostWait::Device));
        check("cuCtxSynchronize", Some(HostWait::Device));
        check("hipDeviceSynchronize", Some(HostWait::Device));
        check("cudaStreamSynchronize_ptsz_v7000", Some(HostWait::Stream));
        check("hipEventSynchronize", Some(HostWait::Stream));
        check("cudaMemcpy_v3020", Some(HostWait::Copy));
        check("cuMemcpyDtoH_v2", Some(HostWait::Copy));
        check("hipMemcpy", Some(HostWait::Copy));
        for other in [
            "cudaMemcpyAsync_v3020",
            "hipMemcpyWithStreamAsync",
            "cudaMemcpyPeer_v4000",
            "cudaStreamWaitEvent_v3020",
            "cudaLaunchKernel_v7000",
            "aten::cudaMemcpy",
            "cu",
        ] {
            check(other, None);
        }
    }
}
