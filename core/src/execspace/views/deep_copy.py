"""deep_copy: the only way by which elements move, so that every copy is one that was asked for."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base import config, pending
from ..base.array_interface import ArrayInterface, may_share
from ..base.brief import brief
from ..base.errors import (
    DTypeError,
    PluginError,
    SpaceAccessError,
    SpaceError,
    ViewError,
    ViewTypeError,
)
from ..base.free_threading import getter
from ..base.host_copies import Copier
from ..base.storage_types import as_stored, kind_of
from ..contract.argtypes import plain_number
from ..contract.dtypes import name_of
from ..contract.layout import span
from ..contract.memory import HOST, MemorySpace
from ..contract.space import ExecutionSpace
from ..events import dispatch
from ..events.launches import MADE, copy_events, queue_of
from ..events.recording import current
from ..plugins.started import all_idle, fence, note, waited_for_all
from .interop import view_of
from .view import View

__all__ = [
    "deep_copy",
]


NUMBERS = (int, float, complex, np.generic)
_SAME_KIND, _UNSAFE = CASTING = ("same_kind", "unsafe")
# Numbers that elements of a type hold as they are, for which nothing need be looked up.
_USUAL = frozenset(((float, "float64"), (np.float64, "float64"), (complex, "complex128")))


def deep_copy(
    dst: View | Any,
    src: View | Any,
    /,
    *,
    instance: ExecutionSpace | None = None,
    casting: str = _SAME_KIND,
) -> None:
    """Copy elements from `src` to `dst`; any pair of layouts and of memory spaces.

    Parameters
    ----------
    dst : View or array
        Arrays of other libraries are written in place.
    src : View, array or number
        A number fills `dst`.
    instance : ExecutionSpace, optional
        Copy in order with what is launched on this space or instance of it, and do not block if
        it is asynchronous. Without it all spaces are fenced before and after.
    casting : {"same_kind", "unsafe"}
        Whether numbers may lose their kind, a float its fraction: "unsafe" converts any real
        number to any other, as what a kernel stores is converted. Floats are truncated to integers,
        of those out of range, and of NaN, the results are not specified; integers keep the bits
        that elements have room for; bools are whether a number is not zero. "same_kind" refuses
        that, and a number that is an integer out of range.

    Raises
    ------
    ViewError
        If shapes differ, `dst` is read-only, or the two overlap without being the same.
    SpaceAccessError
        If there is no way from the one memory to the other, or `instance` reaches neither.
    ViewTypeError
        If one of them is not an array, or means more than its elements, see `view_of`.
    DTypeError
        If elements of `src` cannot be stored in `dst` without losing their kind (a complex
        into a float, a float into an integer), or records differ; with "unsafe", for complex
        numbers and records only. If `casting` is another word.

    Notes
    -----
    `casting` is as of `numpy.copyto`. The space that copies converts elements on their way,
    and through no other buffers than those of any copy between two types.

    As Kokkos' forms with two and with three arguments, which convert:
    https://kokkos.org/kokkos-core-wiki/API/core/view/deep_copy.html
    """
    if casting is not _SAME_KIND:
        check_casting(casting)
    if not dispatch.TOOLS and _done_again(dst, src, instance):
        return
    target = dst if type(dst) is View else _viewed(dst, "destination", "a View or an array")
    if target.is_readonly:
        raise ViewError(f"deep_copy: destination View '{target.label}' is read-only.")
    if instance is not None and not (
        instance is target.space or isinstance(instance, ExecutionSpace)
    ):
        raise SpaceError(
            f"deep_copy: instance={brief(instance)}; expected a space, es.space(name)."
        )
    recorder = current() if dispatch.TOOLS else None
    number = type(src) is not View and isinstance(src, NUMBERS)
    source = src if number or type(src) is View else _viewed(src, "source", _SOURCES)
    if number and casting == _UNSAFE:
        source = src = converted(target, src)
    fences = instance is None and recorder is None
    copies = number or target.data_ptr != source.data_ptr or target != source
    if fences:
        if not copies or not target.size:
            waited_for_all("deep_copy: before")
        elif number:
            waited_for_all("deep_copy: before", target.memory_space)
        else:
            waited_for_all("deep_copy: before", target.memory_space, source.memory_space)
    if recorder is not None:
        recorder.copy(target, source, instance, casting)
    elif copies:
        if instance is None or not pending.watches(instance):
            _move(target, source, instance, casting)
        else:
            with pending.work("deep_copy", queue_of(instance), _touched(target, source)):
                _move(target, source, instance, casting)
    # The copy has blocked; so the second fence, as Kokkos has it, is for those who are told of it.
    if fences and (dispatch.TOOLS or config.is_portable()):
        fence("deep_copy: after")


_SOURCES = "a View, an array or a number"


def _viewed(value: Any, role: str, expected: str) -> View:
    """An array as a View; raises ViewTypeError for what is none."""
    if value is None or isinstance(value, (str, *NUMBERS)):
        raise ViewTypeError(
            f"deep_copy: the {role} is {brief(value)}, of type {type(value).__name__!r}; expected "
            f"{expected}. The first argument is the destination, the second one the source."
        )
    return view_of(value, label=f"{role} of deep_copy")


def _no_way(dst: Any, src: Any, instance: Any) -> bool:
    return False


# By types of Views and classes of all else.
_copiers: dict[tuple[Any, Any], Copier] = {}
_known_copier = getter(_copiers)
_MOST_COPIERS = 4096


def _done_again(dst: Any, src: Any, instance: ExecutionSpace | None) -> bool:
    """Copy by the short way of a memory space, if there is one for what is given."""
    key = (
        dst.type if type(dst) is View else type(dst),
        src.type if type(src) is View else type(src),
    )
    copier = _known_copier(key) or _copier_of(dst, src, *key)
    if copier is _no_way or config.is_portable():
        return False
    if instance is None and not all_idle():
        ordered = [v.allocation.memory_space for v in (dst, src) if type(v) is View]
        waited_for_all("deep_copy: before", *ordered)
    if instance is not None:
        if getattr(dst, "space", None) is not instance and not isinstance(instance, ExecutionSpace):
            return False
        if MADE.get(instance.name) is not instance:
            note(instance)
    return bool(copier(dst, src, instance))


def _copier_of(dst: Any, src: Any, to: Any, source: Any) -> Copier:
    """The short way of the first memory space that has one, or none; it is kept."""
    found: Copier | None = None
    for view in (dst, src):
        if type(view) is View and found is None:
            found = view.memory_space.copier(to, source)
            if found is not None and not callable(found):
                raise PluginError(
                    f"memory space '{view.memory_space.name}': copier(...) returned "
                    f"{brief(found)}; expected a function, or None where it has none."
                )
    if len(_copiers) >= _MOST_COPIERS:
        _copiers.clear()
    kept = _copiers[to, source] = found or _no_way
    return kept


def _move(target: View, source: Any, instance: ExecutionSpace | None, casting: str) -> None:
    """Copy from a View, or fill with a number."""
    if not isinstance(source, View):
        _fill(target, source, instance)
    elif casting == _SAME_KIND:
        _copy(target, source, instance)
    else:
        with np.errstate(invalid="ignore"):  # of what is out of range
            _copy(target, source, instance, casting)


def check_casting(casting: Any) -> None:
    """Raise DTypeError for what is none."""
    if not isinstance(casting, str) or casting not in CASTING:
        raise DTypeError(f"deep_copy: casting={brief(casting)}; expected one of {CASTING}.")


def converted(target: View, value: Any) -> Any:
    """A number of the kind of a View's elements, if it is a real one of another kind."""
    number, _ = as_number(value)
    if isinstance(number, int) and target.dtype.kind in "biu":
        return _wrapped(number, target.dtype)
    array = np.asarray(number)
    goal, kind = kind_of(target.dtype), kind_of(array.dtype)
    if goal not in "biuf" or kind not in "biuf" or "biuf".index(kind) <= "biuf".index(goal):
        return value
    with np.errstate(invalid="ignore"):
        return array.astype(target.dtype)[()]


def _wrapped(number: int, dtype: np.dtype[Any]) -> Any:
    """An integer as elements of an array of integers are converted: by its lowest bits."""
    if dtype.kind == "b":
        return number != 0
    bits = number & ((1 << 8 * dtype.itemsize) - 1)
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]


def _touched(target: View, source: Any) -> list[pending.Touched]:
    touched = [pending.Touched(f"destination View '{target.label}'", target, True)]
    if isinstance(source, View):
        touched.append(pending.Touched(f"source View '{source.label}'", source, False))
    return touched


def check_copy(
    target: View, source: Any, instance: ExecutionSpace | None, casting: str = _SAME_KIND
) -> None:
    """Raise what copying would."""
    if isinstance(source, View):
        _checked(target, source, instance, casting)
    else:
        _checked_number(target, source, instance)


def _checked_number(target: View, value: Any, instance: ExecutionSpace | None) -> Any:
    """A number as it is stored; raises where it cannot be."""
    number = value
    if (type(value), target.type.dtype) not in _USUAL:
        number, kind = as_number(value)
        check_kind(kind, target, casting=_SAME_KIND)
    _check_instance(instance, target, target)
    return number


def _fill(target: View, value: Any, instance: ExecutionSpace | None) -> None:
    number = _checked_number(target, value, instance)
    try:
        if not target.size:  # whatever the memory, what does not fit is refused
            np.empty((), target.dtype)[()] = as_stored(number, target.dtype)
        if dispatch.TOOLS:
            with copy_events(_where(target), "number", target.nbytes, instance):
                target.memory_space.fill(target, number, instance)
        else:
            target.memory_space.fill(target, number, instance)
    except OverflowError as error:
        raise ViewError(
            f"deep_copy: {brief(value)} does not fit into View '{target.label}' of dtype "
            f"{target.dtype.name}."
        ) from error


def copy_by_any_way(target: View, source: View, *, instance: ExecutionSpace | None = None) -> None:
    """As `deep_copy`; through a buffer of the host where no way leads from memory to memory.

    Then it blocks, and tools are told of both copies and of the buffer.
    """
    to, from_ = target.memory_space, source.memory_space
    if to.reaches(from_) or from_.reaches(to):
        deep_copy(target, source, instance=instance)
        return
    if dispatch.TOOLS:
        dispatch.emit("on_staging", HOST.name, source.nbytes)
    staged = view_of(np.empty(source.shape, source.dtype), label=f"{source.label} on its way")
    deep_copy(staged, source)
    deep_copy(target, staged)


def _where(view: View) -> str:
    return f"{view.label}@{view.memory_space.name}"


def as_number(value: Any) -> tuple[Any, Any]:
    """A number as it is stored, and what `check_kind` takes for its kind.

    NumPy's integers become Python's, which raise where elements do not hold them.
    """
    if isinstance(value, np.generic):
        return int(value) if value.dtype.kind in "iu" else value, value.dtype
    number = plain_number(value)
    return number, type(number)


def check_kind(
    kind: Any, target: View, what: str = "deep_copy: a value", *, casting: str = ""
) -> None:
    """Raise DTypeError if elements of a View cannot hold such values without losing their kind.

    `kind` is a dtype, or the class of a Python number, which is as narrow as it needs to be.
    `casting` is that of `deep_copy`, or empty for what has no such option.
    """
    weak = {int: "i", float: "f", complex: "c", bool: "b"}.get(kind)
    order = "biufc"
    source = weak or kind_of(np.dtype(kind))
    if source not in f"{order}V":  # a date, a text
        raise DTypeError(
            f"{what} of type {np.dtype(kind)} cannot be stored in View "
            f"'{target.label}' of dtype {name_of(target.dtype)}; expected a number."
        )
    goal = kind_of(target.dtype)
    if "V" in (source, goal):  # records: the same fields, at the same places
        fits = weak is None and np.dtype(kind) == target.dtype
    else:
        fits = order.index(source) <= order.index(goal) or (source in "iu" and goal in "iu")
        fits = fits or (casting == _UNSAFE and source != "c")
    if not fits:
        given = kind.__name__ if weak else name_of(np.dtype(kind))
        remedy = f"; convert it first: astype('{target.dtype}')"
        if "V" in (source, goal):
            remedy = "; expected the same fields at the same places. Copy one field at a time"
        elif casting == _SAME_KIND and source != "c":
            remedy += f", or give casting='{_UNSAFE}'"
        raise DTypeError(
            f"{what} of type {given} cannot be stored in View '{target.label}' of dtype "
            f"{name_of(target.dtype)} without loss of kind{remedy}."
        )


def _check_instance(instance: ExecutionSpace | None, target: View, source: View) -> None:
    if instance is None:
        return
    # A View of its own it reaches.
    if instance is not target.space and not any(
        v.memory_space.reachable_from(instance) for v in (target, source)
    ):
        raise SpaceAccessError(
            f"deep_copy: instance of space '{instance.name}' reaches neither memory space "
            f"'{target.memory_space.name}' of View '{target.label}' nor "
            f"'{source.memory_space.name}' of View '{source.label}'. Use an instance of the space "
            f"that owns one of them, or none."
        )
    note(instance)


def extent_of_bytes(view: View) -> tuple[int, int]:
    """Addresses of a View's first byte and of the one past its last; it must not be empty."""
    size = view.dtype.itemsize
    if view.mapping is not None:
        return view.data_ptr, view.data_ptr + view.span * size
    low, span = _ends(view.shape, view.strides)
    start = view.data_ptr + low * size
    return start, start + span * size


@lru_cache(maxsize=1024)
def _ends(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Offset of the first element in memory from that of all indices zero; elements from there."""
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    return low, span(shape, strides)


def may_overlap(a: View, b: View) -> bool:
    """Whether the bytes between the ends of two Views meet; they may lie between each other."""
    x, y = a.allocation, b.allocation
    if x is not y and x.managed and y.managed:  # those of arrays may be parts of one block
        return False
    if not (a.size and b.size):
        return False
    (low, high), (first, last) = extent_of_bytes(a), extent_of_bytes(b)
    return low < last and first < high


def same_block(a: View, b: View) -> bool:
    """Whether the elements of both lie in one block in the same order: a copy is one of bytes."""
    plain = a.mapping is None and b.mapping is None and a.dtype == b.dtype
    return plain and is_one_block(a.shape, a.strides, b.strides)


@lru_cache(maxsize=1024)
def is_one_block(shape: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether elements with these strides lie in one block on both sides, in the same order."""
    size = prod(shape)
    if span(shape, a) != size or span(shape, b) != size:
        return False
    # Strides that are never walked do not count, nor does an order that both reverse.
    return all(s == t and s > 0 for n, s, t in zip(shape, a, b, strict=True) if n > 1)


def host_elements(view: View) -> npt.NDArray[Any]:
    """Elements of a View of host-accessible memory, in its shape; a copy if it has a mapping."""
    array = view.memory_space.host_array(view)
    return array if view.mapping is None else array[view.offsets()]


def share_elements(a: View, b: View) -> bool:
    """Whether two Views of one memory space have elements in common; true where it is unclear."""
    return may_share(ArrayInterface(a, None), ArrayInterface(b, None))


def _checked(
    target: View, source: View, instance: ExecutionSpace | None, casting: str
) -> MemorySpace:
    """The memory space that can copy; raises where there is none, or the Views do not fit."""
    if target.shape != source.shape:
        raise ViewError(
            f"deep_copy: destination View '{target.label}' has shape {target.shape}, source "
            f"View '{source.label}' has {source.shape}; expected the same."
        )
    if source.dtype is not target.dtype:
        check_kind(source.dtype, target, casting=casting)
    to, from_ = target.memory_space, source.memory_space
    if to.reaches(from_):
        mover = to
    elif from_.reaches(to):
        mover = from_
    else:
        raise SpaceAccessError(
            f"deep_copy: no copy from memory space '{from_.name}' (View '{source.label}') to "
            f"'{to.name}' (View '{target.label}'). Copy through the host: "
            f"es.create_mirror_view_and_copy(es.HOST, ...)."
        )
    _check_instance(instance, target, source)
    if to is from_:
        if may_overlap(target, source) and share_elements(target, source):
            raise ViewError(
                f"deep_copy: View '{target.label}' and View '{source.label}' overlap in memory; "
                f"copy through a third View."
            )
    return mover


def _copy(
    target: View, source: View, instance: ExecutionSpace | None, casting: str = _SAME_KIND
) -> None:
    mover = _checked(target, source, instance, casting)
    if dispatch.TOOLS:
        with copy_events(_where(target), _where(source), target.nbytes, instance):
            mover.copy(target, source, instance)
    else:
        mover.copy(target, source, instance)
