"""The table of wrong kernels: each with the launch that it is refused at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es


@dataclass(frozen=True)
class Case:
    """A launch that raises; `make` gives its kernel and arguments anew each time."""

    make: Callable[[], tuple[Any, tuple[Any, ...]]]
    policy: Any
    reduce: bool | str
    space: str
    options: dict[str, Any]

    def launch(self) -> None:
        kernel, args = self.make()
        launch: Any = es.parallel_reduce if self.reduce else es.parallel_for
        if self.reduce == "scan":
            launch = es.parallel_scan
        with es.use_space(self.space):
            launch(self.policy, kernel, *args, **{k: _made(v) for k, v in self.options.items()})


CASES: dict[str, Case] = {}


def case(*args, policy=4, reduce=False, space="oracle", name=None, **options):
    """Decorator of a kernel: the launch that it is refused at.

    Arguments that are dtype names stand for arrays of 4 elements, and `(name, shape)` for others.
    """

    def register(kernel):
        key = name or kernel.__name__
        assert key not in CASES, key
        CASES[key] = Case(lambda: (kernel, tuple(map(_made, args))), policy, reduce, space, options)
        return kernel

    return register


def _made(argument):
    if isinstance(argument, Array):
        array = np.zeros(argument.shape, argument.dtype)
        array.flags.writeable = argument.writeable
        return array
    if isinstance(argument, Made):
        return argument.make()
    return argument


@dataclass(frozen=True)
class Array:
    """An array that is made anew for each launch."""

    dtype: Any = "float64"
    shape: Any = 4
    writeable: bool = True


@dataclass(frozen=True)
class Made:
    """An argument that is made anew for each launch."""

    make: Callable[[], Any]


F64, F32 = Array(), Array("float32")
I8, I32, I64 = Array("int8"), Array("int32"), Array("int64")
U8, U64, C128, C64 = Array("uint8"), Array("uint64"), Array("complex128"), Array("complex64")
F64_2, F64_3 = Array(shape=(4, 4)), Array(shape=(4, 4, 4))
