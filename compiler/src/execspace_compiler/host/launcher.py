"""Launchers: how the parts of a range are distributed over threads of the host."""

from __future__ import annotations

import operator
from dataclasses import field

from execspace.base import config
from execspace.base.dataclass import dataclass

from .fork import Fork
from .pool import Pool

# Below this much work, in additions, a range runs on the calling thread: waking threads costs about
# a microsecond if they are spinning, and far more if they sleep.
SERIAL_WORK = 16_000

LAUNCHERS = ("serial", "pool", "libgomp", "prange", "fork")


@dataclass(frozen=True, slots=True)
class Launcher:
    """The distribution of a range's parts over threads.

    Attributes
    ----------
    name : str
        "serial", "pool" (the threads of `host.pool`), "libgomp" (a direct call of GOMP_parallel),
        "prange" (Numba's own layer) or "fork" (the space's own threads). Before it first compiles,
        a space calls `host.pool.start` for "pool", and for "libgomp"
        ``llvmlite.binding.load_library_permanently("libgomp.so.1")``.
    parts : int
        Parts of a large range, 1 to 1024; reductions join in the order of parts, and their partial
        results are on the stack.
    fork : Fork or None
        For "fork", and no other: it runs the parts.
    serial_work : int
        Ranges of less work, in additions, run on the calling thread.
    pool : Pool or None
        For "pool", and no other: whose threads; None: those of the process.
    """

    name: str
    parts: int = 1
    fork: Fork | None = field(default=None, repr=False)  # not in the source, so in no cache key
    serial_work: int = SERIAL_WORK
    pool: Pool | None = field(default=None, repr=False)  # the same machine code, loaded for it

    def __post_init__(self) -> None:
        if self.name not in LAUNCHERS:
            raise ValueError(
                f"Launcher({self.name!r}): expected one of {', '.join(map(repr, LAUNCHERS))}."
            )
        object.__setattr__(self, "parts", self._checked_parts())
        if self.fork is not None and not isinstance(self.fork, Fork):
            raise TypeError(
                f"Launcher({self.name!r}, fork={self.fork!r}): expected a Fork; wrap a function "
                f"run(part, parts) as Fork(run)."
            )
        if self.name == "fork" and self.fork is None:
            raise ValueError(
                "Launcher('fork'): expected the Fork that runs its parts; give "
                "Launcher('fork', parts, Fork(run))."
            )
        if self.name != "fork" and self.fork is not None:
            raise ValueError(
                f"Launcher({self.name!r}, fork={self.fork!r}): only 'fork' takes a Fork; leave it "
                f"out, or give Launcher('fork', parts, Fork(run))."
            )
        if self.pool is not None and self.name != "pool":
            raise ValueError(
                f"Launcher({self.name!r}, pool={self.pool!r}): only 'pool' takes a Pool; leave it "
                f"out, or give Launcher('pool', parts, pool=Pool(threads))."
            )

    def _checked_parts(self) -> int:
        # Not bools: they are ints, but True is no number of parts.
        try:
            parts = None if isinstance(self.parts, bool) else operator.index(self.parts)
        except TypeError:
            parts = None
        expected = f"expected a whole number from 1 to {config.MOST_THREADS}"
        advice = "give about as many as there are threads to run them"
        if parts is None:
            raise TypeError(f"Launcher: parts={self.parts!r}; {expected}; {advice}.")
        if not 1 <= parts <= config.MOST_THREADS:
            raise ValueError(f"Launcher: parts={parts}; {expected}; {advice}.")
        return parts
