"""Keys on disk change with execspace's own code, however it came to change."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import execspace as es
from execspace.base import config
from execspace_compiler.cache import disk as cache
from execspace_compiler.cache import own_code

NOTED = "noted.txt"

ROOT = Path(__file__).parents[3]


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of core and compiler that is taken for what was imported, long ago."""
    core, compiler = tmp_path / "site" / "execspace", tmp_path / "site" / "execspace_compiler"
    unneeded = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(es.__file__).parent, core, ignore=unneeded)
    shutil.copytree(Path(own_code.__file__).parents[1], compiler, ignore=unneeded)
    monkeypatch.setattr(es, "__file__", str(core / "__init__.py"))
    monkeypatch.setattr(own_code, "__file__", str(compiler / "cache" / "own_code.py"))
    monkeypatch.setattr(config, "STARTED", time.time() + 1000)
    monkeypatch.setattr(own_code, "_SETTLED", -1000)
    yield tmp_path / "site"
    own_code.digest.cache_clear()


def digest(folder, package=""):
    own_code.digest.cache_clear()
    return own_code.digest(folder / NOTED, package)


def test_a_copy_elsewhere_has_the_same_digest(copy, tmp_path, monkeypatch):
    first = digest(tmp_path)
    assert len(first) == 64
    shutil.copytree(copy, tmp_path / "other")
    monkeypatch.setattr(es, "__file__", str(tmp_path / "other" / "execspace" / "__init__.py"))
    assert digest(tmp_path) == first


def test_an_edit_of_any_file_that_takes_part_changes_it(copy, tmp_path):
    """Also one that keeps size and time of the file, as an archive may."""
    files = [Path(path) for path, _, _ in own_code._files("")]
    names = {p.relative_to(copy).as_posix() for p in files}
    assert {"execspace/kernels/captures.py", "execspace/reducers/base.py",
            "execspace_compiler/reductions/joins.py",
            "execspace_compiler/codegen/llvm/operations.py",
            "execspace_compiler/codegen/cfamily/hip.py",
            "execspace_compiler/codegen/cfamily/heads/hip.h",
            } <= names  # fmt: skip
    before = own_code._content(own_code._files(""))
    for path in files:
        data = path.read_bytes()
        path.write_bytes(data + b"#")
        assert own_code._content(own_code._files("")) != before, path
        path.write_bytes(data)
    assert own_code._content(own_code._files("")) == before == digest(tmp_path)


def test_an_edit_that_keeps_size_and_time_stamp_changes_it(copy, tmp_path):
    path = copy / "execspace_compiler" / "reductions" / "joins.py"
    before, status = digest(tmp_path), path.stat()
    text = path.read_text()
    path.write_text(text.replace("Numbers joined", "numbers joined"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert digest(tmp_path) != before


def test_new_renamed_and_deleted_files_change_it(copy, tmp_path):
    folder = copy / "execspace_compiler"
    found = [digest(tmp_path)]
    (folder / "more.py").write_text("")
    found.append(digest(tmp_path))
    (folder / "more.py").rename(folder / "other.py")
    found.append(digest(tmp_path))
    (folder / "host" / "wide.py").unlink()
    found.append(digest(tmp_path))
    assert len(set(found)) == 4


def test_a_backend_s_package_counts(copy, tmp_path):
    assert digest(tmp_path, "execspace_serial") != digest(tmp_path)


def test_the_text_is_read_once_for_a_state_of_the_files(copy, tmp_path, monkeypatch):
    """A later process asks the system for its notes of the files only."""
    first = digest(tmp_path)
    monkeypatch.setattr(own_code, "_content", lambda files: pytest.fail("read again"))
    assert digest(tmp_path) == first
    (tmp_path / NOTED).write_bytes(b"\xff damaged")
    monkeypatch.undo()


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"one two", b"a" * 64])
def test_a_damaged_note_is_as_good_as_none(copy, tmp_path, damage):
    first = digest(tmp_path)
    (tmp_path / NOTED).write_bytes(damage)
    assert digest(tmp_path) == first


def test_code_that_changed_since_the_import_shares_nothing(copy, tmp_path, monkeypatch):
    """What runs may be the old text, and the file the new one."""
    monkeypatch.setattr(config, "STARTED", time.time() - 10)
    (copy / "execspace_compiler" / "reductions" / "joins.py").touch()
    found = {digest(tmp_path) for _ in range(3)}
    assert len(found) == 3 and all(d.startswith("changed-") for d in found)
    assert not (tmp_path / NOTED).exists()


def test_a_launch_after_an_edit_finds_nothing_in_the_cache(tmp_path, monkeypatch):
    pytest.importorskip("execspace_serial")
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))

    def names():
        found = es.explain(es.RangePolicy(3, space="serial"), lambda i, x: None, np.zeros(3))
        return found.cache_key, {p.name for p in tmp_path.rglob("*.launch")}

    first, notes = names()
    assert names() == (first, notes) and len(notes) == 1
    monkeypatch.setattr(own_code, "digest", lambda *a: "edited")
    second, more = names()
    assert second != first and len(more) == 2


def test_launches_of_a_process_look_once(tmp_path, monkeypatch):
    pytest.importorskip("execspace_serial")
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    looked, own = [], own_code._files
    monkeypatch.setattr(own_code, "_files", lambda package: looked.append(package) or own(package))
    own_code.digest.cache_clear()
    for kernel in (lambda i, x: None, lambda i, x: None):
        for _ in range(2):
            es.parallel_for(es.RangePolicy(3, space="serial"), kernel, np.zeros(3))
    assert "execspace_serial" in looked and len(looked) == len(set(looked))
    own_code.digest.cache_clear()


def test_every_backend_names_its_entries_by_this_key():
    """`cache.key` alone adds the digest; entries of backends are made by `compiled` alone."""
    made = {}
    for folder in ("compiler/src", "gpu/src", "plugins", "examples", "templates"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".jinja") and "tests" not in path.parts:
                text = path.read_text(encoding="utf-8")
                if "cache.folder(" in text or "disk.folder(" in text:
                    made[path.name] = re.search(r"\b(cache|disk)\.key\b", text) is not None
    keyed = {"loading.py", "jit.py"}
    assert {name for name, found in made.items() if found} == keyed
    assert set(made) - keyed <= {"command.py", "pool.py", "arrays.py"}  # all text
    assert cache.key("a") == cache.digest("a", cache.code()) != cache.digest("a")
    assert cache.key("a", package="execspace") != cache.key("a")
