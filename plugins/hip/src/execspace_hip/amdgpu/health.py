"""Rows of `execspace doctor`: what compiles HIP here, and what the space has run on."""

from __future__ import annotations

from execspace import Probe

from ..probing import INSTALL, cause_of

EVIDENCE = (
    "never run on an AMD GPU. Its kernels were compiled for gfx90a, gfx942 and gfx1100; executed "
    "on the host, with waves of 64 and 32 lanes, under ThreadSanitizer and AddressSanitizer too; "
    "and executed on NVIDIA through a shim"
)


def check_compiler() -> Probe:
    """A row of `execspace doctor`: what compiles HIP here, for devices and for named targets."""
    found = []
    try:
        from cupy_backends.cuda.api import runtime

        if runtime.is_hip:
            from ..build import HIPRTC

            HIPRTC.compile(
                'extern "C" __attribute__((global)) void f(int *p) { *p = 1; }',
                ["--offload-arch=gfx90a"],
            )
            found.append(f"hiprtc of HIP {HIPRTC.version()}")
    except Exception as error:
        return Probe(False, f"hiprtc cannot be used ({cause_of(error)}); {INSTALL}")
    try:
        from .offline import find_compiler

        found.append(f"{find_compiler().name} for explain(target='gfx942')")
    except Exception as error:
        if not found:
            return Probe(False, str(error))
    return Probe(True, ", ".join(found))


def check_evidence() -> Probe:
    """A row of `execspace doctor`: what this space has run on, and what not."""
    return Probe(True, EVIDENCE)
