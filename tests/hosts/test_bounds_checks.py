"""EXECSPACE_CHECK=bounds: kernels of compiled spaces test their indices."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import execspace as es

SPACES = [s.name for s in es.spaces() if s.usable and s.name in ("serial", "openmp", "opencl")]

PROGRAM = Path(__file__).with_name("bounds_program.py")


@pytest.fixture(scope="module", params=SPACES)
def outcome(request, tmp_path_factory):
    """What each kernel of the program raised."""

    own = {
        "EXECSPACE_CHECK": "bounds",
        "EXECSPACE_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM), request.param],
        env={**os.environ, **own}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


CASES = {
    "element": "the index of dimension 0 of View 'x' is out of bounds",
    "in_a_helper": "the index of dimension 1 of View 'A' is out of bounds",
    "negative": "the index of dimension 0 of View 'x' is out of bounds",
    "private": "the index of dimension 0 of local array 'own' is out of bounds",
    "atomic": "the index of dimension 0 of View 'x' is out of bounds",
    "of_a_subview": "the index of dimension 0 of subview 'x[:]' is out of bounds",
    "pair": "a bound of a subview is out of bounds",
    "field": "out of bounds",
    "tuple_item": "the index of a tuple is out of bounds",
    "row": "the extent of what is assigned is out of bounds",
    "reduced": "the index of dimension 0 of View 'x' is out of bounds",
    "scanned": "the index of dimension 0 of View 'x' is out of bounds",
    "team": "the index of dimension 0 of View 'x' is out of bounds",
    "scratch": "out of bounds",
}


@pytest.mark.parametrize("name", CASES)
def test_raised(outcome, name):
    kind, text = outcome[name]
    assert kind == "ViewIndexError", text
    assert CASES[name] in text
    assert "bounds_program.py:" in text and "^" in text  # the place in the source


def test_what_is_within_runs(outcome):
    assert outcome["within"] == [3.0, 6.0, 9.0, 12.0, 15.0, 18.0]
