"""What all functions do with their arguments: arrays as Views, shapes, results, spaces."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

import execspace as es

from .errors import MatrixError

P = ParamSpec("P")
R = TypeVar("R")
MANY = 1024  # work items that run at once on a device; hosts have fewer
_MOST = 2**63 - 1
INDICES = (np.dtype(np.int32), np.dtype(np.int64))
_WITH_TEAMS: dict[type, bool] = {}
Space = str | es.ExecutionSpace | None
if TYPE_CHECKING:
    static = Any  # in kernels it is a number as any other
else:
    static = es.static


def as_view(source: Any, what: str, space: Space = None) -> es.View:
    """An argument as a View, without a copy; of lists and tuples one is made for a space."""
    if isinstance(source, es.View):
        return source
    if isinstance(source, list | tuple):
        found = _listed(source, what)
        if found.dtype == object:
            raise es.ViewError(
                f"{what}: a {type(source).__name__} that NumPy makes objects of; expected numbers "
                f"that a float64 or an int64 can hold."
            )
        return es.array(found, space=space, label=what)
    return es.view_of(source, label=what)


def indices(source: Any, what: str, space: Space = None) -> es.View:
    """A View of rank 1 of int32 or int64; lists become int64, other integers are refused."""
    if isinstance(source, list | tuple):
        found = _listed(source, what)
        if found.size and found.dtype.kind not in "iu":
            raise es.ViewError(
                f"{what}: a list of {found.dtype}; expected integers that an int64 can hold."
            )
        if found.dtype == np.uint64 and found.size and found.max() > np.iinfo(np.int64).max:
            raise es.ViewError(
                f"{what}: a list with {found.max()}; expected integers that an int64 can hold."
            )
        source = es.array(found.astype(np.int64), space=space, label=what)
    view = as_view(source, what)
    if view.rank != 1 or view.dtype not in INDICES:
        raise es.ViewError(
            f"{what}: View '{view.label}' has rank {view.rank} and dtype {view.dtype}; expected "
            f"rank 1 and int32 or int64."
        )
    return view


def _listed(source: Any, what: str) -> Any:
    """The array of a list."""
    try:
        return np.asarray(source)
    except (ValueError, OverflowError) as error:
        raise es.ViewError(
            f"{what}: NumPy makes no array of this {type(source).__name__}: {error} Expected one "
            f"number for each place."
        ) from None


def on_space(view: es.View, space: Space) -> es.View:
    """A View whose memory the space reaches: the same, or a copy in the space's own memory; the
    same without a space."""
    if space is None or view.memory_space.reachable_from(es.space_for(space=space)):
        return view
    return es.array(view, space=space)


def vector(source: Any, what: str, length: int, whose: str) -> es.View:
    """One vector, a View of rank 1, or several, the columns of one of rank 2."""
    view = as_view(source, what)
    if view.rank not in (1, 2) or view.shape[0] != length:
        raise es.ViewError(
            f"{what}: View '{view.label}' has shape {view.shape}; expected ({length},) or "
            f"({length}, k), for {whose}."
        )
    return view


def result(
    out: Any, what: str, shape: tuple[int, ...], dtype: Any, space: es.ExecutionSpace, like: es.View
) -> es.View:
    """`out`, if it is given and fits; else a new View, not filled, in the layout of another one."""
    if out is None:
        layout = like.layout if like.rank == len(shape) == 2 and like.layout != "stride" else None
        return es.View(shape, dtype, label=what, space=space, layout=layout, initialize=False)
    if isinstance(out, list | tuple):
        raise es.ViewError(f"{what}: out is a {type(out).__name__}; expected a View or an array.")
    view = as_view(out, f"{what}: out")
    if view.layout == "stride" and view.size and _lie_at_one_place(view):
        raise es.ViewError(
            f"{what}: out is View '{view.label}', whose elements lie at one place, strides "
            f"{view.strides}; expected one place for each."
        )
    if view.shape != shape:
        raise es.ViewError(
            f"{what}: out is View '{view.label}' of shape {view.shape}; expected {shape}."
        )
    if view.is_readonly:
        raise es.ViewError(f"{what}: out is View '{view.label}', which is read-only.")
    return view


def _lie_at_one_place(view: es.View) -> bool:
    """Whether elements of a View of layout "stride" may share memory."""
    reach = 1
    for stride, n in sorted((abs(s), n) for s, n in zip(view.strides, view.shape, strict=True)):
        if n > 1 and stride < reach:
            return True
        reach += stride * (n - 1)
    return False


def check_apart(what: str, out: es.View, **others: es.View) -> None:
    """Raise ViewError where `out` overlaps what is read."""
    for name, other in others.items():
        if overlap(out, other):
            raise es.ViewError(
                f"{what}: out overlaps {name.replace('_', ' ')} in memory; expected Views that do "
                f"not."
            )


def check_takes(what: str, out: es.View, dtype: np.dtype[Any]) -> None:
    """Raise ViewError where `out` cannot hold results of a dtype."""
    if out.dtype == dtype:
        return
    fits = out.dtype.kind in "fc" and dtype.kind in "fc"
    if not fits or (dtype.kind == "c" and out.dtype.kind != "c"):
        kind = "complex" if dtype.kind == "c" else "real or complex floats"
        raise es.ViewError(
            f"{what}: out is View '{out.label}' of {out.dtype}, and the result is of {dtype}; "
            f"expected {kind}."
        )


def overlap(a: es.View, b: es.View) -> bool:
    """Whether the bytes between the ends of two Views meet; they may lie between each other."""
    return meets(a, (b,))


def meets(out: es.View, others: Iterable[es.View]) -> bool:
    """Whether a View overlaps one of others. Two of execspace's blocks of memory have no byte in
    common, which is told sooner."""
    own = out.allocation
    ends = None
    for other in others:
        its = other.allocation
        if its is not own and its.managed and own.managed:
            continue
        if other.memory_space is not out.memory_space or not other.size or not out.size:
            continue
        if ends is None:
            ends = _ends(out)
        begin, end = _ends(other)
        if ends[0] < end and begin < ends[1]:
            return True
    return False


def _ends(view: es.View) -> tuple[int, int]:
    if len(view.shape) == 1 and view.strides[0] >= 0:  # which is sooner done
        size = view.dtype.itemsize
        low = view.data_ptr
        return low, low + ((view.shape[0] - 1) * view.strides[0] + 1) * size
    steps = [(n - 1) * s for n, s in zip(view.shape, view.strides, strict=True)]
    size = view.dtype.itemsize
    low = view.data_ptr + sum(s for s in steps if s < 0) * size
    return low, view.data_ptr + (sum(s for s in steps if s > 0) + 1) * size


def choice(value: Any, what: str, known: Sequence[str]) -> str:
    """One of some words; MatrixError for all else."""
    if not isinstance(value, str) or value not in known:
        *some, last = map(repr, known)
        raise MatrixError(f"{what}={value!r}; expected {', '.join(some)} or {last}.")
    return value


def check_bool(value: Any, what: str) -> bool:
    """True or False; MatrixError for all else."""
    if not isinstance(value, bool | np.bool):
        raise MatrixError(f"{what}={value!r}; expected True or False.")
    return bool(value)


def count_of(value: Any, what: str, least: int) -> int:
    """A number of something; MatrixError for all else."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or number < least:
        raise MatrixError(f"{what}={shown(value)}; expected a number of {least} or more.")
    if number > _MOST:
        raise MatrixError(f"{what} is 2**63 or more; expected what an int64 can count.")
    return number


def number_of(value: Any, what: str) -> Any:
    """A real or complex number that kernels take; MatrixError for all else. Integers that an int64
    cannot hold become floats."""
    if isinstance(value, es.View):
        raise MatrixError(
            f"{what} is View '{value.label}'; expected a number, such as its .item(), which waits. "
            f"blas.scal takes Views of rank 0, without a wait."
        )
    if isinstance(value, bool) or not isinstance(value, int | float | complex | np.number):
        raise MatrixError(f"{what}={value!r}; expected a number.")
    if not isinstance(value, int) or is_int64(value):
        return value
    try:
        return float(value)
    except OverflowError:
        raise MatrixError(
            f"{what} is {shown(value)}; expected a number that a float64 can hold."
        ) from None


def check_beta(what: str, out: Any, beta: Any) -> None:
    """Raise MatrixError for a factor of what is not there."""
    if out is None and beta != 0:
        raise MatrixError(
            f"{what}: beta={beta!r} without out=; expected out, which beta multiplies, or beta=0."
        )


def is_int64(value: int) -> bool:
    """Whether an int64 can hold it."""
    return -_MOST <= value <= _MOST


def shown(value: Any) -> str:
    """What an error says of an argument, of which Python may not want to write all digits."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except ValueError:  # digits of integers within
        return f"a {type(value).__name__} with integers of thousands of digits"
    return text if len(text) <= 200 else f"{text[:200]}..."


def at_once(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function now, also where a graph is recorded: for what is to be known of matrices.

    Recordings, and spaces in use, belong to the context; so the call must name its space.
    """
    return Context().run(function, *args, **options)


def reaching(*views: es.View) -> es.ExecutionSpace:
    """Where Views are looked at: in the space in use if it reaches them, else in one that does."""
    try:
        return es.space_for(*views)
    except es.SpaceAccessError:
        usable = (row for row in es.spaces() if row.usable and row.priority >= 0)
        for row in sorted(usable, key=lambda row: -row.priority):
            space = es.space(row.name)
            if all(view.memory_space.reachable_from(space) for view in views):
                return space
        raise


def has_teams(space: es.ExecutionSpace) -> bool:
    """Whether a space runs teams, which is known of its class: to ask a protocol takes as long as a
    launch."""
    kind = type(space)
    if kind not in _WITH_TEAMS:
        _WITH_TEAMS[kind] = isinstance(space, es.SupportsTeams)
    return _WITH_TEAMS[kind]


def is_device(space: es.ExecutionSpace) -> bool:
    """Whether a space runs teams, and many work items at once."""
    return space.concurrency > MANY and has_teams(space)


def largest_team(space: Any) -> int:
    """Threads that a team of a space has at most."""
    return int(space.team_limits().team_size_max)


def elements_of(view: es.View) -> Any:
    """The elements now, as a NumPy array, also where a graph is recorded: for what errors say."""
    return at_once(view.to_numpy)


def in_turns(method: Callable[P, R]) -> Callable[P, R]:
    """A method of an object that has memory for its work: threads call it one after the other."""

    @wraps(method)
    def call(*args: P.args, **options: P.kwargs) -> R:
        own: dict[str, Any] = args[0].__dict__  # which has a lock of its own from the first call on
        with own.setdefault("_turn", RLock()):
            return method(*args, **options)

    return call


def check_not_recorded(what: str) -> None:
    """Raise LaunchError within the recording of a graph, for what looks at numbers at once."""
    if es.is_recorded():
        raise es.LaunchError(
            f"{what} looks at elements, which there are not yet while a graph is recorded; call it "
            f"before, or with out= or check=False where it has that."
        )


def check_not_waited_for(what: str) -> None:
    """Raise LaunchError within the recording of a graph, for what needs results on the host, such
    as the number of entries that it has counted."""
    if es.is_recorded():
        raise es.LaunchError(
            f"{what} waits for what its launches find, and these do not run while a graph is "
            f"recorded; call it outside of `with graph:`, and record what takes its result."
        )


def first(n: int, space: es.ExecutionSpace, kernel: Callable[..., Any], *args: Any) -> int | None:
    """The least index for which a kernel does not return `n`; None if there is none. Blocks."""
    if n == 0:
        return None
    every = es.RangePolicy(n, space=space)
    found = int(at_once(es.parallel_reduce, every, kernel, *args, reducer=es.Min))
    return None if found >= n else found
