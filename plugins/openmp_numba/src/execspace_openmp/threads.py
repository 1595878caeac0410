"""The OpenMP runtime: which one there is, how many threads, and what a fork does to it.

Imports no Numba, so that probing is cheap.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from execspace import ConfigError, SpaceError, config

GOMP = "libgomp.so.1"


def find_runtime() -> str | None:
    """ "libgomp" where it can be called directly, "prange" for Numba's own layer, or None.

    EXECSPACE_OPENMP_RUNTIME overrules what was found; ConfigError if it names neither.
    """
    wanted = config.get("OPENMP_RUNTIME")
    if wanted not in (None, "libgomp", "prange"):
        raise ConfigError(
            f"EXECSPACE_OPENMP_RUNTIME={wanted!r} is no runtime; expected libgomp or prange."
        )
    if wanted is not None:
        return wanted if wanted == "prange" or _has_gomp() else None
    if sys.platform.startswith("linux"):
        return "libgomp" if _has_gomp() else None
    return "prange"


# How often a thread of libgomp looks for work before it sleeps: about 50 microseconds, longer than
# waking one takes on a virtual machine, or no launch would ever find the team awake. Its own
# 300,000 are many milliseconds; where cores are shared, the thread that a team waits for then waits
# for the core that another one spins on.
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
    """Make Numba's own parallel code use OpenMP too, and verify that it does.

    Numba would otherwise take TBB first; two thread pools would then share the cores.

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
