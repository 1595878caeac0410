"""Fields in HDF5 files: a dataset of the global shape for each, whatever the number of ranks.

With an h5py that is built for MPI all ranks write at the same time, by its driver "mpio". Else a
file has one writer at a time, so ranks write in turn. Any h5py lets all of them read at once.

HDF5: https://docs.hdfgroup.org/hdf5/v1_14/; h5py: https://docs.h5py.org/.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .boxes import (
    Told,
    extents_of,
    fields_of,
    in_turn,
    own_pieces,
    read_box,
    same_elements,
    slices_of,
    stored,
    write_box,
)
from .communicator import Comm
from .errors import CommError
from .field import Field
from .grid import Box
from .parts import agreed, attempt

__all__ = ["read_hdf5", "write_hdf5"]

Path = str | os.PathLike[str]
Progress = Callable[[int, int], None]


def write_hdf5(
    path: Path,
    fields: Mapping[str, Field],
    *,
    attrs: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> None:
    """Write fields to an HDF5 file.

    Parameters
    ----------
    path : path-like
        The file, in a folder that all ranks see. If there is one, it is replaced.
    fields : mapping of str to Field
        Name of each dataset, such as "u" or "flow/u", with the field: of numbers, bool, complex or
        records. Own elements are written, those of the halo are not.
    attrs : mapping, optional
        Attributes of the file: numbers, strings and arrays, the same on all ranks.
    progress : callable, optional
        ``progress(done, total)`` is called with bytes of this rank, after each piece of them.
    **options
        Of `h5py.Group.create_dataset`, such as ``compression="gzip"`` or ``chunks=(64, 64)``, for
        all fields.

    Raises
    ------
    CommError
        On all ranks, if something cannot be written on one of them, h5py is missing, HDF5 has no
        type for the elements (storage types such as bfloat16), or ranks do not agree. A file that
        was there before is left as it was.

    Notes
    -----
    Collective; blocks. The datasets have the global shape, so the file tells nothing of ranks, and
    is the same for all numbers of them where they write in turn and there are no chunks. A chunk
    that two ranks have parts of is written twice then, and of compressed ones the first stays in
    the file as a gap: `h5repack` closes it.

    Where h5py is built for MPI (``h5py.get_config().mpi``), ranks write together. Else each opens
    the file when the one before it has closed it: that is as fast as one process. `write_zarr` and
    `save_checkpoint` write at the same time with no special build. A rank copies at most 64 MiB to
    the host at once.

    What is written goes to the file ``path + ".part"`` beside it, which is renamed when it is
    complete.

    Examples
    --------
    >>> import tempfile
    >>> import execspace_comm as escomm
    >>> u = escomm.Decomposition((6, 4)).field(space="serial", label="u")
    >>> folder = u.decomposition.comm.mpi.bcast(tempfile.mkdtemp())
    >>> escomm.write_hdf5(f"{folder}/flow.h5", {"u": u}, attrs={"time": 0.5})
    >>> float(escomm.read_hdf5(f"{folder}/flow.h5", {"u": u})["time"])
    0.5
    """
    name = os.fspath(path)
    what = f"write_hdf5({name!r})"
    comm, given = fields_of(what, fields, path=name, attrs=attrs, options=options)
    together = attempt(comm, what, lambda: _by_mpi(given))
    part = f"{name}.part"

    def create(**driver: Any) -> Any:
        file = _h5py().File(part, "w", **driver)
        try:
            file.attrs.update(attrs or {})
            for key, field in given.items():
                file.create_dataset(key, field.global_shape, field.dtype, **options)
        except BaseException:
            file.close()
            raise
        return file

    def finish() -> None:
        if comm.rank == 0:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, name)

    told = Told(given.values(), progress)
    try:
        if together:
            _write_together(comm, what, create, given, told)
        else:
            attempt(comm, what, lambda: create().close() if comm.rank == 0 else None)
            in_turn(comm, what, lambda: _write_own(part, given, told))
        attempt(comm, what, finish)
    except CommError:
        if comm.rank == 0:
            with contextlib.suppress(OSError):
                os.remove(part)
        raise


def read_hdf5(
    path: Path, fields: Mapping[str, Field], *, progress: Progress | None = None
) -> dict[str, Any]:
    """Read fields from an HDF5 file, of this package or another one.

    Parameters
    ----------
    path : path-like
        The file, which all ranks see.
    fields : mapping of str to Field
        Name of each dataset with the field that gets it, whose global shape and dtype it has.
        Other datasets are left alone. Halos are left as they are.
    progress : callable, optional
        ``progress(done, total)`` is called with bytes of this rank, after each piece of them.

    Returns
    -------
    dict
        Attributes of the file, as h5py gives them.

    Raises
    ------
    CommError
        On all ranks, with the same message, if there is no such file or dataset, or it has
        another shape or dtype (the order of bytes, and gaps in records, may differ). Fields are
        undefined where it comes of reading elements.

    Notes
    -----
    Collective; blocks. Each rank reads its box, all of them at the same time.
    """
    name = os.fspath(path)
    what = f"read_hdf5({name!r})"
    comm, given = fields_of(what, fields, path=name)

    def check() -> None:
        with _opened(name) as file:
            for key, field in given.items():
                _check(file, key, field)

    def read() -> dict[str, Any]:
        told = Told(given.values(), progress)
        with _opened(name) as file:
            for key, field in given.items():
                dataset = file[key]
                for box in own_pieces(field):
                    array = np.empty(extents_of(box), field.dtype)
                    array[...] = dataset[slices_of(box)]
                    write_box(field, box, array)
                    told(array.nbytes)
            return dict(file.attrs)

    attempt(comm, what, check)  # before elements of any field are changed
    return attempt(comm, what, read)


# -- writing ---------------------------------------------------------------------------------------


def _write_own(part: str, fields: Mapping[str, Field], told: Told) -> None:
    """Write what this rank has, alone."""
    if not told.total:
        return
    with _h5py().File(part, "r+") as file:
        for key, field in fields.items():
            dataset = file[key]
            for box in own_pieces(field):
                array = read_box(field, box)
                dataset[slices_of(box)] = array
                told(array.nbytes)


def _write_together(
    comm: Comm, what: str, create: Callable[..., Any], fields: Mapping[str, Field], told: Told
) -> None:
    """Write what all ranks have, by MPI. All make as many calls, for those of datasets with a
    compression are collective; a rank without a piece, or that has failed, writes nothing."""
    file = attempt(comm, what, lambda: create(driver="mpio", comm=comm.mpi))
    error: Exception | None = None
    for key, field in fields.items():
        boxes: list[Box | None] = list(own_pieces(field))
        rounds = max(agreed(comm, what, "", {}, len(boxes)))
        boxes += [None] * (rounds - len(boxes))
        dataset = file[key]
        for box in boxes:
            array = None
            try:
                if box is not None and error is None:
                    array = read_box(field, box)
            except Exception as raised:
                error = raised
            try:
                _write_collectively(dataset, box, array)
                told(0 if array is None else array.nbytes)
            except Exception as raised:
                error = error or raised

    def outcome() -> None:
        file.close()
        if error is not None:
            raise error

    attempt(comm, what, outcome)


def _write_collectively(dataset: Any, box: Box | None, array: Any) -> None:
    """A collective write, of nothing if there is no array; h5py's own leaves that one out."""
    from h5py import h5fd, h5p, h5s

    transfer = h5p.create(h5p.DATASET_XFER)
    transfer.set_dxpl_mpio(h5fd.MPIO_COLLECTIVE)
    there = dataset.id.get_space()
    if array is None or box is None:
        there.select_none()
        here = h5s.create_simple((1,))
        here.select_none()
        array = np.empty(1, dataset.dtype)
    else:
        there.select_hyperslab(box[0], extents_of(box))
        here = h5s.create_simple(array.shape)
    dataset.id.write(here, there, array, dxpl=transfer)


def _by_mpi(fields: Mapping[str, Field]) -> bool:
    """Whether h5py writes by MPI; CommError if a file cannot have the fields."""
    for key, field in fields.items():
        if not stored(field.dtype):
            raise CommError(
                f"{key!r} has dtype {field.dtype}, for which HDF5 has no type; expected numbers of "
                f"NumPy, or records of them. save_checkpoint takes it."
            )
        if any(part in ("", ".", "..") for part in key.split("/")):
            raise CommError(
                f"name {key!r} of a field; expected one such as 'u', or 'flow/u' in a group."
            )
    return bool(_h5py().get_config().mpi)


# -- both ------------------------------------------------------------------------------------------


def _check(file: Any, key: str, field: Field) -> None:
    """CommError if a file does not have what a field is to get."""
    dataset = file.get(key)
    if not isinstance(dataset, _h5py().Dataset):
        names: list[str] = []
        file.visititems(lambda n, o: names.append(n) if isinstance(o, _h5py().Dataset) else None)
        raise CommError(f"there is no dataset {key!r}; the file has {', '.join(names) or 'none'}.")
    if dataset.shape != field.global_shape or not same_elements(dataset.dtype, field.dtype):
        raise CommError(
            f"dataset {key!r} has shape {dataset.shape} and dtype {dataset.dtype}; expected shape "
            f"{field.global_shape} and dtype {field.dtype}, as field '{field.label}' has."
        )


def _opened(name: str) -> Any:
    try:
        return _h5py().File(name, "r")
    except FileNotFoundError:
        raise CommError("there is no such file, or this rank does not see it.") from None


def _h5py() -> Any:
    """The library."""
    try:
        import h5py
    except ImportError as error:
        raise CommError(f"it needs h5py ({error}): pip install h5py.") from None
    return h5py
