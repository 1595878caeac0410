"""execspace: Kokkos' programming model for Python.

One kernel, written once as a Python function, runs on any execution space, chosen at run
time. Importing this package loads no compiler and no backend; each of its own modules is loaded
when a name of it is first used.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import ports
from .base.forks import forks_wait  # not in `__getattr__`: a fork would have to wait for that, too
from .base.version import __version__ as __version__

if TYPE_CHECKING:
    from . import algorithms as algorithms
    from . import profiling as profiling
    from . import special as special
    from . import tuning as tuning
    from .algorithms.filling import *
    from .algorithms.histograms import *
    from .algorithms.random import *
    from .algorithms.searching import *
    from .algorithms.sorting import *
    from .base.errors import *
    from .containers.bitset import *
    from .containers.crs_building import *
    from .containers.crs_graph import *
    from .containers.dualview import *
    from .containers.dynamic_view import *
    from .containers.error_reporter import *
    from .containers.memory_pool import *
    from .containers.offset_view import *
    from .containers.scatterview import *
    from .containers.uniquetoken import *
    from .containers.unordered_map import *
    from .contract.argtypes import *
    from .contract.dtypes import *
    from .contract.dtypes import bfloat16 as bfloat16
    from .contract.dtypes import float8_e4m3fn as float8_e4m3fn
    from .contract.dtypes import float8_e5m2 as float8_e5m2
    from .contract.entries import *
    from .contract.graphs import *
    from .contract.hookspecs import *
    from .contract.launch_spec import *
    from .contract.layout import *
    from .contract.memory import *
    from .contract.ordering import *
    from .contract.records import *
    from .contract.space import *
    from .contract.tiles import *
    from .events.work import *
    from .explaining import *
    from .graphs.enqueued import *
    from .graphs.fused_launch import *
    from .graphs.graph import *
    from .graphs.node import *
    from .graphs.running import *
    from .host.space import *
    from .kernels.atomic_steps import *
    from .kernels.atomics import *
    from .kernels.bits import *
    from .kernels.host_functions import *
    from .kernels.kernel import *
    from .kernels.language import *
    from .kernels.numbers import *
    from .kernels.simd import *
    from .launch.bound import *
    from .launch.future import *
    from .launch.local_copies import *
    from .launch.nested import *
    from .launch.parallel import *
    from .launch.parallel_reduce import *
    from .launch.team_member import *
    from .launch.transfers import *
    from .plugins.initialization import *
    from .plugins.partitioning import *
    from .plugins.placement import *
    from .plugins.pools import *
    from .plugins.selection import *
    from .plugins.space_list import *
    from .plugins.started import *
    from .policies.named_tiles import *
    from .policies.range import *
    from .policies.team import *
    from .profiling.runs import *
    from .profiling.timer import *
    from .reducers.base import *
    from .reducers.builtin import *
    from .reducers.comparing import *
    from .tuning.tuner import *
    from .views.creation import *
    from .views.deep_copy import *
    from .views.interop import *
    from .views.like import *
    from .views.mirrors import *
    from .views.record import *
    from .views.static import *
    from .views.view import *
    from .views.view_keys import *

# Module -> names that it gives to this package.
_NAMES = {
    "algorithms.filling": "fill_random",
    "algorithms.histograms": "histogram",
    "algorithms.random": """
        philox4x32 random_integer random_normal random_uint32 random_uint64 random_uniform
        random_uniform32
    """,
    "algorithms.searching": "lower_bound searchsorted upper_bound",
    "algorithms.sorting": "argsort sort sort_by_key",
    "base.errors": """
        BackendCompileError ConfigError ContextLostError DTypeError ExecspaceError
        KernelAssertionError KernelError KernelSyntaxError KernelTypeError LaunchError
        PluginError PluginWarning PolicyError ReadOnlyError SpaceAccessError SpaceError
        SpaceUnavailableError ToolError UnknownSpaceError ViewError ViewIndexError
        ViewTypeError
    """,
    "containers.bitset": "Bitset ConstBitset",
    "containers.crs_building": """
        count_and_fill_crs get_crs_row_map_from_counts get_crs_transpose_counts transpose_crs
    """,
    "containers.crs_graph": "StaticCrsGraph create_staticcrsgraph",
    "containers.dualview": "DualView",
    "containers.dynamic_view": "DynamicView",
    "containers.error_reporter": "ErrorReporter",
    "containers.memory_pool": "MemoryPool",
    "containers.offset_view": "OffsetView",
    "containers.scatterview": "ScatterView",
    "containers.uniquetoken": "UniqueToken",
    "containers.unordered_map": "UnorderedMap",
    "contract.argtypes": "ScalarType ViewType",
    "contract.dtypes": """
        bool_ complex128 complex64 float16 float32 float64 int16 int32 int64 int8 uint16
        uint32 uint64 uint8
    """,
    "contract.entries": "API_VERSION HealthCheck Probe ReducerEntry SpaceEntry ToolEntry",
    "contract.graphs": "GraphLaunch SupportsGraphs",
    "contract.hookspecs": "hookimpl",
    "contract.launch_spec": "Capture LaunchSpec PolicySpec",
    "contract.layout": "Layout",
    "contract.memory": "Allocation HOST HostSpace MemorySpace live_allocations",
    "contract.ordering": "Event SupportsEvents SupportsStreams",
    "contract.records": "Capabilities Effects ReductionResult TeamLimits TeamSizes",
    "contract.space": """
        CompilesInSteps ExecutionSpace Partitions Plan SupportsSort SupportsTeams SupportsTuning
        TellsResults TimesWork WrapsArrays
    """,
    "contract.tiles": "TileTable",
    "events.work": "Work",
    "explaining": "Explanation explain",
    "graphs.enqueued": "EnqueuedWork stream_call",
    "graphs.fused_launch": "Fused fuse",
    "graphs.graph": "Graph is_recorded library_call",
    "graphs.node": "GraphNode when_all",
    "graphs.running": "GraphExec",
    "host.space": "HostExecutionSpace",
    "kernels.atomic_steps": "atomic_fetch_oper atomic_oper_fetch",
    "kernels.atomics": """
        atomic_add atomic_add_fetch atomic_and atomic_and_fetch atomic_compare_exchange
        atomic_dec atomic_dec_fetch atomic_div atomic_div_fetch atomic_exchange
        atomic_fetch_add atomic_fetch_and atomic_fetch_dec atomic_fetch_div atomic_fetch_inc
        atomic_fetch_lshift atomic_fetch_max atomic_fetch_min atomic_fetch_mod
        atomic_fetch_mul atomic_fetch_nand atomic_fetch_or atomic_fetch_rshift
        atomic_fetch_sub atomic_fetch_xor atomic_inc atomic_inc_fetch atomic_load
        atomic_lshift atomic_lshift_fetch atomic_max atomic_max_fetch atomic_min
        atomic_min_fetch atomic_mod atomic_mod_fetch atomic_mul atomic_mul_fetch atomic_nand
        atomic_nand_fetch atomic_or atomic_or_fetch atomic_rshift atomic_rshift_fetch
        atomic_store atomic_sub atomic_sub_fetch atomic_xor atomic_xor_fetch
    """,
    "kernels.bits": """
        bit_cast bit_ceil bit_floor bit_width byteswap countl_one countl_zero countr_one
        countr_zero has_single_bit popcount rotl rotr
    """,
    "kernels.host_functions": "host_function",
    "kernels.kernel": "Kernel kernel",
    "kernels.language": "function local printf",
    "kernels.numbers": "fdim fma logb rsqrt",
    "kernels.simd": "SimdType simd",
    "launch.bound": "Bound bind",
    "launch.future": "Future",
    "launch.local_copies": "local_deep_copy",
    "launch.nested": """
        PerTeam PerThread TeamThreadMDRange TeamThreadRange TeamVectorMDRange
        TeamVectorRange ThreadVectorMDRange ThreadVectorRange single
    """,
    "launch.parallel": "parallel_for",
    "launch.parallel_reduce": "parallel_reduce parallel_scan",
    "launch.team_member": "TeamMember",
    "launch.transfers": "In InOut Out",
    "plugins.initialization": "InitializationSettings initialize print_configuration",
    "plugins.partitioning": "partition_space",
    "plugins.placement": "space_for",
    "plugins.pools": "pools trim_pools",
    "plugins.selection": "default_space space spaces use_memory use_space",
    "plugins.space_list": "SpaceInfo",
    "plugins.started": "fence",
    "policies.named_tiles": "default_tile max_total_tile_size",
    "policies.range": "MDRangePolicy RangePolicy",
    "policies.team": "TeamPolicy",
    "profiling.runs": "profile",
    "profiling.timer": "Timer",
    "reducers.base": "Reducer",
    "reducers.builtin": """
        BAnd BOr FirstLoc LAnd LOr LastLoc Max MaxFirstLoc MaxLoc Min MinFirstLoc MinLoc
        MinMax MinMaxFirstLastLoc MinMaxLoc MinMaxLocScalar MinMaxScalar Prod
        StdIsPartScalar StdIsPartitioned StdPartitionPoint Sum ValLocScalar
    """,
    "reducers.comparing": """
        MaxFirstLocCustomComparator MinFirstLocCustomComparator
        MinMaxFirstLastLocCustomComparator
    """,
    "tuning.tuner": "Tuning tune",
    "views.creation": """
        arange array asarray empty full linspace ones zeros
    """,
    "views.deep_copy": "deep_copy",
    "views.interop": "subview view_of",
    "views.like": "empty_like full_like ones_like zeros_like",
    "views.mirrors": "create_mirror create_mirror_view create_mirror_view_and_copy realloc resize",
    "views.record": "Record",
    "views.static": "static",
    "views.view": "View",
    "views.view_keys": "ALL",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted([*_MODULE_OF, "algorithms", "profiling", "special", "tuning"])
# Of an optional package, which `from execspace import *` must not need.
_OPTIONAL = dict.fromkeys(("bfloat16", "float8_e4m3fn", "float8_e5m2"), "contract.dtypes")


def __getattr__(name: str) -> Any:
    """Load the module of a name when it is first asked for."""
    if name in ("algorithms", "profiling", "special", "tuning"):
        with forks_wait():
            return import_module(f".{name}", __name__)
    module = _MODULE_OF.get(name) or _OPTIONAL.get(name)
    if module is None:
        from difflib import get_close_matches

        close = get_close_matches(name, __all__, n=1) or [
            known for known in __all__ if known.lower() == name.lower().replace("_", "")
        ]
        hint = f". Did you mean: '{close[0]}'?" if close else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    with forks_wait():
        found = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Public names, and none of the modules that they come from."""
    return sorted({*__all__, *_OPTIONAL, *(name for name in globals() if name.startswith("__"))})


def _of(module: str, name: str) -> Callable[[], Callable[..., Any]]:
    """What loads a function."""
    return lambda: getattr(import_module(f".{module}", __name__), name)


ports.explain.provide(_of("explaining", "explain"))
ports.planned.provide(_of("launch.prepare", "planned"))
ports.with_tuned.provide(_of("tuning.tuned", "wrapped"))
ports.replaced_tiles.provide(_of("plugins.registry", "replaced_tiles"))
ports.tool_entries.provide(_of("plugins.registry", "tool_entries"))
ports.assign.provide(_of("views.elements", "assign"))
ports.copied.provide(_of("views.elements", "copied"))
ports.fill.provide(_of("views.elements", "fill"))
ports.mirrored.provide(_of("views.mirrors", "create_mirror_view_and_copy"))
ports.to_numpy.provide(_of("views.elements", "to_numpy"))
ports.fence.provide(_of("plugins.started", "fence"))
ports.order_before.provide(_of("plugins.ordering", "order_before"))
ports.wait_for.provide(_of("plugins.ordering", "wait_for"))
ports.has_short_tracebacks.provide(_of("base.tracebacks", "is_short"))
ports.short_traceback.provide(_of("base.tracebacks", "rendered"))
ports.rich_message.provide(_of("base.tracebacks", "message"))
