"""Thread blocks for ranges of several dimensions: which launches have them, and a thread's walk.

The fastest dimension is mapped to x of blocks and grid, the next one to y, and all others together
to z. Block sizes are chosen at the launch (`block_geometry`), so that one source serves all extents
and tiles. The number of calls per thread is a compile-time constant, so that calls can share loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from execspace.base.dataclass import dataclass
from execspace.contract.tiles import PACKED, TileTable

from .. import ir
from ..analysis.access import Access, access_of
from ..ir import Assign, Expr, For, If, Stmt, Var, integer, op, var
from ..ir.types import BOOL, INDEX, INT64, UINT32, Scalar, ViewTy
from ..passes.packing import Packing, packing_of_blocks
from ..typing.lowered import Lowered
from .loops import Calls, Chunk, bounds_of, index_order, tile_order
from .packs import PackCalls

_COORDINATES = ("_g", "_t", "_d")  # blockIdx, threadIdx and blockDim
_LARGE = 400  # expressions of a body


@dataclass(frozen=True, slots=True)
class BlockParameter:
    """A parameter of a source with thread blocks.

    `what`: "blocks" along a dimension, the extent of the "tile", or by how much the first block
    begins "before" the range. `part`: "scale" or "shift" for the division by it.
    """

    what: str
    dimension: int
    part: str = ""

    @property
    def is_narrow(self) -> bool:
        """Whether it has 32 bits, and only sources that are not wide have it."""
        return bool(self.part) or self.what == "before"

    @property
    def name(self) -> str:
        """Name of the parameter."""
        return f"_{self.what}{f'_{self.part}' if self.part else ''}{self.dimension}"

    @property
    def type(self) -> Scalar:
        """Type of the parameter."""
        return UINT32 if self.is_narrow else INDEX


@dataclass(frozen=True)
class Blocks:
    """The mapping of a launch's range to thread blocks.

    Attributes
    ----------
    rank : int
    dims : tuple of int
        Dimensions of the policy along x, y and z of a block; all from the third on are along z.
    grid : tuple of int
        The same along axes of the grid.
    items_per_thread : tuple of int
        Calls per thread, by dimension of the policy.
    access : Access
    tiled : bool
        The policy has a tile.
    packing : Packing, optional
        Along x the calls of a thread are a pack; see passes/packing.py.
    """

    rank: int
    dims: tuple[int, ...]
    grid: tuple[int, ...]
    items_per_thread: tuple[int, ...]
    access: Access
    tiled: bool
    packing: Packing | None = None

    @property
    def pattern(self) -> str:
        """What a table of tiles calls it."""
        return self.access.pattern if self.packing is None else PACKED

    @property
    def parameters(self) -> tuple[BlockParameter, ...]:
        """The parameters that the host passes at a launch, in order.

        The blocks along each dimension, by how much the first one begins before the range along
        x, and if several dimensions are along z, the tile's extents in them, and factors and
        shifts for divisions by both, see `scale`.
        """
        found = [BlockParameter("blocks", d) for d in range(self.rank)]
        found += [BlockParameter("before", self.dims[0])]
        if self.rank > 3:
            found += [BlockParameter("tile", d) for d in self.dims[2:]]
        for d, e in zip(self.grid[2:-1], self.dims[2:-1], strict=True):
            divisors = [("blocks", d), ("tile", e)]
            parts = ("scale", "shift")
            found += [BlockParameter(w, n, part) for w, n in divisors for part in parts]
        return tuple(found)

    @property
    def calls(self) -> int:
        """Calls per thread."""
        return prod(self.items_per_thread)


def blocks_of(lowered: Lowered, table: TileTable) -> Blocks | None:
    """The thread blocks for a launch; None: flat, one call per thread.

    Blocks are for a parallel_for over an MDRangePolicy that asks for a tile or for several calls
    per thread, or whose kernel has an access pattern for which the table has a tile.
    """
    policy = lowered.spec.policy
    if lowered.reduction is not None or policy.kind != "mdrange":
        return None
    order = index_order(lowered.body, lowered.spec)
    access = access_of(lowered.body, order)
    asked = policy.tiled or policy.items_per_thread
    packing = None
    if access.pattern == "stencil" and not asked and table.find(PACKED, policy.rank) is not None:
        packing = packing_of_blocks(lowered, order[-1])
    if not asked and packing is None and table.find(access.pattern, policy.rank) is None:
        return None
    dims = order[::-1]
    if access.pattern == "transpose":
        dims = (dims[0], access.other, *(d for d in dims[1:] if d != access.other))
    pattern = access.pattern if packing is None else PACKED
    calls = list(_per_thread(lowered, table, dims, pattern))
    if packing is not None:
        calls[dims[0]] = packing.count
    grid = tile_order(policy, order)[::-1] if policy.outer else dims
    return Blocks(policy.rank, dims, grid, tuple(calls), access, policy.tiled, packing)


def _per_thread(
    lowered: Lowered, table: TileTable, dims: tuple[int, ...], pattern: str
) -> tuple[int, ...]:
    policy = lowered.spec.policy
    given = policy.items_per_thread
    if len(given) == policy.rank and (policy.rank > 1 or given):
        return given
    fast_first = [1] * policy.rank
    if given:  # a number, for the dimension next to the fastest
        order = index_order(lowered.body, lowered.spec)
        return tuple(given[0] if d == order[-2] else 1 for d in range(policy.rank))
    if not policy.tiled and _is_small(lowered.body):
        fast_first = list(table.find_per_thread(pattern, policy.rank))
    out = [1] * policy.rank
    for d, calls in zip(dims, fast_first, strict=True):
        out[d] = calls
    return tuple(out)


def _is_small(body: ir.Function) -> bool:
    """Whether copies of a body are cheap: large ones are not unrolled unless asked for."""
    loops = any(isinstance(s, For | ir.While) for s in ir.walk_statements(body.body))
    return not loops and len(ir.walk_expressions(body.body)) <= _LARGE


# -- the walk -------------------------------------------------------------------------------------


def coordinate_names(wide: bool) -> list[str]:
    """Parameters for block and thread indices along x, y and z; with `wide` also the grid size."""
    return [f"{p}{n}" for p in (*_COORDINATES, *(["_e"] if wide else [])) for n in range(3)]


def block_function(
    lowered: Lowered,
    name: str,
    blocks: Blocks,
    *,
    wide: bool,
    small: bool,
    packing: Packing | None = None,
) -> ir.Function:
    """The work of one thread: its calls of the kernel that are in the range.

    `wide`: any extents, in a grid-stride loop; otherwise offsets have 32 bits, and the grid covers
    the range. `small`: indices have 32 bits, too. `packing`: the calls of a thread are packs where
    the addresses of all Views allow it.
    """
    policy, body = lowered.spec.policy, lowered.body
    order = index_order(body, lowered.spec)
    chunk = Chunk(Calls(body, lowered.leading, policy, order), small=small and not wide)
    walk = _Walk(chunk, blocks, INDEX if wide else UINT32)
    if packing is not None:
        walk = _PackedWalk(chunk, blocks, packing)
    statements = walk.strided() if wide else walk.one(*(Var(f"_g{n}", UINT32) for n in range(3)))
    places = [Var(n, UINT32) for n in coordinate_names(wide)]
    bounds = bounds_of(policy)[: 2 * policy.rank]
    numbers = [Var(n.name, n.type) for n in blocks.parameters if not (wide and n.is_narrow)]
    parameters = (*places, *bounds, *numbers, *chunk.arguments)
    types: dict[str, Scalar | ViewTy] = {**chunk.locals}
    return ir.Function(name, parameters, None, types, tuple(statements))


def _scale_names(what: str, d: int) -> tuple[str, str]:
    return f"_{what}_scale{d}", f"_{what}_shift{d}"


class _Walk:
    """Statements of a thread, with offsets of a type."""

    def __init__(self, chunk: Chunk, blocks: Blocks, kind: Scalar) -> None:
        self.chunk, self.blocks, self.kind = chunk, blocks, kind
        self.out: list[Stmt] = []
        self.along = 1  # offset along x between the first calls of neighbouring threads

    def number(self, e: Expr) -> Expr:
        """An integer in the type of offsets."""
        same = isinstance(e, Var) and e.type == self.kind
        return e if same or self.kind == INDEX == e.type else ir.Op("cast", (e,), self.kind)

    def held(self, name: str, value: Expr) -> Expr:
        """A variable with this value."""
        self.chunk.locals[name] = INT64 if self.kind == INDEX else self.kind.strong
        self.out.append(Assign(name, value))
        return Var(name, self.kind)

    def strided(self) -> list[Stmt]:
        """Grid-stride loops around the walk of one block."""
        dims = self.blocks.grid
        last: Expr = integer(1)
        for d in dims[2:]:
            last = op("mul", last, var(f"_blocks{d}"))
        ends = [var(f"_blocks{d}") for d in dims[:2]] + [last]
        axes = range(3) if len(dims) > 2 else range(len(dims))
        inner = self.one(*(var(f"_b{n}") for n in range(3)))
        for n in axes:
            first, step = (self.number(Var(f"{p}{n}", UINT32)) for p in ("_g", "_e"))
            self.chunk.locals[f"_b{n}"] = INT64
            inner = [For(f"_b{n}", first, ends[n], step, tuple(inner))]
        return inner

    def one(self, x: Expr, y: Expr, z: Expr) -> list[Stmt]:
        """The calls of this thread in the block at a position in the grid."""
        self.out = []
        firsts = self.firsts(x, y, z)
        self.calls(firsts)
        return self.out

    def firsts(self, x: Expr, y: Expr, z: Expr) -> dict[int, Expr]:
        """Offset of the thread's first call from the lower bound, by dimension.

        Along x its calls are a block apart, so that accesses are coalesced; in other dimensions
        they are neighbours.
        """
        dims, calls = self.blocks.dims, self.blocks.items_per_thread
        blocks: dict[int, Expr] = {}
        if self.blocks.grid != dims:
            blocks = self.numbered(x, y, z)
            x, y = blocks[dims[0]], blocks[dims[1]]
        thread = [self.number(Var(f"_t{n}", UINT32)) for n in range(3)]
        extent = [self.number(Var(f"_d{n}", UINT32)) for n in range(3)]
        d = dims[0]
        at = op(
            "add", op("mul", x, self.times(extent[0], calls[d])), self.times(thread[0], self.along)
        )
        if self.kind != INDEX:
            # Unsigned, so offsets before the range wrap to large numbers outside of it.
            at = op("sub", at, Var(f"_before{d}", UINT32))
        out = {d: self.held(f"_p{d}", at)}
        if len(dims) > 1:
            d = dims[1]
            at = op("add", op("mul", y, extent[1]), thread[1])
            out[d] = self.held(f"_p{d}", self.times(at, calls[d]))
        rest, inside = z, thread[2]
        for d in dims[2:]:
            tile = extent[2] if len(dims) == 3 else self.number(var(f"_tile{d}"))
            block, place = rest, inside
            if d in blocks:
                block = blocks[d]
            elif d != dims[-1]:
                rest, block = self.divided("blocks", d, rest)
            if d != dims[-1]:
                inside, place = self.divided("tile", d, inside)
            at = op("add", op("mul", block, tile), place)
            out[d] = self.held(f"_p{d}", self.times(at, calls[d]))
        return out

    def numbered(self, x: Expr, y: Expr, z: Expr) -> dict[int, Expr]:
        """Number of the block along each dimension, from its place in a grid of another order."""
        grid = self.blocks.grid
        found = dict(zip(grid[:2], (x, y), strict=True))
        rest = z
        for d in grid[2:]:
            found[d] = rest
            if d != grid[-1]:
                rest, found[d] = self.divided("blocks", d, rest)
        return found

    def times(self, e: Expr, calls: int) -> Expr:
        """A multiple by a constant."""
        return e if calls == 1 else op("mul", e, self.number(integer(calls)))

    def divided(self, what: str, d: int, rest: Expr) -> tuple[Expr, Expr]:
        """Quotient and remainder of an offset along z by the blocks, or the tile's extent."""
        count = self.number(var(f"_{what}{d}"))
        if self.kind == INDEX:
            return (
                self.held(f"_{what}_up{d}", op("truncdiv", rest, count)),
                self.held(f"_{what}_at{d}", op("truncmod", rest, count)),
            )
        factor, shift = (Var(n, UINT32) for n in _scale_names(what, d))
        after = self.held(f"_{what}_up{d}", ir.Op("scaled", (rest, factor, shift), UINT32))
        return after, self.held(f"_{what}_at{d}", op("sub", rest, op("mul", after, count)))

    # -- calls ------------------------------------------------------------------------------------

    def steps(self, d: int) -> list[Expr | None]:
        """Offsets of the calls along a dimension from the first one."""
        count = self.blocks.items_per_thread[d]
        if d == self.blocks.dims[0]:
            extent = self.number(Var("_d0", UINT32))
            return [None if n == 0 else self.times(extent, n) for n in range(count)]
        return [None if n == 0 else self.number(integer(n)) for n in range(count)]

    def counted(self) -> tuple[int, ...]:
        """Dimensions from the slowest to the fastest, whose extents are set for `inside`."""
        dims = self.blocks.dims[::-1]
        for d in dims:
            self.held(f"_n{d}", self.number(op("sub", var(f"_hi{d}"), var(f"_lo{d}"))))
        return dims

    def calls(self, firsts: dict[int, Expr]) -> None:
        """All calls without tests if they are in the range, else a test for each."""
        dims = self.counted()
        steps = {d: self.steps(d) for d in dims}
        last = {d: self.added(firsts[d], steps[d][-1]) for d in dims}
        straight = [
            s for at in self.combinations(dims, steps) for s in self.call(firsts, steps, at)
        ]
        if self.blocks.calls == 1:
            self.out.append(If(self.inside(last), tuple(straight)))
            return
        all_inside = self.inside(last)
        if self.blocks.items_per_thread[dims[-1]] > 1:  # the first call may be before the range
            first = self.inside({dims[-1]: firsts[dims[-1]]})
            all_inside = ir.Op("and", (first, all_inside), BOOL)
        tested: list[Stmt] = []
        for at in self.combinations(dims, steps):
            places = {d: self.added(firsts[d], steps[d][n]) for d, n in at.items()}
            tested.append(If(self.inside(places), tuple(self.call(firsts, steps, at))))
        self.out.append(If(all_inside, tuple(straight), tuple(tested)))

    def added(self, place: Expr, step: Expr | None) -> Expr:
        """The sum of two offsets."""
        return place if step is None else op("add", place, step)

    def combinations(
        self, dims: Sequence[int], steps: dict[int, list[Expr | None]]
    ) -> list[dict[int, int]]:
        """All calls of a thread, by their number along each dimension."""
        found: list[dict[int, int]] = [{}]
        for d in dims:
            found = [{**at, d: n} for at in found for n in range(len(steps[d]))]
        return found

    def inside(self, places: dict[int, Expr]) -> Expr:
        """Whether a call is in the range."""
        test: Expr | None = None
        for d, place in places.items():
            one = ir.Op("lt", (place, Var(f"_n{d}", self.kind)), BOOL)
            test = one if test is None else ir.Op("and", (test, one), BOOL)
        assert test is not None
        return test

    def call(
        self, firsts: dict[int, Expr], steps: dict[int, list[Expr | None]], at: dict[int, int]
    ) -> list[Stmt]:
        """One call, with its indices."""
        out: list[Stmt] = []
        for d, n in at.items():
            place = self.added(firsts[d], steps[d][n])
            out.append(self.chunk.set(f"_i{d}", self.chunk.index(d, place, self.kind)))
        return [*out, *self.chunk.call()]


class _PackedWalk(_Walk):
    """The walk of a thread whose calls along x are a pack, if addresses allow it.

    Rows begin at multiples of a pack or none does. Where none does, calls are a block apart.
    """

    def __init__(self, chunk: Chunk, blocks: Blocks, packing: Packing) -> None:
        super().__init__(chunk, blocks, UINT32)
        self.pack = PackCalls(chunk, packing)
        self.along = packing.count

    def calls(self, firsts: dict[int, Expr]) -> None:
        """All calls of a pack, or those that are in the range."""
        *others, x = self.counted()
        steps: dict[int, list[Expr | None]] = {d: self.steps(d) for d in others}
        rows = []
        for at in self.combinations(others, steps):
            places = {d: self.added(firsts[d], steps[d][n]) for d, n in at.items()}
            row = [
                self.chunk.set(f"_i{d}", self.chunk.index(d, place, self.kind))
                for d, place in places.items()
            ]
            rows.append(If(self.inside(places), (*row, *self.row(x, firsts[x]))))
        self.out += rows

    def row(self, x: int, first: Expr) -> list[Stmt]:
        """The calls of a row."""
        return [
            self.chunk.set("_first", self.chunk.index(x, first, self.kind)),
            If(self.pack.aligned(), tuple(self.packed(x, first)), (self.apart(x, first),)),
        ]

    def packed(self, x: int, first: Expr) -> list[Stmt]:
        """The calls of a pack.

        Packs at the ends of a row are loaded, too, if all their elements exist: where the border of
        an array is left out, all threads of a warp go the same way to their stores.
        """
        start, one = var("_first"), self.number(integer(1))
        self.chunk.locals |= {"_k": INT64, "_all": BOOL}
        places, all_inside = self.places(first, one), Var("_all", BOOL)
        calls: list[Stmt] = []
        stores: list[Stmt] = []
        for n, place in enumerate(places):
            test, at = self.inside({x: place}), op("add", start, integer(n))
            calls.append(If(test, (self.at(x, place), *self.pack.call(n))))
            stores.append(If(test, tuple(self.pack.store(n, at))))
        stored = If(all_inside, tuple(self.pack.stores(start)), tuple(stores))
        place = op("add", first, self.number(var("_k")))
        alone = If(self.inside({x: place}), (self.at(x, place), *self.chunk.call()))
        each = For("_k", integer(0), integer(self.along), integer(1), (alone,), rare=True)
        edges: list[Stmt] = []
        for numbers, load in self.pack.edges(start):
            needed: Expr = self.inside({x: places[numbers[0]]})
            for n in numbers[1:]:
                needed = ir.Op("or", (needed, self.inside({x: places[n]})), BOOL)
            edges.append(If(needed, (load,)))
        loadable = ir.Op("or", (all_inside, self.pack.exist(start)), BOOL)
        return [
            Assign("_all", self.all_inside(x, places)),
            If(loadable, (*edges, *self.pack.loads(start), *calls, stored), (each,)),
        ]

    def apart(self, x: int, first: Expr) -> Stmt:
        """As many calls, a block apart."""
        extent, thread = (self.number(Var(n, UINT32)) for n in ("_d0", "_t0"))
        nearest = op("sub", first, op("mul", thread, self.number(integer(self.along - 1))))
        places = self.places(nearest, extent)
        calls = [[self.at(x, place), *self.chunk.call()] for place in places]
        tested = [If(self.inside({x: p}), tuple(c)) for p, c in zip(places, calls, strict=True)]
        return If(self.all_inside(x, places), tuple(s for c in calls for s in c), tuple(tested))

    def places(self, first: Expr, step: Expr) -> list[Expr]:
        """Offsets of calls with a step between them."""
        found = [first]
        for n in range(1, self.along):
            found.append(op("add", first, op("mul", step, self.number(integer(n)))))
        return found

    def at(self, x: int, place: Expr) -> Stmt:
        """Set the index along x."""
        return self.chunk.set(f"_i{x}", self.chunk.index(x, place, self.kind))

    def all_inside(self, x: int, places: list[Expr]) -> Expr:
        """Whether all are in the range."""
        ends = (self.inside({x: place}) for place in (places[0], places[-1]))
        return ir.Op("and", tuple(ends), BOOL)
