"""execspace: Kokkos' programming model for Python.

One kernel, written once as a Python function, runs on any execution space, chosen at run
time. Importing this package loads no compiler and no backend.
"""

from . import profiling
from .argtypes import ScalarType, ViewType
from .atomics import (
    atomic_add,
    atomic_and,
    atomic_div,
    atomic_max,
    atomic_min,
    atomic_mul,
    atomic_or,
    atomic_sub,
    atomic_xor,
)
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
from .dualview import DualView
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
from .filling import fill_random
from .histograms import histogram
from .hookspecs import hookimpl
from .host_sort import HostSort
from .interop import view_of
from .kernel import Kernel, kernel
from .language import function, local, printf, static
from .layout import Layout
from .memory import HOST, Allocation, HostSpace, MemorySpace, live_allocations
from .mirrors import (
    create_mirror,
    create_mirror_view,
    create_mirror_view_and_copy,
    realloc,
    resize,
)
from .parallel import fence, parallel_for, parallel_reduce
from .policy import MDRangePolicy, RangePolicy
from .random import (
    philox4x32,
    random_integer,
    random_normal,
    random_uint32,
    random_uint64,
    random_uniform,
    random_uniform32,
)
from .reducer import Max, Min, Prod, Reducer, Sum
from .scatterview import ScatterView
from .searching import lower_bound, searchsorted, upper_bound
from .selection import SpaceInfo, default_space, space, spaces, use_space
from .sorting import argsort, sort, sort_by_key
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
    SupportsSort,
    ToolEntry,
)
from .view import ALL, View, subview

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
    "DualView",
    "ExecspaceError",
    "ExecutionSpace",
    "HostSort",
    "HostSpace",
    "Kernel",
    "KernelAssertionError",
    "KernelError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchError",
    "LaunchSpec",
    "Layout",
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
    "ScatterView",
    "SpaceAccessError",
    "SpaceEntry",
    "SpaceError",
    "SpaceInfo",
    "SpaceUnavailableError",
    "Sum",
    "SupportsSort",
    "ToolEntry",
    "UnknownSpaceError",
    "View",
    "ViewError",
    "ViewIndexError",
    "ViewType",
    "argsort",
    "atomic_add",
    "atomic_and",
    "atomic_div",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "bool_",
    "complex64",
    "complex128",
    "create_mirror",
    "create_mirror_view",
    "create_mirror_view_and_copy",
    "deep_copy",
    "default_space",
    "fence",
    "fill_random",
    "float16",
    "float32",
    "float64",
    "function",
    "histogram",
    "hookimpl",
    "int8",
    "int16",
    "int32",
    "int64",
    "kernel",
    "live_allocations",
    "local",
    "lower_bound",
    "parallel_for",
    "parallel_reduce",
    "philox4x32",
    "printf",
    "profiling",
    "random_integer",
    "random_normal",
    "random_uint32",
    "random_uint64",
    "random_uniform",
    "random_uniform32",
    "realloc",
    "resize",
    "searchsorted",
    "sort",
    "sort_by_key",
    "space",
    "spaces",
    "static",
    "subview",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "upper_bound",
    "use_space",
    "view_of",
]  # fmt: skip
