"""Kernels: a Python function, its options, and the plans compiled for it.

Core compiles nothing. What a kernel captures from enclosing scopes is the job of captures.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import CodeType, FunctionType, MappingProxyType, MethodType
from typing import Any, overload

from ..base import ports
from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import LaunchError
from ..base.flags import flag, lanes_of
from ..base.free_threading import drop_oldest, getter
from ..base.readonly import ReadOnly
from ..contract.launch_spec import Capture, LaunchSpec
from ..contract.space import Plan
from ..views.static import static
from ..views.view import View
from .captures import (
    NamesLeadOn,
    Scope,
    captured_paths,
    captures_of,
    defaults,
    environment_tags,
    fixed_names,
    keyword_only,
    lookup,
    parameters,
    scope_of,
    without_views,
)
from .exec_source import check_given, remember
from .fixed_names import same_modules, unchanged
from .pickling import ANCHOR, SourceText, anchor_of, imported, named
from .recent import Recent

__all__ = [
    "Kernel",
    "kernel",
]


@dataclass(frozen=True, slots=True)
class KernelPart:
    """A kernel of a `FusedKernel`.

    Attributes
    ----------
    kernel : Kernel
    spec : LaunchSpec
        Of its launch by itself.
    positions : tuple of int
        For each of its arguments, without those of ``out=``, the number of the argument of the
        fused launch that takes its place.
    """

    kernel: Kernel
    spec: LaunchSpec
    positions: tuple[int, ...]


class KernelNames:
    """The outer names of a kernel at a launch, and the plans that hold while they mean the same.

    Attributes
    ----------
    paths : tuple
        Dotted names that must be read again at each launch.
    fixed : dict
        What the others stand for.
    unchanged : callable or None
        A test of that. Once it fails, this object is of no use.
    plans : dict
    results : dict
        What launches give that are waited for later, by the keys of plans; see `launch.future`.
    """

    __slots__ = ("fixed", "paths", "plans", "results", "unchanged")

    def __init__(self, scope: Scope) -> None:
        self.fixed = fixed_names(scope)  # first: what changes meanwhile is then noticed
        self.unchanged = unchanged(scope.fn, self.fixed)
        self.paths = tuple(captured_paths(scope))
        self.plans: dict[tuple[Any, ...], Plan] = {}
        self.results: dict[tuple[Any, ...], Any] = {}


class Kernel(ReadOnly):
    """A function that can be launched; made by `@es.kernel`, or from a plain function.

    Calling it runs the Python function as it stands, for debugging.

    Attributes
    ----------
    fn : function
    name : str
    fma : bool
        Multiply-add may be contracted within an expression (the default).
    fastmath : bool
        Arithmetic may be reassociated and NaN ignored; results then differ between spaces.
    lanes : int
        Neighbouring indices that hosts run in the lanes of a vector; 0: the space decides.
    source : str or None
        Text of the module that defines the function, as the user gave it.
    bound : tuple of str
        Parameters that are bound beforehand, see `Scope`.
    statics : tuple of str
        Parameters annotated with `es.static` that are not bound yet.
    shared : Kernel
        The one that keeps the plans: for a function that is defined anew at each call of another
        one, the kernel of its first definition; for most kernels themselves.
    names : KernelNames or None
        Of `shared`; None until the first launch, when the names are all defined.
    recent : Recent
        Of `shared`, too, unless that is of another module.
    parts : tuple of KernelPart
        Of which it is made, if it is a `FusedKernel`.
    temporary : tuple of int
        Then: arguments that nobody reads after a launch, so they need not be stored.
    """

    parts: tuple[KernelPart, ...] = ()
    temporary: tuple[int, ...] = ()

    __slots__ = (
        "__dict__", "__weakref__", "_code", "_variants", "bound", "fastmath", "fma", "fn", "lanes",
        "name", "names", "recent", "scope", "shared", "source", "statics",
    )  # fmt: skip
    _fixed = frozenset((
        "fastmath", "fma", "fn", "lanes", "bound", "name", "scope", "source", "statics",
    ))  # fmt: skip
    _instead = "Compiled plans depend on it; make another kernel with es.kernel"

    def __init__(
        self,
        fn: FunctionType,
        *,
        fma: bool = True,
        fastmath: bool = False,
        lanes: int = 0,
        name: str | None = None,
        source: str | None = None,
        bound: tuple[str, ...] = (),
    ) -> None:
        self.fn = fn
        self._code = fn.__code__  # whose identity, a part of keys, no other code may get
        self.fma = fma
        self.fastmath = fastmath
        self.lanes = lanes
        self.name = name or fn.__name__
        self.source = source
        self.bound = bound
        self.statics = tuple(n for n in static_parameters(fn) if n not in bound)
        self.scope = Scope(fn, {}, self)
        self.shared = self
        self.names: KernelNames | None = None
        self.recent = Recent()
        self._variants: dict[tuple[str, ...], Kernel] = {}
        self.__doc__ = fn.__doc__
        self.__name__ = fn.__name__
        self.__wrapped__ = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<kernel '{self.name}'>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _reduced(self, protocol)

    @cached_property
    def _anchor(self) -> FunctionType:
        return anchor_of(self.fn)

    def explain(self, policy: Any, /, *args: Any, **options: Any) -> Any:
        """What a launch would run: `execspace.explain` of this kernel."""
        return ports.explain(policy, self, *args, **options)

    def variant(self, bound: tuple[str, ...]) -> Kernel:
        """The same kernel with some parameters bound beforehand; plans are kept per variant."""
        if not bound:
            return self
        found = self._variants.get(bound)
        if found is None:
            found = Kernel(
                without_views(self.fn), fma=self.fma, fastmath=self.fastmath, lanes=self.lanes,
                name=self.name, source=self.source, bound=bound,
            )  # fmt: skip
            found = self._variants.setdefault(bound, found)
        return found

    @property
    def plans(self) -> Mapping[tuple[Any, ...], Plan]:
        """What is compiled for the names as they were at the last launch; `forget` drops it."""
        names = self.shared.names
        return MappingProxyType({} if names is None else names.plans)

    def scan(self, scope: Scope) -> KernelNames:
        """Find out which names of enclosing scopes the function uses, and forget the plans."""
        self.names = names = KernelNames(scope)
        self.recent.forget()
        return names

    def forget(self, spec: LaunchSpec | None = None) -> None:
        """Have the next launches of this spec, or of any, make their plans anew."""
        shared = self.shared
        for kernel in {id(k): k for k in (self, shared)}.values():
            variants = kernel._variants
            for bound, variant in list(variants.items()):
                variant.forget(spec)
                if spec is None:  # whose code may be another one now
                    variants.pop(bound, None)
        plans = {} if shared.names is None else shared.names.plans
        for key, plan in list(plans.items()):  # a copy in one step: other threads add plans
            if spec is None or plan.spec == spec:
                plans.pop(key, None)
        shared.recent.forget()  # after that: what is remembered meanwhile is then noticed

    def names_now(self, scope: Scope) -> KernelNames:
        """The names that hold for a launch."""
        names = self.names
        if names is None or (names.unchanged is not None and not names.unchanged()):
            names = self.scan(scope)
        return names

    def environment(
        self, scope: Scope, names: KernelNames
    ) -> tuple[KernelNames, list[object], tuple[View, ...]]:
        """The names that hold, tags of what the function captures now, and the captured Views in
        order.

        `scope` is this kernel's own or that of a re-creation: same code, other closure.
        """
        hidden: list[View] = []
        code = (scope.fn.__code__,)
        try:
            tags = environment_tags(scope, names.paths, hidden, code)
        except NamesLeadOn:
            hidden.clear()
            names = self.scan(scope)
            tags = environment_tags(scope, names.paths, hidden, code, again=True)
        return names, tags, tuple(hidden)

    def capture_list(self, scope: Scope, first_hidden: int) -> tuple[Capture, ...]:
        """The captures of a LaunchSpec; hidden arguments are numbered from `first_hidden`."""
        return captures_of(scope, self.names_now(scope).paths, first_hidden)

    def bound_parameters(self, scope: Scope, arguments: int) -> tuple[str, ...]:
        """Parameters that a launch with so many indices and arguments does not pass."""
        open_ = [n for n in parameters(self.fn) if n not in self.bound]
        rest = open_[arguments:]
        known = defaults(scope.fn)
        return (
            *self.bound,
            *(n for n in rest if n in known),
            *(n for n in keyword_only(self.fn) if n not in self.bound and n in known),
        )


def static_parameters(fn: FunctionType) -> tuple[str, ...]:
    """Parameters that are annotated with `es.static`."""
    found = []
    for name, annotation in fn.__annotations__.items():
        value = annotation
        if isinstance(annotation, str):  # from __future__ import annotations
            if not annotation.endswith("static"):
                continue
            value = lookup(fn, tuple(annotation.split(".")))
        if value is static and name != "return":
            found.append(name)
    return tuple(found)


@overload
def kernel(fn: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(
    *, fma: bool = ..., fastmath: bool = ..., lanes: int | None = ..., source: str | None = ...
) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    fn: Any = None,
    /,
    *,
    fma: bool = True,
    fastmath: bool = False,
    lanes: int | None = None,
    source: str | None = None,
) -> Any:
    """Mark a function as a kernel. Compiles nothing; that happens at the first launch.

    Parameters
    ----------
    fma : bool, default True
        Allow multiply-add contraction within an expression. With ``fma=False`` IEEE basic
        operations agree bit for bit between spaces.
    fastmath : bool, default False
        Allow reassociation and assume that no NaN or infinity occurs.
    lanes : int, optional
        Neighbouring indices that a host runs in the lanes of a vector, where the policy does not
        say it: a power of two up to 64, and 1 for none. By default as many as seem to be fastest.
    source : str, optional
        Text of the module that defines the function. Only needed where Python keeps no source
        and the text cannot be found: code that was compiled elsewhere.

    Examples
    --------
    >>> import execspace as es
    >>> @es.kernel
    ... def axpy(i, a, x, y):
    ...     y[i] += a * x[i]
    """
    if fn is None:
        return lambda f: kernel_from(f, fma=fma, fastmath=fastmath, lanes=lanes, source=source)
    return kernel_from(fn, fma=fma, fastmath=fastmath, lanes=lanes, source=source)


def kernel_from(
    fn: Any,
    *,
    fma: bool = True,
    fastmath: bool = False,
    lanes: int | None = None,
    source: str | None = None,
    name: str | None = None,
) -> Kernel:
    """A new Kernel of a Python function; LaunchError for anything else."""
    if isinstance(fn, Kernel):
        return fn
    if not isinstance(fn, FunctionType):
        raise _no_kernel(fn)
    if source is None:
        remember(fn, depth=2)
    else:
        check_given(fn, source)
    where = f"Kernel '{name or fn.__name__}'"
    fma = flag(fma, "fma", where, LaunchError)
    fastmath = flag(fastmath, "fastmath", where, LaunchError)
    count = lanes_of(lanes, where, LaunchError)
    made = Kernel(fn, fma=fma, fastmath=fastmath, lanes=count, name=name, source=source)
    made.shared = _shared(fn, (fma, fastmath, count, made.name, source, made.statics))
    made.recent = made.shared.recent
    return made


def _no_kernel(fn: Any) -> LaunchError:
    return LaunchError(
        f"{brief(fn)} is not a kernel; expected a Python function, a lambda, or a function "
        f"decorated with @es.kernel."
    )


# The kernels that keep plans, by the identity of their code and module and by their options: a
# function that is defined anew at each call of another one finds its compiled plans again. A
# Kernel keeps both alive, and so their identities; the oldest entries go when there are too many.
_known: dict[tuple[Any, ...], Kernel] = {}
_MOST_FUNCTIONS = 4096
kernel_with = getter(_known)  # of a key in the form of `_shared`, for launches


def _shared(fn: FunctionType, options: tuple[Any, ...]) -> Kernel:
    """The kernel that keeps the plans of a function and all others of its code and options."""
    key = (id(fn.__code__), id(fn.__globals__), *options)
    known = _known.get(key)
    if known is None:
        fma, fastmath, lanes, name, source = options[:5] or (True, False, 0, None, None)
        known = Kernel(
            without_views(fn), fma=fma, fastmath=fastmath, lanes=lanes, name=name, source=source
        )
        while len(_known) >= _MOST_FUNCTIONS:
            drop_oldest(_known)
        known = _known.setdefault(key, known)
    return known


def kernel_of(fn: Any) -> tuple[Kernel, Scope]:
    """Kernel that keeps the plans of whatever the user launches, and the scope to read captures
    from."""
    scope = scope_of(fn)
    if scope is None:
        raise _no_kernel(fn)
    known = scope.kernel
    known = _shared(scope.fn, ()) if known is None else known.shared
    return known.variant(tuple(scope.bound)) if scope.bound else known, scope


# -- pickles --------------------------------------------------------------------------------------

_Options = tuple[bool, bool, int, str, str | None]  # fma, fastmath, lanes, name, source


def _reduced(kernel: Kernel, protocol: int) -> tuple[Any, ...]:
    """What `Kernel.__reduce_ex__` returns."""
    fn = kernel.fn
    found = named(fn)
    options: _Options = (
        kernel.fma, kernel.fastmath, kernel.lanes, kernel.name, kernel.source,
    )  # fmt: skip
    if found is fn:  # the function itself has its name: k = es.kernel(f)
        return made_again, (fn, options, SourceText((fn,)))
    if found is kernel and protocol < 4:  # which know no functions by dotted names
        return imported, (fn.__module__, fn.__qualname__)
    return made_again, (getattr(kernel, ANCHOR), options, SourceText((fn,)))


def made_again(fn: FunctionType, options: _Options, text: SourceText) -> Kernel:
    """The kernel of a pickle: the one that has its name here, or a new one."""
    own = fn.__qualname__.removesuffix(f".{ANCHOR}")
    known = named(fn, own)
    if isinstance(known, Kernel) and getattr(known, ANCHOR) is fn:
        return known
    fn.__qualname__ = own
    fma, fastmath, lanes, name, source = options
    made = kernel_from(
        fn, fma=fma, fastmath=fastmath, lanes=lanes or None, name=name, source=source
    )
    # What a launch compiles serves the next pickle of the same kernel, too, whose module is another
    # one, but may mean the same by its names.
    earlier = _arrived_kernels.get((fn.__code__, options))
    if earlier is not None and same_modules(fn, earlier.fn):
        made.shared, made.recent = earlier, earlier.recent.of_another_module()
        return made
    while len(_arrived_kernels) >= _MOST_KERNELS:
        drop_oldest(_arrived_kernels)
    _arrived_kernels[fn.__code__, options] = made.shared
    return made


# Those that keep the plans of kernels that came in pickles.
_arrived_kernels: dict[tuple[CodeType, _Options], Kernel] = {}
_MOST_KERNELS = 256
