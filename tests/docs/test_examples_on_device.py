"""The examples where the default space has memory of its own; and the script that runs all of it.

`device` is the default space of a test, see conftest.py.
"""

import gc
import json
import os
import runpy
import sys

import docs_on_device
import numpy as np
import pytest
from pages import ROOT

import execspace as es


def run(monkeypatch, path, *arguments):
    """Run a program in this process, as from the command line; its exit status."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    monkeypatch.syspath_prepend(path.parent)
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as ended:
        return ended.code
    finally:
        for name in set(sys.modules) - before:
            if str(path.parent) in (getattr(sys.modules[name], "__file__", None) or ""):
                del sys.modules[name]
        gc.collect()
    return 0


ON_OPENCL = pytest.param("opencl", marks=pytest.mark.exhaustive)


@pytest.mark.parametrize("device", ["fake", ON_OPENCL], indirect=True)
@pytest.mark.parametrize(
    "name",  # what the others are made of is in the kit and in test_team_examples.py
    [
        pytest.param(
            name, marks=[] if "roofline" in name or "f1" in name else pytest.mark.exhaustive
        )
        for name in docs_on_device.SMALL
        if "hillslope" not in name
    ],
)
def test_an_example_runs_on_a_device(device, monkeypatch, capsys, tmp_path, name):
    if gone := docs_on_device.missing(name):
        pytest.skip(f"not installed: {', '.join(gone)}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for workers
    monkeypatch.chdir(tmp_path)  # for pictures
    assert run(monkeypatch, ROOT / name, *docs_on_device.SMALL[name]) in (0, None)
    out, err = capsys.readouterr()
    assert out
    assert err == ""


def test_the_demo_gives_on_a_device_what_it_gives_on_the_host(device, monkeypatch):
    names = runpy.run_path(str(ROOT / "examples" / "hillslope.py"))
    terrain = names["Terrain"](np.random.default_rng(3).uniform(0, 9, (12, 17)), 20.0, 30.0)
    model = names["Model"](terrain, 0.02, 0.4 * names["stable_step"](terrain, 0.02))
    reports = {}
    for where in (device, es.space("serial")):
        told = reports.setdefault(where.name, [])
        final, _ = names["evolve"](model, 6, where, 3, lambda *all, told=told: told.append(all))
        told.append(final)
    (*told, final), (*host_told, host_final) = reports.values()
    np.testing.assert_allclose(told, host_told, rtol=1e-13)
    np.testing.assert_allclose(final, host_final, rtol=1e-13)


def test_every_example_is_run():
    programs = (ROOT / "examples").glob("**/*.py")
    found = {p for p in programs if '__name__ == "__main__"' in p.read_text(encoding="utf-8")}
    assert {str(p.relative_to(ROOT)) for p in found} == set(docs_on_device.SMALL)


@pytest.fixture
def page(tmp_path):
    """``page(text)`` has the script run a page; its exit status and what became of the blocks."""

    def run(text):
        path, file = tmp_path / "page.md", tmp_path / "found.json"
        path.write_text(text, encoding="utf-8")
        status = docs_on_device.main(["--space", "fake", "--json", str(file), str(path)])
        return status, json.loads(file.read_text(encoding="utf-8"))["blocks"]

    return run


def test_the_script_tells_of_each_block_whether_it_passed(page, capsys):
    text = """
```python
import os, sys
import numpy as np
import execspace as es
assert es.default_space().name == "fake"
```
```python
es.View(3, label="far")[0]
```
```pycon
>>> 1 + 1
3
```
```python
print(6 * 7)
```
```text
42
```
```python
es.parallel_for(3, lambda i, x: None, np.zeros(3))
```
"""
    status, blocks = page(text)
    assert status == 1
    assert [(b["line"], b["passed"]) for b in blocks] == [
        (3, True), (9, False), (12, False), (16, True), (22, False),
    ]  # fmt: skip
    assert "SpaceAccessError: View 'far'" in blocks[1]["error"]
    assert "    - 3\n    + 2\n" in blocks[2]["error"]
    out = capsys.readouterr().out
    assert "page.md: 2 of 5 blocks passed" in out
    assert "FAILED page.md:9\n" in out
    assert "space 'fake': 2 blocks passed, 3 failed" in out


def test_the_script_tells_of_a_page_whose_process_ends(page):
    status, blocks = page("```python\nx = 1\n```\n\n```python\nimport os\nos._exit(3)\n```\n")
    assert status == 1
    assert [(b["line"], b["passed"]) for b in blocks] == [(2, True), (0, False)]
    assert blocks[1]["error"].startswith("exit status 3")


def test_the_script_passes_what_passes(page):
    status, blocks = page("```python\nimport execspace as es\n\nx = es.View(3)\n```\n")
    assert (status, [b["passed"] for b in blocks]) == (0, [True])
