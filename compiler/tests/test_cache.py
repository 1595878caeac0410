"""The on-disk cache: whole files only, bounded size, fingerprints that miss when they should."""

from __future__ import annotations

import math
import os
import types

import numpy as np
import pytest

import execspace as es
from execspace.argtypes import SCALAR_TYPES
from execspace.kernel import Kernel
from execspace.space import LaunchSpec, policy_spec
from execspace_compiler import cache
from execspace_compiler.fingerprint import fingerprint


def test_keys_depend_on_each_part_and_their_order():
    keys = {cache.key(*parts) for parts in (("a", "b"), ("ab",), ("b", "a"), ("a", "b", ""))}
    assert len(keys) == 4


def test_write_leaves_the_whole_file_or_none(tmp_path):
    path = tmp_path / "entry"
    cache.write(path, "text")
    with pytest.raises(UnicodeEncodeError):
        cache.write(path, "\ud800")
    assert path.read_text() == "text"
    assert os.listdir(tmp_path) == ["entry"]


def test_the_files_used_longest_ago_go_first(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_SIZE", "1")
    for age, name in enumerate(("new", "middle", "old")):
        (tmp_path / name).write_bytes(bytes(600_000))
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    cache.limit_size(tmp_path)
    assert os.listdir(tmp_path) == ["new"]


def test_folders_are_tagged_and_keep_their_tag(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("EXECSPACE_CACHE_SIZE", "1")
    (tmp_path / "other").mkdir()
    folder = cache.folder("numba")
    assert cache.is_tagged(folder) and not cache.is_tagged(tmp_path / "other")
    (folder / "large").write_bytes(bytes(2**21))
    os.utime(folder / cache.TAG, (1, 1))
    cache.limit_size(folder)
    assert os.listdir(folder) == [cache.TAG]


def test_a_folder_that_cannot_be_written_is_replaced_with_a_warning(tmp_path, monkeypatch):
    occupied = tmp_path / "file"
    occupied.write_text("not a folder")
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(occupied))
    with pytest.warns(UserWarning, match="cannot be written .* Set EXECSPACE_CACHE_DIR"):
        folder = cache.folder("numba")
    assert folder.is_dir()


def _print(fn, **options):
    kernel = Kernel(fn, **options)
    kernel.scan(kernel.scope)
    spec = LaunchSpec(
        "reduce",
        policy_spec("range", 1),
        (SCALAR_TYPES[float],),
        captures=kernel.capture_list(kernel.scope, 1),
        reducer=es.Sum(),
    )
    return fingerprint(kernel, spec)


def test_fingerprints_cover_code_options_and_captured_values():
    def make(constant, function):
        return lambda i, a: constant * function(a) + i

    same = [_print(make(2.0, math.sqrt)) for _ in range(2)]
    others = [
        _print(make(3.0, math.sqrt)),
        _print(make(2, math.sqrt)),
        _print(make(np.float32(2), math.sqrt)),
        _print(make(2.0, math.exp)),
        _print(make(2.0, np.sqrt)),
        _print(make(2.0, math.sqrt), fma=False),
        _print(lambda i, a: a),
    ]
    assert same[0] is not None
    assert same[0] == same[1]
    assert None not in others
    assert len({same[0], *others}) == 8


def test_what_cannot_be_written_down_has_no_fingerprint():
    def helper(x):
        return x

    assert _print(lambda i, a: helper(a)) is None


def test_attributes_of_objects_count():
    settings = types.SimpleNamespace(dt=0.5)
    kernel = lambda i, a: a * settings.dt  # noqa: E731
    before = _print(kernel)
    settings.dt = 0.25
    assert before is not None
    assert _print(kernel) != before
