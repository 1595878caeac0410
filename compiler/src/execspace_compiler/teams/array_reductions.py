"""Array reductions of teams: the array is private to each thread, and its elements are joined.

The kernel that joins into an array becomes one that returns its elements, each joined over the
threads of the team; see `execspace.launch.team_arrays`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import execspace
from execspace import LaunchSpec
from execspace.launch.team_arrays import element_dtype

from ..frontend import hir
from ..frontend.names import Names
from ..ir.diagnostics import Loc, Reporter, syntax_fault


def returning_elements(
    function: hir.Function, spec: LaunchSpec, names: Names, reporter: Reporter
) -> hir.Function:
    """The kernel without the parameter of the array, which returns the array's elements."""
    assert isinstance(spec.reducer, tuple)
    loc, reducer = function.loc, spec.reducer[0]
    for at in _returns(function.body):
        reporter.add(
            syntax_fault(
                at,
                "a kernel that joins into an array cannot return early in a team, whose threads "
                "join their arrays at its end",
                "put what is left out under an if",
            )
        )
    reporter.check()
    team, array, *rest = function.parameters
    dtype = element_dtype(reducer)
    identity = reducer.identity_for(reducer.dtype or "float64")

    def outer(path: str, value: Any) -> hir.Outer:
        return hir.Outer(loc, path, value, names)

    def element(place: tuple[int, ...]) -> hir.Subscript:
        indices = tuple(hir.Constant(loc, k) for k in place)
        return hir.Subscript(loc, hir.Local(loc, array), indices)

    shape = hir.Tuple(loc, tuple(hir.Constant(loc, n) for n in spec.team_array))
    made = hir.Call(
        loc, outer("es.local", execspace.local), (shape, outer(f"es.{dtype}", dtype.type)), ()
    )
    places = list(product(*map(range, spec.team_array)))
    start = outer("identity", dtype.type(identity))
    first = [
        hir.Assign(loc, hir.Local(loc, array), made),
        *(hir.Assign(loc, element(place), start) for place in places),
    ]
    reduce = hir.Attribute(loc, hir.Local(loc, team), "reduce")
    joined = tuple(
        hir.Call(loc, reduce, (element(place), outer("reducer", reducer)), ()) for place in places
    )
    last = hir.Return(loc, hir.Tuple(loc, joined))
    return replace(
        function, parameters=(team, *rest), body=(*first, *function.body, last), is_lambda=False
    )


def _returns(body: tuple[hir.Stmt, ...]) -> list[Loc]:
    """Where a function returns, functions in it left out."""
    found: list[Loc] = []
    for s in body:
        if isinstance(s, hir.Return):
            found.append(s.loc)
        for inner in ("body", "orelse", "arms"):
            found += _returns(getattr(s, inner, ()))
    return found
