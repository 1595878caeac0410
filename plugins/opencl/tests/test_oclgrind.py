"""Collective kernels under Oclgrind, a simulator that checks accesses and looks for data races.

It knows barriers, but no order between work-groups other than that of launches. Groups of a
reduction find their order by an atomic counter, so what they exchange through it is reported,
and so is the first guess of a loop of compare and exchange. All of these are volatile or atomic
accesses; a race of any other access is a defect.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(
    shutil.which("oclgrind") is None, reason="oclgrind is not installed: apt install oclgrind"
)

OPTIONS = ("--data-races", "--num-threads", "1", "--max-errors", "1000000")
# Sixteen groups of 16 work-items, so that 3000 units are two tiles of a scan for each group.
SMALL = ("--max-wgsize", "16", "--compute-units", "2")
USUAL = ("--max-wgsize", "128", "--compute-units", "2")  # parallel_for has groups of 128

SETUP = """
    import sys
    import numpy as np
    import execspace as es

    space = es.space("opencl")
    assert "Oclgrind" in str(space.found), space.found
    n = 3000
    every = es.RangePolicy(n, space=space)
    x, y = np.arange(n) % 17 / 4, np.zeros(n)
"""

COLLECTIVES = """
    def powers(i, a, x):
        for k in range(3):
            a[k] += x[i] ** k

    def exclusive(i, prefix, final, x, y):
        if final:
            y[i] = prefix
        return x[i]

    class Affine(es.Reducer):
        identity = (1.0, 0.0)

        def join(f, g):
            return f[0] * g[0], f[1] * g[0] + g[1]

    reduce = es.parallel_reduce
    assert reduce(every, lambda i, x: x[i], x) == x.sum()
    assert reduce(every, lambda i, x: x[i] * 1j, x) == x.sum() * 1j
    low = reduce(every, lambda i, x: (abs(x[i] - 4), i), x, reducer=es.MinLoc)
    assert (low.val, low.loc) == (0, 16)
    both = reduce(every, lambda i, x: (x[i], x[i]), x, reducer=(es.Sum, es.Max))
    assert tuple(both) == (x.sum(), x.max())
    assert reduce(every, lambda i, x: (-1.0, x[i]), x, reducer=Affine)[0] == 1
    found = reduce(every, powers, x, reducer=es.Sum(shape=3))
    assert np.allclose(found, [n, x.sum(), (x**2).sum()])
    tiles = es.MDRangePolicy((5, 6, 10), tile=(2, 4, 4), space=space)
    assert reduce(tiles, lambda i, j, k, x: x[i * 60 + j * 10 + k], x) == x[:300].sum()
    assert es.parallel_scan(every, exclusive, x, y) == x.sum()
    assert (y == np.cumsum(x) - x).all()
"""

ATOMICS = """
    @es.kernel
    def step(i, n, b, z, f, old):
        es.atomic_add(n, i % 3, 1)
        es.atomic_add(b, i % 4, 1)
        es.atomic_add(z, i % 2, 1j)
        es.atomic_max(f, i % 2, 1.0 * i)
        old[i] = es.atomic_fetch_add(n, 3, 1)

    few = es.RangePolicy(40, space=space)
    n, b, z = np.zeros(4, np.int32), np.zeros(4, np.int8), np.zeros(2, np.complex64)
    f, old = np.zeros(2), np.zeros(40, np.int32)
    es.parallel_for(few, step, n, b, z, f, old)
    assert n.tolist() == [14, 13, 13, 40] and b.tolist() == [10] * 4
    assert z.tolist() == [20j, 20j] and f.tolist() == [38, 39]
    assert sorted(old.tolist()) == list(range(40))
"""

RACY = """
    def shared(i, y):
        y[0] = i

    es.parallel_for(every, shared, y)
"""

# Drops one barrier after the other from the text of a reduction and of a scan. A captured number
# that is new each time has the kernel compiled anew.
BARRIERS = """
    import dataclasses
    from execspace_compiler.backend import OPENCL
    from execspace_opencl import program

    def reduction(k):
        return es.parallel_reduce(every, lambda i, x: x[i] * k, x)

    def scan(k):
        def exclusive(i, prefix, final, x, y):
            if final:
                y[i] = prefix * k
            return x[i]

        return es.parallel_scan(every, exclusive, x, y)

    def without_one(device, text):
        lines = list(text.lines)
        places[:] = [n for n, line in enumerate(lines) if OPENCL.sync.barrier in line]
        lines[places[dropped]] = lines[places[dropped]].replace(OPENCL.sync.barrier, ";")
        return build(device, dataclasses.replace(text, lines=tuple(lines)))

    build, program._built = program._built, without_one
    for run in (reduction, scan):
        places, dropped = [0], 0
        while dropped < len(places):
            print(f"MARK {run.__name__} {dropped}", file=sys.stderr, flush=True)
            run(dropped + 0.5)
            dropped += 1
"""

OUT_OF_BOUNDS = """
    def beyond(i, x, y):
        y[i] = x[i + 1]

    es.parallel_for(every, beyond, x, y)
"""


@pytest.fixture
def simulate(tmp_path):
    """``simulate(program, mapping, options)`` gives what the simulator reports, and stderr."""

    def run(program, mapping, options):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(SETUP) + textwrap.dedent(program))
        environment = {
            **os.environ,
            "EXECSPACE_OPENCL_MAPPING": mapping,
            "EXECSPACE_CACHE_DIR": str(tmp_path / "cache"),
        }
        result = subprocess.run(
            ["oclgrind", *OPTIONS, *options, sys.executable, str(path)],
            env=environment, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert result.returncode == 0, f"{result.stdout}{result.stderr}"
        found = re.split(r"\n(?=\S)", result.stderr)
        return [r for r in found if "\n\tKernel:" in r], result.stderr

    return run


_INSTRUCTION = re.compile(r"^\t  (?!\(source)(\S.*)$", re.MULTILINE)


def defects(reports):
    """Reports other than races between volatile or atomic accesses."""
    return [r for r in reports if not _explained(r)]


def _explained(report):
    if "data race at global memory" not in report:
        return False
    # Of each entity the instruction comes first, then the line of the source.
    shown = [line for line in _INSTRUCTION.findall(report) if ", !dbg" in line]
    ordered = re.compile(r"(load|store) volatile|@_Z\d+(atomic|atom)_")
    return len(shown) == 2 and all(ordered.search(line) for line in shown)


@pytest.mark.parametrize("mapping", ["flat", "chunked"])
def test_collectives_have_no_races_and_no_stray_accesses(simulate, mapping):
    reports, _ = simulate(COLLECTIVES, mapping, SMALL)
    assert reports  # of groups that exchange partial results: `defects` has something to judge
    assert defects(reports) == []


@pytest.mark.parametrize("mapping", ["flat", "chunked"])
def test_atomic_steps_have_no_races_and_no_stray_accesses(simulate, mapping):
    reports, _ = simulate(ATOMICS, mapping, USUAL)
    assert defects(reports) == []


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (RACY, "data race at global memory"),
        (OUT_OF_BOUNDS, "Invalid read of size 8 at global memory"),
    ],
    ids=["race", "out of bounds"],
)
def test_the_simulator_finds_what_is_wrong(simulate, program, what):
    reports, _ = simulate(program, "flat", USUAL)
    assert any(what in r for r in defects(reports))


def test_each_barrier_is_missed(simulate):
    """All but three, which other barriers make superfluous."""
    _, text = simulate(BARRIERS, "flat", SMALL)
    parts = re.split(r"^MARK (\w+ \d+)$", text, flags=re.MULTILINE)
    named = zip(parts[1::2], parts[2::2], strict=True)
    raced = {name: "data race at local memory" in part for name, part in named}
    assert len(raced) == 15
    superfluous = {
        "reduction 2",  # that of the counter follows before the array is written again
        "reduction 6",  # the last one of the kernel
        "scan 3",  # only the first work-item of a group asks the counter
    }
    assert {name for name, found in raced.items() if not found} == superfluous
