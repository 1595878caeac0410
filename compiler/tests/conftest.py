"""Lowering kernels without a space, and building text: what the compiler's own tests share."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import warnings
from functools import partial

import pytest

import execspace as es
from execspace import Kernel, LaunchSpec, ScalarType, Sum, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace_compiler import lower_kernel
from execspace_compiler.codegen.llvm.printer import LlvmPrinter
from execspace_compiler.host import launch_source
from execspace_compiler.ir.text import function_text


def view_type(dtype="float64", rank=1, layout="right", readonly=False):
    """Type of a View argument in host memory."""
    unit = None if rank == 0 or layout == "stride" else rank - 1 if layout == "right" else 0
    return ViewType(dtype, rank, layout, unit, readonly, "host")


@pytest.fixture
def lower():
    """``lower(fn, *arguments, rank=, reduce=)``: typed IR of a kernel.

    An argument is a dtype name and rank such as "float32[2]" or "float32[2,left]" for a View,
    or a Python type for a number.
    """

    def run(fn, *arguments, rank=1, reduce=False, iterate="auto", nonnegative=True, **options):
        types: list[ViewType | ScalarType] = []
        for a in arguments:
            if isinstance(a, str):
                name, _, rest = a.rstrip("]").partition("[")
                dims, _, layout = rest.partition(",")
                types.append(view_type(name, int(dims), layout or "right"))
            else:
                types.append(SCALAR_TYPES[a])
        kind = "range" if rank == 1 else "mdrange"
        spec = LaunchSpec(
            "reduce" if reduce else "for",
            policy_spec(kind, rank, iterate, False, nonnegative),
            tuple(types),
            reducer=Sum() if reduce else None,
        )
        return lower_kernel(Kernel(fn, **options), spec)

    return run


@pytest.fixture
def host_functions(monkeypatch):
    """``host_functions(policy, kernel, *args, **options)``: what the printer of hosts gets.

    It is the text of typed IR of each function of a launch, with its loops, by the name.
    """
    modules = []

    class Noting(LlvmPrinter):
        def __init__(self, module, *rest):
            modules.append(module)
            super().__init__(module, *rest)

    monkeypatch.setattr(launch_source, "LlvmPrinter", Noting)

    def run(policy, kernel, *args, **options):
        assert es.explain(policy, kernel, *args, **options).source
        return {f.name: function_text(f) for f in modules[-1].functions}

    return run


@pytest.fixture
def line():
    """``line(fn, text)``: number of the first source line of a function that holds a text."""

    def find(fn, text):
        lines, first = inspect.getsourcelines(fn)
        return first + next(n for n, code in enumerate(lines) if text in code)

    return find


# -- generated source of the C family
# ---------------------------------------------------------------


@pytest.fixture(scope="session")
def build_opencl():
    """``build_opencl(source)`` compiles with the first OpenCL device: names of the kernels."""
    cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    try:
        devices = [d for p in cl.get_platforms() for d in p.get_devices() if d.double_fp_config]
    except cl.Error as error:
        pytest.skip(f"no OpenCL platform: {error}")
    if not devices:
        pytest.skip("no OpenCL device with float64")
    context = cl.Context(devices[:1])

    def run(source):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what compilers say to a text that they accept
            program = cl.Program(context, source).build(["-cl-std=CL1.2"], cache_dir=False)
        return set(program.kernel_names.split(";"))

    return run


@pytest.fixture(scope="session")
def build_cuda():
    """``build_cuda(source)`` compiles with NVRTC, which needs no GPU: names of the kernels.

    Machine code for compute capabilities 8.0 and 9.0.
    """
    reason = "CuPy is not installed: pip install cupy-cuda13x nvidia-cuda-nvrtc"
    nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason=reason)
    try:
        nvrtc.getVersion()
    except RuntimeError as error:  # raised where CuPy does not find the library
        pytest.skip(f"NVRTC is not installed: {error}")

    def run(source):
        found = []
        for target in ("sm_80", "sm_90"):
            program = nvrtc.createProgram(source, "kernel.cu", (), ())
            try:
                nvrtc.compileProgram(program, (f"-arch={target}", "-std=c++17"))
                code = nvrtc.getCUBIN(program)
            except nvrtc.NVRTCError:
                pytest.fail(f"{target}: {nvrtc.getProgramLog(program)}\n{source}")
            finally:
                nvrtc.destroyProgram(program)
            sections = re.findall(rb"\0\.text\.(\w+)(?=\0)", code)
            found.append({name.decode() for name in sections})
        assert found[0] == found[1]
        return found[0]

    return run


@pytest.fixture(scope="session")
def build_hip(tmp_path_factory):
    """``build_hip(source)`` compiles with clang, which needs no GPU: names of the kernels.

    Machine code for AMD GPUs, without ``spills=True`` free of spilled registers. ROCm's library of
    mathematical functions is not linked: its calls stay open. Text with teams is for one width.
    """
    names = (f"clang++-{n}" for n in range(30, 17, -1))
    clang = next((found for name in names if (found := shutil.which(name))), None)
    if clang is None:
        pytest.skip("no clang++-18 or newer is installed: apt install clang-19")
    folder = tmp_path_factory.mktemp("hip")

    def run(source, spills=False):
        width = re.search(r"ES_ITEM\(x\) & (31|63)\)", source)
        targets = [
            target
            for target, most in (("gfx942", "63"), ("gfx1100", "31"))
            if width is None or width[1] == most
        ]
        found = []
        for target in targets:
            listing = folder / "kernel.s"
            command = [
                clang, "-x", "hip", "--cuda-device-only", f"--offload-arch={target}", "-nogpuinc",
                "-nogpulib", "-std=c++17", "-O3", "-Werror=uninitialized", "-S", "-o", str(listing),
                "-",
            ]  # fmt: skip
            done = subprocess.run(command, input=source, capture_output=True, text=True)
            if done.returncode:
                pytest.fail(f"{target}: {done.stderr}\n{source}")
            text = listing.read_text()
            names = re.findall(r"^\s*\.amdhsa_kernel (\w+)", text, re.MULTILINE)
            counts = re.findall(r"\.[sv]gpr_spill_count: +(\d+)", text)
            assert spills or counts == ["0"] * 2 * len(names), f"{target}: {counts}\n{source}"
            found.append(set(names))
        assert all(names == found[0] for names in found)
        return found[0]

    return run


@pytest.fixture(params=["opencl", "cuda", "hip"])
def dialect(request):
    """Every dialect of the C family."""
    from execspace_compiler.codegen.cfamily import cuda, hip, opencl

    return {"opencl": opencl.OPENCL, "cuda": cuda.CUDA, "hip": hip.hip(64)}[request.param]


@pytest.fixture
def build(request, dialect):
    """``build(source)`` compiles text in `dialect`: names of the kernels."""
    found = request.getfixturevalue(f"build_{dialect.name}")
    # The kernels of these tests have hundreds of Views, whose addresses take all scalar registers.
    return partial(found, spills=True) if dialect.name == "hip" else found
