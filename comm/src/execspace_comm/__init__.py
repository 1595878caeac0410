"""execspace's Views over MPI and NCCL.

`world` gives the communicator of a program's processes, whose messages are Views of any space;
`Decomposition` divides a range among them. The engines are MPI, by mpi4py, and NCCL, by CuPy.
Modules are loaded when a name of theirs is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import sparse as sparse
    from .checkpoint import *
    from .communicator import *
    from .decomposition import *
    from .errors import *
    from .field import *
    from .gathering import *
    from .halo import *
    from .hdf5 import *
    from .model import *
    from .nccl import *
    from .point_to_point import *
    from .random_numbers import *
    from .repartitioning import *
    from .requests import *
    from .scans import *
    from .sorting import *
    from .traffic import *
    from .zarr_stores import *

__version__ = "0.1.0"

# Module -> names that it gives to this package.
_NAMES = {
    "checkpoint": "load_checkpoint save_checkpoint",
    "communicator": "Comm world",
    "decomposition": "Decomposition",
    "errors": "CommError",
    "field": "Field",
    "gathering": "gather_field scatter_field",
    "halo": "Halo",
    "hdf5": "read_hdf5 write_hdf5",
    "model": "HaloTraffic halo_traffic",
    "nccl": "NcclComm",
    "point_to_point": "ANY_SOURCE ANY_TAG NOBODY",
    "random_numbers": "fill_random",
    "repartitioning": "Repartition repartition",
    "requests": "Message PersistentRequest Request wait_all",
    "scans": "parallel_scan scan_field",
    "sorting": "argsort sort sort_by_key",
    "traffic": "Traffic",
    "zarr_stores": "read_zarr write_zarr",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Load the module of a name when it is first asked for."""
    if name == "sparse":  # a package, which needs execspace-kernels
        return import_module(f".{name}", __name__)
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
