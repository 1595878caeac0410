"""What a program loads before its first launch: it takes most of the time until then."""

import hashlib
import json
import random
from textwrap import dedent

import pytest

from execspace_compiler.cache.sha256 import sha256

PROGRAM = """
    import json, sys
    import execspace as es

    @es.kernel
    def ones(i, x):
        x[i] += 1.0

    x = es.zeros(3)
    es.parallel_for(3, ones, x)
    total = es.parallel_reduce(3, lambda i, x: x[i], x)
    names = [name for name in sys.modules if not name.startswith("numpy")]
    print(json.dumps([total, names]))
"""
# Of which no launch from the cache needs anything.
UNNEEDED = {
    "difflib",
    "execspace.launch.nested",
    "execspace.reducers.python_joins",
    "execspace_compiler.cache.history",
    "execspace_compiler.cache.loading",
    "execspace_compiler.host.building",
    "execspace_compiler.ir",
    "execspace_compiler.typing",
    "hashlib",
    "importlib.metadata",
}


@pytest.mark.parametrize("host", ["serial", "openmp"])
def test_a_launch_from_the_cache_loads_little(python, tmp_path, host):
    folders = {f"EXECSPACE_{n}_DIR": str(tmp_path / n) for n in ("CACHE", "TUNING")}
    settings = {"EXECSPACE_DEFAULT": host, **folders}
    compiling, loading = (json.loads(python(PROGRAM, **settings)) for _ in range(2))
    assert compiling[0] == loading[0] == 3.0
    assert "execspace_compiler.host.building" in compiling[1]
    assert not UNNEEDED & {*loading[1]}


def test_a_first_launch_reads_entry_points_without_the_library(python):
    _, names = json.loads(python(PROGRAM, EXECSPACE_DEFAULT="serial"))
    assert "execspace.plugins.entry_points" in names and "importlib.metadata" not in names


@pytest.mark.parametrize("size", [0, 1, 63, 64, 1000, 100_000])
def test_seals_and_keys_are_sha256(size):
    data = random.Random(size).randbytes(size)
    assert sha256(data).hexdigest() == hashlib.sha256(data).hexdigest()


SHIFTED = """
    import os, threading
    import execspace as es

    if os.environ["HOW"] == "alone":
        def refuse(thread):
            raise RuntimeError("can't start new thread")
        threading.Thread.start = refuse

    def doubled(i, x):
        x[i] *= 2.0

    def shifted(i, x):
        x[i] += 3.0

    x = es.ones(5)
    if os.environ["HOW"] == "second":
        es.parallel_for(5, doubled, x)
        es.parallel_for(5, lambda i, x: es.atomic_mul(x, i, 0.5), x)
    es.parallel_for(5, shifted, x)
    assert x.to_numpy().tolist() == [4.0] * 5
    print(len(threading.enumerate()))
"""


@pytest.mark.parametrize("host", ["serial", "openmp"])
def test_an_entry_has_one_name_whatever_else_is_in_the_cache(python, tmp_path, host):
    """In an empty folder the code of execspace, which is part of names, is read by a thread beside
    LLVM; elsewhere before, to look the entry up; and where no thread can be started, after it."""
    kept = {}
    for how in ("first", "second", "alone"):
        settings = {"EXECSPACE_DEFAULT": host, "EXECSPACE_CACHE_DIR": str(tmp_path / how)}
        assert python(SHIFTED, HOW=how, **settings).split() == ["1"]
        kept[how] = {path.name for path in (tmp_path / how / "host").iterdir() if path.is_file()}
    assert kept["first"] == kept["alone"]
    assert kept["first"] < kept["second"]


@pytest.mark.parametrize("host", ["serial", "openmp"])
def test_small_stacks_of_a_program_are_no_stacks_for_llvm(python, tmp_path, host):
    settings = {"EXECSPACE_DEFAULT": host, "EXECSPACE_CACHE_DIR": str(tmp_path / "cache")}
    program = f"import threading\nthreading.stack_size(32768)\n{dedent(PROGRAM)}"
    printed = python(f"{program}assert threading.stack_size() == 32768\n", **settings)
    assert json.loads(printed)[0] == 3.0
