"""What `execspace doctor` says of MPI and NCCL."""

from __future__ import annotations

import execspace as es

__all__ = ["mpi", "nccl"]


def mpi() -> es.Probe:
    """Whether there is an MPI library, which it is, and whether it takes addresses of devices."""
    try:
        from .awareness import found
        from .mpi import MPI
    except es.SpaceUnavailableError as error:
        return es.Probe(False, str(error))
    library = MPI.Get_library_version().partition("\n")[0].strip(" ,\0")
    library = " ".join(library.split()).partition(", package")[0]
    kinds, how = found()
    takes = (
        f"takes addresses of {' and '.join(sorted(kinds))} devices"
        if kinds
        else "takes no addresses of devices: their Views go through pinned memory of the host"
    )
    return es.Probe(True, f"{library}; {takes} ({how})")


def nccl() -> es.Probe:
    """Whether CuPy has NCCL, or RCCL on AMD's GPUs."""
    try:
        from cupy.cuda import nccl as library

        version = library.get_version()
    except Exception as error:
        return es.Probe(True, f"not here ({error}); only GPUs need it")
    return es.Probe(True, f"version {version}")
