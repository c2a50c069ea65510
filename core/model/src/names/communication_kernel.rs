//! Names of the kernels by which GPUs communicate.

/// Beginnings of the names of kernels of NCCL and RCCL, after an optional return type.
const LIBRARIES: [&str; 2] = ["nccl", "rccl"];
/// A word of the names of their kernels. Without it, a name is that of a function of the host.
const KERNEL: &str = "ernel";
/// The beginning of the names of the kernels of RCCL's older releases.
const FUNCTION: &str = "ncclFunction";
/// The beginning of the names of kernels of oneCCL.
const ONECCL: &str = "oneccl_";
/// What precedes the operation in the names of NCCL from 2.7 on.
const BEFORE_OPERATION: [&str; 3] = ["Dev", "Kernel", "_"];

/// Returns the operation of a kernel of NCCL, RCCL or oneCCL as its name has it, or `None` for other names:
/// `AllReduce_Sum_f32_RING_LL` of `ncclDevKernel_AllReduce_Sum_f32_RING_LL`.
pub fn communication_kernel(name: &str) -> Option<&str> {
    let name = name.strip_prefix("void ").unwrap_or(name);
    if let Some(operation) = name.strip_prefix(ONECCL) {
        return Some(operation);
    }
    let is_kernel = name.contains(KERNEL) || name.starts_with(FUNCTION);
    let mut operation = LIBRARIES.iter().find_map(|it| name.strip_prefix(it))?;
    for part in BEFORE_OPERATION {
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
