"""Files that others may have put in the place of ours are read without waiting, or not at all."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from execspace.base.files import clear_place, read_regular

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no pipes with names")


@pytest.fixture
def place(tmp_path):
    return tmp_path / "file"


IRREGULAR = {
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("kind", [*IRREGULAR, "a link to a pipe"])
def test_only_a_regular_file_is_read(place, kind, own):
    if kind == "a link to a pipe":
        os.mkfifo(place.with_name("pipe"))
        place.symlink_to("pipe")
    else:
        IRREGULAR[kind](place)
    with pytest.raises(OSError, match="file"):
        read_regular(place, own=own)


def test_a_link_to_a_file_is_followed_where_the_file_need_not_be_our_own(place):
    place.with_name("another").write_bytes(b"text")
    place.symlink_to("another")
    assert read_regular(place) == b"text"
    with pytest.raises(OSError, match="file"):
        read_regular(place, own=True)


def test_what_others_can_write_is_not_our_own(place):
    place.write_bytes(b"text")
    place.chmod(0o666)
    assert read_regular(place) == b"text"
    with pytest.raises(PermissionError, match="others can write to"):
        read_regular(place, own=True)


def test_no_more_is_read_than_a_file_may_have(place):
    place.write_bytes(b"1234")
    assert read_regular(place, 4) == b"1234"
    with pytest.raises(OSError, match="file is larger than 3 bytes"):
        read_regular(place, 3)
    os.truncate(place, 1 << 40)  # takes no room on the disk
    with pytest.raises(OSError, match="larger"):
        read_regular(place)


@pytest.mark.parametrize("kind", [k for k in IRREGULAR if k != "a folder"])
def test_what_is_no_file_is_moved_out_of_the_way_of_one(place, kind):
    IRREGULAR[kind](place)
    clear_place(place)
    assert not os.path.lexists(place)
    (aside,) = place.parent.glob("set-aside-*")
    assert os.listdir(aside) == ["file"]


def test_a_file_and_a_link_to_one_stay(place):
    place.write_bytes(b"text")
    link = place.with_name("link")
    link.symlink_to("file")
    clear_place(place)
    clear_place(link)
    assert sorted(os.listdir(place.parent)) == ["file", "link"]


def test_as_much_memory_as_the_file_needs(tmp_path):
    """The most that it may have is no buffer's size: debugging allocators would fill it."""
    place = tmp_path / "file"
    for size in (0, 1, 4095, 100_000):
        place.write_bytes(bytes(size))
        tracemalloc.start()
        assert read_regular(place) == bytes(size)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 3 * size + 100_000
        assert read_regular(place, size) == bytes(size)
        if size:
            with pytest.raises(OSError):
                read_regular(place, size - 1)


def test_files_that_do_not_tell_their_size():
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("no /proc")
    assert status.stat().st_size == 0
    assert read_regular(status).startswith(b"Name:")
