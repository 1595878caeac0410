"""Kernels around the kernel of a scan: what it contributes, and its scan with something before it.

There is a pair of them for each number of indices, because kernels have no variable arguments. The
user's kernel has its own arguments bound, and is a constant of the launch.
"""

from __future__ import annotations

from typing import Any

__all__ = ["AROUND"]


def _give_1(i, prefix, final, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, prefix, False)


def _give_2(i, j, prefix, final, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, prefix, False)


def _give_3(i, j, k, prefix, final, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, k, prefix, False)


def _give_4(i, j, k, m, prefix, final, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, k, m, prefix, False)


def _give_5(i, j, k, m, n, prefix, final, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, k, m, n, prefix, False)


def _give_6(i, j, k, m, n, o, prefix, final, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, k, m, n, o, prefix, False)


def _on_1(i, prefix, final, before, join, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, join(before, prefix), final)


def _on_2(i, j, prefix, final, before, join, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, join(before, prefix), final)


def _on_3(i, j, k, prefix, final, before, join, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, k, join(before, prefix), final)


def _on_4(i, j, k, m, prefix, final, before, join, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, k, m, join(before, prefix), final)


def _on_5(i, j, k, m, n, prefix, final, before, join, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, k, m, n, join(before, prefix), final)


def _on_6(i, j, k, m, n, o, prefix, final, before, join, kernel):  # type: ignore[no-untyped-def]
    return kernel(i, j, k, m, n, o, join(before, prefix), final)


AROUND: dict[int, tuple[Any, Any]] = {
    1: (_give_1, _on_1), 2: (_give_2, _on_2), 3: (_give_3, _on_3),
    4: (_give_4, _on_4), 5: (_give_5, _on_5), 6: (_give_6, _on_6),
}  # fmt: skip
