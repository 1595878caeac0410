"""Kernels in lanes as C with GCC's vector extensions.

That they compute the right thing the conformance kit sees, on the space of examples/backend_c. To
accept a change of the generated source, run with UPDATE_GOLDEN=1 and read the diff.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import execspace as es
from execspace import Kernel, LaunchSpec, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace.reducers.base import as_reducer
from execspace_compiler.backend import C, Traits, lower_kernel
from execspace_compiler.launch.device_lanes import device_choices
from execspace_compiler.launch.sources import Sources

GOLDEN = Path(__file__).parents[1] / "golden"
AVX2 = frozenset(["avx2"])


def view(dtype="float64", rank=1):
    return ViewType(dtype, rank, "right", rank - 1, False, "host")


def lowered(kernel, *types, kind="range", rank=1, lanes=0, reducer=None):
    given = None if reducer is None else as_reducer(reducer)
    pattern = "for" if reducer is None else "reduce"
    spec = LaunchSpec(pattern, policy_spec(kind, rank, lanes=lanes), types, reducer=given)
    return lower_kernel(kernel if isinstance(kernel, Kernel) else Kernel(kernel), spec)


def choice(*args, features=AVX2, **options):
    (found,) = device_choices(lowered(*args, **options), options.get("rank", 1) - 1, features)
    return found


def source(*args, features=AVX2, **options):
    traits = Traits("a host", C, flat=False, vectors=features)
    sources = Sources(es.space("serial"), traits, lowered(*args, **options))
    return sources.code(sources.usual).source


def halved(i, x, steps, limit):
    n = 0
    v = x[i]
    while v > limit:
        v *= 0.5
        n += 1
    steps[i] = n


TYPES = view(), view("int64"), SCALAR_TYPES[float]


def test_the_text_of_a_loop_that_lanes_leave_one_by_one():
    text = source(halved, *TYPES, lanes=4)
    text = text[
        text.index("static inline void _halved__lanes") : text.index("typedef struct { long")
    ]
    path = GOLDEN / "halved.avx2.c.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "it changed; see the docstring above"


def orbit(i, x, steps, limit):
    a, b, n = 0.0, 0.0, 0
    while a * a + b * b < limit and n < 1000:
        a, b = a * a - b * b + x[i], 2.0 * a * b + 0.5
        n += 1
    steps[i] = n


@pytest.mark.parametrize(
    ("features", "lanes"), [(("avx2",), 4), (("avx2", "avx512f", "avx512vl"), 8)]
)
def test_vectors_are_as_wide_as_registers(features, lanes):
    found = choice(orbit, *TYPES, features=frozenset(features))
    assert found.form.lanes == lanes
    assert "two vectors" not in found.why
    assert choice(orbit, *TYPES, features=frozenset(features), lanes=16).form.lanes == 16


def single(i, x, steps, limit):
    v = x[i]
    while v > limit:
        v *= x[i]
    x[i] = v


def test_masks_are_as_wide_as_the_numbers():
    narrow = source(single, view("float32"), view("int64"), SCALAR_TYPES[float], lanes=8)
    assert "typedef int _v8_mask __attribute__((vector_size(32)));" in narrow
    assert "typedef long _v4_mask __attribute__((vector_size(32)));" in source(
        halved, *TYPES, lanes=4
    )


def total(i, x):
    return x[i]


def leagues(team, x):
    x[team.league_rank] = 1.0


def test_what_does_not_run_in_lanes_says_why():
    why = choice(total, view(), reducer=es.Sum).why
    assert why == "calls of a parallel_reduce run one by one here"
    assert choice(leagues, view(), kind="team").why == "teams run call by call here"
    half = choice(halved, view("float16"), view("int64"), SCALAR_TYPES[float])
    assert half.why == "float16 has no vectors here"
    assert choice(halved, *TYPES, lanes=1).why == "one lane is asked for"


def test_without_features_kernels_are_what_they_were():
    assert "vector_size" not in source(halved, *TYPES, features=None)


@pytest.mark.parametrize("compiler", ["cc", "clang", "clang-19"])
@pytest.mark.parametrize("march", ["x86-64", "haswell", "skylake-avx512"])
def test_compilers_take_it(compiler, march, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    made = tmp_path / "kernel.o"
    options = ["-std=c11", "-O1", "-w", f"-march={march}", "-x", "c", "-", "-c", "-o", str(made)]
    for lanes in (2, 4, 8, 16):
        text = source(halved, *TYPES, lanes=lanes)
        done = subprocess.run(
            [compiler, *options], input=text, text=True, capture_output=True, check=False
        )
        assert not done.returncode, done.stderr
