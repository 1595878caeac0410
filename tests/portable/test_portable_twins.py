"""Programs that only a host runs right are refused under EXECSPACE_CHECK=portable, as by a device.

All pairs of a folder of small programs run in one process for each space and setting.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import execspace as es

HERE = Path(__file__).parent


@pytest.fixture
def pairs(monkeypatch):
    """The classes of the pairs, by name."""
    with monkeypatch.context() as patch:
        patch.syspath_prepend(HERE)
        import run_twins

        yield run_twins.PAIRS
    for name in ("run_twins", "twins", "arrays", "fences", "host_access", "places"):
        sys.modules.pop(name, None)


def ran(tmp_path, space, *options, **settings):
    """What became of all pairs in a process of their own."""
    others = {
        f"EXECSPACE_{name}" for name in ("CHECK", "OPENCL_MEMORY", "PLUGINS", "TOOLS", "TUNE")
    }
    environment = {k: v for k, v in os.environ.items() if k not in others}
    environment |= {f"EXECSPACE_{name}": value for name, value in settings.items()}
    told = tmp_path / "outcomes.json"
    command = [sys.executable, str(HERE / "run_twins.py"), str(told), *options]
    done = subprocess.run(
        command, env={**environment, "EXECSPACE_DEFAULT": space}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(told.read_text(encoding="utf-8"))
    assert found["left"] == []
    return found["pairs"]


def answer(value):
    return {"answer": repr(value)}


def expected(pair, space, oracle):
    """What the unportable form of a pair comes to where memory is apart."""
    if pair.raises is None:
        return answer(pair.wrong)
    error, text = pair.raises
    for name, word in {"space": space, "memory": space, "oracle": oracle}.items():
        text = text.replace(f"{{{name}}}", word)
    return {"raised": error.__name__, "says": text}


def told_by(pairs, space, oracle, races=True):
    return {
        name: {"portable": answer(pair.answer)}
        | ({"unportable": expected(pair, space, oracle)} if races or not pair.races else {})
        for name, pair in pairs.items()
    }


def test_there_are_pairs_of_every_kind(pairs):
    counts = {}
    for pair in pairs.values():
        assert pair.__module__ == "twins" or pair.portable is not pair.unportable
        counts[pair.__module__] = counts.get(pair.__module__, 0) + 1
    assert min(counts.values()) >= 7
    assert sum(counts.values()) >= 40


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_on_a_laptop_both_forms_are_right(tmp_path, pairs, name):
    """That is why nobody notices."""
    found = ran(tmp_path, name)
    both = {name: dict.fromkeys(("portable", "unportable"), p.answer) for name, p in pairs.items()}
    assert found == {n: {k: answer(v) for k, v in forms.items()} for n, forms in both.items()}


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_under_the_check_a_laptop_tells_what_a_device_would(tmp_path, pairs, name):
    assert ran(tmp_path, name, CHECK="portable") == told_by(pairs, name, "oracle")


def usable_opencl():
    row = next((s for s in es.spaces() if s.name == "opencl"), None)
    if row is None or not row.usable:
        pytest.skip(row.reason if row else "the plugin of opencl is not installed")


def test_a_device_tells_the_same_in_the_same_words(tmp_path, pairs):
    """OpenCL on a processor, mapped as on a GPU; what races there is not run."""
    usable_opencl()
    found = ran(tmp_path, "opencl", "--not-races", OPENCL_MEMORY="device", OPENCL_MAPPING="flat")
    assert found == told_by(pairs, "opencl", "host", races=False)


def test_under_the_check_opencl_on_a_processor_is_a_device(tmp_path, pairs):
    """Missing fences are told of on devices, too."""
    usable_opencl()
    assert ran(tmp_path, "opencl", CHECK="portable") == told_by(pairs, "opencl", "oracle")
