"""The OpenMP runtime: which one there is, and how its threads wait.

Imports neither LLVM nor Numba, so that probing is cheap.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from execspace import ConfigError, SpaceError
from execspace.base import config

if TYPE_CHECKING:
    from execspace_compiler.backend import Pool

GOMP = "libgomp.so.1"

RUNTIMES = ("pool", "libgomp", "prange")

# What says where threads run, and how they wait, in terms of libgomp: whoever sets one of these
# wants its threads. The pool itself obeys OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_STACKSIZE and
# OMP_WAIT_POLICY.
OF_LIBGOMP = (
    "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT", "GOMP_STACKSIZE",
)  # fmt: skip


def find_runtime() -> str | None:
    """What runs threads: "pool", "libgomp", "prange" (Numba's own layer); None for no OpenMP.

    EXECSPACE_OPENMP_RUNTIME overrules what was found; ConfigError if it names none of them, or one
    that is not for this system.
    """
    wanted = config.get("OPENMP_RUNTIME")
    if wanted not in (None, *RUNTIMES):
        raise ConfigError(
            f"EXECSPACE_OPENMP_RUNTIME={wanted!r} is not a runtime; expected pool, libgomp or "
            f"prange."
        )
    if wanted == "pool" and not has_pool():
        raise ConfigError(
            "EXECSPACE_OPENMP_RUNTIME=pool is for Linux on x86-64 and AArch64; expected libgomp "
            "or prange here."
        )
    if wanted == "prange" or (wanted is None and not sys.platform.startswith("linux")):
        return "prange"
    if wanted == "pool" or (wanted is None and has_pool() and not wants_libgomp()):
        return "pool"
    return "libgomp" if _has_gomp() else None


def has_pool() -> bool:
    """Whether there is a pool for this system; asks no compiler, because probes load none."""
    known = sys.platform.startswith("linux") and platform.machine() in ("x86_64", "aarch64")
    return known and sys.byteorder == "little" and sys.maxsize > 1 << 32


def wants_libgomp() -> bool:
    """Whether variables are set that only libgomp obeys."""
    given = {name: os.environ.get(name, "").strip().lower() for name in OF_LIBGOMP}
    return any(
        value and (name, value) != ("OMP_PROC_BIND", "false") for name, value in given.items()
    )


# Nanoseconds that threads of the pool look for work where OMP_WAIT_POLICY=active.
_ACTIVE_NS = 1_000_000_000


def start_pool(threads: int) -> None:
    """Start the pool of this process, as variables of OpenMP say."""
    from execspace_compiler.backend import start

    limit = _thread_limit()
    some = threads if limit is None else min(threads, limit)
    start(some, _spin_ns(some), config.check_openmp_stack())


def own_pool(first: int, threads: int, total: int) -> Pool:
    """A pool for some of the threads of the space, as variables of OpenMP say.

    Threads beyond OMP_THREAD_LIMIT are those at the end: parts have them last, or lack them.
    """
    from execspace_compiler.backend import Pool

    limit = _thread_limit()
    if limit is not None:
        total, threads = min(total, limit), max(1, min(threads, limit - first))
    return Pool(threads, _spin_ns(total), config.check_openmp_stack())


def _thread_limit() -> int | None:
    limit = os.environ.get("OMP_THREAD_LIMIT", "").strip()
    return int(limit) if limit.isdecimal() and int(limit) else None


def _spin_ns(threads: int) -> int:
    """Nanoseconds that threads look for work, where so many may do so at once."""
    from execspace_compiler.backend import SPIN_NS

    policy = os.environ.get("OMP_WAIT_POLICY", "").strip().lower()
    if policy == "active":
        return _ACTIVE_NS
    if policy == "passive" or threads > len(os.sched_getaffinity(0)):
        return 0  # a thread that spins would keep another one from its core
    return SPIN_NS


# How often a thread of libgomp looks for work before it sleeps: about 50 microseconds, as long as
# one of the pool. Its own 300,000 are many milliseconds; where cores are shared, the thread that a
# team waits for then waits for the core that another one spins on.
SPIN_COUNT = "1000"


def _has_gomp() -> bool:
    try:
        with bounded_spinning():
            ctypes.CDLL(GOMP)
    except OSError:
        return False
    return True


@contextmanager
def bounded_spinning() -> Iterator[None]:
    """While libgomp is loaded, which is when it reads these variables. What the user says holds;
    child processes decide for themselves."""
    given = os.environ.keys() & {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}
    if not given:
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
    try:
        yield
    finally:
        if not given:
            del os.environ["GOMP_SPINCOUNT"]


def pin_numba_layer(threads: int) -> str:
    """Make Numba's threads, which then run kernels, those of OpenMP, and verify that they are.

    Numba would otherwise take TBB first.

    Returns
    -------
    str
        The layer that Numba really loaded: always "omp".

    Raises
    ------
    SpaceError
        If another layer was started before.
    """
    import numba
    from numba.np.ufunc import parallel

    # Numba reads its settings again whenever the environment has changed, so they go there.
    os.environ.setdefault("NUMBA_THREADING_LAYER", "omp")
    if threads > numba.config.NUMBA_NUM_THREADS and not _layer_started():
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
    numba.config.reload_config()
    numba.config.THREADING_LAYER = "omp"
    try:
        with bounded_spinning():
            parallel._launch_threads()
    except ValueError as error:
        raise SpaceError(
            f"Numba has no OpenMP threading layer here ({error}). Install an OpenMP runtime "
            f"(Debian: libgomp1, macOS: brew install libomp) or use EXECSPACE_DEFAULT=serial."
        ) from error
    layer = str(parallel.threading_layer())
    if layer != "omp":
        raise SpaceError(
            f"Numba's threading layer is already '{layer}', expected 'omp'. Start the openmp "
            f"space before other parallel Numba code, or set NUMBA_THREADING_LAYER=omp."
        )
    return layer


def _layer_started() -> bool:
    from numba.np.ufunc import parallel

    try:
        parallel.threading_layer()
    except ValueError:
        return False
    return True
