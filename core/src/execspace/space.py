"""The contract between core and a backend: execution spaces, plans, and their records.

A backend author reads this file from top to bottom. Methods say whether a backend must,
should or may implement them; optional abilities are Protocols, recognised by presence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, final, runtime_checkable

from . import profiling
from .argtypes import ArgType, ViewType
from .errors import PluginError
from .memory import MemorySpace
from .profiling.launches import fence_events
from .tiles import NO_TILES, TileTable, by_dimension, table_of
from .work import Work

if TYPE_CHECKING:
    from .kernel import Kernel
    from .reducer import Reducer
    from .tuning.choices import Stage
    from .view import View

API_VERSION = (0, 1)


@dataclass(frozen=True, eq=False)  # interned by policy_spec(): identity is equality
class PolicySpec:
    """What a plan must know of a policy: its kind and options, not its bounds.

    Attributes
    ----------
    kind : str
        ``"range"``, ``"mdrange"`` or ``"team"``.
    rank : int
        Number of indices that the kernel receives (1 for a range). For teams 1: the handle.
    iterate : str
        ``"auto"``, ``"left"`` (first index fastest) or ``"right"`` (last index fastest).
    tiled : bool
        The user gave a tile; its extents follow the bounds at each launch.
    nonnegative : bool
        No lower bound is below zero.
    per_thread : tuple of int
        Calls of one thread of a device: by dimension; or one number, for the dimension next to
        the fastest (of rank 1: for that one). Empty: the space decides. Hosts take no notice.
    launch_bounds : int
        No block of threads is larger; 0: the space decides. Hosts take no notice.
    team_size, vector_length, chunk_size : int
        Of teams: threads of a team, lanes of a thread, teams that one unit (a block of threads
        of a device, a thread of a host) gets together; 0: the space decides.
    """

    kind: str
    rank: int
    iterate: str = "auto"
    tiled: bool = False
    nonnegative: bool = True
    per_thread: tuple[int, ...] = ()
    launch_bounds: int = 0
    team_size: int = 0
    vector_length: int = 0
    chunk_size: int = 0


@cache
def policy_spec(
    kind: str,
    rank: int,
    iterate: str = "auto",
    tiled: bool = False,
    nonnegative: bool = True,
    per_thread: tuple[int, ...] = (),
    launch_bounds: int = 0,
    team_size: int = 0,
    vector_length: int = 0,
    chunk_size: int = 0,
) -> PolicySpec:
    """The one PolicySpec of these values."""
    return PolicySpec(
        kind, rank, iterate, tiled, nonnegative, per_thread, launch_bounds, team_size,
        vector_length, chunk_size,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Capture:
    """A name that the kernel takes from an enclosing scope.

    `argument` is the position of the hidden argument that carries a View, or None for a
    constant, whose value is in `value`.
    """

    name: str
    value: Any = field(compare=False)
    tag: object
    argument: int | None = None


@dataclass(frozen=True)
class LaunchSpec:
    """All that a compiled plan depends on; hashable, the key of every plan cache.

    Attributes
    ----------
    pattern : str
        ``"for"``, ``"reduce"`` or ``"scan"``.
    policy : PolicySpec
    arguments : tuple of ArgType
        Explicit arguments first, then hidden ones (captured Views).
    captures : tuple of Capture
        Functions of a user's own reducers are among them, see `reducer.reducer_captures`.
    reducer : Reducer, tuple of Reducer, or None
    out : tuple of ViewType
        Types of the Views that receive the result; they are then the last arguments.
    bound : tuple of str
        Parameters of the kernel that neither an index nor an argument fills: their values, or
        those of their attributes, are among the captures.
    """

    pattern: str
    policy: PolicySpec
    arguments: tuple[ArgType, ...]
    captures: tuple[Capture, ...] = ()
    reducer: Reducer | tuple[Reducer, ...] | None = None
    out: tuple[ViewType, ...] = ()
    bound: tuple[str, ...] = ()

    @property
    def array_shape(self) -> tuple[int, ...] | None:
        """Shape of what an array reduction joins; None for everything else."""
        return None if isinstance(self.reducer, tuple | None) else self.reducer.array_shape

    @property
    def leading(self) -> int:
        """Number of parameters that the kernel has before those of the arguments.

        Its indices, or the handle of its team; then the array of an array reduction; or the
        prefix and whether this is the final pass of a scan.
        """
        more = 2 if self.pattern == "scan" else 0 if self.array_shape is None else 1
        return self.policy.rank + more


@dataclass(frozen=True, slots=True)
class Effects:
    """What a launch does beside computing; positions are those of arguments, then of ``out=``.

    Attributes
    ----------
    written, read : frozenset of int
        Views that it may write, and Views that it may read. An atomic step does both.
    prints : bool
        It calls `printf`.
    team_sized : bool
        Which places of Views it touches depends on the size of its teams, which tuning then leaves
        as it is.
    """

    written: frozenset[int]
    read: frozenset[int]
    prints: bool = False
    team_sized: bool = False


@dataclass(frozen=True, slots=True)
class TeamSizes:
    """What a plan of a TeamPolicy chose.

    Attributes
    ----------
    team_size, vector_length, chunk_size : int
        As in `PolicySpec`, but none is 0.
    team_size_max : int
        Threads of the largest team that this kernel could have on this space with this vector
        length.
    """

    team_size: int
    vector_length: int
    chunk_size: int
    team_size_max: int


@dataclass(frozen=True, slots=True)
class TeamLimits:
    """How large teams can be on a space, whatever the kernel.

    Attributes
    ----------
    team_size_max : int
        Threads of a team.
    vector_length_max : int
        Lanes of a thread.
    threads_max : int
        Lanes of a whole team: ``team_size * vector_length``.
    scratch : (int, int)
        Bytes that a team may have at level 0 (small and fast) and at level 1.
    """

    team_size_max: int
    vector_length_max: int
    threads_max: int
    scratch: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a space can do beyond the must-haves; tests that need more skip with the reason.

    Attributes
    ----------
    asynchronous : bool
        Launches return before they are done.
    float64, float16, complex : bool
        Kernels compute in these types.
    atomic_bytes : int
        Size of the largest number that changes atomically as a whole.
    ordered_reductions : bool
        `parallel_reduce` joins contributions in the order of the indices. Where it does not,
        joins must be commutative. Scans are always in order.
    """

    asynchronous: bool = False
    float64: bool = True
    float16: bool = False
    complex: bool = True
    atomic_bytes: int = 16
    ordered_reductions: bool = True


Launch = Callable[[tuple[int, ...], tuple[Any, ...]], Any]


class Plan(ABC):
    """A kernel compiled for one LaunchSpec, on one space.

    must: `space`, `spec`, `launch`; each plan sets or defines them. should: `source` and `mapping`,
    of a TeamPolicy `team_sizes`, and of asynchronous devices `effects` and `launch_as`. may: the
    rest.

    No launch reads the properties, so they may take their time. A plan may be a dataclass; its
    fields may then be called after the three musts, but not after a property.

    Attributes
    ----------
    space : ExecutionSpace
        What it runs on.
    spec : LaunchSpec
        What it was compiled for.
    launch : callable
        The hot path, ``launch(bounds, args)``: nothing but packing and launching. `bounds` are the
        lower bounds, the upper bounds, and the tile extents if the policy is tiled; of teams
        ``(0, league_size)``. `args` are Views and numbers as typed in `LaunchSpec.arguments`, then
        those of `out`. Returns None, or for a reduction or scan without `out` (blocking) the joined
        value: what `Reducer.as_result` makes of it, for several reducers a tuple of such.
    """

    space: ExecutionSpace
    spec: LaunchSpec
    launch: Launch

    def launch_as(self, label: str, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `launch`, which it is called in place of where there is a label; should where faults
        are reported late, to name the launch."""
        return self.launch(bounds, args)

    def ready(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:  # noqa: B027
        """Do now what only the first launch with these bounds would do; may. Profiling tools do
        not count it as part of the launch."""

    def chosen(
        self, bounds: tuple[int, ...], args: tuple[Any, ...]
    ) -> tuple[Plan, tuple[int, ...], str]:
        """The plan that such a launch runs, the bounds that it gets, and a line on why; may, where
        a plan chooses among others. Launches nothing."""
        return self, bounds, ""

    # -- what it does, for tuning and profiling tools ----------------------------------------------

    @property
    def effects(self) -> Effects | None:
        """What it reads, writes and prints; should. None: unknown, and tuning puts back all Views
        before each launch."""
        return None

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions of the range from the slowest to the fastest; may. Empty: unknown."""
        return ()

    def work(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Work | None:
        """Bytes and operations of a launch, which is not run; may. None: unknown."""
        return None

    # -- teams -------------------------------------------------------------------------------------

    def team_sizes(self) -> TeamSizes:
        """What was chosen, and how large a team could be; must for a TeamPolicy."""
        raise PluginError(
            f"Space '{self.space.name}' compiles kernels for teams, but its plans have no "
            f"team_sizes(), which says what they chose; this is a defect of its plugin."
        )

    def team_size_max(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Most threads of a team with which this launch works; should where that depends on the
        launch, as it does if scratch memory grows with the team. Raises what the launch would."""
        found, policy = self.team_sizes(), self.spec.policy
        most = policy.launch_bounds or found.team_size_max * found.vector_length
        return min(found.team_size_max, max(1, most // found.vector_length))

    def team_size_recommended(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of a team that "auto" gives this launch; otherwise as `team_size_max`."""
        return self.team_sizes().team_size

    # -- what `explain` shows ----------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The generated text; should. Empty: none."""
        return ""

    def mapping(self, bounds: tuple[int, ...]) -> Sequence[str]:
        """How it goes through a range, and why, in lines; should."""
        return ()

    @property
    def variables(self) -> Mapping[str, str]:
        """Name of each variable of the kernel -> its type; may."""
        return {}

    @property
    def figures(self) -> Mapping[str, Mapping[str, int]]:
        """Name of each compiled function -> what is known of it, in numbers; may."""
        return {}

    @property
    def vectorisation(self) -> Sequence[str]:
        """What became of its loops, in lines; may."""
        return ()

    @property
    def cache(self) -> tuple[str, str]:
        """Key of its entry in the cache on disk, and a sentence on whether it was found; may."""
        return "", ""


class ExecutionSpace(ABC):
    """Where kernels run. One object per (space, device); made by `SpaceEntry.factory`.

    must: `name`, `memory_space`, `compile`, `synchronize`. should: `concurrency`, `capabilities`,
    `tiles`. may: `memory_spaces`, `instance`, `default_tile`.
    """

    name: str
    default_layout: str = "right"
    capabilities: Capabilities = Capabilities()
    tiles: TileTable = NO_TILES

    @property
    @abstractmethod
    def memory_space(self) -> MemorySpace:
        """Where Views for this space are allocated by default; must."""

    @property
    def memory_spaces(self) -> tuple[MemorySpace, ...]:
        """Every memory space that kernels here can address; may add to the default one."""
        return (self.memory_space,)

    @abstractmethod
    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        """Compile `kernel` for `spec`; must.

        Raises KernelSyntaxError or KernelTypeError for a fault in the kernel and
        BackendCompileError for one in generated code. Called once per spec: core caches.
        """

    @abstractmethod
    def synchronize(self, label: str = "") -> None:
        """Wait until all work launched on this space is done; must. Blocks. Called by `fence`."""

    @final
    def fence(self, label: str = "") -> None:
        """Wait until all work launched on this space is done, and tell tools of it. Blocks."""
        if not profiling.TOOLS:
            self.synchronize(label)
            return
        with fence_events(self, label):
            self.synchronize(label)

    @property
    def concurrency(self) -> int:
        """Number of work items that can run at the same time; should."""
        return 1

    def default_tile(
        self, rank: int, iterate: str, extents: Sequence[int], access: str = "stencil"
    ) -> tuple[int, ...] | None:
        """Tile of an MDRangePolicy that gives none, by dimension; may. None: nothing is tiled.

        That of `tiles`, or of the table which a plugin registered in its place. Called when a plan
        meets a shape for the first time, and by `execspace.default_tile`; see there.
        """
        found = table_of(self).find(access, rank)
        if found is None:
            return None
        tile = by_dimension(found, iterate)
        return tuple(t or max(1, n) for t, n in zip(tile, extents, strict=True))

    def tuning_stages(self, plan: Plan, bounds: tuple[int, ...]) -> Sequence[Stage]:
        """What `tune` shall try for a launch; may.

        Each stage is called with the best choices so far and gives refinements of them; see
        `execspace.tuning`. The default is right for hosts.
        """
        from .tuning.choices import host_stages  # which imports policies, and so this module

        return host_stages(self, plan, bounds)

    def instance(self) -> ExecutionSpace:
        """An independent queue of this space; may. In-order spaces return themselves."""
        return self

    def __reduce__(self) -> Any:
        """By name: where it arrives, the space of that name is meant."""
        from .selection import made_space, space  # which need this module

        if made_space(self.name) is not self:
            raise TypeError(
                f"{self!r} cannot be pickled: it is a queue of this process. Pickle its name, and "
                f"make another where it arrives: es.space(name).instance()."
            )
        return space, (self.name,)

    def __repr__(self) -> str:
        return f"<execution space '{self.name}'>"


@runtime_checkable
class ReportsThreads(Protocol):
    """A host-parallel space that can say which threading runtime it really uses."""

    def threading_runtime(self) -> str: ...


@runtime_checkable
class TimesWork(Protocol):
    """An asynchronous space that can say when its work really ran, for profiling tools.

    It marks places in its queue and is asked later when the queue passed them. Neither waits.
    """

    def mark(self) -> Any:
        """Note a place in this queue, after all that is queued so far."""

    def time_of(self, mark: Any) -> float | None:
        """When the queue passed a mark, in seconds of `time.perf_counter`; None: it has not yet.

        A mark is not asked for again once it was told.
        The difference between two marks of a queue is as exact as the device can tell, also where
        the clocks of host and device are compared less exactly.
        """


@runtime_checkable
class SupportsTeams(Protocol):
    """A space that compiles kernels for a TeamPolicy; elsewhere such a launch raises PolicyError.

    What exceeds `team_limits` is refused before anything is compiled. What only the kernel can
    tell (its scratch memory, its registers) `compile` checks and refuses with PolicyError.
    """

    def team_limits(self) -> TeamLimits:
        """How large teams can be; asked at each compilation, so it should be cheap."""


@runtime_checkable
class SupportsSort(Protocol):
    """A space whose own library sorts; elsewhere `es.sort` and its siblings launch kernels.

    Each call is in order with what was launched on the space and may return before it is done;
    it then keeps its Views alive. Views are checked already: reachable, writable where they are
    changed, apart in memory, and not empty. Strides may be any, also negative; Views with a
    layout of one's own are not given. NaN is greater than every number.
    """

    def sort(self, view: View, descending: bool) -> None:
        """Sort a View of rank 1, of integers, floats or bools, in place."""

    def argsort(self, keys: View, descending: bool, out: View) -> None:
        """Store into `out`, of int64, the permutation that sorts `keys`.

        Equal keys keep their order, in descending order, too.
        """

    def permute(self, view: View, order: View) -> None:
        """Row `i` of a View of any rank and dtype becomes what row ``order[i]`` was."""


@runtime_checkable
class WrapsArrays(Protocol):
    """A space that makes Views of arrays of other libraries in its memory, without a copy."""

    def view_of(self, source: Any, label: str) -> View:
        """A View of an array that `SpaceEntry.claims` named this space for. It keeps it alive.

        What other libraries do with the array and what this space does must not race: work is
        ordered after what the array's library has queued, and before what it queues later, or the
        call blocks. Raises TypeError, ViewError or DTypeError for what cannot be a View.
        """


@dataclass(frozen=True, slots=True)
class Probe:
    """Answer of a cheap look at the machine: usable, or why not and what to do.

    Attributes
    ----------
    usable : bool
    reason : str
        Why not, and what to do. Of a usable space it may say what is worth knowing.
    device : str
        What kernels would run on, in words: "host", "NVIDIA H200". Empty if only starting the
        space can tell.
    """

    usable: bool
    reason: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class SpaceEntry:
    """A space as a plugin announces it.

    Attributes
    ----------
    name : str
        Short name, used in `space="name"` and in EXECSPACE_DEFAULT.
    factory : callable
        ``factory(device: str | None) -> ExecutionSpace``; does the heavy imports.
    api_version : (int, int)
        Version of the contract that the plugin was written for: `execspace.API_VERSION`.
        Another major is refused, an older minor accepted.
    priority : int
        The usable space of highest priority is the default. Negative: never chosen unasked.
    probe : callable
        ``probe() -> Probe``; cheap, imports nothing heavy, never raises. May be called from any
        thread and more than once; EXECSPACE_PROBE_TIMEOUT limits its time.
    summary : str
        One line for `es.spaces()`.
    claims : callable
        ``claims(source) -> str | None``: name of the space, as `es.space` takes it, in whose
        memory an array of another library is; None if it is in none of this entry's. The space
        must be a `WrapsArrays`. Asked for each array that NumPy does not own, so it should be
        cheap, and imports nothing that the array's library has not imported.
    target : callable
        ``target(name) -> ExecutionSpace | None``: a space that compiles for a kind of device and
        launches nothing, so that no such device is needed; None for a name that it does not know.
        For ``explain(target="gfx942")``. May raise `SpaceUnavailableError` for want of a compiler.
    """

    name: str
    factory: Callable[[str | None], ExecutionSpace]
    api_version: tuple[int, int]
    priority: int = 0
    probe: Callable[[], Probe] = lambda: Probe(True)
    summary: str = ""
    claims: Callable[[Any], str | None] = lambda source: None
    target: Callable[[str], ExecutionSpace | None] = lambda name: None


@dataclass(frozen=True, slots=True)
class ReducerEntry:
    """A reducer that a plugin adds, usable as ``reducer="name"``."""

    name: str
    reducer: Reducer
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A profiling tool that a plugin adds, chosen by name in EXECSPACE_TOOLS or `es.profile`.

    Attributes
    ----------
    name : str
    factory : callable
        Makes the tool, see `execspace.profiling.Tool`. Its parameters are the tool's options, which
        users give after the name, ``name:option=value``; all have defaults, and text is converted
        to the type of the default. ``name:value`` is for the first of them.
    summary : str
        One line for ``execspace run --list``.
    """

    name: str
    factory: Callable[..., Any]
    summary: str = ""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A further row of `execspace doctor`.

    Attributes
    ----------
    name : str
        What is checked, in a few words: "CUDA driver".
    check : callable
        ``check() -> Probe``: `usable` says whether all is well, `reason` what was found, or what
        to do. It runs in a process of its own with a time limit, and may import what it needs.
    """

    name: str
    check: Callable[[], Probe]
