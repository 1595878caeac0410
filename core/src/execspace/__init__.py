"""execspace: Kokkos' programming model for Python.

One kernel, written once as a Python function, runs on any execution space, chosen at run
time. Importing this package loads no compiler and no backend.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import profiling
from .algorithms.filling import fill_random
from .algorithms.histograms import histogram
from .algorithms.random import (
    philox4x32,
    random_integer,
    random_normal,
    random_uint32,
    random_uint64,
    random_uniform,
    random_uniform32,
)
from .algorithms.searching import lower_bound, searchsorted, upper_bound
from .algorithms.sorting import argsort, sort, sort_by_key
from .base import ports
from .base.errors import (
    BackendCompileError,
    ConfigError,
    ContextLostError,
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
    ReadOnlyError,
    SpaceAccessError,
    SpaceError,
    SpaceUnavailableError,
    ToolError,
    UnknownSpaceError,
    ViewError,
    ViewIndexError,
    ViewTypeError,
)
from .base.version import __version__ as __version__
from .containers.dualview import DualView
from .containers.scatterview import ScatterView
from .containers.uniquetoken import UniqueToken
from .contract.argtypes import ScalarType, ViewType
from .contract.dtypes import (
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
from .contract.entries import API_VERSION, HealthCheck, Probe, ReducerEntry, SpaceEntry, ToolEntry
from .contract.hookspecs import hookimpl
from .contract.launch_spec import Capture, LaunchSpec, PolicySpec
from .contract.layout import Layout
from .contract.memory import HOST, Allocation, HostSpace, MemorySpace, live_allocations
from .contract.records import Capabilities, Effects, TeamLimits, TeamSizes
from .contract.space import (
    ExecutionSpace,
    Plan,
    SupportsSort,
    SupportsTeams,
    SupportsTuning,
    TimesWork,
    WrapsArrays,
)
from .contract.tiles import TileTable
from .explaining import Explanation, explain
from .host.space import HostExecutionSpace
from .kernels.atomics import (
    atomic_add,
    atomic_add_fetch,
    atomic_and,
    atomic_and_fetch,
    atomic_compare_exchange,
    atomic_dec,
    atomic_dec_fetch,
    atomic_div,
    atomic_div_fetch,
    atomic_exchange,
    atomic_fetch_add,
    atomic_fetch_and,
    atomic_fetch_dec,
    atomic_fetch_div,
    atomic_fetch_inc,
    atomic_fetch_lshift,
    atomic_fetch_max,
    atomic_fetch_min,
    atomic_fetch_mod,
    atomic_fetch_mul,
    atomic_fetch_nand,
    atomic_fetch_or,
    atomic_fetch_rshift,
    atomic_fetch_sub,
    atomic_fetch_xor,
    atomic_inc,
    atomic_inc_fetch,
    atomic_load,
    atomic_lshift,
    atomic_lshift_fetch,
    atomic_max,
    atomic_max_fetch,
    atomic_min,
    atomic_min_fetch,
    atomic_mod,
    atomic_mod_fetch,
    atomic_mul,
    atomic_mul_fetch,
    atomic_nand,
    atomic_nand_fetch,
    atomic_or,
    atomic_or_fetch,
    atomic_rshift,
    atomic_rshift_fetch,
    atomic_store,
    atomic_sub,
    atomic_sub_fetch,
    atomic_xor,
    atomic_xor_fetch,
)
from .kernels.kernel import Kernel, kernel
from .kernels.language import function, local, printf
from .launch.nested import (
    PerTeam,
    PerThread,
    TeamThreadMDRange,
    TeamThreadRange,
    TeamVectorMDRange,
    TeamVectorRange,
    ThreadVectorMDRange,
    ThreadVectorRange,
    single,
)
from .launch.parallel import parallel_for
from .launch.parallel_reduce import parallel_reduce, parallel_scan
from .launch.team_member import TeamMember
from .plugins.selection import SpaceInfo, default_space, space, spaces, use_space
from .plugins.started import fence
from .policies.named_tiles import default_tile
from .policies.range import MDRangePolicy, RangePolicy
from .policies.team import TeamPolicy
from .profiling import profile
from .profiling.work import Work
from .reducers.base import Reducer
from .reducers.builtin import (
    BAnd,
    BOr,
    FirstLoc,
    LAnd,
    LastLoc,
    LOr,
    Max,
    MaxFirstLoc,
    MaxLoc,
    Min,
    MinFirstLoc,
    MinLoc,
    MinMax,
    MinMaxFirstLastLoc,
    MinMaxLoc,
    MinMaxLocScalar,
    MinMaxScalar,
    Prod,
    StdIsPartitioned,
    StdIsPartScalar,
    StdPartitionPoint,
    Sum,
    ValLocScalar,
)
from .views.deep_copy import deep_copy
from .views.interop import subview, view_of
from .views.mirrors import (
    create_mirror,
    create_mirror_view,
    create_mirror_view_and_copy,
    realloc,
    resize,
)
from .views.static import static
from .views.view import View
from .views.view_keys import ALL


def _explain(*args: Any, **options: Any) -> Any:
    from .explaining import explain

    return explain(*args, **options)


def _with_tuned(*args: Any) -> Any:
    from .tuning.tuned import wrapped

    return wrapped(*args)


ports.explain.provide(_explain)
ports.with_tuned.provide(_with_tuned)

if TYPE_CHECKING:
    from . import tuning
    from .tuning import Tuning, tune


def __getattr__(name: str) -> Any:
    """What tunes is loaded when it is first asked for: most programs never do."""
    if name not in ("Tuning", "tune", "tuning"):
        from difflib import get_close_matches

        close = get_close_matches(name, __all__, n=1) or [
            known for known in __all__ if known.lower() == name.lower().replace("_", "")
        ]
        hint = f". Did you mean: '{close[0]}'?" if close else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    tuning = import_module(".tuning", __name__)
    return tuning if name == "tuning" else getattr(tuning, name)


def __dir__() -> list[str]:
    """Public names, and none of the modules that they come from."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "ALL",
    "API_VERSION",
    "HOST",
    "Allocation",
    "BAnd",
    "BOr",
    "BackendCompileError",
    "Capabilities",
    "Capture",
    "ConfigError",
    "ContextLostError",
    "DTypeError",
    "DualView",
    "Effects",
    "ExecspaceError",
    "ExecutionSpace",
    "Explanation",
    "FirstLoc",
    "HealthCheck",
    "HostExecutionSpace",
    "HostSpace",
    "Kernel",
    "KernelAssertionError",
    "KernelError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LAnd",
    "LOr",
    "LastLoc",
    "LaunchError",
    "LaunchSpec",
    "Layout",
    "MDRangePolicy",
    "Max",
    "MaxFirstLoc",
    "MaxLoc",
    "MemorySpace",
    "Min",
    "MinFirstLoc",
    "MinLoc",
    "MinMax",
    "MinMaxFirstLastLoc",
    "MinMaxLoc",
    "MinMaxLocScalar",
    "MinMaxScalar",
    "PerTeam",
    "PerThread",
    "Plan",
    "PluginError",
    "PluginWarning",
    "PolicyError",
    "PolicySpec",
    "Probe",
    "Prod",
    "RangePolicy",
    "ReadOnlyError",
    "Reducer",
    "ReducerEntry",
    "ScalarType",
    "ScatterView",
    "SpaceAccessError",
    "SpaceEntry",
    "SpaceError",
    "SpaceInfo",
    "SpaceUnavailableError",
    "StdIsPartScalar",
    "StdIsPartitioned",
    "StdPartitionPoint",
    "Sum",
    "SupportsSort",
    "SupportsTeams",
    "SupportsTuning",
    "TeamLimits",
    "TeamMember",
    "TeamPolicy",
    "TeamSizes",
    "TeamThreadMDRange",
    "TeamThreadRange",
    "TeamVectorMDRange",
    "TeamVectorRange",
    "ThreadVectorMDRange",
    "ThreadVectorRange",
    "TileTable",
    "TimesWork",
    "ToolEntry",
    "ToolError",
    "Tuning",
    "UniqueToken",
    "UnknownSpaceError",
    "ValLocScalar",
    "View",
    "ViewError",
    "ViewIndexError",
    "ViewType",
    "ViewTypeError",
    "Work",
    "WrapsArrays",
    "argsort",
    "atomic_add",
    "atomic_add_fetch",
    "atomic_and",
    "atomic_and_fetch",
    "atomic_compare_exchange",
    "atomic_dec",
    "atomic_dec_fetch",
    "atomic_div",
    "atomic_div_fetch",
    "atomic_exchange",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_dec",
    "atomic_fetch_div",
    "atomic_fetch_inc",
    "atomic_fetch_lshift",
    "atomic_fetch_max",
    "atomic_fetch_min",
    "atomic_fetch_mod",
    "atomic_fetch_mul",
    "atomic_fetch_nand",
    "atomic_fetch_or",
    "atomic_fetch_rshift",
    "atomic_fetch_sub",
    "atomic_fetch_xor",
    "atomic_inc",
    "atomic_inc_fetch",
    "atomic_load",
    "atomic_lshift",
    "atomic_lshift_fetch",
    "atomic_max",
    "atomic_max_fetch",
    "atomic_min",
    "atomic_min_fetch",
    "atomic_mod",
    "atomic_mod_fetch",
    "atomic_mul",
    "atomic_mul_fetch",
    "atomic_nand",
    "atomic_nand_fetch",
    "atomic_or",
    "atomic_or_fetch",
    "atomic_rshift",
    "atomic_rshift_fetch",
    "atomic_store",
    "atomic_sub",
    "atomic_sub_fetch",
    "atomic_xor",
    "atomic_xor_fetch",
    "bool_",
    "complex64",
    "complex128",
    "create_mirror",
    "create_mirror_view",
    "create_mirror_view_and_copy",
    "deep_copy",
    "default_space",
    "default_tile",
    "explain",
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
    "parallel_scan",
    "philox4x32",
    "printf",
    "profile",
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
    "single",
    "sort",
    "sort_by_key",
    "space",
    "spaces",
    "static",
    "subview",
    "tune",
    "tuning",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "upper_bound",
    "use_space",
    "view_of",
]
