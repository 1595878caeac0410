"""Generated source of the C family: goldens, which need no device, and what compilers say to it.

To accept a change of the generated source, run with UPDATE_GOLDEN=1 and read the diff.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cfamily_cases import CASES, CHUNKED, FLAT, REDUCE, exclusive, text, total, without_heads

import execspace as es
from execspace_compiler.codegen.cfamily.cuda import CUDA
from execspace_compiler.codegen.cfamily.dialect import Memory, Pragmas
from execspace_compiler.codegen.cfamily.hip import hip
from execspace_compiler.codegen.cfamily.opencl import OPENCL, OPENCL_NVIDIA

# On NVIDIA's GPUs these have shuffles, and scans one pass; the rest is as elsewhere.
NVIDIA = (
    "max.packed", "once", "sum.flat", "sum.complex", "minloc", "scan.packed", "scan.several"
)  # fmt: skip
GOLDEN = Path(__file__).parents[1] / "golden" / "cfamily"


def without_places(source):
    """Local arrays are named by their line in this file; number them instead."""
    names = dict.fromkeys(re.findall(r"_local_\d+_\d+", source))
    for n, name in enumerate(names):
        source = source.replace(name, f"_local_{n}")
    return source


def check(case, suffix, **more):
    """Compare the text of a case with its golden, or write that."""
    kernel, arguments, options = CASES[case]
    source = without_places(text(kernel, *arguments, **options, **more).source)
    source = without_heads(source, more.get("dialect", OPENCL))
    path = GOLDEN / f"{case}.{suffix}.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert source == path.read_text(encoding="utf-8"), f"{case} changed; see the docstring above"


@pytest.mark.parametrize("case", CASES)
def test_opencl_text(case):
    check(case, "cl")


@pytest.mark.parametrize("case", NVIDIA)
def test_opencl_text_for_nvidia(case):
    check(case, "nvidia.cl", dialect=OPENCL_NVIDIA, group=128)


@pytest.mark.parametrize("case", NVIDIA)
def test_clang_takes_the_opencl_text_for_nvidia(case, tmp_path):
    """Its assembly, too: as PTX. Built-in functions are not declared, so no object is made."""
    clang = shutil.which("clang-19") or shutil.which("clang")
    if clang is None:
        pytest.skip("no clang is installed")
    kernel, arguments, options = CASES[case]
    source = tmp_path / "text.cl"
    source.write_text(text(kernel, *arguments, dialect=OPENCL_NVIDIA, group=128, **options).source)
    options = "-x cl -cl-std=CL1.2 --target=nvptx64-nvidia-cuda -Dasm=__asm__ -O2 -S -w -o -"
    command = [clang, *options.split(), "-Xclang", "-finclude-default-header", str(source)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    expected = "ld.global.cs.v2.u32" if case == "once" else "shfl.sync.idx.b32"
    assert expected in made.stdout


@pytest.mark.parametrize("case", FLAT)
def test_cuda_text(case):
    check(case, "cu", dialect=CUDA)


@pytest.mark.parametrize("case", FLAT)
def test_hip_text(case):
    check(case, "hip", dialect=hip(64))


def test_waves_differ_only_where_lanes_exchange_values():
    for case in FLAT:
        kernel, arguments, options = CASES[case]
        wide, narrow = (text(kernel, *arguments, dialect=hip(n), **options) for n in (64, 32))
        exchanged = "_es_shuffle(0x" in wide.source
        assert exchanged or options.get("pattern") != "scan"
        assert (wide.source != narrow.source) == exchanged


def test_every_golden_belongs_to_a_case():
    expected = {f"{case}.cl.txt" for case in CASES} | {f"{case}.cu.txt" for case in FLAT}
    expected |= {f"{case}.hip.txt" for case in FLAT}
    expected |= {f"{case}.nvidia.cl.txt" for case in NVIDIA}
    assert {path.name for path in GOLDEN.iterdir()} == expected


@pytest.mark.parametrize("case", CASES)
def test_a_driver_builds_the_opencl_text(build_opencl, case):
    kernel, arguments, options = CASES[case]
    found = text(kernel, *arguments, **options)
    assert build_opencl(found.source) == set(found.entry.kernels)


@pytest.mark.parametrize("case", FLAT)
def test_nvrtc_compiles_the_cuda_text(build_cuda, case):
    kernel, arguments, options = CASES[case]
    found = text(kernel, *arguments, dialect=CUDA, **options)
    assert build_cuda(found.source) == set(found.entry.kernels)


@pytest.mark.parametrize("case", FLAT)
def test_clang_compiles_the_hip_text(build_hip, case):
    kernel, arguments, options = CASES[case]
    found = text(kernel, *arguments, dialect=hip(64), **options)
    assert build_hip(found.source) == set(found.entry.kernels)


def loaded(i, x, y):
    y[i] = es.atomic_load(x, i)
    es.atomic_add(x, i, 1)


def test_a_dialect_without_address_spaces_has_atomic_steps_of_its_own():
    steps = {("load", "int32"): "LOAD({p})", ("add", "int32"): "ADD({p}, {v})"}
    plain = replace(OPENCL, memory=Memory(), atomics={**OPENCL.atomics, **steps})
    source = text(loaded, "int32[1]", "int32[1]", dialect=plain).source
    assert "LOAD((volatile int *)(x + i))" in source
    assert "ADD((volatile int *)(x + i), 1)" in source


def test_a_dialect_may_have_a_pragma_for_sums():
    pragma = replace(OPENCL, pragmas=Pragmas(joining_loop="#pragma joins {sign} {name} {own}"))
    options = {**REDUCE, **CHUNKED, "dialect": pragma}
    source = text(total, "float32[1]", reducer=es.Sum, **options).source
    assert re.search(r"#pragma joins \+ _acc _i0\n +for \(.*\n.*\n +_acc = \(_acc \+ ", source)
    for dtype, reducer in (("int32", es.Sum), ("complex64", es.Sum), ("float32", es.Max)):
        assert "#pragma joins" not in text(total, f"{dtype}[1]", reducer=reducer, **options).source
    assert "#pragma joins" not in text(
        total, "float64[1]", reducer=es.Sum(accuracy="high"), **options
    ).source  # fmt: skip
    scan = {**options, "pattern": "scan", "reducer": es.Sum}  # each index needs those before it
    assert "#pragma joins" not in text(exclusive, *("float64[1]",) * 2, **scan).source


def halved_root(i, x):
    x[i] = math.sqrt(x[i]) + x[i]


def test_each_result_of_float16_is_rounded():
    source = text(halved_root, "float16[1]", dialect=CUDA).source
    assert "x[i] = (_half)((_half)sqrt(x[i]) + x[i]);" in source
    source = text(halved_root, "float16[1]", dialect=OPENCL).source
    root = "_es_half_nearest(sqrt(_es_half_value(x[i])))"
    assert f"x[i] = _es_half_nearest((_es_half_value({root}) + _es_half_value(x[i])));" in source


def moved(i, x, y):
    y[i] = math.copysign(-x[i], y[i])


def test_float16_that_is_only_moved_is_not_converted_in_opencl():
    line = next(s for s in text(moved, *["float16[1]"] * 2).source.split("\n") if "y[i] =" in s)
    assert "half" not in line and "^ 0x8000" in line  # so a NaN keeps its sign
