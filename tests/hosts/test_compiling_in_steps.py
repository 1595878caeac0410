"""Compilation in two steps: the first reads the program, the second may come later, in a thread."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import execspace as es
from execspace.launch.prepare import planned
from execspace_compiler.cache import disk
from execspace_compiler.cache.history import misses

SPACES = ("serial", "openmp")
FACTOR = 1.0


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "cache"))


def scaled(i, x):
    x[i] = FACTOR * i


def asked(space, kernel, *args):
    """What a space is asked to compile for a launch: a kernel and its specification."""
    found = planned(es.RangePolicy(4, space=space), kernel, args, "for", None)
    return found.kernel, found.spec


@pytest.mark.parametrize("name", SPACES)
def test_the_first_step_reads_the_program_and_the_second_runs_anywhere(name, monkeypatch):
    x = es.View(4, space=name)
    begun = []
    for value in (2.0, 3.0, 5.0):
        monkeypatch.setitem(globals(), "FACTOR", value)
        begun.append((value, es.space(name).begin_compile(*asked(name, scaled, x))))
    monkeypatch.setitem(globals(), "FACTOR", 7.0)
    with ThreadPoolExecutor(3) as threads:
        plans = [(value, threads.submit(finish)) for value, finish in begun]
    for value, plan in plans:
        plan.result().launch((0, 4), (x,))
        np.testing.assert_array_equal(x, value * np.arange(4))


@pytest.mark.parametrize("name", SPACES)
def test_faults_of_a_kernel_belong_to_the_first_step(name):
    _, spec = asked(name, scaled, es.View(4, space=name))

    def faulty(i, x):
        x[i] = "text"

    with pytest.raises(es.KernelTypeError, match="faulty"):
        es.space(name).begin_compile(es.kernel(faulty), spec)


def test_threads_that_finish_the_same_launch_compile_it_once(monkeypatch):
    from execspace_compiler.host import building

    compiled = []
    inner = building.object_code
    monkeypatch.setattr(
        building, "object_code", lambda *given: compiled.append(given) or inner(*given)
    )
    monkeypatch.setitem(globals(), "FACTOR", 11.0)
    given = asked("serial", scaled, es.View(4, space="serial"))
    for file, _ in disk.files(disk.folder("host")):  # as if nothing were compiled
        file.unlink()
    compiled.clear()
    space = es.space("serial")
    steps = [space.begin_compile(*given) for _ in range(4)]  # before any of them is kept
    with ThreadPoolExecutor(4) as threads:
        plans = list(threads.map(lambda finish: finish(), steps))
    assert len(compiled) == 1
    assert sorted(plan.from_disk for plan in plans) == [False, True, True, True]
    assert len(list(misses(disk.folder("host")))) == 1
