"""The benchmark of graphs: it runs, it compares results, and sees those that are wrong."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import execspace as es

ROOT = Path(__file__).parents[2]


@pytest.fixture
def modules(monkeypatch):
    """``modules(name)`` imports a module of `benchmarks.graphs`."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.graphs.{name}")


def test_quick_run_writes_a_record(tmp_path):
    file = tmp_path / "graphs.json"
    command = [sys.executable, "-m", "benchmarks.graphs.run", "--quick", "--space", "serial"]
    done = subprocess.run(
        [*command, "--rounds", "2", "--json", str(file)],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(file.read_text())["results"]["serial"]
    assert list(found) == ["stream, 16384 doubles", "solver, 8^3 points", "overlap"]
    chain, solver, overlap = (one["contestants"] for one in found.values())
    own = ["launches", "bound", "graph", "graph, fused"]
    assert list(chain) == ["triad", *own, "fused, b temporary"]
    for name, one in chain.items():
        assert 0 < one["least_ms"] <= one["ms"]
        assert one["bytes"] == 16384 * (24 if name in ("triad", "fused, b temporary") else 32)
        assert one["GB/s"] == pytest.approx(one["bytes"] / one["ms"] / 1e6)
        assert one["speed_over_triad"] > 0
    assert "1 launches" in chain["graph, fused"]["explained"]
    assert list(solver)[:4] == own
    assert "5 launches" in solver["graph, fused"]["explained"]
    for name in own:
        assert solver[name]["same_to_the_bit"] and solver[name]["residual"] < 0.1
    for name in ("NumPy", "Numba: loops by hand"):
        one = solver[name]
        assert one["peer"] and ("not_there" in one or one["difference"] < 1e-12), one
    assert all("no instances" in one["not_there"] for one in overlap.values())


def test_senseless_options_are_refused(modules, capsys, tmp_path):
    senseless = {
        "--only": "streams", "--size": "0", "--grid": "1", "--rounds": "0", "--iterations": "0",
        "--json": str(tmp_path / "no" / "a"),
    }  # fmt: skip
    for option, value in senseless.items():
        with pytest.raises(SystemExit) as caught:
            modules("run").options_of([option, value])
        assert caught.value.code == 2
        assert value in capsys.readouterr().err


def test_one_wrong_element_of_the_chain_is_seen(modules):
    stream = modules("stream")
    chain = stream._Chain(es.space("serial"), 100)
    chain.check(chain.run)

    def wrong():
        chain.run()
        chain.c[99] = np.nextafter(chain.c[99], 9.0)

    with pytest.raises(AssertionError, match="c differs"):
        chain.check(wrong)


def test_solver_solves(modules):
    """It finds what NumPy finds by the matrix, which is that of the Laplacian."""
    solver = modules("solver")
    made = solver._Solver(es.space("serial"), 5, 60)
    dense = np.stack(
        [solver.apply(e.reshape(5, 5, 5), np.empty((5, 5, 5))).ravel() for e in np.eye(125)]
    )
    assert np.array_equal(dense, dense.T) and np.trace(dense) == 6 * 125
    right = np.linalg.solve(dense, made.b.ravel()).reshape(5, 5, 5)
    assert made.launches().check()["residual"] < 1e-12
    np.testing.assert_allclose(made.right, right, rtol=1e-10, atol=1e-12)
    with pytest.raises(AssertionError, match="differs from that of launches by"):
        made.compare(right * (1 + 1e-9))


def test_turns_and_who_fails(modules):
    """Who fails does not keep the others from being timed."""
    turns = importlib.import_module("benchmarks.common.turns")
    absent = importlib.import_module("benchmarks.common.optional")

    def contestant(name, check):
        return lambda: turns.Contestant(name, lambda: None, lambda: None, check)

    def wrong():
        raise AssertionError("wrong")

    def gone():
        raise absent.NotThere("abacus: not installed")

    makers = {"a": contestant("a", dict), "b": contestant("b", wrong), "c": gone}
    found = turns.take_turns(makers, 3, peers=["c"])
    assert len(found["a"]["turns_ms"]) == 3
    assert found["b"] == {"peer": False, "error": "AssertionError: wrong"}
    assert found["c"] == {"peer": True, "not_there": "abacus: not installed"}
    order = []
    timed = {
        name: lambda name=name: turns.Contestant(
            name, lambda: order.append(name), lambda: None, dict
        )
        for name in "xyz"
    }
    turns.take_turns(timed, 2, calls=1, peers=["x", "z"], apart=True)
    assert order == list("yyxxzz")
    order.clear()
    turns.take_turns(timed, 2, calls=1, peers=["x", "z"])
    assert order == list("xyzxyz")
    assert turns.over(found, "a", "b") is None and turns.peers_of(found) == []
    run = modules("run")
    failures = run._failures({"serial": {"case": {"contestants": found}}})
    assert failures == [("serial, case, b", "AssertionError: wrong", False)]


def test_two_kernels_on_two_instances(modules):
    """Where a space has instances, both kernels run, and have the right results."""
    if not next(row.usable for row in es.spaces() if row.name == "opencl"):
        pytest.skip("opencl cannot be used here")
    overlap = modules("overlap")
    found = overlap.measure(es.space("opencl"), 2)["contestants"]
    assert found[overlap.TWO]["over_one_after_the_other"] > 0
