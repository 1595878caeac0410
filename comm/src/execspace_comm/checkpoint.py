"""Checkpoints: fields and the state of a program in a folder, for any number of ranks to go on.

The folder of a checkpoint has `checkpoint.json`, the index, and a folder of parts:

- a part is a .npy file with what one rank had of one field, row-major, the halo left out;
- the index says which file has which global indices, and the checksums of blocks of each: zlib's
  CRC-32, one for every 8 MiB, so that a rank reads and verifies just what it needs;
- the state is in the index, its arrays are .npy files.

A new checkpoint is written to a new folder of parts. The index that names it then takes the place
of the old one by a rename, which is atomic; after that the old parts are removed. So at any moment
the folder is one whole checkpoint, whatever is killed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .boxes import (
    extents_of,
    fields_of,
    global_box,
    meeting,
    pieces,
    read_box,
    same_elements,
    shifted,
    slices_of,
    write_box,
)
from .errors import CommError
from .field import Field
from .grid import Box
from .part_files import checked_path, sync, sync_folder, verify
from .parts import agreed, attempt, ranks_of
from .state import decoded, dtype_in_json, dtype_of, encoded, plain

__all__ = ["load_checkpoint", "save_checkpoint"]

_FORMAT, _VERSION = "execspace-comm checkpoint", 1
_INDEX = "checkpoint.json"
_DATA = re.compile(r"data-\d{6,}")  # folders of parts, which nobody else makes
_BLOCK = 1 << 23  # bytes that have a checksum of their own

Path = str | os.PathLike[str]


def save_checkpoint(
    path: Path, fields: Mapping[str, Field], state: Mapping[str, Any] | None = None
) -> None:
    """Save fields and the state of a program, so that a killed job goes on from here.

    Parameters
    ----------
    path : path-like
        The checkpoint, a folder that all ranks see. It is made if there is none. A checkpoint that
        is there is replaced when the new one is complete, and until then left whole.
    fields : mapping of str to Field
        Names and fields, of any dtype. Own elements are saved, those of the halo are not.
    state : dict, optional
        What else is needed, the same on all ranks: None, bools, numbers, strings, bytes, arrays and
        scalars of NumPy, and lists, tuples and dicts of these. Floats are kept bit for bit, and
        types are kept. What ranks have each for itself can be put into a list:
        ``comm.mpi.allgather(generator.bit_generator.state)``.

    Raises
    ------
    CommError
        On all ranks, with the same message, if something cannot be written on one of them, `path`
        is something else than a checkpoint, the state has something else or is not the same on all
        ranks. The checkpoint that was there before is whole then.

    Notes
    -----
    Collective; blocks. Ranks write at the same time, each a file for each field, and copy 8 MiB to
    the host at once. All is synchronised with the disk before it counts.

    Needs no library but NumPy, whose `numpy.load` reads parts.

    Examples
    --------
    >>> import tempfile
    >>> import execspace_comm as escomm
    >>> u = escomm.Decomposition((6, 4)).field(space="serial", label="u")
    >>> folder = u.decomposition.comm.mpi.bcast(tempfile.mkdtemp())
    >>> escomm.save_checkpoint(folder, {"u": u}, {"step": 12, "time": 0.1 + 0.2})
    >>> escomm.load_checkpoint(folder, {"u": u})
    {'step': 12, 'time': 0.30000000000000004}
    """
    name = os.fspath(path)
    what = f"save_checkpoint({name!r})"
    comm, given = fields_of(what, fields, path=name)
    arrays: list[npt.NDArray[Any]] = []
    said = attempt(comm, what, lambda: encoded(dict(state or {}), arrays))
    agreed(comm, what, "", {"the state, by its checksum,": _digest(said, arrays)}, 0)
    data = attempt(comm, what, lambda: _new_folder(name) if comm.rank == 0 else "")
    data = comm.mpi.bcast(data)
    folder = os.path.join(name, data)

    def write() -> list[Any]:
        os.makedirs(folder, exist_ok=True)  # on file systems that tell other nodes late
        return [_write_part(folder, n, field) for n, field in enumerate(given.values())]

    def complete(found: list[list[Any]]) -> None:
        listed = [
            {
                "name": key,
                "dtype": dtype_in_json(field.dtype),
                "shape": list(field.global_shape),
                "parts": [parts[n] for parts in found if parts[n] is not None],
            }
            for n, (key, field) in enumerate(given.items())
        ]
        for parts in found:
            for part in filter(None, parts):
                checked_path(folder, part)
        saved = [_write_array(folder, n, array) for n, array in enumerate(arrays)]
        sync_folder(folder)
        index = {
            "format": _FORMAT, "version": _VERSION, "data": data, "block": _BLOCK,
            "ranks": comm.size, "fields": listed, "state": said, "arrays": saved,
        }  # fmt: skip
        beside = os.path.join(name, f"{_INDEX}.part")
        with open(beside, "w", encoding="utf-8") as file:
            json.dump({"crc32": _checksum(index), "index": index}, file, indent=1)
            sync(file)
        os.replace(beside, os.path.join(name, _INDEX))

    try:
        parts = attempt(comm, what, write)
        everything = comm.mpi.gather(parts)
        attempt(comm, what, lambda: complete(everything) if comm.rank == 0 else None)
    except CommError:
        if comm.rank == 0:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if comm.rank == 0:
        sync_folder(name)
        for old in os.listdir(name):
            if _DATA.fullmatch(old) and old != data:
                shutil.rmtree(os.path.join(name, old), ignore_errors=True)


def load_checkpoint(
    path: Path, fields: Mapping[str, Field] | None = None, *, comm: Any = None
) -> dict[str, Any]:
    """Load fields, and the state that was saved with them.

    Parameters
    ----------
    path : path-like
        The checkpoint, a folder that all ranks see.
    fields : mapping of str to Field, optional
        Names with the fields that get the elements: of the saved global shape and dtype. Number
        and grid of ranks, halo, layout and space may be others than when it was saved. Fields that
        are not named are left out; with none, only the state is loaded, as to learn the extents.
    comm : Comm, optional
        The ranks, where no fields are given; all of the program if not given.

    Returns
    -------
    dict
        The state, on all ranks.

    Raises
    ------
    CommError
        On all ranks, with the same message, if there is no checkpoint, a field is not in it or has
        another shape or dtype, or a file is missing or damaged. It names the file and the field,
        and fields are undefined where a part is damaged.

    Notes
    -----
    Collective; blocks. Each rank reads the blocks of parts that have elements of its box, and
    verifies the checksum of each of them. Halos are left as they are: exchange them.
    """
    name = os.fspath(path)
    what = f"load_checkpoint({name!r})"
    if fields:
        comm, given = fields_of(what, fields, path=name)
    else:
        comm, given = ranks_of(comm), {}
    read = attempt(comm, what, lambda: _read_index(name) if comm.rank == 0 else None)
    index, arrays = comm.mpi.bcast(read)
    saved = {one["name"]: one for one in index["fields"]}
    for key, field in given.items():
        _check(what, saved, key, field)

    def load() -> dict[str, Any]:
        folder = os.path.join(name, index["data"])
        for key, field in given.items():
            for part in saved[key]["parts"]:
                try:
                    _read_part(folder, part, field, dtype_of(saved[key]["dtype"]), index["block"])
                except (CommError, OSError) as error:
                    raise CommError(f"field {key!r}: {error}") from error
        found: dict[str, Any] = decoded(index["state"], arrays)
        return found

    return attempt(comm, what, load)


# -- writing ---------------------------------------------------------------------------------------


def _new_folder(name: str) -> str:
    """Make the folder of a checkpoint if there is none, and a new one in it for parts."""
    if os.path.exists(name) and not os.path.isdir(name):
        raise CommError("there is a file; expected a folder, or nothing.")
    os.makedirs(name, exist_ok=True)
    there = os.listdir(name)
    data = [one for one in there if _DATA.fullmatch(one)]
    if _INDEX not in there and len(data) + (f"{_INDEX}.part" in there) < len(there):
        others = ", ".join(sorted(set(there) - set(data))[:3])
        raise CommError(
            f"the folder has {others}, and no {_INDEX}; expected a checkpoint, or an empty folder."
        )
    numbers = [int(one[5:]) for one in data]
    found = f"data-{max(numbers, default=0) + 1:06}"
    os.mkdir(os.path.join(name, found))
    return found


def _write_part(folder: str, number: int, field: Field) -> dict[str, Any] | None:
    """Write what this rank has of a field, and tell what the index says of it."""
    rank = field.decomposition.comm.rank
    box = global_box(field, rank)
    shape = extents_of(box)
    if not prod(shape):
        return None
    file = f"{number}.{rank}.npy"
    with open(os.path.join(folder, file), "wb") as out:
        np.lib.format.write_array_header_2_0(out, _header(field.dtype, shape))
        offset = out.tell()
        checksums = []
        for piece in pieces(shape, field.dtype.itemsize, _BLOCK):
            block: Any = read_box(field, shifted(piece, box[0])).reshape(-1).view(np.uint8)
            checksums.append(zlib.crc32(block))
            out.write(block)
        nbytes = out.tell()
        sync(out)
    return {
        "file": file, "lower": box[0], "upper": box[1], "offset": offset, "nbytes": nbytes,
        "crc32": checksums,
    }  # fmt: skip


def _write_array(folder: str, number: int, array: npt.NDArray[Any]) -> dict[str, Any]:
    """Write an array of the state."""
    file = f"state.{number}.npy"
    ordered = np.ascontiguousarray(array).reshape(array.shape)
    with open(os.path.join(folder, file), "wb") as out:
        np.lib.format.write_array_header_2_0(out, _header(array.dtype, array.shape))
        offset = out.tell()
        block = ordered.tobytes()
        out.write(block)
        sync(out)
    return {
        "file": file, "dtype": dtype_in_json(array.dtype), "shape": list(array.shape),
        "offset": offset, "nbytes": offset + len(block), "crc32": zlib.crc32(block),
    }  # fmt: skip


def _header(dtype: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    described = np.lib.format.dtype_to_descr(plain(dtype))
    return {"descr": described, "fortran_order": False, "shape": shape}


def _text(index: Any) -> bytes:
    """JSON of which checksums are made."""
    return json.dumps(index, sort_keys=True, separators=(",", ":")).encode()


def _checksum(index: Any) -> int:
    return zlib.crc32(_text(index))


def _digest(said: Any, arrays: list[npt.NDArray[Any]]) -> str:
    """A checksum of a state, by which ranks compare theirs."""
    found = zlib.crc32(_text(said))
    for array in arrays:
        found = zlib.crc32(f"{array.dtype}{array.shape}".encode(), found)
        found = zlib.crc32(array.tobytes(), found)
    return f"{found:08x}"


# -- reading ---------------------------------------------------------------------------------------


def _read_index(name: str) -> tuple[Any, list[npt.NDArray[Any]]]:
    """The index, and arrays of the state."""
    try:
        with open(os.path.join(name, _INDEX), "rb") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise CommError(
            f"there is no {_INDEX}; expected the folder of a checkpoint that was completed."
        ) from None
    try:
        found = json.loads(text)
        index, checksum = found["index"], found["crc32"]
        known = index["format"], index["version"]
    except (ValueError, KeyError, TypeError):
        raise CommError(f"file {_INDEX!r} is damaged, or none of a checkpoint.") from None
    if known[0] != _FORMAT or known[1] != _VERSION:
        raise CommError(
            f"file {_INDEX!r} has format {known[0]!r} and version {known[1]!r}; expected "
            f"{_FORMAT!r} and {_VERSION}."
        )
    if _checksum(index) != checksum:
        raise CommError(
            f"file {_INDEX!r} is damaged: its checksum is {_checksum(index):08x}; expected "
            f"{checksum:08x}."
        )
    folder = os.path.join(name, index["data"])
    return index, [_read_array(folder, saved) for saved in index["arrays"]]


def _read_array(folder: str, saved: Any) -> npt.NDArray[Any]:
    """An array of the state."""
    try:
        path = checked_path(folder, saved)
        with open(path, "rb") as file:
            file.seek(saved["offset"])
            block = bytearray(file.read())
        verify(path, saved["offset"], block, saved["crc32"])
    except (CommError, OSError) as error:
        raise CommError(f"state: {error}") from error
    return np.ndarray(tuple(saved["shape"]), dtype_of(saved["dtype"]), block)


def _check(what: str, saved: Mapping[str, Any], key: str, field: Field) -> None:
    """CommError, on all ranks alike, if a field is not in a checkpoint."""
    if key not in saved:
        raise CommError(
            f"{what}: there is no field {key!r}; the checkpoint has "
            f"{', '.join(map(repr, saved)) or 'none'}."
        )
    shape, dtype = tuple(saved[key]["shape"]), dtype_of(saved[key]["dtype"])
    if shape != field.global_shape or not same_elements(dtype, field.dtype):
        raise CommError(
            f"{what}: field {key!r} was saved with global shape {shape} and dtype {dtype}; "
            f"expected shape {field.global_shape} and dtype {field.dtype}, as field "
            f"'{field.label}' has."
        )


def _read_part(folder: str, part: Any, field: Field, dtype: Any, block: int) -> None:
    """Bring what this rank needs of a part into its field."""
    mine = global_box(field, field.decomposition.comm.rank)
    whole: Box = tuple(part["lower"]), tuple(part["upper"])
    if meeting(whole, mine) is None:
        return
    path = checked_path(folder, part)
    at = part["offset"]
    with open(path, "rb") as file:
        boxes = pieces(extents_of(whole), dtype.itemsize, block)
        for piece, checksum in zip(boxes, part["crc32"], strict=True):
            box = shifted(piece, whole[0])
            nbytes = prod(extents_of(box)) * dtype.itemsize
            shared = meeting(box, mine)
            if shared is not None:
                array = np.empty(extents_of(box), dtype)
                memory: Any = array.reshape(-1).view(np.uint8)
                file.seek(at)
                file.readinto(memory)
                verify(path, at, memory, checksum)
                wanted = array[slices_of(shifted(shared, box[0], -1))]
                write_box(field, shared, wanted.astype(field.dtype, copy=False))
            at += nbytes
