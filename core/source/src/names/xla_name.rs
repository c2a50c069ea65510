//! Names of XLA's instructions, and of the kernels made of them.
//!
//! XLA makes the names of a program unique by numbers: `all-reduce.2`, `fusion.17`, `loop_add_fusion.3.clone.1`. The
//! compiler chooses them, so that a change of the program, of its shapes or of the compiler changes all.

/// The instructions of XLA, and operations of JAX by which it names instructions, with `-` between words. From
/// `hlo_opcode.h` of OpenXLA and `jax.lax`; those that exist only during compilation are left out.
const INSTRUCTIONS: &[&str] = &[
    "abs",
    "add",
    "all-gather",
    "all-gather-invariant",
    "all-gather-reduced",
    "all-reduce",
    "all-to-all",
    "and",
    "argmax",
    "argmin",
    "async",
    "atan2",
    "batch-norm-grad",
    "batch-norm-inference",
    "batch-norm-training",
    "bitcast",
    "bitcast-convert",
    "broadcast",
    "broadcast-in-dim",
    "call",
    "cbrt",
    "ceil",
    "cholesky",
    "clamp",
    "collective-broadcast",
    "collective-permute",
    "compare",
    "complex",
    "concatenate",
    "conditional",
    "constant",
    "conv-general-dilated",
    "convert",
    "convert-element-type",
    "convolution",
    "copy",
    "cosine",
    "count-leading-zeros",
    "cublas-gemm",
    "cublas-batch-gemm",
    "cublas-lt-matmul",
    "cudnn-conv",
    "cumsum",
    "custom-call",
    "divide",
    "domain",
    "dot",
    "dot-general",
    "dynamic-reshape",
    "dynamic-slice",
    "dynamic-update-slice",
    "erf",
    "exponential",
    "exponential-minus-one",
    "fft",
    "floor",
    "fusion",
    "gather",
    "gemm",
    "get-dimension-size",
    "get-tuple-element",
    "imag",
    "infeed",
    "iota",
    "is-finite",
    "log",
    "log-plus-one",
    "logistic",
    "map",
    "matmul",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "opt-barrier",
    "or",
    "outfeed",
    "pad",
    "parameter",
    "partition-id",
    "pbroadcast",
    "pmax",
    "pmin",
    "popcnt",
    "power",
    "ppermute",
    "psum",
    "psum-invariant",
    "ragged-all-to-all",
    "ragged-dot",
    "real",
    "recv",
    "reduce",
    "reduce-and",
    "reduce-max",
    "reduce-min",
    "reduce-or",
    "reduce-precision",
    "reduce-scatter",
    "reduce-sum",
    "reduce-window",
    "remainder",
    "replica-id",
    "reshape",
    "reverse",
    "rng",
    "rng-bit-generator",
    "rng-get-and-update-state",
    "round-nearest-afz",
    "round-nearest-even",
    "rsqrt",
    "scan",
    "scatter",
    "scatter-add",
    "select",
    "select-and-scatter",
    "select-and-scatter-add",
    "send",
    "set-dimension-size",
    "shift-left",
    "shift-right-arithmetic",
    "shift-right-logical",
    "sign",
    "sine",
    "slice",
    "sort",
    "sqrt",
    "stochastic-convert",
    "subtract",
    "tan",
    "tanh",
    "topk",
    "transpose",
    "triangular-solve",
    "tuple",
    "while",
    "xor",
];
/// Ends of the names of the two or three instructions of an asynchronous operation.
const ASYNC_ENDS: [&str; 3] = ["-start", "-update", "-done"];
/// The end of the names of instructions that several were merged into, and of their kernels.
const FUSION: &str = "fusion";
/// Precedes the instruction in the name of a kernel of one instruction.
const WRAPPED: &str = "wrapped-";
/// Parts after a dot by which XLA names copies of an instruction.
const COPY_PARTS: [&str; 2] = ["clone", "remat"];

/// Returns the name of an instruction without its last number, or `None` for other names.
pub(super) fn without_instance(name: &str) -> Option<&str> {
    let base_len = name.bytes().take_while(|it| is_of_base(*it)).count();
    let base = name.get(..base_len)?;
    let numbers = name.get(base_len..)?;
    if numbers.is_empty() {
        return without_kernel_number(base);
    }
    let are_numbers = numbers.strip_prefix('.')?.split('.').all(is_number);
    (are_numbers && is_instruction(base)).then_some(base)
}

/// Returns the name of a kernel without its number: the dots in the names of instructions become underscores.
fn without_kernel_number(name: &str) -> Option<&str> {
    let base = name.trim_end_matches(|it: char| it.is_ascii_digit());
    let has_number = base.len() < name.len();
    let base = base.strip_suffix('_')?;
    (has_number && base.ends_with(FUSION)).then_some(base)
}

fn is_of_base(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
}

/// Returns whether a part after a dot is a number, or the word for a copy and perhaps a number.
fn is_number(part: &str) -> bool {
    let word = part.trim_end_matches(|it: char| it.is_ascii_digit());
    (word.is_empty() && !part.is_empty()) || COPY_PARTS.contains(&word)
}

fn is_instruction(base: &str) -> bool {
    if base.ends_with(FUSION) {
        return true;
    }
    let name = base.replace('_', "-");
    let name = name.strip_prefix(WRAPPED).unwrap_or(&name);
    let ends = ASYNC_ENDS.iter();
    let name = ends.fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
    INSTRUCTIONS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_instructions_and_of_no_other_names_are_removed() {
        let check = |name, expected| assert_eq!(without_instance(name), expected, "{name}");
        check("all-reduce.2", Some("all-reduce"));
        check("all-reduce-start.12", Some("all-reduce-start"));
        check("fusion.17", Some("fusion"));
        check("fusion.17.remat2.1", Some("fusion"));
        check("loop_add_fusion.3.clone.1", Some("loop_add_fusion"));
        check("loop_add_fusion_3", Some("loop_add_fusion"));
        check("wrapped_add.2", Some("wrapped_add"));
        check("psum_invariant.7", Some("psum_invariant"));
        check("broadcast_in_dim.4", Some("broadcast_in_dim"));
        for other in [
            "all-reduce",
            "add",
            "add.",
            "add.x",
            "add..1",
            "foo.cold.1",
            "foo.constprop.0",
            "main._omp_fn.0",
            "encoder.layers.3",
            "layer1.0",
            "python3.10",
            "libc.so.6",
            "fusion_",
            "_3",
            ".1",
            "",
        ] {
            check(other, None);
        }
    }
}
