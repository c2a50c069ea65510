//! How recorded names are split into functions and arguments, on names that tools wrote.

use std::borrow::Cow;

use callgrove_source::RecordedName;
use proptest::prelude::*;

/// Recorded names with their functions and arguments.
const SPLIT_NAMES: [(&str, &str, &str); 29] = [
    // NVTX ranges of PyTorch.
    (
        "aten::copy_, seq = 46174, op_id = 993406",
        "aten::copy_",
        "seq = 46174, op_id = 993406",
    ),
    (
        "aten::linear, op_id = 12, sizes = [[8, 4], [4, 4], []], input_op_ids = [(11,0), (0,-1)]",
        "aten::linear",
        "op_id = 12, sizes = [[8, 4], [4, 4], []], input_op_ids = [(11,0), (0,-1)]",
    ),
    (
        "autograd::engine::evaluate_function: AddmmBackward0, op_id = 993",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "op_id = 993",
    ),
    ("aten::mm, sizes = [[8, 4]]", "aten::mm", "sizes = [[8, 4]]"),
    ("work(4, n = 2), n=-3", "work(4, n = 2)", "n=-3"),
    // Objects of Python.
    (
        "<built-in method run_backward of torch._C._EngineBase object at 0x7f4f85497ec0>",
        "<built-in method run_backward of torch._C._EngineBase object>",
        "0x7f4f85497ec0",
    ),
    (
        "<bound method A.f of <A object at 0x7f4f85497ec0> at 0x55d0c1a2b3c4>",
        "<bound method A.f of <A object>>",
        "0x7f4f85497ec0, 0x55d0c1a2b3c4",
    ),
    (
        "<function f at 0x1c3f2a0>, seq = 3",
        "<function f>",
        "0x1c3f2a0, seq = 3",
    ),
    ("f 0x7f4f85497ec0, n = 3", "f", "0x7f4f85497ec0, n = 3"),
    ("f, 0x7f4f85497ec0 n = 3", "f", "n = 3, 0x7f4f85497ec0"),
    (
        "wait <CUstream 0x55d0c1a2b3c4>",
        "wait <CUstream>",
        "0x55d0c1a2b3c4",
    ),
    ("free(0x7f4f85497ec0)", "free()", "0x7f4f85497ec0"),
    (
        "OpenMP parallel region 0x4005d0",
        "OpenMP parallel region",
        "0x4005d0",
    ),
    // Numbers after `#`.
    ("ProfilerStep#12", "ProfilerStep", "12"),
    ("Batch #3", "Batch", "3"),
    ("f#1#2", "f", "1#2"),
    // XLA.
    ("all-reduce.2", "all-reduce", "2"),
    ("all-gather-start.1", "all-gather-start", "1"),
    ("collective-permute-done.7", "collective-permute-done", "7"),
    ("fusion.17", "fusion", "17"),
    ("loop_add_fusion.3", "loop_add_fusion", "3"),
    ("input_reduce_fusion_2", "input_reduce_fusion", "2"),
    ("fusion.3.clone.1", "fusion", "3.clone.1"),
    ("custom-call.5", "custom-call", "5"),
    // CUDA's runtime by CUPTI.
    ("cudaMemsetAsync_v3020", "cudaMemsetAsync", "3020"),
    ("cudaLaunchKernel_v7000", "cudaLaunchKernel", "7000"),
    ("cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC", "11060"),
    ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync_ptsz", "7000"),
    (
        "cudaStreamGetCaptureInfo_v10010",
        "cudaStreamGetCaptureInfo",
        "10010",
    ),
];

/// Names that are functions as they are.
const WHOLE_NAMES: [&str; 54] = [
    "",
    " ",
    "MPI_Allreduce()",
    "MPI_Send",
    ".TAU application",
    "main [{/lammps/src/main.cpp} {35,0}]",
    "LAMMPS_NS::PairEAM::compute(int, int) [{/lammps/src/pair_eam.cpp} {145,0}-{208,1}]",
    "addr=<7f12ab> [{/opt/lmp} {0,0}]",
    "[SAMPLE] f [{a.c} {3}]",
    "f(int, T) [with T = int; U = 3, V = 4]",
    "void ns::f<int, (char)1>(std::vector<int>) const",
    "A::B::operator()(int) const",
    "A::operator=(A const&)",
    "A::operator==(A const&, int)",
    "f()::{lambda(int)#1}::operator()(int) const",
    "void k<f()::{lambda(int)#2}>(int)",
    "f() [clone .cold.1]",
    "f.cold.1",
    "f.part.0",
    "f.constprop.0.isra.0",
    "main._omp_fn.0",
    "main.omp_outlined.3",
    "inner.1234",
    "_ZN7ck_tile6kentryIiEEvT_.kd",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)",
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>(T::Params)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x16_0x50279a41",
    "cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1",
    "triton_poi_fused_add_relu_12",
    "Memcpy HtoD (Pinned -> Device)",
    "cuMemcpyDtoH_v2",
    "cudaStreamGetCaptureInfo_v2",
    "cuStreamBeginCapture_v2_ptsz",
    "my_cudaMemset_v3020",
    "kernel_v2024",
    "torch/nn/modules/module.py(1194): _call_impl",
    "train.py(12): <module>",
    "<string>(1): f",
    "<built-in method item of Tensor object>",
    "nn.Module: Linear_3",
    "enumerate(DataLoader)#_Iter.__next__",
    "Optimizer.step#SGD.step",
    "Torch-Compiled Region: 0/1",
    "c10d::allreduce_",
    "gloo:all_reduce",
    "encoder.layers.3",
    "layer1.0",
    "python3.10",
    "libc.so.6 + 0x1b0",
    "libfoo.so+0x7f1234",
    "phase, mode = train",
    "mask 0xff00",
    "0x4005d0",
];

#[test]
fn arguments_are_split_from_recorded_names() {
    for (recorded, function, arguments) in SPLIT_NAMES {
        let name = RecordedName::parse(recorded);
        let split = (&*name.function, name.arguments.as_deref());
        assert_eq!(split, (function, Some(arguments)), "{recorded}");
    }
    for name in WHOLE_NAMES {
        let expected = RecordedName {
            function: Cow::Borrowed(name),
            arguments: None,
        };
        assert_eq!(RecordedName::parse(name), expected, "{name}");
    }
}

/// Parts of names, which in any order should not confuse the rules.
fn part() -> impl Strategy<Value = String> {
    let parts = [
        ", seq = 12",
        ", n=[",
        ", n = -3",
        " at 0x7f4f85497ec0",
        "0x7f4f85497ec0",
        " 0x4005d0",
        "0x",
        "+0x123456",
        "#3",
        "#",
        ".2",
        ".clone",
        "_v3020",
        "cuda",
        "cudaMalloc",
        "fusion",
        "all-reduce",
        "_4",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        " ",
        ",",
        "=",
        "é",
        "f",
        "1",
        ".",
    ];
    prop_oneof![4 => proptest::sample::select(parts.to_vec()).prop_map(str::to_owned), 1 => ".{0,3}"]
}

proptest! {
    #[test]
    fn splitting_is_idempotent_and_leaves_a_name(
        parts in proptest::collection::vec(part(), 0..12),
    ) {
        let recorded = parts.concat();
        let name = RecordedName::parse(&recorded);
        prop_assert_eq!(name.function.is_empty(), recorded.is_empty());
        let is_whole = name.function == recorded;
        prop_assert_eq!(is_whole, name.arguments.is_none());
        let again = RecordedName::parse(&name.function);
        prop_assert_eq!(&again.function, &name.function);
        prop_assert_eq!(again.arguments, None);
    }
}
