"""execspace: Kokkos' programming model for Python.

One kernel, written once as a Python function, runs on any execution space, chosen at run
time. Importing this package loads no compiler and no backend.
"""

from . import profiling
from .argtypes import ScalarType, ViewType
from .copying import deep_copy
from .dtypes import (
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .errors import (
    BackendCompileError,
    DTypeError,
    ExecspaceError,
    KernelAssertionError,
    KernelError,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    PluginError,
    PluginWarning,
    PolicyError,
    SpaceAccessError,
    SpaceError,
    SpaceUnavailableError,
    UnknownSpaceError,
    ViewError,
    ViewIndexError,
)
from .hookspecs import hookimpl
from .kernel import Kernel, kernel
from .language import function, local, printf, static
from .memory import HOST, Allocation, HostSpace, MemorySpace, live_allocations
from .parallel import fence, parallel_for, parallel_reduce
from .policy import MDRangePolicy, RangePolicy
from .reducer import Max, Min, Prod, Reducer, Sum
from .selection import SpaceInfo, default_space, space, spaces, use_space
from .space import (
    API_VERSION,
    Capabilities,
    Capture,
    ExecutionSpace,
    LaunchSpec,
    Plan,
    PolicySpec,
    Probe,
    ReducerEntry,
    SpaceEntry,
    ToolEntry,
)
from .view import ALL, View, subview, view_of

__version__ = "0.1.0"

__all__ = [
    "ALL",
    "API_VERSION",
    "HOST",
    "Allocation",
    "BackendCompileError",
    "Capabilities",
    "Capture",
    "DTypeError",
    "ExecspaceError",
    "ExecutionSpace",
    "HostSpace",
    "Kernel",
    "KernelAssertionError",
    "KernelError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchError",
    "LaunchSpec",
    "MDRangePolicy",
    "Max",
    "MemorySpace",
    "Min",
    "Plan",
    "PluginError",
    "PluginWarning",
    "PolicyError",
    "PolicySpec",
    "Probe",
    "Prod",
    "RangePolicy",
    "Reducer",
    "ReducerEntry",
    "ScalarType",
    "SpaceAccessError",
    "SpaceEntry",
    "SpaceError",
    "SpaceInfo",
    "SpaceUnavailableError",
    "Sum",
    "ToolEntry",
    "UnknownSpaceError",
    "View",
    "ViewError",
    "ViewIndexError",
    "ViewType",
    "bool_",
    "complex64",
    "complex128",
    "deep_copy",
    "default_space",
    "fence",
    "float16",
    "float32",
    "float64",
    "function",
    "hookimpl",
    "int8",
    "int16",
    "int32",
    "int64",
    "kernel",
    "live_allocations",
    "local",
    "parallel_for",
    "parallel_reduce",
    "printf",
    "profiling",
    "space",
    "spaces",
    "static",
    "subview",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "use_space",
    "view_of",
]  # fmt: skip
