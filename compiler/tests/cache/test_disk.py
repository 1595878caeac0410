"""The on-disk cache: whole files only, bounded size, fingerprints that miss when they should."""

from __future__ import annotations

import errno
import math
import os
import tempfile
import types

import numpy as np
import pytest

import execspace as es
from execspace.base import files
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import LaunchSpec, policy_spec
from execspace.kernels.kernel import Kernel
from execspace_compiler.cache import disk as cache
from execspace_compiler.cache.fingerprint import fingerprint


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


def test_what_a_later_process_finds(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "cache"))
    path = cache.folder("host") / name(1)
    assert not cache.is_kept(path)
    cache.keep(path, "code")
    assert cache.is_kept(path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "file"))  # where no folder can be
    with pytest.warns(UserWarning, match="lost when the process ends"):
        path = cache.folder("host") / name(2)
    cache.keep(path, "code")
    assert cache.read_text(path) == "code" and not cache.is_kept(path)


def name(number, suffix=".bin"):
    """Name of an entry."""
    return cache.key(str(number)) + suffix


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The folder of the cache, not there yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(path))
    return path


def test_the_entries_used_longest_ago_go_first(root, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_SIZE", "1")
    folder = cache.folder("host")
    for age in range(3):
        (folder / name(age)).write_bytes(bytes(600_000))
        os.utime(folder / name(age), (1e9 - age, 1e9 - age))
    cache.limit_size(folder)
    assert sorted(os.listdir(folder)) == sorted([cache.TAG, name(0)])


FOREIGN = (
    "thesis.tex", "model.bin", ".bashrc", "__pycache__/module.pyc", "photos/cat.png",
    "history/notes.txt", f"{name(1)}.bak", f"a{name(1)}", name(1).upper(), cache.TAG,
)  # fmt: skip


def test_the_limit_deletes_nothing_that_the_cache_has_not_named(root, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_SIZE", "1")
    folder = cache.folder("host")
    for other in FOREIGN:
        (folder / other).parent.mkdir(exist_ok=True)
        if other != cache.TAG:
            (folder / other).write_bytes(bytes(2**20))
        os.utime(folder / other, (1, 1))
    beside = root / "beside"
    beside.write_bytes(bytes(2**21))
    (folder / name(2)).symlink_to(beside)
    for entry in (folder / name(3), folder / "history" / name(3, ".json"), folder / ".abc12.tmp"):
        entry.write_bytes(bytes(2**20 + 1))
        os.utime(entry, (1, 1))
    cache.limit_size(folder)
    left = {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}
    assert left == {*FOREIGN, name(2)} and beside.exists()


def test_the_limit_is_not_for_folders_of_others(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_SIZE", "1")
    (tmp_path / name(1)).write_bytes(bytes(2**21))
    cache.limit_size(tmp_path)
    assert os.listdir(tmp_path) == [name(1)]


@pytest.mark.parametrize("size", ["abc", "0", "-1", "nan", "1.5"])
def test_a_size_that_is_none_is_told_at_every_launch(root, monkeypatch, size):
    """Not only where something has to be written: a warm cache would hide it."""
    assert cache.folder("host").is_dir()
    monkeypatch.setenv("EXECSPACE_CACHE_SIZE", size)
    for _ in range(2):
        with pytest.raises(es.ConfigError, match=f"EXECSPACE_CACHE_SIZE='{size}' is not a whole"):
            cache.folder("host")


@pytest.mark.skipif(os.name != "posix", reason="names of files are text elsewhere")
def test_a_folder_whose_name_is_no_text_is_not_used(tmp_path, monkeypatch):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", path)
    with pytest.warns(UserWarning, match=r"is not used \(its name is not text in UTF-8\)"):
        used = cache.folder("host")
    assert str(used).isprintable() and used.is_dir() and not os.path.exists(path)


def test_folders_are_tagged_and_for_the_user_only(root):
    folder = cache.folder("host")
    assert cache.is_tagged(folder) and not cache.is_tagged(root)
    assert folder == root / "host"
    assert [path.stat().st_mode & 0o777 for path in (root, folder)] == [0o700, 0o700]
    assert cache.folder("host") == folder


@pytest.mark.parametrize("kind", ["../host", "a/b", "", ".", "..", ".git"])
def test_a_kind_is_the_name_of_a_folder(root, kind):
    with pytest.raises(ValueError, match="is not a kind of entry"):
        cache.folder(kind)


def test_what_the_user_has_in_the_chosen_folder_stays(root):
    """A folder with a name of ours and files of theirs is not taken; one without files is."""
    (root / "host").mkdir(parents=True)
    (root / "host" / "setup.py").write_text("print()")
    (root / "opencl").mkdir()
    (root / "diary").write_text("dear")
    with pytest.warns(UserWarning, match=r"host is not used \(it holds files.*EXECSPACE_CACHE_DIR"):
        folder = cache.folder("host")
    assert folder.is_dir() and not folder.is_relative_to(root)
    assert cache.keep(folder / name(1), "text") and cache.read_text(folder / name(1)) == "text"
    assert os.listdir(root / "host") == ["setup.py"]
    assert cache.folder("opencl") == root / "opencl"


@pytest.mark.parametrize("damage", ["half", None])
@pytest.mark.parametrize("entries", [0, 1])
def test_a_folder_whose_tag_was_damaged_is_tagged_again(root, entries, damage):
    folder = cache.folder("host")
    for number in range(entries):
        cache.keep(folder / name(number), "text")
    (folder / cache.TAG).unlink()
    if damage:
        (folder / cache.TAG).write_text(damage)
    assert not cache.is_tagged(folder)
    assert cache.folder("host") == folder
    assert cache.is_tagged(folder)


def test_a_folder_without_a_tag_is_not_taken_for_its_names_alone(root):
    folder = root / "host"
    folder.mkdir(parents=True)
    (folder / name(1)).write_text("no entry")
    with pytest.warns(UserWarning, match="it holds files"):
        assert cache.folder("host") != folder


# -- who else could write -------------------------------------------------------------------------

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners and modes of this kind")
ANOTHER = 54321


def _foreign(path):
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    os.chown(path, ANOTHER, ANOTHER)


UNTRUSTED = {
    "the folder is another user's": (
        lambda root: _foreign(root / "host"),
        "belongs to user 54321",
    ),
    "the cache is another user's": (lambda root: _foreign(root), "belongs to user 54321"),
    "all may write to the folder": (lambda root: (root / "host").chmod(0o777), "chmod go-w"),
    "a group may write to the folder": (lambda root: (root / "host").chmod(0o770), "chmod go-w"),
    "all may write to the cache": (lambda root: root.chmod(0o777), "chmod go-w"),
    "all may write above it": (lambda root: root.parent.chmod(0o777), "which is above it"),
    "what is above it is another's": (lambda root: _foreign(root.parent), "belongs to user 54321"),
}


@posix
@pytest.mark.parametrize("case", UNTRUSTED)
def test_a_folder_that_others_rule_is_not_used(root, case):
    change, reason = UNTRUSTED[case]
    folder = cache.folder("host")
    cache.keep(folder / name(1), "planted")
    change(root)
    with pytest.warns(UserWarning, match=f"is not used .*{reason}.*Set EXECSPACE_CACHE_DIR"):
        used = cache.folder("host")
    assert used != folder and used.stat().st_mode & 0o777 == 0o700
    assert cache.read(used / name(1)) is None
    assert cache.folder("host") == used  # without a second warning


@posix
def test_a_sticky_folder_above_it_is_no_danger(root):
    root.parent.chmod(0o1777)
    assert cache.folder("host") == root / "host"


@posix
def test_links_are_followed_where_only_the_user_can_change_them(tmp_path, monkeypatch):
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir(0o700)
    link.symlink_to("real")
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(link / ".." / "link"))
    assert cache.folder("host") == real / "host"
    (real / "elsewhere").mkdir(0o700)
    (real / "opencl").symlink_to("elsewhere")
    with pytest.warns(UserWarning, match="opencl is not used .it is a symbolic link"):
        cache.folder("opencl")
    if not os.geteuid():
        os.chown(link, ANOTHER, ANOTHER, follow_symlinks=False)
        with pytest.warns(UserWarning, match="the link .*link belongs to user 54321"):
            cache.folder("host")
    (tmp_path / "round").symlink_to("round")
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "round"))
    with pytest.warns(UserWarning, match="too many levels of symbolic links"):
        cache.folder("host")


def test_a_folder_that_cannot_be_written_is_replaced_with_a_warning(tmp_path, monkeypatch):
    occupied = tmp_path / "file"
    occupied.write_text("not a folder")
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(occupied))
    with pytest.warns(UserWarning, match="cannot be written .* Set EXECSPACE_CACHE_DIR"):
        folder = cache.folder("host")
    assert folder.is_dir()
    assert occupied.read_text() == "not a folder"


# -- entries --------------------------------------------------------------------------------------


def _replaced_by_folder(path):
    path.unlink()
    (path / "within").mkdir(parents=True)
    (path / "within" / "thesis.tex").write_text("chapter 1")


def _pipe(path):
    path.unlink()
    os.mkfifo(path)


def _link(path):
    """To what would do, in a place that somebody else could choose."""
    path.rename(path.parent.parent / path.name)
    path.symlink_to(path.parent.parent / path.name)


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a bit of the content": lambda path: path.write_bytes(b"\x01" + path.read_bytes()[1:]),
    "a bit of the seal": lambda path: path.write_bytes(
        path.read_bytes()[:-2] + bytes([path.read_bytes()[-2] ^ 1]) + b"\n"
    ),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "noise": lambda path: path.write_bytes(os.urandom(path.stat().st_size)),
    "without its seal": lambda path: path.write_bytes(b"content"),
    "another entry": lambda path: cache.keep(path.with_name(name(2)), "x") and os.replace(
        path.with_name(name(2)), path
    ),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a folder with files": _replaced_by_folder,
    "a pipe": _pipe,
    "a link": _link,
    "a link to nothing": lambda path: (path.unlink(), path.symlink_to("nothing")),
    "writable by a group": lambda path: path.chmod(0o620),
    "another user's": lambda path: _foreign(path),
}  # fmt: skip


@posix
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_counts_as_none_and_can_be_written_anew(root, damage):
    path = cache.folder("host") / name(1)
    assert cache.keep(path, b"content") and cache.read(path) == b"content"
    DAMAGE[damage](path)
    assert cache.read(path) is None
    assert cache.keep(path, "content") and cache.read_text(path) == "content"
    aside = list(path.parent.rglob("thesis.tex"))
    assert [p.read_text() for p in aside] == ["chapter 1"] * (damage == "a folder with files")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\x00", b"# execspace \n" * 9, bytes(10**6)])
def test_entries_come_back_as_they_were(root, content):
    path = cache.folder("host") / name(1)
    assert cache.keep(path, content) and cache.read(path) == content


def test_text_that_is_none_is_thrown_away(root):
    path = cache.folder("host") / name(1)
    cache.keep(path, b"\xff")
    assert cache.read_text(path) is None and not path.exists()


@pytest.mark.parametrize("call", ["write", "replace", "new_file"])
def test_a_full_disk_is_a_warning_and_leaves_nothing_behind(root, monkeypatch, call):
    folder = cache.folder("host")

    def full(*args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "write":
        resource = pytest.importorskip("resource")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    else:
        owner = os if call == "replace" else files
        monkeypatch.setattr(owner, call, full)
    try:
        with pytest.warns(UserWarning, match="cannot be kept in .*host.*Make room"):
            assert not cache.keep(folder / name(1), bytes(1000))
        assert not cache.keep(folder / name(2), bytes(1000))  # without a second warning
    finally:
        if call == "write":
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(folder) == [cache.TAG]
    assert cache.read(folder / name(1)) is None


def test_a_disk_without_any_place_is_a_warning_too(root, monkeypatch):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "new_file", full)
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.warns(UserWarning, match="cannot be written .*No space left"):
        folder = cache.folder("host")
    assert not cache.keep(folder / name(1), "text")  # without a second warning
    assert cache.read(folder / name(1)) is None


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
