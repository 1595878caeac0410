"""`es.fuse`: several bound launches as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import config
from ..base.brief import brief
from ..base.errors import LaunchError
from ..contract.space import ExecutionSpace
from ..launch.bound import Bound
from ..views.mirrors import Moves
from ..views.view import View
from .fusing import Fusion, Single, check_temporary

__all__ = [
    "Fused",
    "fuse",
]


class Fused:
    """Launches that are one; calling it launches. Made by `fuse`."""

    def __init__(self, launches: tuple[Bound, ...], temporary: tuple[View, ...]) -> None:
        self._launches, self._fusion = launches, Fusion(temporary)
        self._one_by_one = config.is_portable()
        self._bound = launches[-1] if self._one_by_one else self._made(launches)

    def _made(self, launches: tuple[Bound, ...]) -> Bound:
        self._moves = Moves.last
        singles = []
        for bound in launches:
            plan, bounds, _ = bound.plan.chosen(bound.bounds, bound.arguments)
            singles.append(Single(bound.kernel.name, plan, bounds, bound.arguments))
        self._fusion.forget()
        groups = self._fusion.groups(singles)
        made = [one for group in groups for one in self._fusion.launches(group)]
        if len(made) > 1:
            obstacles = "; ".join(self._fusion.lines)
            raise LaunchError(
                f"fuse: these launches cannot be one ({obstacles}). Launch them one after another, "
                f"or in a graph: es.Graph, whose instantiate(fuse=True) fuses what it can."
            )
        (one,) = made
        kernel = getattr(one.plan, "kernel", launches[-1].kernel)
        return Bound(kernel, one.plan, None, one.bounds, one.args, None)

    def __call__(self) -> Any:
        """Launch, and return what the last of the launches returns.

        Under EXECSPACE_CHECK=portable they are launched one by one. Raises LaunchError if they can
        be one no more, because a View was given other memory by `resize` or `realloc`.
        """
        if self._one_by_one:
            for bound in self._launches[:-1]:
                bound()
        elif self._moves != Moves.last:
            self._bound = self._made(self._launches)
        return self._bound()

    def exchange(self, /, **arguments: Any) -> None:
        """Have later calls use other Views, arrays or numbers, by the names of parameters: in all
        kernels that have such a parameter.

        Raises
        ------
        LaunchError
            As `Bound.exchange`; and if the launches cannot be one with these arguments. Nothing is
            exchanged then.
        """
        changed = []
        for bound in self._launches:
            own = {n: a for n, a in arguments.items() if n in bound.names}
            changed.append(bound.copy())
            changed[-1].exchange(**own)
        for name in arguments:
            if not any(name in bound.names for bound in self._launches):
                known = dict.fromkeys(n for bound in self._launches for n in bound.names)
                raise LaunchError(
                    f"{self}: no argument '{name}' can be exchanged; those that can are: "
                    f"{', '.join(map(repr, known)) or 'none'}."
                )
        launches = tuple(changed)
        self._bound = launches[-1] if self._one_by_one else self._made(launches)
        self._launches = launches

    @property
    def space(self) -> ExecutionSpace:
        """Where it runs."""
        return self._bound.space

    def __reduce__(self) -> Any:
        raise TypeError(f"{self} cannot be pickled: it holds memory and code of this process.")

    def __repr__(self) -> str:
        names = " + ".join(bound.kernel.name for bound in self._launches)
        return f"<fused launch of '{names}' on '{self.space.name}'>"


def fuse(*launches: Bound, temporary: Sequence[View] = ()) -> Fused:
    """Several launches over one range as one: elements are loaded and stored once.

    Parameters
    ----------
    *launches : Bound
        Made by `bind`, in their order; the last may be a reduction.
    temporary : sequence of View, default ()
        Views that nobody reads afterwards: where each call stores its own element first, they are
        not stored at all, and their elements are left as they are.

    Returns
    -------
    Fused
        A callable that launches, and returns what the last launch would.

    Raises
    ------
    LaunchError
        If it is not proven that one launch does the same: each call may touch what the others
        store at its own index only. The message says what stands in the way.

    Notes
    -----
    Results are the same to the bit as those of the launches one by one. Compiles, and launches
    nothing.

    Examples
    --------
    >>> import execspace as es
    >>> def axpy(i, a, x, y):
    ...     y[i] += a * x[i]
    >>> def square(i, y):
    ...     return y[i] * y[i]
    >>> x, y = es.ones(4, space="serial"), es.ones(4, space="serial")
    >>> n = es.RangePolicy(4, space="serial")
    >>> step = es.fuse(es.bind(n, axpy, 2.0, x, y), es.bind(n, square, y, reducer=es.Sum))
    >>> step()
    36.0
    """
    if not launches:
        raise LaunchError("fuse: expected bound launches, es.bind(...), got none.")
    for n, one in enumerate(launches):
        if not isinstance(one, Bound):
            raise LaunchError(
                f"fuse: argument {n} is {brief(one)}; expected a bound launch: "
                f"es.bind(policy, kernel, ...)."
            )
    check_temporary("fuse", temporary)
    first = launches[0].space
    for one in launches:
        if one.space is not first:
            raise LaunchError(
                f"fuse: launches of different spaces, {first!r} and {one.space!r}; expected one."
            )
    return Fused(tuple(bound.copy() for bound in launches), tuple(temporary))
