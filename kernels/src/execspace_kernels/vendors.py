"""Routines of vendors' libraries behind the functions of this package: a hook for plugins.

A plugin is a module that an entry point of the group ``execspace_kernels`` names. It implements

    @pluggy.HookimplMarker("execspace_kernels")
    def execspace_kernels_vendor(space):
        return MyVendor(space) if space is one of mine else None

and imports nothing of this package. SciPy, where it is installed, serves spaces of the host so.
Which of both is faster is in a table: what `tune` measured, else what the vendor says of itself.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import platformdirs
import pluggy

import execspace as es

from .arguments import count_of
from .decisions import decided
from .errors import MatrixError

__all__ = ["Timing", "Vendor", "tune"]

GROUP = "execspace_kernels"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


class Vendor(Protocol):
    """What a library has for a space.

    For each function that it has, such as "spmv", a method of this name must do what the function
    does, in order with the launches of the space: spmv(A, x, y, alpha, beta, mode) stores into y;
    spgemm(A, B) and spadd(A, B, alpha, beta) return row map, entries and values, as arrays or
    Views, with ascending columns. Matrices have `row_map`, `entries`, `values` and `shape`.

    Matrices of BLAS 2 and 3 come by columns, strides[0] == 1, transposed where they lie by rows, of
    one type of float32 to complex128, never without elements or in mode "C", and alpha is not 0:
    gemv(A, mode, x, y, alpha, beta); ger, geru and gerc(x, y, A, alpha), which change A; trmv and
    trsv(A, uplo, mode, x, out, unit_diagonal); gemm and dot_gemm(A, mode_a, B, mode_b, C, alpha,
    beta); syrk and herk(A, mode, C, uplo, alpha, beta); trmm and trsm(A, side, uplo, mode, B,
    unit_diagonal, alpha), which change B. Vectors have any strides.
    """

    library: str

    def refusal(self, function: str, *args: Any) -> str | None:
        """Why it cannot do this: its types, layouts or sizes; None if it can."""

    def is_preferred(self, function: str, *args: Any) -> bool:
        """Whether it was measured to be faster than what this package has, for such arguments."""


@hookspec(firstresult=True)
def execspace_kernels_vendor(space: es.ExecutionSpace) -> Vendor | None:
    """The vendor's library for a space; None if the plugin has none for it. Asked once."""


@cache
def _plugins() -> pluggy.PluginManager:
    found = pluggy.PluginManager(GROUP)
    found.add_hookspecs(sys.modules[__name__])
    for entry in metadata.entry_points(group=GROUP):
        try:
            found.register(entry.load(), entry.name)
        except Exception as error:
            warnings.warn(
                f"execspace_kernels: the plugin '{entry.name}' ({entry.value}) cannot be loaded; "
                f"its routines are not used: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
    return found


# What `tune` measures: function, space and class of sizes of the calls that it makes.
_ASKED: ContextVar[list[tuple[str, es.ExecutionSpace, str]] | None] = ContextVar(
    "_ASKED", default=None
)
_VENDORS: dict[int, tuple[es.ExecutionSpace, Vendor | None]] = {}


def vendor_of(space: es.ExecutionSpace) -> Vendor | None:
    """The library for a space, if there is one."""
    kept = _VENDORS.get(id(space))
    if kept is None:
        kept = _VENDORS[id(space)] = space, _plugins().hook.execspace_kernels_vendor(space=space)
    return kept[1]


def chosen_vendor(
    what: str,
    wish: bool | None,
    space: es.ExecutionSpace,
    shapes: Callable[[], str],
    *args: Any,
    algorithm: str = "auto",
    unfit: str | None = None,
) -> Any:
    """The vendor whose routine is to be taken, which is told to `explain`; None for ours.

    Parameters
    ----------
    what : str
        The function.
    wish : bool, optional
        True: the vendor's or an error. False: ours. None: what is faster.
    shapes : callable
        Gives the class of sizes, for the table.
    *args
        Those of the vendor's method.
    algorithm : str
        That the caller asked for: all but "auto" are ours.
    unfit : str, optional
        Why no library takes such arguments.
    """
    wish = bool(wish) if isinstance(wish, np.bool) else wish
    if wish is not None and not isinstance(wish, bool):
        raise MatrixError(f"{what}: vendor={wish!r}; expected True, False or None.")
    if wish and algorithm != "auto":
        raise MatrixError(f"{what}: vendor=True with algorithm={algorithm!r}; expected 'auto'.")
    if wish is False or algorithm != "auto":
        return None
    if (asked := _ASKED.get()) is not None:
        asked.append((what, space, shapes()))
    vendor = vendor_of(space)
    refused = f"no library is known for space '{space.name}'"
    if vendor is not None:
        found = unfit or vendor.refusal(what, *args)
        if found is None and es.is_recorded():
            found = "calls of libraries are not recorded in graphs"
        if found is None:
            why = _reason(vendor, what, wish, space, shapes, args)
            if why is None:
                return None
            decided(what, vendor.library, why)
            return vendor
        refused = f"{vendor.library}: {found}"
    if wish:
        raise MatrixError(
            f"{what}: vendor=True, but {refused}. Leave it out, or give vendor=False."
        )
    return None


def _reason(
    vendor: Vendor,
    what: str,
    wish: bool | None,
    space: es.ExecutionSpace,
    shapes: Callable[[], str],
    args: tuple[Any, ...],
) -> str | None:
    """Why a routine that can do it is taken; None if it is not."""
    if wish:
        return "it was asked for"
    kept = _table().get(_key(what, space, shapes()))
    if kept is not None:
        return "tuning found it faster" if kept == "vendor" else None
    is_faster = vendor.is_preferred(what, *args)
    return "it was measured to be faster for such matrices" if is_faster else None


def shapes_of(*matrices: Any, columns: int = 1) -> str:
    """The class of sizes of matrices: powers of two of rows, entries, and the longest row."""
    parts = [
        f"{m.shape[0].bit_length()}r{m.nnz.bit_length()}n{m.graph.longest().bit_length()}l{m.dtype}"
        for m in matrices
    ]
    return "+".join(parts) + f"x{columns}"


# -- the table ------------------------------------------------------------------------------------


class Timing:
    """What `tune` found: seconds of ours and of the vendor's, medians, and which is kept."""

    def __init__(self, ours: float, vendor: float, library: str) -> None:
        self.ours, self.vendor, self.library = ours, vendor, library
        self.choice = "vendor" if vendor < ours else "ours"

    def __repr__(self) -> str:
        return (
            f"ours {1e3 * self.ours:.4g} ms, {self.library} {1e3 * self.vendor:.4g} ms; kept: "
            f"{self.choice}"
        )


def tune(function: Callable[..., Any], /, *args: Any, rounds: int = 15, **options: Any) -> Timing:
    """Measure whether this package or the vendor's library is faster, and keep that.

    Later calls with matrices of about the same size take it, where `vendor` is not given; in other
    processes as well.

    Parameters
    ----------
    function : callable
        One that has `vendor=`, such as `sparse.spmv`, `blas.gemm` or `lapack.getrf`.
    *args, **options
        Its arguments. It is run: what it writes is written.
    rounds : int, default 15
        Calls of each, in turns.

    Returns
    -------
    Timing

    Raises
    ------
    MatrixError
        If the function has no vendor's routine for this call.

    Notes
    -----
    Blocks. The table is `kernels.json` in the folder for tuning, EXECSPACE_TUNING_DIR.
    """
    rounds = count_of(rounds, "tune: rounds", 1)
    asked: list[tuple[str, es.ExecutionSpace, str]] = []
    if "vendor" in options or es.is_recorded():
        raise MatrixError("tune: leave vendor out, and do not call it while a graph is recorded.")
    token = _ASKED.set(asked)
    try:
        function(*args, vendor=True, **options)
    except TypeError as error:
        raise MatrixError(f"tune: {function!r} does not take vendor=: {error}") from error
    finally:
        _ASKED.reset(token)
    if not asked:
        raise MatrixError(f"tune: {function!r} has no routine of a vendor.")
    what, space, shapes = asked[0]
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(rounds + 2):
        for wish in (False, True):
            space.fence()
            begin = time.perf_counter()
            function(*args, vendor=wish, **options)
            space.fence()
            if turn >= 2:  # the first ones compile and prepare
                seconds[wish].append(time.perf_counter() - begin)
    vendor = vendor_of(space)
    assert vendor is not None
    ours, theirs = (statistics.median(seconds[wish]) for wish in (False, True))
    found = Timing(ours, theirs, vendor.library)
    _keep(_key(what, space, shapes), found.choice)
    return found


def _key(what: str, space: es.ExecutionSpace, shapes: str) -> str:
    return f"{what} on {space.name}: {shapes}"


def _file() -> Path:
    settings = tuple(map(os.environ.get, _FOLDERS))
    found = _FILES.get(settings)
    if found is None:
        folder = settings[0]
        if not folder:
            folder = str(Path(platformdirs.user_data_dir("execspace", appauthor=False), "tuning"))
        found = _FILES[settings] = Path(folder) / "kernels.json"
    return found


_FOLDERS = ("EXECSPACE_TUNING_DIR", "XDG_DATA_HOME", "HOME")  # on which the folder depends
_FILES: dict[tuple[str | None, ...], Path] = {}


_TABLES: dict[Path, dict[str, str]] = {}


def _table() -> dict[str, str]:
    file = _file()
    if file not in _TABLES:
        found: Any = {}
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            warnings.warn(
                f"execspace_kernels: {file} cannot be read and counts as empty: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
        is_table = isinstance(found, dict) and all(isinstance(v, str) for v in found.values())
        _TABLES[file] = found if is_table else {}
    return _TABLES[file]


def _keep(key: str, choice: str) -> None:
    table, file = _table(), _file()
    table[key] = choice
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".json")
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(table, out, indent=1, sort_keys=True)
    Path(name).replace(file)
