//! Names of the kernels by which GPUs communicate.

/// Prefixes of the names of NCCL's and RCCL's functions and kernels, after an optional return type.
const LIBRARY_PREFIXES: [&str; 2] = ["nccl", "rccl"];
/// The part of `Kernel` and `kernel` that does not depend on case. Of the names with a library's prefix, those without
/// it are functions of the host.
const KERNEL: &str = "ernel";
/// Prefix of the kernels of older releases of RCCL, whose names do not contain [`KERNEL`].
const OLD_RCCL_PREFIX: &str = "ncclFunction";
/// Prefix of the kernels of oneCCL.
const ONECCL_PREFIX: &str = "oneccl_";
/// The parts between the library's prefix and the operation, in order; NCCL uses them since 2.7.
const PARTS_BEFORE_OPERATION: [&str; 3] = ["Dev", "Kernel", "_"];

/// Returns the operation in the name of a kernel of NCCL, RCCL or oneCCL, such as `AllReduce_Sum_f32_RING_LL` for
/// `ncclDevKernel_AllReduce_Sum_f32_RING_LL`; `None` for other names.
pub fn communication_kernel(name: &str) -> Option<&str> {
    let name = name.strip_prefix("void ").unwrap_or(name);
    if let Some(operation) = name.strip_prefix(ONECCL_PREFIX) {
        return Some(operation);
    }
    let is_kernel = name.contains(KERNEL) || name.starts_with(OLD_RCCL_PREFIX);
    let mut operation = LIBRARY_PREFIXES
        .iter()
        .find_map(|it| name.strip_prefix(it))?;
    for part in PARTS_BEFORE_OPERATION {
        operation = operation.strip_prefix(part).unwrap_or(operation);
    }
    is_kernel.then_some(operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_all_releases_are_known_by_name() {
        for (name, expected) in [
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                Some("AllReduce_Sum_f32_RING_LL"),
            ),
            (
                "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t",
                Some("SendRecv_RING_SIMPLE_Sum_int8_t"),
            ),
            (
                "ncclAllReduceRingLLKernel_sum_f32",
                Some("AllReduceRingLLKernel_sum_f32"),
            ),
            ("void ncclDevKernel_Generic_4", Some("Generic_4")),
            ("ncclFunction_AllReduce", Some("Function_AllReduce")),
            ("rccl_main_kernel", Some("main_kernel")),
            ("oneccl_allreduce_large", Some("allreduce_large")),
            ("ncclAllReduce", None),
            ("nccl:all_reduce", None),
            ("void at::native::elementwise_kernel", None),
        ] {
            assert_eq!(communication_kernel(name), expected, "{name}");
        }
    }
}
