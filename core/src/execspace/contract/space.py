"""The contract between core and a backend: execution spaces, plans, and their records.

A backend author reads this file from top to bottom. Methods say whether a backend must,
should or may implement them; optional abilities are Protocols, recognised by presence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, final, runtime_checkable

from ..base import config, pending, ports
from ..base.errors import PluginError
from ..base.waiting import never_waits
from ..events import dispatch
from ..events.launches import fence_events, queue_of
from ..events.recording import refuse_waiting
from ..events.timing import TimesWork
from .forward import Kernel, View
from .launch_spec import LaunchSpec
from .memory import MemorySpace
from .ordering import Event
from .records import Capabilities, Choice, Effects, ReductionResult, TeamLimits, TeamSizes
from .tiles import NO_TILES, TileTable, by_dimension, table_of

if TYPE_CHECKING:
    from ..events.work import Work

__all__ = [
    "CompilesInSteps",
    "ExecutionSpace",
    "Partitions",
    "Plan",
    "SupportsSort",
    "SupportsTeams",
    "SupportsTuning",
    "TellsResults",
    "TimesWork",
    "WrapsArrays",
]

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
        """Launch under a label, which launches with `label=` do in place of `launch`; should where
        faults are reported late, so that the report names the launch."""
        return self.launch(bounds, args)

    def launch_of_arrays(self, classes: tuple[type | None, ...]) -> Launch | None:
        """A `launch` that takes objects of these very classes in place of Views; may.

        `classes` has one for each argument, None for those that are given as `launch` takes them.
        It returns NotImplemented, and launches nothing, where an array has not the type that `spec`
        says. None: it takes no objects of such a class."""
        return None

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
    def subscripts(self) -> Mapping[int, tuple[int | None, ...]] | None:
        """How its calls address Views, for fusion; may, where the space compiles a `FusedKernel`.

        For each argument that is a View and is accessed, by number: the index of the policy that
        each of its subscripts is, in all accesses; None for a subscript that is none, or not always
        the same; nothing at all if even that is not known. None: the launch cannot be fused with
        others, for it prints, asserts, has teams or is a scan. A plan that tells has an attribute
        `kernel`, what `ExecutionSpace.compile` was given."""
        return None

    @property
    def joining(self) -> str | None:
        """What fixes the order in which a reduction joins contributions, as text; should where
        there are `subscripts`. Plans with equal texts join alike. None: it is not known."""
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

    def scratch_size(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> tuple[int, int]:
        """Bytes that the kernel's scratch takes of a team of this launch, at both levels; should
        of a TeamPolicy. Raises what the launch would."""
        raise PluginError(f"Space '{self.space.name}': plans for teams have no scratch_size().")

    # -- what `explain` shows ----------------------------------------------------------------------

    @property
    def source(self) -> str:
        """The generated source; should. Empty: none."""
        return ""

    def mapping(self, bounds: tuple[int, ...]) -> Sequence[str]:
        """How it goes through a range, and why, in lines; should."""
        return ()

    @property
    def variables(self) -> Mapping[str, str]:
        """Name of each variable of the kernel -> its type; may."""
        return {}

    @property
    def resource_usage(self) -> Mapping[str, Mapping[str, int]]:
        """Name of each compiled function -> what is known of it, in numbers; may."""
        return {}

    @property
    def vectorisation(self) -> Sequence[str]:
        """What became of its loops, in lines; may."""
        return ()

    @property
    def optimised(self) -> str:
        """The source as its compiler has optimised it, in the compiler's own language; may. Made
        when it is asked for. Empty: not known."""
        return ""

    @property
    def assembly(self) -> str:
        """Its machine code as text; may. Made when it is asked for. Empty: not known."""
        return ""

    @property
    def cache(self) -> tuple[str, str]:
        """Key of its entry in the cache on disk, and a sentence on whether it was found; may."""
        return "", ""

    @property
    def kept(self) -> bool | None:
        """Whether a later process finds it on disk, as things are now; may. None: not known."""
        return None


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
        if not dispatch.TOOLS:
            self.synchronize(label)
        else:
            refuse_waiting("A fence")
            with fence_events(self, label):
                self.synchronize(label)
        if config.is_portable():
            pending.fenced(queue_of(self))

    @final
    def record(self) -> Event:
        """An event after all that was launched on this space so far; does not block.

        Of a space whose launches are done when they return it is done. The event of a space says
        nothing of its instances, unlike a fence.
        """
        if dispatch.TOOLS:
            refuse_waiting("An event")
        return Event(self, waits=not never_waits(self))

    @final
    def wait_for(self, other: ExecutionSpace | Event | Any) -> None:
        """Have what is launched here from now on come after other work.

        Parameters
        ----------
        other : ExecutionSpace, Event or stream
            All that was launched on a space so far; what an event stands for; or what a stream of
            another library was given, as CuPy's and PyTorch's.

        Raises
        ------
        SpaceError
            For anything else.

        Notes
        -----
        Does not block the host where both are queues of the same kind of device that wait for each
        other. Elsewhere, as between a device and the host's spaces, it does.
        """
        ports.wait_for(self, other)

    @final
    def order_before(self, other: ExecutionSpace | Any) -> None:
        """Have what a stream, or another space, is given from now on come after this space.

        The other direction of `wait_for`, for streams of other libraries, which have no such
        method. Blocks where this space has no streams itself. Raises SpaceError for what is neither
        a stream nor a space.
        """
        ports.order_before(self, other)

    @property
    def concurrency(self) -> int:
        """Number of work items that can run at the same time; should."""
        return 1

    @property
    def max_total_tile_size(self) -> int | None:
        """Elements of the largest tile that is one block of threads; may. None: any is one part."""
        return None

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

    def instance(self) -> ExecutionSpace:
        """An independent queue of this space; may. In-order spaces return themselves."""
        return self

    def __reduce__(self) -> Any:
        # A space that was made by its name is pickled by it, see `selection`.
        raise TypeError(
            f"{self!r} cannot be pickled: it is a queue of this process. Pickle its name, and "
            f"make another where it arrives: es.space(name).instance()."
        )

    def __repr__(self) -> str:
        return f"<execution space '{self.name}'>"


@runtime_checkable
class Partitions(Protocol):
    """A space that `partition_space` divides; of others it takes an `instance` for each part."""

    def partition(self, weights: Sequence[float]) -> Sequence[ExecutionSpace]:
        """Instances that share out what this space has in the proportions of weights.

        One for each weight; weights are positive and finite. Work of several may run at once.
        Memory spaces are those of this space. Raises SpaceError for more parts than there can be.
        """


@runtime_checkable
class ReportsThreads(Protocol):
    """A host-parallel space that can say which threading runtime it really uses."""

    def threading_runtime(self) -> str: ...


@runtime_checkable
class CompilesInSteps(Protocol):
    """A space that compiles in two steps, of which the second may be done in another thread;
    elsewhere ``execspace precompile`` compiles in the thread that launches."""

    def begin_compile(self, kernel: Kernel, spec: LaunchSpec) -> Callable[[], Plan]:
        """The first step of `ExecutionSpace.compile`; returns the second, which gives a plan whose
        `ready` has nothing to do.

        Whatever depends on the program is read here, for it may bind names anew before the second
        step is done. Faults in the kernel are raised here, too. Second steps of several kernels
        may run at once, each in a thread; they should be the long ones, and not hold the GIL.
        """


@runtime_checkable
class TellsResults(Protocol):
    """A space whose reductions and scans may be waited for later (``blocking=False``), by Views of
    `out` that core makes; elsewhere such a launch blocks."""

    def result_of(self, kernel: Kernel, spec: LaunchSpec) -> ReductionResult:
        """What `compile` of these would give a plan whose launch returns; `spec.out` is empty.

        Compiles nothing. Raises KernelSyntaxError and KernelTypeError for faults in the kernel.
        """


CandidateGenerator = Callable[[Choice], Iterable[Choice]]


@runtime_checkable
class SupportsTuning(Protocol):
    """A space that says what `tune` shall try; elsewhere that is what is right for hosts."""

    def tuning_candidates(
        self, plan: Plan, bounds: tuple[int, ...]
    ) -> Sequence[CandidateGenerator]:
        """What to try for a launch.

        Each generator is called with the best choices so far and gives refinements of them; see
        `execspace.tuning`.
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
