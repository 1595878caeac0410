"""Files that several processes write and read at once, and folders that nobody else can write."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_MOST_LINKS = 40  # as Linux has it


class UntrustedFolderError(OSError):
    """Somebody else rules a folder, or may put another in its place."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that others see all of it or nothing."""
    data = content if isinstance(content, bytes) else content.encode()
    handle, name = new_file(path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def new_file(folder: Path) -> tuple[int, Path]:
    """A new file that is ours alone: its handle and its name. tempfile takes 2 ms to load."""
    name = folder / f".{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(name, flags, 0o600), name


def read_regular(path: Path, most: int = 1 << 30, *, own: bool = False) -> bytes:
    """All bytes of a regular file, never waiting for anybody.

    Parameters
    ----------
    path : Path
    most : int, optional
        As many bytes as it may have.
    own : bool, optional
        It must be no link, and nobody else may be able to write to it.

    Raises
    ------
    OSError
        If there is no such file, such as a pipe, a device, or a file that is larger.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    if own:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        if own and hasattr(os, "geteuid"):
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise PermissionError(f"others can write to {path}")
        file = os.fdopen(handle, "rb", closefd=False)
        expected = min(status.st_size, most) + 1  # not `most`: so much memory would be allocated
        data = b"" if status.st_size > most else file.read(expected)
        if len(data) == expected:  # of a file of /proc, whose size is 0, or it has grown
            data += file.read(most + 1 - expected)
    finally:
        os.close(handle)
    if max(status.st_size, len(data)) > most:  # it may have grown meanwhile
        raise OSError(f"{path} is larger than {most} bytes")
    return data


def clear_place(path: Path, *, folder: bool = False) -> None:
    """Move what lies where a file (or a folder) belongs out of the way; delete nothing in it."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode) and not folder:  # to a file it may stay; it may lead to a pipe
            with contextlib.suppress(OSError):
                mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
            return
        with contextlib.suppress(OSError):
            path.rmdir()  # an empty folder
            return
        import tempfile  # 2 ms, which no other process need spend

        os.rename(path, Path(tempfile.mkdtemp(dir=path.parent, prefix="set-aside-"), path.name))


def private_folder(path: Path) -> Path:
    """Make a folder if need be, and return it with all links followed, if nobody else rules it.

    What a program executes comes from such folders only. Nobody else may write to it, and nobody
    may put another in its place: that holds for the folders above it, too, unless they are sticky
    as ``/tmp`` is. On systems without POSIX permissions the folder is made, and that is all.

    Raises
    ------
    UntrustedFolderError
        If somebody else rules it; the message says who, and what to do.
    OSError
        If it cannot be made.
    """
    if not hasattr(os, "geteuid"):
        path.mkdir(parents=True, exist_ok=True)
        return path.resolve()
    here, rest, links = Path("/"), list(path.absolute().parts[:0:-1]), 0
    while rest:
        part = rest.pop()
        if part == "..":  # no part of `here` is a link
            here = here.parent
            continue
        found = here / part
        status = _made(found)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(f"{path} has too many levels of symbolic links")
            _check_owner(found, status, "link")
            target = Path(os.readlink(found))
            here = Path("/") if target.is_absolute() else here
            rest += [p for p in reversed(target.parts) if p != "/"]
            continue
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(f"{found} is not a folder")
        if rest:
            _check_owner(found, status, "folder")
            _check_above(found, status)
        here = found
    status = os.lstat(here)
    if status.st_uid != os.geteuid():
        raise UntrustedFolderError(f"{here} belongs to user {_user(status.st_uid)}")
    if status.st_mode & 0o022:
        raise UntrustedFolderError(
            f"others may write to {here}, mode {stat.S_IMODE(status.st_mode):o}; if you trust what "
            f"is in it: chmod go-w {here}"
        )
    return here


def _made(path: Path) -> os.stat_result:
    """What is there, or else a folder that is made."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(path, 0o700)
        return os.lstat(path)


def _check_owner(path: Path, status: os.stat_result, what: str) -> None:
    """Raise UntrustedFolderError where somebody else can put another thing in its place."""
    # Who owns / rules the machine. In a user namespace that need not be user 0.
    if status.st_uid not in (0, os.geteuid(), os.stat("/").st_uid):
        raise UntrustedFolderError(f"the {what} {path} belongs to user {_user(status.st_uid)}")


def _check_above(path: Path, status: os.stat_result) -> None:
    mode = status.st_mode
    if mode & stat.S_ISVTX or not mode & 0o022:
        return
    if not mode & 0o002 and _is_own_group(status.st_gid):
        return
    raise UntrustedFolderError(
        f"others may write to {path}, mode {stat.S_IMODE(mode):o}, which is above it"
    )


def _is_own_group(number: int) -> bool:
    """Whether the user is alone in a group; where each has one, folders are often open to it."""
    import grp  # which no other system has
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    alone = group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    return alone and user.pw_uid != 0


def _user(number: int) -> str:
    import pwd

    try:
        return f"{number} ({pwd.getpwuid(number).pw_name})"
    except KeyError:
        return str(number)
