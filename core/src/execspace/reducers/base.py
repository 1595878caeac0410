"""The contract of reducers: identity, join and final, and how `reducer=` is understood.

The kernel returns its contribution and the reducer joins, so the two cannot disagree. The
built-in reducers are in builtin.py; a user's own derive from `Reducer` here. `join`
and `final` are kernel-language functions, which compilers compile for each space.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, cast

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError, ViewTypeError
from ..base.subclasses import fields_of
from ..contract.launch_spec import Capture
from ..kernels.captures import Scope, captures_of, constant_tag, function_tag, parameters, paths_of
from ..kernels.marks import TEXT
from ..kernels.pickling import SourceText
from ..plugins.registry import find_reducer, registry
from ..views.arrays import check_plain
from ..views.view import View

__all__ = [
    "Reducer",
]


class Reducer:
    """How contributions are joined; the base of built-in reducers and of a user's own.

    A class of one's own has an `identity`, a `join` and, if the result needs a last step, a
    `final`. `join` and `final` are compiled like helpers of a kernel: what they are given are
    values, so they return the joined value instead of changing one.

    Attributes
    ----------
    identity : number, tuple, NumPy array or NumPy record
        Value that joins without effect: the result of an empty range. The value of the
        reduction has its structure, which is also that of what the kernel returns: a number; a
        tuple (a NamedTuple names its items for `join`); a small array, for which kernel and
        `join` return a tuple of its elements; or a record, ``np.zeros((), dtype)[()]``, for
        which they return a tuple of its fields. It may also be a method that takes the name of
        the contribution's dtype (of several, a tuple of names) and returns such a value.
    shape : int, tuple of int or None
        If given, the reduction is of a small array: the kernel gets a private array after its
        indices and joins into it; `identity` and `join` are those of one element.
    dtype : dtype-like or None
        Type in which numbers are joined; None: that of contribution and identity together.
    kind : str
        Name by which compilers know a built-in join; "custom" for a user's own.

    Notes
    -----
    ``join(a, b)`` must be associative. It need not be commutative for `parallel_scan`, which
    joins neighbours only, nor for `parallel_reduce` where
    ``space.capabilities.ordered_reductions`` says that contributions are joined in the order of
    indices, as on CPUs. It may be written with or without ``self``; attributes of ``self``
    are constants by value, as in kernels that are methods. Without it type checkers want a
    ``@staticmethod``, which may be left out otherwise. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/builtinreducers/ReducerConcept.html

    Examples
    --------
    >>> import math
    >>> import execspace as es
    >>> class Norm(es.Reducer):
    ...     identity = 0.0
    ...     @staticmethod
    ...     def join(a, b):
    ...         return a + b
    ...     @staticmethod
    ...     def final(a):
    ...         return math.sqrt(a)
    >>> es.parallel_reduce(2, lambda i: (3.0 + i) ** 2, reducer=Norm)
    5.0
    """

    kind = "custom"
    identity: Any = None
    shape: int | tuple[int, ...] | None = None
    dtype: Any = None
    _default: Reducer

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        functions = (f for f in vars(cls).values() if isinstance(f, FunctionType))
        setattr(cls, TEXT, SourceText(tuple(functions)))  # travels with a class that does

    @staticmethod
    def __execspace_tag__(value: Any) -> object:
        """Of a reducer, or a class of such, that a kernel captures; see `captures.OWN_TAG`."""
        kind = value if isinstance(value, type) else type(value)
        if kind in _keyed.kinds:  # its own functions refer to it
            return kind.__module__, kind.__qualname__
        return reducer_key(value) if is_integral(value) else None

    @property
    def name(self) -> str:
        """Name for messages."""
        return type(self).__name__

    @property
    def array_shape(self) -> tuple[int, ...] | None:
        """Shape of an array reduction; None for all others."""
        if self.shape is None:
            return None
        return self.shape if isinstance(self.shape, tuple) else (self.shape,)

    @property
    def gives_array(self) -> bool:
        """Whether the result is an array."""
        return self.shape is not None or self.result_shape is not None

    @property
    def result_shape(self) -> tuple[int, ...] | None:
        """Shape of a result that is an array; None for all others."""
        if self.shape is not None:
            return self.array_shape
        like = None if self.has("final") else self.identity
        return like.shape if isinstance(like, np.ndarray) and like.ndim else None

    def identity_for(self, dtype: Any) -> Any:
        """The identity for contributions of a dtype, or of a tuple of dtypes (by name)."""
        return self.identity(dtype) if callable(self.identity) else self.identity

    def as_result(self, value: Any) -> Any:
        """What the user gets, from the reduction's value as Python numbers and tuples."""
        like = None if callable(self.identity) or self.has("final") else self.identity
        if isinstance(like, np.ndarray):
            if like.ndim:
                return np.array(flattened(value), like.dtype).reshape(like.shape)
            like = like[()]
        return with_classes(like, value)

    def has(self, name: str) -> bool:
        """Whether the user's class defines `join` or `final`."""
        return callable(getattr(type(self), name, None))

    def scope(self, name: str) -> Scope:
        """The function `join` or `final`, with `self` given if it takes it.

        Raises
        ------
        LaunchError
            If it is not a Python function of the right number of parameters.
        """
        number = 2 if name == "join" else 1
        given = [c.__dict__[name] for c in type(self).__mro__ if name in c.__dict__]
        fn = given[0] if given else None
        fn = fn.__func__ if isinstance(fn, staticmethod) else fn
        fn = getattr(fn, "fn", fn)  # of a Kernel
        names = parameters(fn) if isinstance(fn, FunctionType) else ()
        if not isinstance(fn, FunctionType) or len(names) not in (number, number + 1):
            form = "join(a, b)" if name == "join" else "final(a)"
            got = "no such function" if fn is None else f"a {type(fn).__name__}"
            if isinstance(fn, FunctionType):
                got = f"{len(names)} parameters"
            raise LaunchError(f"Reducer '{self.name}': expected a method {form}, got {got}.")
        return Scope(fn, {names[0]: self} if len(names) > number else {})


def with_classes(like: Any, value: Any) -> Any:
    """Nested tuples with the classes that those of the identity have, and records among them."""
    if isinstance(like, np.void):
        return np.array(value, like.dtype)[()]
    if not isinstance(like, tuple) or not isinstance(value, tuple):
        return value
    items = [with_classes(a, v) for a, v in zip(like, value, strict=True)]
    return type(like)(*items) if fields_of(like) else tuple(items)


def flattened(value: Any) -> list[Any]:
    """The numbers of nested tuples, in order."""
    if not isinstance(value, tuple):
        return [value]
    return [number for item in value for number in flattened(item)]


# -- what stands in `reducer=` ----------------------------------------------------------------


def as_reducer(spec: Any) -> Reducer | tuple[Reducer, ...]:
    """Turn `reducer=` into a reducer: an instance, a class, a plugin's name, or a tuple of them.

    Raises
    ------
    LaunchError
        For anything else, and for a class of one's own that lacks identity or join.
    """
    if isinstance(spec, tuple) and spec:
        found = tuple(as_reducer(s) for s in spec)
        for r in found:
            if isinstance(r, tuple):
                raise LaunchError(
                    f"reducer={brief(spec)}: expected a tuple of reducers, which cannot hold "
                    f"tuples."
                )
            if r.shape is not None:
                raise LaunchError(
                    f"reducer={brief(spec)}: an array reduction, {r.name}(shape=...), stands "
                    f"alone, because its kernel returns nothing; pass it as reducer= itself."
                )
        return cast("tuple[Reducer, ...]", found)
    if isinstance(spec, Reducer):
        return _checked(spec)
    if isinstance(spec, type) and issubclass(spec, Reducer) and spec is not Reducer:
        return _checked(_instance(spec))
    if isinstance(spec, str):
        entry = find_reducer(spec)
        if entry is not None:
            registered: Reducer = entry.reducer
            return registered
        names = ", ".join(sorted(registry().reducers)) or "none"
        meant = _built_in_named(spec) or _close(spec, registry().reducers)
        hint = f" Did you mean reducer={meant}?" if meant else ""
        raise LaunchError(
            f"No plugin registers a reducer named {brief(spec)}; registered: {names}.{hint}"
        )
    name = getattr(spec, "__name__", "")
    meant = _built_in_named(name) if callable(spec) and isinstance(name, str) else ""
    raise LaunchError(
        f"reducer={brief(spec)} is not a reducer; expected es.Sum, es.Prod, es.Min, es.Max or "
        f"another "
        f"reducer of execspace, a class of your own that derives from es.Reducer, an instance "
        f"of one, or a tuple of reducers.{f' Did you mean reducer={meant}?' if meant else ''}"
    )


def _instance(kind: type[Reducer]) -> Reducer:
    """The one instance that a class stands for."""
    known: Reducer | None = kind.__dict__.get("_default")  # a table would keep local classes alive
    if known is None:
        try:
            known = kind._default = kind()
        except TypeError as error:
            raise LaunchError(
                f"reducer={kind.__name__} cannot be made without arguments ({error}); pass "
                f"an instance."
            ) from None
    return known


# What other libraries call the joins that execspace has.
_ALSO = {
    "+": "Sum", "add": "Sum", "plus": "Sum", "*": "Prod", "mul": "Prod", "multiply": "Prod",
    "product": "Prod", "minimum": "Min", "maximum": "Max", "amin": "Min", "amax": "Max",
    "argmin": "MinLoc", "argmax": "MaxLoc", "and": "LAnd", "all": "LAnd", "or": "LOr",
    "any": "LOr", "&": "BAnd", "|": "BOr", "&&": "LAnd", "||": "LOr", "and_": "BAnd",
    "or_": "BOr", "logical_and": "LAnd", "logical_or": "LOr", "bitwise_and": "BAnd",
    "bitwise_or": "BOr", "fmin": "Min", "fmax": "Max",
}  # fmt: skip


def _built_in(kind: type[Reducer]) -> Iterator[type[Reducer]]:
    """The reducers of execspace that derive from a class, and have a name."""
    for found in kind.__subclasses__():
        if _is_of_execspace(found):
            yield from () if found.kind == "custom" else (found,)
            yield from _built_in(found)


def is_built_in(kind: type[Reducer]) -> bool:
    """Whether it is a class of execspace whose joins compilers know; instances never change."""
    return kind.kind != "custom" and _is_of_execspace(kind)


def _is_of_execspace(kind: type[Reducer]) -> bool:
    module = kind.__module__
    return isinstance(module, str) and module.partition(".")[0] == "execspace"


def _built_in_named(name: str) -> str:
    """The built-in reducer that a name stands for, as it is written; "" if there is none."""
    kinds = {found.__name__.lower(): found.__name__ for found in _built_in(Reducer)}
    plain = name.strip().removeprefix("es.").lower()
    known = _ALSO.get(plain) or kinds.get(plain.replace("_", ""))
    if known is None:
        from difflib import get_close_matches

        known = next((kinds[n] for n in get_close_matches(plain, kinds, n=1, cutoff=0.7)), None)
    return f"es.{known}" if known else ""


def _close(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    return next((repr(n) for n in get_close_matches(name, known, n=1)), "")


# An array reduction keeps one array for each thread on its stack.
_LARGEST_ARRAY = 2048


def checked_shape(name: str, shape: Any) -> tuple[int, ...]:
    """The shape of an array reduction as a tuple.

    Raises
    ------
    LaunchError
        If it is none, or the array would be too large for a thread's stack.
    """
    extents = shape if isinstance(shape, tuple) else (shape,)
    whole = (isinstance(n, int | np.integer) and not isinstance(n, bool) for n in extents)
    valid = all(whole) and all(n > 0 for n in extents)
    if not valid or not extents or math.prod(map(int, extents)) > _LARGEST_ARRAY:
        raise LaunchError(
            f"{name}(shape={brief(shape)}): expected a positive integer or a tuple of such, at "
            f"most {_LARGEST_ARRAY} elements in all. Larger sums are made with es.atomic_add or "
            f"es.ScatterView."
        )
    return tuple(map(int, extents))


def _checked(reducer: Reducer) -> Reducer:
    if reducer.kind != "custom":
        own = [name for name in ("join", "final") if reducer.has(name)]
        if own:
            raise LaunchError(
                f"Reducer '{reducer.name}' derives from a built-in reducer, whose {own[0]} cannot "
                f"be replaced; derive it from es.Reducer and give it identity and join."
            )
    else:
        if reducer.identity is None:
            raise LaunchError(
                f"Reducer '{reducer.name}' has no identity; give the class the value that joins "
                f"without effect: identity = 0.0"
            )
        if isinstance(reducer.identity, np.ndarray):
            try:
                check_plain(reducer.identity, "an identity")
            except ViewTypeError as error:
                raise LaunchError(f"Reducer '{reducer.name}': {error}") from None
        if reducer.shape is not None:
            checked_shape(reducer.name, reducer.shape)
            if isinstance(reducer.identity, tuple | np.ndarray | np.void):
                raise LaunchError(
                    f"Reducer '{reducer.name}' has a shape, so its identity is that of one "
                    f"element; expected a number, got {brief(reducer.identity)}."
                )
        reducer.scope("join")
        if reducer.has("final"):
            reducer.scope("final")
    return reducer


def reducer_key(spec: Any) -> object:
    """Hashable stand-in for `reducer=` that is equal for reducers that compile to the same code.

    What functions of a user's own reducer capture is read again each time. What is wrong with one
    is left to `as_reducer`, which is called where there is no plan for the key.
    """
    if isinstance(spec, tuple):
        return (tuple, *map(reducer_key, spec))
    kind = spec if isinstance(spec, type) else type(spec)
    if not issubclass(kind, Reducer):
        return spec
    if spec.kind != "custom":
        built_in = isinstance(spec, type) or _is_of_execspace(kind)
        # An instance of a user's own subclass may have attributes that == does not look at.
        return spec if built_in else (kind, *_attributes(spec))
    try:
        return _own_key(spec if isinstance(spec, Reducer) else _instance(spec))
    except LaunchError:
        as_reducer(spec)  # says more
        raise


class _Keyed(threading.local):
    """Classes of reducers whose keys a thread is about to make."""

    def __init__(self) -> None:
        self.kinds: list[type] = []


_keyed = _Keyed()


def _own_key(reducer: Reducer) -> object:
    _keyed.kinds.append(type(reducer))
    try:
        return _key_of_functions(reducer)
    finally:
        _keyed.kinds.pop()


def _key_of_functions(reducer: Reducer) -> object:
    # Not the class itself: one that a function makes anew at each call is the same reducer.
    kind = type(reducer)
    key: list[object] = [kind.__module__, kind.__qualname__]
    key += [_identity_tag(reducer.identity), reducer.shape, str(reducer.dtype)]
    for name in ("as_result", "identity_for", "name", "array_shape", "gives_array", "result_shape"):
        if getattr(kind, name) is not getattr(Reducer, name):  # Python code, which may read all
            key += [getattr(kind, name), *_attributes(reducer)]
    for _, scope in _functions(reducer):
        hidden: list[View] = []
        tag = function_tag(scope, hidden)
        if hidden:
            raise LaunchError(
                f"Reducer '{reducer.name}': {scope.fn.__name__} captures View "
                f"'{hidden[0].label}'; expected arguments and constants only."
            )
        key.append(tag)
    return tuple(key)


def is_integral(value: Any) -> bool:
    """Whether it is a reducer, or a class of such that is made without arguments."""
    if isinstance(value, Reducer):
        return value.kind != "custom" or value.has("join")
    if not (isinstance(value, type) and issubclass(value, Reducer)):
        return False
    return value.kind != "custom" or is_made_alone(value)


def is_made_alone(kind: type[Reducer]) -> bool:
    """Whether a class of one's own stands for its one instance."""
    try:
        as_reducer(kind)
    except Exception:  # its __init__ may raise whatever it likes
        return False
    return True


def _attributes(reducer: Reducer) -> list[object]:
    """Tags of what an instance holds itself."""
    held = getattr(reducer, "__dict__", {})
    return [(name, constant_tag(held[name])) for name in sorted(held)]


def _identity_tag(identity: Any) -> object:
    if isinstance(identity, np.ndarray | np.void):
        # A subclass may be refused, and its own methods may raise: those of NumPy's masked do.
        plain = np.asarray(identity)
        return type(identity), plain.dtype.str, str(plain.dtype), plain.shape, plain.tobytes()
    if callable(identity):
        function, owner = (
            getattr(identity, "__func__", identity),
            getattr(identity, "__self__", None),
        )
        if not isinstance(function, FunctionType):
            return constant_tag(identity)
        names = parameters(function)
        scope = Scope(function, {names[0]: owner} if owner is not None and names else {})
        return function_tag(scope, [])
    if isinstance(identity, tuple):
        return (type(identity), *map(_identity_tag, identity))
    return constant_tag(identity)


def _functions(reducer: Reducer) -> list[tuple[str, Scope]]:
    names = ["join"] + (["final"] if reducer.has("final") else [])
    return [(name, reducer.scope(name)) for name in names]


def reducer_captures(spec: Reducer | tuple[Reducer, ...]) -> tuple[Capture, ...]:
    """Captures of the join and final functions of a user's own reducers.

    The functions are named "0 join", "0 final", "1 join" and so on by the reducer's place; what
    they capture themselves is named "0 join/name".
    """
    found: list[Capture] = []
    for n, reducer in enumerate(spec if isinstance(spec, tuple) else (spec,)):
        if reducer.kind != "custom":
            continue
        for name, scope in _functions(reducer):
            full = f"{n} {name}"
            bare = Scope(scope.fn, dict.fromkeys(scope.bound))
            found.append(Capture(full, bare, function_tag(scope, [])))
            inner = captures_of(scope, paths_of(scope), 0)
            found += (Capture(f"{full}/{c.name}", c.value, c.tag) for c in inner)
    return tuple(found)
