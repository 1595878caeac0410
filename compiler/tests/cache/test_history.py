"""Notes on why kernels were compiled: reasons, and a file that stays small and may be damaged."""

from __future__ import annotations

import errno
import json
import os

import pytest

import execspace as es
from execspace import Kernel, LaunchSpec
from execspace.base import files
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace_compiler.cache import disk as cache
from execspace_compiler.cache.history import describe_entry, misses, record_miss

WIDTH = 4
TOOLS = {"compiler": "1.0", "options": "-O3"}


def scaled(i, a):
    return a * i * WIDTH


def launch(
    fn=scaled, pattern="reduce", policy=None, arguments=(float,), reducer=es.Sum, **options
):  # fmt: skip
    """Kernel and spec of a launch."""
    kernel = Kernel(fn, **options)
    kernel.scan(kernel.scope)
    spec = LaunchSpec(
        pattern,
        policy or policy_spec("range", 1),
        tuple(SCALAR_TYPES[a] for a in arguments),
        captures=kernel.capture_list(kernel.scope, 1),
        reducer=reducer(),
    )
    return kernel, spec


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    return cache.folder("host")


@pytest.fixture
def reason(folder):
    """``reason(key, tools=..., **launch)``: why such a launch was compiled, after one as usual."""
    record_miss(folder, "usual", *launch(), TOOLS)

    def noted(key="another", tools=TOOLS, **options):
        kernel, spec = launch(**options)
        record_miss(folder, key, kernel, spec, tools)
        found, sentence = describe_entry(folder, key, kernel, "")
        assert found == key
        return sentence.removeprefix("miss: ")

    return noted


def test_reasons(reason, monkeypatch):
    assert reason("usual") == "its entry was deleted, or could not be read"
    assert reason().startswith("another text of the same launch: ")
    changed = "space, compiler, flags or device changed: "
    assert reason(tools={**TOOLS, "options": "-O2"}) == (
        f"{changed}'options' changed from -O3 to -O2"
    )
    assert reason(arguments=(int,)) == (
        "type of argument 0 changed from weak float64 to weak int64"
    )
    assert reason(arguments=(float, int)) == "other arguments: (weak float64, weak int64)"
    assert reason(pattern="scan") == "launched by parallel_scan, before by parallel_reduce"
    assert reason(policy=policy_spec("mdrange", 1, "left")) == (
        "policy: 'kind' changed from 'range' to 'mdrange'; "
        "policy: 'iterate' changed from 'auto' to 'left'"
    )
    assert reason(fma=False) == "option 'fma' changed from True to False"
    assert reason(reducer=es.Max) == f"reducer changed from {es.Sum()!r} to {es.Max()!r}"
    monkeypatch.setitem(globals(), "WIDTH", 8)
    assert reason() == "constant 'WIDTH' changed from 4 to 8"


def test_the_nearest_of_earlier_launches_tells_the_reason(reason, monkeypatch):
    reason("first", arguments=(int,))
    monkeypatch.setitem(globals(), "WIDTH", 8)
    assert reason("second", arguments=(int,)) == "constant 'WIDTH' changed from 4 to 8"


def test_hits_tell_of_the_last_miss(folder):
    kernel, spec = launch()
    record_miss(folder, "usual", kernel, spec, TOOLS)
    known = ("usual", "hit on disk; last miss: first time this kernel is seen")
    assert describe_entry(folder, "usual", kernel, "on disk") == known
    assert describe_entry(folder, "older", kernel, "on disk") == ("older", "hit on disk")
    assert describe_entry(folder, "older", kernel, "") == (
        "older",
        "miss: no note of the reason is left",
    )


def test_kernels_are_told_apart_by_their_names_and_lambdas_by_their_lines(folder):
    one = launch(lambda i, a: a)
    other = launch(lambda i, a: a * 2)
    for kernel, spec in (launch(), one, other):
        record_miss(folder, "key", kernel, spec, TOOLS)
    assert len(list((folder / "history").iterdir())) == 3
    assert {m.reason for m in misses(folder)} == {"first time this kernel is seen"}


def test_the_notes_of_a_kernel_stay_few(folder):
    for n in range(40):
        record_miss(folder, f"key{n}", *launch(), TOOLS)
    (path,) = (folder / "history").iterdir()
    assert [m["key"] for m in json.loads(path.read_text())] == [f"key{n}" for n in range(24, 40)]


@pytest.mark.parametrize(
    "text", ["", "{", "[3]", "{}", '[{"key": "usual"}]', "\ud800", '[{"kernel": 1, "key": 2, '
             '"reason": 3, "moment": "now", "parts": 5}]']
)  # fmt: skip
def test_notes_that_are_damaged_count_as_none_and_are_written_anew(folder, text):
    kernel, spec = launch()
    record_miss(folder, "usual", kernel, spec, TOOLS)
    (path,) = (folder / "history").iterdir()
    path.write_bytes(text.encode(errors="surrogatepass"))
    assert describe_entry(folder, "usual", kernel, "on disk") == ("usual", "hit on disk")
    record_miss(folder, "usual", kernel, spec, TOOLS)
    assert [m.reason for m in misses(folder)] == ["first time this kernel is seen"]


def test_values_are_told_in_few_words(reason, monkeypatch):
    monkeypatch.setitem(globals(), "WIDTH", "x" * 5000)
    assert len(reason()) < 300
    monkeypatch.setitem(globals(), "WIDTH", (object(), 2))
    assert "(object, 2)" in reason()


def test_a_note_that_cannot_be_written_is_left_out(folder, monkeypatch):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "new_file", full)
    kernel, spec = launch()
    record_miss(folder, "usual", kernel, spec, TOOLS)
    assert describe_entry(folder, "usual", kernel, "") == (
        "usual",
        "miss: no note of the reason is left",
    )


def test_what_lies_in_the_place_of_notes_is_moved_aside(folder):
    (folder / "history").write_text("my history")
    kernel, spec = launch()
    record_miss(folder, "usual", kernel, spec, TOOLS)
    (path,) = (folder / "history").iterdir()
    path.unlink()
    (path / "within").mkdir(parents=True)
    record_miss(folder, "usual", kernel, spec, TOOLS)
    assert [m.reason for m in misses(folder)] == ["first time this kernel is seen"]
    assert [p.read_text() for p in folder.glob("set-aside-*/history")] == ["my history"]


@pytest.mark.parametrize("depth", [700, 100_000])
def test_notes_that_are_nested_too_deep_count_as_none(folder, depth):
    kernel, spec = launch()
    record_miss(folder, "usual", kernel, spec, TOOLS)
    (path,) = (folder / "history").iterdir()
    (note,) = json.loads(path.read_text())
    deep = json.dumps([{**note, "parts": {"x": "DEEP"}}])
    path.write_text(deep.replace('"DEEP"', "[" * depth + "]" * depth))
    record_miss(folder, "other", kernel, spec, TOOLS)
    assert [m.key for m in misses(folder)][-1] == "other"
