"""Pairs: Views of one space are used on another, or a program counts on the layout of a host."""

import io

import numpy as np
from twins import ALGORITHM, N, Pair, counted, double, seen

import execspace as es

ELSEWHERE = "memory space '{oracle}', which space '{space}' cannot reach. "


class LaunchesOnAViewOfAnotherSpace(Pair):
    answer = (0.0, 2.0, 4.0, 6.0)
    raises = (
        es.SpaceAccessError,
        f"Kernel 'double': argument 0, View 'x', is in {ELSEWHERE}"
        "Copy it first: x.to('{space}').",
    )

    def portable(self):
        x = counted(space="oracle")
        h = x.to(es.HOST)
        y = h.to(es.default_space())
        es.parallel_for(es.RangePolicy(N, space=es.default_space()), double, y)
        return seen(y)

    def unportable(self):
        x = counted(space="oracle")
        es.parallel_for(es.RangePolicy(N, space=es.default_space()), double, x)
        return seen(x)


class SortsAViewOfAnotherSpace(Pair):
    answer = (3.0, 2.0, 1.0, 0.0)
    raises = es.SpaceAccessError, f"sort: View 'x' is in {ELSEWHERE}{ALGORITHM}"

    def portable(self):
        x = counted(space="oracle")
        h = x.to(es.HOST)
        y = h.to(es.default_space())
        es.sort(y, descending=True)
        return seen(y)

    def unportable(self):
        x = counted(space="oracle")
        es.sort(x, descending=True, space=es.default_space())
        return seen(x)


class CopiesInOrderOfASpaceThatReachesNeither(Pair):
    answer = (0.0, 1.0, 2.0, 3.0)
    raises = (
        es.SpaceAccessError,
        "deep_copy: instance of space '{space}' reaches neither memory space 'host' of View 'y' "
        "nor 'host' of View 'x'. Use an instance of the space that owns one of them, or none.",
    )

    def portable(self):
        x, y = counted(memory=es.HOST), es.View(N, label="y", memory=es.HOST)
        es.deep_copy(y, x)
        return seen(y)

    def unportable(self):
        x, y = counted(memory=es.HOST), es.View(N, label="y", memory=es.HOST)
        es.deep_copy(y, x, instance=es.default_space())
        return seen(y)


def grid(**layout):
    """0 to 5 in two rows, as they come to the host."""
    A = es.View((3, 2), label="A", **layout)
    es.deep_copy(A, np.arange(6.0).reshape(3, 2))
    return np.asarray(A.to(es.HOST))


class TakesPairsForComplexNumbers(Pair):
    answer = (1j, 2 + 3j, 4 + 5j)
    raises = (
        ValueError,
        "To change to a dtype of a different size, the last axis must be contiguous",
    )

    def portable(self):
        return grid(layout="right").view(np.complex128)[:, 0].tolist()

    def unportable(self):
        return grid().view(np.complex128)[:, 0].tolist()


class WritesBytesAsTheyLie(Pair):
    answer = 48
    raises = ValueError, "ndarray is not C-contiguous"

    def portable(self):
        return io.BytesIO().write(grid(layout="right"))

    def unportable(self):
        return io.BytesIO().write(grid())


class ReadsElementsInTheOrderOfMemory(Pair):
    answer = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    wrong = (0.0, 2.0, 4.0, 1.0, 3.0, 5.0)

    def portable(self):
        return grid(layout="right").ravel(order="K").tolist()

    def unportable(self):
        return grid().ravel(order="K").tolist()


class ContributesToTheLayoutOfAHost(Pair):
    answer = 0.0
    raises = (
        es.ViewError,
        "ScatterView: View 'total' has layout right; expected left. Contribute to a View of that "
        "layout, then copy it with es.deep_copy.",
    )

    def portable(self):
        scatter = es.ScatterView(es.View((3, 2), label="forces"))
        total = es.View((3, 2), label="total")
        scatter.contribute(total)
        return float(np.sum(seen(total)))

    def unportable(self):
        scatter = es.ScatterView(es.View((3, 2), label="forces"))
        total = es.View((3, 2), label="total", layout="right")
        scatter.contribute(total)
        return float(np.sum(seen(total)))
