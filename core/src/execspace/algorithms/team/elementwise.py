"""for_each, fill, generate, transform, replace and their siblings, by the threads of a team."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange


@function
def for_each(team: Any, view: Any, visit: Any) -> None:
    """Call a function for each element of a View; what it returns takes the element's place.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    view : View, rank 1
    visit : function
        Of an element. If it returns nothing the View is only read.

    Notes
    -----
    Ends with a barrier. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> es.algorithms.team.for_each(es.TeamMember(), x, lambda v: v * v)
    >>> x
    array([1., 4., 9.])
    """
    check_function("visit", visit)
    for_each_n(team, view, len(view), visit)


@function
def for_each_n(team: Any, view: Any, n: Any, visit: Any) -> None:
    """Call a function for each of the first `n` elements of a View, as `for_each` does."""
    check_function("visit", visit)
    for i in TeamVectorRange(team, n):
        result = visit(view[i])
        if result is not None:
            view[i] = result
    team.barrier()


@function
def fill(team: Any, view: Any, value: Any) -> None:
    """Store a number into all elements of a View. Ends with a barrier."""
    fill_n(team, view, len(view), value)


@function
def fill_n(team: Any, view: Any, n: Any, value: Any) -> None:
    """Store a number into the first `n` elements of a View. Ends with a barrier.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.zeros(3)
    >>> es.algorithms.team.fill_n(es.TeamMember(), x, 2, 5)
    >>> x
    array([5., 5., 0.])
    """
    for i in TeamVectorRange(team, n):
        view[i] = value
    team.barrier()


@function
def generate(team: Any, view: Any, make: Any) -> None:
    """Store what a function of the index returns into each element. Ends with a barrier."""
    check_function("make", make)
    generate_n(team, view, len(view), make)


@function
def generate_n(team: Any, view: Any, n: Any, make: Any) -> None:
    """Store what a function of the index returns into the first `n` elements of a View.

    Ends with a barrier.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.zeros(3)
    >>> es.algorithms.team.generate_n(es.TeamMember(), x, 3, lambda i: i * i)
    >>> x
    array([0., 1., 4.])
    """
    check_function("make", make)
    for i in TeamVectorRange(team, n):
        view[i] = make(i)
    team.barrier()


@function
def transform(team: Any, source: Any, second: Any, third: Any, apply: Any = None) -> None:
    """Store what a function makes of the elements of one View, or of two.

    ``transform(team, source, destination, function)`` or
    ``transform(team, source1, source2, destination, function)``.

    Parameters
    ----------
    team : TeamMember
    source, second, third : View, rank 1
        `destination` has as many elements as the first source, or more; it may be a source itself.
    apply : function
        Of an element, or of one of each source.

    Notes
    -----
    Ends with a barrier.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> a, b, c = np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.zeros(2)
    >>> es.algorithms.team.transform(es.TeamMember(), a, b, c, lambda x, y: x * y)
    >>> c
    array([ 3., 10.])
    """
    if apply is None:
        for i in TeamVectorRange(team, len(source)):
            second[i] = third(source[i])
    else:
        for i in TeamVectorRange(team, len(source)):
            third[i] = apply(source[i], second[i])
    team.barrier()


@function
def replace(team: Any, view: Any, old: Any, new: Any) -> None:
    """Store a number into each element of a View that equals another one. Ends with a barrier."""
    replace_if(team, view, lambda x: x == old, new)


@function
def replace_if(team: Any, view: Any, predicate: Any, new: Any) -> None:
    """Store a number into each element for which a predicate holds. Ends with a barrier.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([1, 5, 3])
    >>> es.algorithms.team.replace_if(es.TeamMember(), x, lambda v: v > 2, 0)
    >>> x
    array([1, 0, 0])
    """
    check_function("predicate", predicate)
    for i in TeamVectorRange(team, len(view)):
        if predicate(view[i]):
            view[i] = new
    team.barrier()


@function
def replace_copy(team: Any, source: Any, destination: Any, old: Any, new: Any) -> None:
    """Copy a View, with a number in the place of each element that equals another one.

    Ends with a barrier.
    """
    replace_copy_if(team, source, destination, lambda x: x == old, new)


@function
def replace_copy_if(team: Any, source: Any, destination: Any, predicate: Any, new: Any) -> None:
    """Copy a View, with a number in the place of each element for which a predicate holds.

    Ends with a barrier.
    """
    check_function("predicate", predicate)
    for i in TeamVectorRange(team, len(source)):
        destination[i] = new if predicate(source[i]) else source[i]
    team.barrier()
