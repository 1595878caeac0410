"""Fields in Zarr stores: an array of the global shape for each, written by all ranks at once.

A Zarr array is many files, one for each chunk, or for each shard, which is several chunks. Each of
these is written by one rank, which gets from others what it lacks.

Zarr: https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html.
"""

from __future__ import annotations

import operator
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .boxes import (
    extents_of,
    fields_of,
    global_box,
    meeting,
    own_pieces,
    pieces,
    read_box,
    same_elements,
    shifted,
    slices_of,
    stored,
    write_box,
)
from .errors import CommError
from .field import Field
from .grid import Box, chosen_grid, coordinates, part
from .parts import attempt

__all__ = ["read_zarr", "write_zarr"]

_CHUNK = 1 << 24  # bytes of a chunk at most, if none are asked for

Path = str | os.PathLike[str]


def write_zarr(
    path: Path,
    fields: Mapping[str, Field],
    *,
    attrs: Mapping[str, Any] | None = None,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    zarr_format: int = 3,
    **options: Any,
) -> None:
    """Write fields to a Zarr store, all ranks at the same time.

    Parameters
    ----------
    path : path-like
        The store, a folder, in a folder that all ranks see. If there is a store, it is replaced.
    fields : mapping of str to Field
        Name of each array, such as "u" or "flow/u", with the field: of numbers, bool, complex, or
        records of them. Own elements are written, those of the halo are not.
    attrs : mapping, optional
        Attributes of the store's group, as JSON has them; the same on all ranks.
    chunks : sequence of int, optional
        Extents of a chunk, for all fields; components may be left out, and are whole then. By
        default a rank's box, or the part of it that has at most 16 MiB.
    shards : sequence of int, optional
        Extents of a file with several chunks, multiples of theirs (format 3).
    zarr_format : {3, 2}
        Version of the format.
    **options
        Of `zarr.Group.create_array`, such as ``compressors=None``, for all fields.

    Raises
    ------
    CommError
        On all ranks, with the same message, if something cannot be written on one of them, zarr is
        missing, Zarr has no type for the elements, `path` is something else than a store, or ranks
        do not agree. A store that was there before is left as it was.

    Notes
    -----
    Collective; blocks. No chunk is written by two ranks: where chunks cross from one rank's box to
    another's, elements go to the rank that writes the chunk. A rank has at most 64 MiB of this on
    the host at once, or a chunk or shard if that is more.

    What is written goes to ``path + ".part"`` beside it, which is renamed when it is complete.

    Format 3 has no specification for records yet, of which zarr warns; format 2 has one. Records
    of records, and of arrays, may be refused.

    Examples
    --------
    >>> import tempfile
    >>> import execspace_comm as escomm
    >>> u = escomm.Decomposition((6, 4)).field(space="serial", label="u")
    >>> folder = u.decomposition.comm.mpi.bcast(tempfile.mkdtemp())
    >>> escomm.write_zarr(f"{folder}/flow.zarr", {"u": u}, chunks=(2, 4), attrs={"time": 0.5})
    >>> escomm.read_zarr(f"{folder}/flow.zarr", {"u": u})["time"]
    0.5
    """
    name = os.path.normpath(os.fspath(path))  # a slash at the end would be in the names beside it
    what = f"write_zarr({name!r})"
    comm, given = fields_of(
        what, fields, path=name, attrs=attrs, chunks=chunks, shards=shards,
        zarr_format=zarr_format, options=options,
    )  # fmt: skip
    beside, before = f"{name}.part", f"{name}.old"
    shapes = attempt(
        comm, what, lambda: {key: _shapes(key, f, chunks, shards) for key, f in given.items()}
    )

    def check() -> None:
        if comm.rank > 0:
            return
        if os.path.exists(name) and not _is_store(name):
            raise CommError("there is something else than a Zarr store; remove it first.")
        for other in (beside, before):
            if os.path.exists(other) and not _is_store(other):
                raise CommError(
                    f"there is {other!r}, which is no Zarr store and would be written over; move "
                    f"it first."
                )

    def create() -> None:
        zarr = _zarr()
        if zarr_format not in (2, 3):
            raise CommError(f"zarr_format={zarr_format!r}; expected 2 or 3.")
        if comm.rank > 0:
            return
        shutil.rmtree(beside, ignore_errors=True)
        group = zarr.create_group(beside, zarr_format=zarr_format, attributes=dict(attrs or {}))
        for key, field in given.items():
            chunk, shard = shapes[key]
            more = {} if shard is None else {"shards": shard}
            try:
                array = group.create_array(
                    key, shape=field.global_shape, dtype=field.dtype, chunks=chunk, **more,
                    **options,
                )  # fmt: skip
                known = same_elements(array.dtype, field.dtype) and same_elements(
                    _opened(beside)[key].dtype, field.dtype
                )
            except (TypeError, ValueError) as error:
                raise CommError(
                    f"zarr refuses field {key!r} of dtype {field.dtype} and shape "
                    f"{field.global_shape}: {error}. save_checkpoint takes all fields."
                ) from error
            if not known:
                raise CommError(
                    f"field {key!r} has dtype {field.dtype}, for which Zarr has no type. "
                    f"write_hdf5 and save_checkpoint take it."
                )

    def write(error: Exception | None) -> Exception | None:
        """Write what this rank is to write; an error waits until all messages are there."""
        for key, field in given.items():
            chunk, shard = shapes[key]
            array = None
            for box, elements in _owned(field, (shard or chunk)):
                try:
                    if error is None:
                        array = _opened(beside, "r+")[key] if array is None else array
                        array[slices_of(box)] = elements
                except Exception as raised:
                    error = raised
        return error

    def finish(error: Exception | None) -> None:
        if error is not None:
            raise error

    def replace() -> None:
        if comm.rank == 0:
            shutil.rmtree(before, ignore_errors=True)
            if os.path.exists(name):
                os.rename(name, before)
            try:
                os.rename(beside, name)
            except OSError:
                if os.path.exists(before):
                    os.rename(before, name)
                raise
            shutil.rmtree(before, ignore_errors=True)

    attempt(comm, what, check)  # before anything is removed
    try:
        attempt(comm, what, create)
        error = write(None)
        attempt(comm, what, lambda: finish(error))
        attempt(comm, what, replace)
    except CommError:
        if comm.rank == 0:
            shutil.rmtree(beside, ignore_errors=True)
        raise


def read_zarr(path: Path, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Read fields from a Zarr store, of this package or another one.

    Parameters
    ----------
    path : path-like
        The store, a folder that all ranks see.
    fields : mapping of str to Field
        Name of each array with the field that gets it, whose global shape and dtype it has. Other
        arrays are left alone. Halos are left as they are.

    Returns
    -------
    dict
        Attributes of the store's group.

    Raises
    ------
    CommError
        On all ranks, with the same message, if there is no such store or array, or it has another
        shape or dtype (the order of bytes, and gaps in records, may differ). Fields are undefined
        where it comes of reading elements.

    Notes
    -----
    Collective; blocks. Each rank reads its box, all of them at the same time; chunks that two of
    them need are read twice.
    """
    name = os.fspath(path)
    what = f"read_zarr({name!r})"
    comm, given = fields_of(what, fields, path=name)

    def check() -> Any:
        group = _opened(name)
        for key, field in given.items():
            _check(group, key, field)
        return group

    group = attempt(comm, what, check)  # before elements of any field are changed

    def read() -> dict[str, Any]:
        for key, field in given.items():
            source = group[key]
            for box in own_pieces(field):
                array = np.empty(extents_of(box), field.dtype)
                array[...] = source[slices_of(box)]
                write_box(field, box, array)
        return dict(group.attrs)

    return attempt(comm, what, read)


# -- who writes what -------------------------------------------------------------------------------


def _shapes(
    key: str, field: Field, chunks: Sequence[int] | None, shards: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Extents of a chunk and of a shard, which is None if there are none."""
    if not stored(field.dtype):
        raise CommError(
            f"field {key!r} has dtype {field.dtype}, for which Zarr has no type. save_checkpoint "
            f"takes it."
        )
    if any(word in ("", ".", "..") for word in key.split("/")):
        raise CommError(
            f"name {key!r} of a field; expected one such as 'u', or 'flow/u' in a group."
        )
    if shards is not None and chunks is None:
        raise CommError(
            f"shards={shards!r} without chunks=; expected both: usual chunks depend on ranks."
        )
    chunk = _usual(field) if chunks is None else _extents("chunks", chunks, key, field)
    if shards is None:
        return chunk, None
    shard = _extents("shards", shards, key, field)
    if any(s % c for s, c in zip(shard, chunk, strict=True)):
        raise CommError(
            f"shards={shard} of field {key!r} for chunks of {chunk}; expected multiples of them."
        )
    return chunk, shard


def _extents(what: str, given: Any, key: str, field: Field) -> tuple[int, ...]:
    shape, rank = field.global_shape, field.decomposition.rank
    try:
        found = tuple(operator.index(n) for n in given)
    except TypeError:
        found = ()
    if len(found) == rank:
        found += tuple(max(1, n) for n in field.components)
    if len(found) != len(shape) or min(found) < 1:
        raise CommError(
            f"{what}={given!r} for field {key!r} of shape {shape}; expected {len(shape)} positive "
            f"extents, or {rank} without components."
        )
    return found


def _usual(field: Field) -> tuple[int, ...]:
    """Extents of a chunk if none are asked for."""
    d = field.decomposition
    chunk = [max(1, -(-n // p)) for n, p in zip(d.extents, d.ranks, strict=True)]
    tail = [max(1, n) for n in field.components]
    while prod(chunk) * prod(tail) * field.dtype.itemsize > _CHUNK and max(chunk) > 1:
        longest = chunk.index(max(chunk))
        chunk[longest] = -(-chunk[longest] // 2)
    return *chunk, *tail


def _owned(field: Field, unit: Sequence[int]) -> Iterator[tuple[Box, npt.NDArray[Any]]]:
    """Boxes of whole units, each written by one rank: those of this rank, with their elements.

    Collective: elements come from the ranks that have them. In each round a rank fills one box,
    and sends what others lack of theirs of that round.
    """
    d = field.decomposition
    comm, me = d.comm, d.comm.rank
    # Components are not divided among ranks.
    unit = (*unit[: d.rank], *(max(1, n) for n in field.components))
    counts = [-(-n // u) for n, u in zip(d.extents, unit, strict=False)]
    grid = d.ranks
    if any(n < p for n, p in zip(counts, grid, strict=True)):
        grid = chosen_grid(comm.size, tuple(counts), (0,) * d.rank)

    def written(rank: int) -> Box:
        """What a rank writes."""
        bounds = []
        at = coordinates(rank, grid)
        for n, p, c, u, extent in zip(counts, grid, at, unit[: d.rank], d.extents, strict=True):
            a, b = part(n, p, c)
            bounds.append((min(a * u, extent), min(b * u, extent)))
        lower, upper = zip(*bounds, *((0, n) for n in field.components), strict=True)
        return lower, upper

    def boxes(whole: Box) -> Iterator[Box]:
        for piece in pieces(extents_of(whole), field.dtype.itemsize, unit=unit):
            yield shifted(piece, whole[0])

    homes = [global_box(field, rank) for rank in range(comm.size)]
    messages, tag = comm._apart()
    rounds: list[list[tuple[int, Box]]] = []
    for rank in range(comm.size):
        if rank == me or meeting(written(rank), homes[me]) is None:
            continue
        for n, box in enumerate(boxes(written(rank))):
            shared = meeting(box, homes[me])
            if shared is not None:
                rounds += [[] for _ in range(n + 1 - len(rounds))]
                rounds[n].append((rank, shared))
    mine = list(boxes(written(me)))
    for n in range(max(len(mine), len(rounds))):
        sent = []
        for rank, shared in rounds[n] if n < len(rounds) else ():
            view = field.own[slices_of(shifted(shared, homes[me][0], -1))]
            sent.append(messages.isend(view, rank, tag=tag))
        ready = None
        if n < len(mine):
            ready = mine[n], np.empty(extents_of(mine[n]), field.dtype)
            for rank, home in enumerate(homes):
                common = meeting(mine[n], home)
                if common is None:
                    continue
                place = ready[1][slices_of(shifted(common, mine[n][0], -1))]
                if rank == me:
                    place[...] = read_box(field, common)
                else:
                    messages.recv(place, rank, tag=tag)
        for request in sent:
            request.wait()
        if ready is not None:
            yield ready


# -- the library -----------------------------------------------------------------------------------


def _check(group: Any, key: str, field: Field) -> None:
    """CommError if a store does not have what a field is to get."""
    array = group.get(key)
    if array is None or not hasattr(array, "dtype"):
        names = ", ".join(
            sorted(n for n, a in group.members(max_depth=None) if hasattr(a, "dtype"))
        )
        raise CommError(f"there is no array {key!r}; the store has {names or 'none'}.")
    if array.shape != field.global_shape or not same_elements(array.dtype, field.dtype):
        raise CommError(
            f"array {key!r} has shape {array.shape} and dtype {array.dtype}; expected shape "
            f"{field.global_shape} and dtype {field.dtype}, as field '{field.label}' has."
        )


def _is_store(name: str) -> bool:
    return any(os.path.exists(os.path.join(name, file)) for file in ("zarr.json", ".zgroup"))


def _opened(name: str, mode: str = "r") -> Any:
    zarr = _zarr()
    if not _is_store(name):
        raise CommError("there is no Zarr group, or this rank does not see it.")
    return zarr.open_group(name, mode=mode)


def _zarr() -> Any:
    """The library."""
    try:
        import zarr
    except ImportError as error:
        raise CommError(f"it needs zarr ({error}): pip install 'zarr>=3'.") from None
    return zarr
