"""PoCL's files in execspace's folder: what was damaged is gone before PoCL is loaded."""

from __future__ import annotations

import atexit
import errno
import os

import pytest

from execspace_opencl.drivers import pocl_cache

ONE, TWO = "JE/BBGAKMPDGEGKGDGIFMPMPKFBCBONCOJJLDNBI", "FG/EPFCEPPGGLMCOMGIEPFFCLAPJIPKLHGIJHDCD"
FILES = ("program.bc", "es_for/1-1-1-goffs0-smallgrid/es_for.so", "last_accessed")


@pytest.fixture
def folder(tmp_path):
    """Two programs of PoCL, of which notes are taken."""
    place = tmp_path / "pocl"
    pocl_cache.throw_damaged_away(_made(place))  # nobody has noted anything: it is emptied
    for program in (ONE, TWO):
        for name in FILES:
            path = place / program / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(1000))
    pocl_cache.note_programs(place)
    return place


def _made(folder):
    (folder / "tempfile_abcdef").parent.mkdir(exist_ok=True)
    (folder / "tempfile_abcdef").write_bytes(b"")
    return folder


def programs(folder):
    return {p for p in (ONE, TWO) if (folder / p).is_dir()}


def test_what_is_whole_stays(folder):
    pocl_cache.throw_damaged_away(folder)
    assert programs(folder) == {ONE, TWO}


def _as_folder(path):
    path.unlink()
    (path / "x").mkdir(parents=True)


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:500]),
    "a bit": lambda path: path.write_bytes(b"\x00\x01" + path.read_bytes()[2:]),
    "noise": lambda path: path.write_bytes(os.urandom(1000)),
    "a folder": _as_folder,
    "a link": lambda path: (path.unlink(), path.symlink_to("nothing")),
    "gone": lambda path: path.unlink(),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link to what has no end": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FILES[:2])
def test_a_program_with_a_damaged_file_is_thrown_away_and_no_other(folder, name, damage):
    DAMAGE[damage](folder / ONE / name)
    pocl_cache.throw_damaged_away(folder)
    assert programs(folder) == {TWO}
    pocl_cache.note_programs(folder)
    pocl_cache.throw_damaged_away(folder)
    assert programs(folder) == {TWO}


@pytest.mark.parametrize("damage", ["a link", "a pipe", "a link to what has no end"])
@pytest.mark.parametrize("name", ["last_accessed", "another"])
def test_what_pocl_would_wait_for_is_gone_though_nothing_was_noted_of_it(folder, name, damage):
    path = folder / ONE / name
    path.write_bytes(b"")
    DAMAGE[damage](path)
    pocl_cache.throw_damaged_away(folder)
    assert not os.path.lexists(path)
    assert programs(folder) == {ONE, TWO}


@pytest.mark.parametrize("damage", ["a link", "a pipe", "a link to what has no end"])
def test_notes_that_are_no_file_are_none(folder, damage):
    DAMAGE[damage](folder / "execspace.json")
    pocl_cache.throw_damaged_away(folder)
    assert programs(folder) == set()
    assert (folder / "execspace.json").is_file()


@pytest.mark.parametrize("text", [None, "", "{}", "0\n{}", b"\xff"])
def test_without_notes_that_are_whole_all_programs_are_thrown_away(folder, text):
    path = folder / "execspace.json"
    path.unlink()
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    pocl_cache.throw_damaged_away(folder)
    assert os.listdir(folder) == ["execspace.json"]


def test_a_file_in_the_place_of_programs_is_thrown_away(folder):
    for place in (folder / "JE", folder / TWO):
        place.rename(folder.parent / place.name)
        place.write_text("no folder")
    pocl_cache.throw_damaged_away(folder)
    assert not (folder / "JE").exists() and not (folder / TWO).exists()


def test_what_another_process_has_just_made_stays(folder):
    (folder / ONE / "es_for" / "new.so").write_bytes(b"new")
    other = folder / "AA" / ONE.removeprefix("JE/")
    other.mkdir(parents=True)
    (other / "program.bc").write_bytes(b"new")
    pocl_cache.throw_damaged_away(folder)
    assert programs(folder) == {ONE, TWO} and (other / "program.bc").exists()


def test_copies_with_other_times_are_as_good(folder):
    for path in folder.rglob("*.so"):
        os.utime(path, (1, 1))
    pocl_cache.throw_damaged_away(folder)
    assert programs(folder) == {ONE, TWO}


@pytest.fixture
def named(tmp_path, monkeypatch):
    """``named()``: the folder that PoCL is told of for a cache in tmp_path, or None."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    monkeypatch.setattr(atexit, "register", lambda *given, **options: None)

    def name():
        pocl_cache.name_cache()
        return os.environ.pop("POCL_CACHE_DIR", None)

    return name


def test_pocl_is_told_of_the_folder_that_the_user_chose(named, tmp_path, folder):
    assert named() == str(tmp_path / "pocl")
    assert programs(folder) == {ONE, TWO}


def test_pocl_is_not_told_of_a_folder_with_other_files(named, tmp_path):
    (tmp_path / "pocl").mkdir()
    (tmp_path / "pocl" / "CMakeLists.txt").write_text("project(pocl)")
    assert named() is None
    assert os.listdir(tmp_path / "pocl") == ["CMakeLists.txt"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no modes of this kind")
@pytest.mark.parametrize("place", [".", "pocl"])
def test_pocl_is_not_told_of_a_folder_that_others_may_write(named, tmp_path, place):
    (tmp_path / "pocl").mkdir()
    (tmp_path / place).chmod(0o777)
    assert named() is None


def test_without_room_pocl_gets_a_temporary_folder(named, tmp_path, monkeypatch):
    real = pocl_cache._take_room

    def full(folder):
        if folder == tmp_path / "pocl":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(folder)

    monkeypatch.setattr(pocl_cache, "_take_room", full)
    with pytest.warns(UserWarning, match="PoCL compiles cannot be kept in .*No space left.*Make r"):
        chosen = named()
    assert "execspace-pocl-" in chosen
    os.rmdir(chosen)
