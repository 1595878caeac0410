"""Options of a HIP compiler for a source: those of hiprtc, and of any clang that compiles HIP."""

from __future__ import annotations

from execspace_compiler.backend import DeviceCode

# What `-use_fast_math` of CUDA is: quotients and roots of float32 that are not rounded correctly,
# subnormal numbers that become zero. That numbers are finite is not assumed.
_FAST = (
    "-fno-hip-fp32-correctly-rounded-divide-sqrt",
    "-fgpu-flush-denormals-to-zero",
    "-freciprocal-math",
    "-fapprox-func",
)

# Pinned and managed memory is fine-grained. Without this some compilers take an instruction for
# sums of float64 on gfx90a that has no effect there, and say nothing.
FINE_GRAINED = "-fatomic-fine-grained-memory"


def options_for(code: DeviceCode, arch: str, fine_grained: bool) -> list[str]:
    """Options for a source on GPUs of an architecture such as "gfx942:sramecc+:xnack-".

    `fine_grained`: the compiler knows `FINE_GRAINED`; those that do not are right without it.

    The architecture is always named: without it hiprtc asks the device, and CuPy's cache takes code
    of one gfx9 for that of another.
    """
    options = [f"--offload-arch={arch}", "-O3", "-std=c++17", "-w"]
    lowered = code.lowered
    # Both are for the whole source: one strict function makes all of it so.
    apart = not lowered.kernel.fma or code.strict
    if fine_grained:
        options.append(FINE_GRAINED)
    options.append(f"-ffp-contract={'off' if apart else 'fast-honor-pragmas'}")
    if lowered.kernel.fastmath and not code.strict:
        options += _FAST
    return options
