"""The programs of examples/tasks: right to the last bit, whoever schedules them, and clear if not.

Dask and Ray are optional. Ray takes longer to start than all tests here, so what with_ray.py does
is also tested with actors that live in this process.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.image import imread

import execspace as es

FOLDER = Path(__file__).parents[2] / "examples" / "tasks"
SPACES = ("serial", "openmp")
FIELD = ("--size", "24", "--steps", "12", "--rim", "5")  # two exchanges, and a shorter third one


@pytest.fixture
def program(monkeypatch):
    """Import a module of the folder for the length of a test."""
    monkeypatch.syspath_prepend(FOLDER)
    yield importlib.import_module
    for name in {path.stem for path in FOLDER.glob("*.py")}:
        sys.modules.pop(name, None)


def script(folder, name, *argv):
    """Run a program from the command line, with one worker's settings unlike the defaults."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EXECSPACE_DEFAULT")}
    done = subprocess.run(
        [sys.executable, str(FOLDER / name), *argv],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# -- the model --------------------------------------------------------------------------------


@pytest.mark.parametrize("where", SPACES)
def test_a_field_is_what_numpy_computes(program, where):
    model = program("gray_scott")
    cells = model.started(21, 34)
    with es.use_space(where):
        found = model.advance(cells, 15)
    assert np.array_equal(found, model.by_numpy(cells, 15))
    assert np.abs(found - cells).max() > 0.05


def test_a_block_with_a_rim_is_right_inside(program):
    model = program("gray_scott")
    cells = model.started(30, 30)
    found = model.advance(cells[:, 4:20, 7:25], 3)
    expected = model.by_numpy(cells, 3)[:, 4:20, 7:25]
    assert np.array_equal(found[:, 3:-3, 3:-3], expected[:, 3:-3, 3:-3])
    assert not np.array_equal(found[:, 2:-2, 2:-2], expected[:, 2:-2, 2:-2])  # it needs all three


def test_what_is_sure_to_be_in_a_start(program):
    model = program("gray_scott")
    cells = model.started(48, 48)
    assert cells.shape == (2, 48, 48)
    assert (cells[1] > 0.2).sum() >= 9 and (cells[1] < 0.02).any()
    assert list(model.rounds(12, 5)) == [5, 5, 2]
    assert list(model.rounds(10, 5)) == [5, 5]


# -- a pool of processes ----------------------------------------------------------------------


def test_a_sweep_in_a_pool(tmp_path):
    out = script(
        tmp_path, "with_pool.py", "--size", "24", "--steps", "40", "--rows", "2", "--columns", "3",
        "--space", "openmp", "--threads", "3",
    )  # fmt: skip
    assert "2 processes, each on 'openmp', concurrency 3\n" in out
    assert "6 patterns of 40 steps" in out
    height, width = imread(tmp_path / "with_pool.png").shape[:2]
    assert width > height > 300


def test_each_pattern_of_a_sweep_is_in_its_place(program):
    model, sweep = program("gray_scott"), program("with_pool").sweep

    class Pool:
        """Runs tasks at once, and is done with them in any order."""

        def submit(self, task, *args):
            done = program("concurrent.futures").Future()
            done.set_result(task(*args))
            return done

    cells, told = model.started(12, 12), []
    feeds, kills = (0.03, 0.04, 0.05), (0.058, 0.062)
    found = sweep(Pool(), cells, 8, feeds, kills, told.append)
    assert told == [1, 2, 3, 4, 5, 6]
    assert found.keys() == {(row, column) for row in range(3) for column in range(2)}
    for (row, column), pattern in found.items():
        assert np.array_equal(pattern, model.by_numpy(cells, 8, feeds[row], kills[column]))


def test_a_space_that_workers_do_not_have(program, capsys, tmp_path):
    output = tmp_path / "p.png"
    arguments = ["--space", "abacus", "--workers", "1", "--output", str(output)]
    assert program("with_pool").main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("with_pool.py: error: ") and "abacus" in err
    assert not output.exists()


# -- Dask -------------------------------------------------------------------------------------


def test_blocks_of_dask_on_worker_processes(tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed")
    out = script(
        tmp_path, "with_dask.py", *FIELD, "--blocks", "2", "--space", "openmp", "--threads", "3"
    )
    assert "2 workers: 'openmp', concurrency 3; 'openmp', concurrency 3\n" in out
    assert "12 steps of 4 blocks" in out and "10 steps are what NumPy computes" in out
    assert imread(tmp_path / "with_dask.png").shape[0] > 500


@pytest.mark.parametrize("blocks", [(8, 8), (10, 24), ((7, 9, 8), (5, 19))])
def test_blocks_of_dask_in_this_process(program, blocks):
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    array = pytest.importorskip("dask.array", reason="Dask's arrays are not installed")
    model, advanced = program("gray_scott"), program("with_dask").advanced
    cells = model.started(24, 24)
    field = array.from_array(cells, chunks=(2, *blocks))
    with dask.config.set(scheduler="sync"):
        for done, found in advanced(field, 8, 3, 0.04, 0.06):
            expected = model.by_numpy(cells, done, 0.04, 0.06)
            assert np.array_equal(found.compute(), expected)
    assert done == 8


def test_each_gpu_has_a_worker(program, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    made = []
    for module in (distributed, importlib.import_module("dask.distributed")):
        monkeypatch.setattr(module, "SpecCluster", lambda *args, **options: made.append(args))
    options = SimpleNamespace(address=None, gpus=3, threads=2, space="cuda")
    program("with_dask").cluster(options)
    ((workers, _),) = made
    environments = [worker["options"]["env"] for worker in workers.values()]
    assert [e["CUDA_VISIBLE_DEVICES"] for e in environments] == ["0", "1", "2"]
    assert {(e["EXECSPACE_DEFAULT"], e["EXECSPACE_NUM_THREADS"]) for e in environments} == {
        ("cuda", "2")
    }


# -- Ray --------------------------------------------------------------------------------------


class Remote:
    """An actor of this process: calls are made at once, and results of several are told apart."""

    def __init__(self, actor):
        self.actor = actor

    def __getattr__(self, name):
        call = getattr(self.actor, name)
        return SimpleNamespace(
            remote=call, options=lambda num_returns: SimpleNamespace(remote=call)
        )


@pytest.mark.parametrize("rows", [(24,), (12, 12), (7, 9, 8)])
def test_strips_that_exchange_edges_are_one_field(program, rows):
    model, exchanged = program("gray_scott"), program("with_ray").exchanged
    cells = model.started(24, 18)
    parts = np.split(cells, np.cumsum(rows)[:-1], axis=1)
    strips = [model.Strip(part, 5, 0.04, 0.06) for part in parts]
    for steps in model.rounds(12, 5):
        exchanged([Remote(strip) for strip in strips], steps)
    found = np.concatenate([strip.cells() for strip in strips], axis=1)
    assert np.array_equal(found, model.by_numpy(cells, 12, 0.04, 0.06))


def test_edges_need_not_be_aligned(program):
    model = program("gray_scott")
    cells = model.started(12, 12)
    strip = model.Strip(cells, 2)
    edges = []
    for edge in strip.edges()[::-1]:
        memory = bytearray(edge.nbytes + 1)
        edges.append(np.frombuffer(memory, edge.dtype, edge.size, 1).reshape(edge.shape))
        edges[-1][...] = edge
    assert not edges[0].flags.aligned
    strip.advance(2, *edges)
    assert np.array_equal(strip.cells(), model.by_numpy(cells, 2))


def test_actors_of_ray(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed; pip install ray")
    out = script(tmp_path, "with_ray.py", *FIELD, "--space", "openmp", "--threads", "3")
    assert "2 actors: 'openmp', concurrency 3; 'openmp', concurrency 3\n" in out
    assert "12 steps of 2 strips" in out and "10 steps are what NumPy computes" in out
    assert imread(tmp_path / "with_ray.png").shape[0] > 500


# -- what goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "module", "advice"),
    [
        ("with_dask", "dask", "pip install 'dask[array]' distributed"),
        ("with_ray", "ray", "pip install ray"),
    ],
)
def test_a_library_that_is_missing(program, monkeypatch, capsys, tmp_path, name, module, advice):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    assert program(name).main([]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"{name}.py: error: {module.title()} cannot be imported")
    assert err.endswith(f"; {advice}\n")


@pytest.mark.parametrize(
    ("name", "argv", "message"),
    [
        ("with_pool", ("--rows", "0"), "--rows: expected a number of at least 1, got 0"),
        ("with_pool", ("--output", "nowhere/p.png"), "its folder does not exist"),
        ("with_dask", ("--gpus", "-1"), "--gpus: expected a number of at least 0, got -1"),
        ("with_dask", ("--feed", "nan"), "--feed: expected a number of at least 0, got nan"),
        (
            "with_dask", ("--size", "20", "--blocks", "3", "--rim", "7"),
            "--rim 7: the smallest block has 6 rows; take a smaller rim, or fewer blocks",
        ),
        (
            "with_ray", ("--size", "20", "--workers", "3", "--rim", "7"),
            "--rim 7: the smallest strip has 6 rows; take a smaller rim, or fewer workers",
        ),
    ],
)  # fmt: skip
def test_senseless_options(program, capsys, name, argv, message):
    with pytest.raises(SystemExit) as caught:
        program(name).main(argv)
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(f"{message}\n")


@pytest.mark.parametrize("name", ["with_pool", "with_dask", "with_ray"])
def test_help(program, capsys, name):
    with pytest.raises(SystemExit) as caught:
        program(name).main(["--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert f"python examples/tasks/{name}.py" in out and "rows and columns" in out


def test_wrong_results_are_noticed(program, capsys):
    model, module = program("gray_scott"), program("program")
    cells = model.started(12, 12)
    found = model.advance(cells, 4)
    module.check(found, cells, 4)
    found[1, 3, 3] = np.nextafter(found[1, 3, 3], 1.0)
    assert module.run("with_x.py", lambda: module.check(found, cells, 4)) == 1
    assert "with_x.py: WRONG RESULT: after 4 steps the field is off by " in capsys.readouterr().err
    with pytest.raises(module.WrongResult, match=r"shape \(2, 12, 11\); expected \(2, 12, 12\)"):
        module.check(found[:, :, 1:], cells, 4)
