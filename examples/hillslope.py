"""Wear a real landscape down: linear hillslope diffusion, dz/dt = D laplacian(z).

One kernel, written once as a Python function, runs on every execution space that is installed.
The program draws the terrain before and after, and compares the spaces. Try:

    python examples/hillslope.py
    EXECSPACE_DEFAULT=openmp python examples/hillslope.py my_terrain.npz --steps 500
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.cbook import get_sample_data
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LightSource, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

import execspace as es

SAMPLE = "jacksboro_fault_dem.npz"  # comes with matplotlib: Tennessee, 3 arc-seconds
SAFETY = 0.1  # of the largest stable time step
ASSUMED_SPACING = 30.0  # metres, for files that do not say
METRES_PER_DEGREE = math.radians(1) * 6_371_000
TINTS = ["#3f6b4b", "#8fa86b", "#dccf96", "#b98f5e", "#8c6a55", "#f6f3ee"]  # valley to summit

Array = np.ndarray[Any, np.dtype[Any]]
Report = Callable[[int, float, float], None]  # step, volume in m3, steepest slope in degrees


class InputError(Exception):
    """What the user gave cannot be used; the message is one sentence that says why."""


@dataclass(frozen=True)
class Terrain:
    """Elevations in metres, northernmost row first, and the distance between them in metres."""

    elevation: Array
    dx: float
    dy: float
    assumed: bool = False  # the file does not give the distance


@dataclass(frozen=True)
class Model:
    """The terrain and all that decides how it changes; times in years."""

    terrain: Terrain
    diffusivity: float
    dt: float
    boundary: str = "zero-flux"


# -- the kernels: the part that runs on any space --------------------------------------------


@es.kernel
def diffuse(i, j, z, z_new, rx, ry):
    """One explicit step of the five-point stencil; rx = D dt / dx^2, ry = D dt / dy^2.

    A neighbour beyond the edge mirrors the cell itself, so that nothing flows across.
    """
    here = z[i, j]
    north = z[i - 1, j] if i > 0 else here
    south = z[i + 1, j] if i < z.extent(0) - 1 else here
    west = z[i, j - 1] if j > 0 else here
    east = z[i, j + 1] if j < z.extent(1) - 1 else here
    z_new[i, j] = here + rx * (west - 2 * here + east) + ry * (north - 2 * here + south)


@es.kernel
def slope_squared(i, j, z, dx, dy):
    """Square of the slope by central differences; the root is taken once, of the greatest."""
    east = (z[i, j + 1] - z[i, j - 1]) / (2 * dx)
    south = (z[i + 1, j] - z[i - 1, j]) / (2 * dy)
    return east * east + south * south


# -- the model: Views, policies, patterns ----------------------------------------------------


def stable_step(terrain: Terrain, diffusivity: float) -> float:
    """Largest time step, in years, for which the explicit scheme is stable."""
    return 1 / (2 * diffusivity * (terrain.dx**-2 + terrain.dy**-2))


def interior(shape: tuple[int, int], space: es.ExecutionSpace) -> es.MDRangePolicy:
    """All cells that have four neighbours."""
    return es.MDRangePolicy((1, 1), (shape[0] - 1, shape[1] - 1), space=space)


@es.profiling.region("measure")
def measure(z: es.View, terrain: Terrain, space: es.ExecutionSpace) -> tuple[float, float]:
    """Volume above sea level in m3, and the steepest slope in degrees."""
    everywhere = es.MDRangePolicy(z.shape, space=space)
    total = es.parallel_reduce(everywhere, lambda i, j: z[i, j], reducer=es.Sum, label="total")
    steepest = es.parallel_reduce(
        interior(z.shape, space), slope_squared, z, terrain.dx, terrain.dy, reducer=es.Max
    )
    return total * terrain.dx * terrain.dy, math.degrees(math.atan(math.sqrt(steepest)))


def evolve(
    model: Model,
    steps: int,
    space: es.ExecutionSpace,
    every: int | None = None,
    report: Report | None = None,
) -> tuple[Array, float]:
    """Run the model on a space; return the final elevations and the seconds that stepping took.

    The numbers for `report` are reduced every `every` steps, outside of the measured time.
    """
    terrain, shape = model.terrain, model.terrain.elevation.shape
    everywhere = es.MDRangePolicy(shape, space=space)
    policy = interior(shape, space) if model.boundary == "fixed" else everywhere
    rx = model.diffusivity * model.dt / terrain.dx**2
    ry = model.diffusivity * model.dt / terrain.dy**2
    with es.profiling.region("set up"):  # regions are for profiling tools
        z = es.View(shape, es.float64, label="z", space=space)
        z_new = es.View(shape, es.float64, label="z_new", space=space)
        es.deep_copy(z, terrain.elevation)
        es.deep_copy(z_new, terrain.elevation)  # cells that the policy leaves out stay as they are
        # This one compiles; the first step overwrites what it stores.
        es.parallel_for(policy, diffuse, z, z_new, rx, ry)
    if report is not None:
        report(0, *measure(z, terrain, space))

    seconds, done = 0.0, 0
    while done < steps:
        count = min(every or steps, steps - done)
        es.fence()
        started = time.perf_counter()
        with es.profiling.region("steps"):
            for _ in range(count):
                es.parallel_for(policy, diffuse, z, z_new, rx, ry)
                z, z_new = z_new, z
            es.fence()  # launches may be asynchronous
        seconds += time.perf_counter() - started
        done += count
        if report is not None:
            report(done, *measure(z, terrain, space))
    final = np.empty(shape)
    es.deep_copy(final, z)
    return final, seconds


# -- comparing spaces ------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How a space did: its final elevations and seconds a step, or why it has none."""

    name: str
    final: Array | None = None
    seconds: float = 0.0
    note: str = ""


def attempt(model: Model, steps: int, every: int, name: str) -> Outcome:
    """Run on one space; a space that cannot do it says so in the table."""
    try:
        final, seconds = evolve(model, steps, es.space(name), every)
    except (es.ExecspaceError, MemoryError) as error:
        return Outcome(name, note=f"failed: {error}")
    return Outcome(name, final, seconds / steps)


def other_spaces(model: Model, steps: int, every: int, chosen: str) -> Iterator[Outcome]:
    """Run the same steps on every other space; leave out those that are only for debugging."""
    for row in es.spaces():
        if row.name == chosen.partition(":")[0] or row.priority < 0:
            continue
        if row.usable:
            yield attempt(model, steps, every, row.name)
        else:
            yield Outcome(row.name, note=f"not usable: {row.reason}")


def comparison(outcomes: list[Outcome], steps: int) -> Table:
    """The table of spaces; the first outcome is the space that made the picture."""
    serial = next((o.final for o in outcomes if o.name == "serial"), None)
    table = Table(
        title=f"{steps} steps on each space",
        caption="GB/s counts one read and one write of the grid a step. "
        + ("" if serial is not None else "Space 'serial' has no result here to compare with."),
    )
    table.add_column("space")
    for heading in ("ms a step", "GB/s", "max |z - z_serial|, m"):
        table.add_column(heading, justify="right")
    table.add_column("note")
    for o in outcomes:
        note = o.note or ("made the picture" if o is outcomes[0] else "")
        if o.final is None:
            table.add_row(o.name, "-", "-", "-", note)
            continue
        rate = 2 * o.final.nbytes / o.seconds / 1e9
        apart = "-" if serial is None else f"{np.abs(o.final - serial).max():.3g}"
        table.add_row(o.name, f"{1e3 * o.seconds:.3f}", f"{rate:.1f}", apart, note)
    return table


# -- the picture -----------------------------------------------------------------------------


def normals(z: Array, terrain: Terrain) -> Array:
    """Unit vectors that stand on the terrain: east, north, up. Heights count twice."""
    south, east = np.gradient(2 * z, terrain.dy, terrain.dx)
    vectors = np.stack([-east, south, np.ones_like(z)], axis=-1)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def draw(model: Model, after: Array, years: float, path: Path) -> None:
    """Write the shaded relief before and after, with one light and one scale of colours."""
    terrain, before = model.terrain, model.terrain.elevation
    rows, columns = before.shape
    width, height = columns * terrain.dx / 1e3, rows * terrain.dy / 1e3
    colours = LinearSegmentedColormap.from_list("tints", TINTS)
    scale = Normalize(before.min(), before.max())
    light = LightSource(azdeg=315, altdeg=45)
    # Shaded together: LightSource stretches the contrast of whatever it is given.
    shades = light.shade_normals(np.stack([normals(z, terrain) for z in (before, after)]))

    panel = 5.1 * min(max(height / width, 0.4), 1.6)
    figure = Figure(figsize=(12, panel + 1.2), layout="compressed")  # needs no display
    axes = figure.subplots(1, 2, sharey=True)
    for ax, z, shade, title in zip(axes, (before, after), shades, ("before", "after"), strict=True):
        image = light.blend_soft_light(colours(scale(z))[..., :3], shade[..., np.newaxis])
        ax.imshow(np.clip(image, 0, 1), extent=(0, width, 0, height))
        ax.set(title=title, xlabel="east (km)")
    axes[0].set_ylabel("north (km)")
    bar = figure.colorbar(ScalarMappable(scale, colours), ax=axes, pad=0.02, aspect=30)
    bar.set_label("elevation (m)")
    title = f"{duration(years)} of hillslope diffusion, D = {model.diffusivity:g} m²/yr"
    figure.suptitle(title, fontsize=15)
    figure.savefig(path, format="png", dpi=150)


def duration(years: float) -> str:
    """Years in words, to three digits."""
    if years >= 1e6:
        return f"{years / 1e6:.3g} million years"
    return f"{float(f'{years:.3g}'):,g} years"


# -- reading elevation models ----------------------------------------------------------------


def read_terrain(path: Path, dx: float | None = None, dy: float | None = None) -> Terrain:
    """Read .npz, .npy or .asc; `dx` and `dy` in metres overrule the file."""
    kind = path.suffix.lower()
    if kind not in (".npz", ".npy", ".asc"):
        raise InputError(f"'{path}' is of no known kind; expected .npz, .npy or .asc.")
    try:
        z, header = read_asc(path) if kind == ".asc" else read_numpy(path)
    except FileNotFoundError:
        raise InputError(f"'{path}' does not exist; expected an elevation model.") from None
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        reason = str(error).rstrip(".")
        raise InputError(f"'{path}' is not a readable {kind} of elevations: {reason}.") from None
    check_elevations(z, path)
    file_dx, file_dy = spacing_in_metres(header)
    assumed = dx is None and header.keys().isdisjoint(("dx", "dy"))
    dx, dy = dx or file_dx, dy or dx or file_dy
    if not (0 < dx < math.inf and 0 < dy < math.inf):
        raise InputError(f"'{path}' gives a spacing of {dx} by {dy}; expected more than 0.")
    return Terrain(np.ascontiguousarray(z, dtype=np.float64), dx, dy, assumed)


def read_numpy(path: Path) -> tuple[Array, dict[str, float]]:
    """A bare array; of several, `elevation` or the only 2-D one, with numbers as the header."""
    loaded = np.load(path)
    if isinstance(loaded, np.ndarray):
        return loaded, {}
    with loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    header = {k: float(a) for k, a in arrays.items() if a.ndim == 0 and a.dtype.kind in "iuf"}
    grids = [name for name, a in arrays.items() if a.ndim == 2]
    if "elevation" not in arrays and len(grids) != 1:
        found = ", ".join(f"{name} ({a.ndim}-D)" for name, a in arrays.items()) or "nothing"
        raise ValueError(f"expected an array 'elevation' or exactly one 2-D array, found {found}")
    return arrays["elevation" if "elevation" in arrays else grids[0]], header


def read_asc(path: Path) -> tuple[Array, dict[str, float]]:
    """An ESRI ASCII grid: lines of `name value`, then the rows from north to south."""
    words = path.read_text(encoding="utf-8").split()
    header: dict[str, float] = {}
    start = 0
    while start + 1 < len(words) and words[start][0].isalpha() and words[start].lower() != "nan":
        header[words[start].lower()] = float(words[start + 1])
        start += 2
    if not {"ncols", "nrows"} <= header.keys():
        raise ValueError("expected a header with ncols, nrows and cellsize")
    rows, columns = int(header["nrows"]), int(header["ncols"])
    values = np.array(words[start:], dtype=np.float64)
    if values.size != rows * columns:
        raise ValueError(f"expected {rows} x {columns} elevations, found {values.size}")
    values[values == header.get("nodata_value", math.nan)] = math.nan
    south = header.get("yllcorner", header.get("yllcenter"))
    if "cellsize" in header:
        header["dx"] = header["dy"] = header["cellsize"]
    if south is not None and "dy" in header:
        header["ymin"], header["ymax"] = south, south + rows * header["dy"]
    return values.reshape(rows, columns), header


def check_elevations(z: Array, path: Path) -> None:
    """Refuse what the model cannot start from."""
    if z.dtype.kind not in "iuf":
        raise InputError(f"'{path}' holds {z.dtype} elements; expected real numbers.")
    if z.ndim != 2:
        raise InputError(f"'{path}' holds a {z.ndim}-D array of shape {z.shape}; expected 2-D.")
    if min(z.shape) < 3:
        raise InputError(f"'{path}' has {z.shape[0]} x {z.shape[1]} cells; expected 3 x 3 or more.")
    holes = z.size - np.count_nonzero(np.isfinite(z))
    if holes:
        raise InputError(
            f"'{path}' has no elevation in {holes:,} of its {z.size:,} cells (NaN, infinity or "
            f"NODATA_value); expected one in each, so fill the holes first."
        )


def spacing_in_metres(header: dict[str, float]) -> tuple[float, float]:
    """Spacing as the header gives it, converted if it is in degrees.

    It is in degrees if it is below 0.1 and the header has latitudes too, `ymin` and `ymax`.
    """
    dx = header.get("dx", header.get("dy", ASSUMED_SPACING))
    dy = header.get("dy", dx)
    latitudes = [header[k] for k in ("ymin", "ymax") if k in header]
    if len(latitudes) == 2 and max(map(abs, latitudes)) < 90 and max(dx, dy) < 0.1:
        dx *= METRES_PER_DEGREE * math.cos(math.radians(sum(latitudes) / 2))
        dy *= METRES_PER_DEGREE
    return dx, dy


# -- the command line ------------------------------------------------------------------------


# fmt: off
def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="hillslope.py", epilog="EXECSPACE_DEFAULT=NAME chooses the space too.",
        description="Evolve an elevation model by linear hillslope diffusion, dz/dt = D "
        "laplacian(z); draw it before and after; time the same steps on every space.")
    add = parser.add_argument
    add("file", nargs="?", type=Path, metavar="FILE",
        help="elevations in metres, northernmost row first: .npz (array 'elevation', or the only "
        "2-D one; numbers 'dx' and 'dy' if present), .npy, or ESRI ASCII grid .asc "
        "(default: 30 x 32 km of Tennessee, a sample that comes with matplotlib)")
    add("--dx", type=float, metavar="M", help="metres between columns "
        f"(default: from the file, {ASSUMED_SPACING:g} if it does not say)")
    add("--dy", type=float, metavar="M", help="metres between rows (default: --dx)")
    add("--diffusivity", type=float, default=0.1, metavar="D",
        help="in m^2/yr; soils creep at 0.001 to 0.1 (default: %(default)s)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, default=500, metavar="N",
        help="number of time steps (default: %(default)s)")
    length.add_argument("--years", type=float, metavar="T",
        help="model time, instead of a number of steps")
    add("--dt", type=float, metavar="YEARS",
        help=f"time step (default: {SAFETY:g} of the largest stable one)")
    add("--boundary", choices=("zero-flux", "fixed"), default="zero-flux",
        help="zero-flux: nothing crosses the edge, so volume is conserved; fixed: the edge keeps "
        "its elevations (default: %(default)s)")
    add("--every", type=int, default=50, metavar="N",
        help="steps between reports of volume and steepest slope (default: %(default)s)")
    add("--space", metavar="NAME",
        help="execution space that makes the picture, e.g. openmp (default: the best usable one)")
    add("--compare-steps", type=int, metavar="N",
        help="steps to run on each space for the table (default: all)")
    add("--output", type=Path, default=Path("hillslope.png"), metavar="PNG",
        help="picture to write (default: %(default)s)")
    args = parser.parse_args(argv)
    for name, value in vars(args).items():
        if isinstance(value, int | float) and not 0 < value < math.inf:
            parser.error(f"--{name.replace('_', '-')}: expected a number above 0, got {value}")
    return args
# fmt: on


def choose_steps(args: argparse.Namespace, limit: float) -> tuple[int, float]:
    """Number of steps and their length in years; refuses a length that is not stable."""
    dt = args.dt or SAFETY * limit
    if dt > limit:
        raise InputError(f"--dt {dt:g} is unstable; the largest stable step is {limit:.6g} years.")
    if args.years is None:
        return args.steps, dt
    steps = math.ceil(args.years / dt)
    return steps, args.years / steps


@contextmanager
def reporting(console: Console, model: Model, steps: int) -> Iterator[Report]:
    """A progress bar on a terminal, plain lines elsewhere."""

    def numbers(step: int, volume: float, slope: float) -> str:
        years = duration(step * model.dt)
        return f"volume {volume / 1e9:.9g} km^3, steepest slope {slope:5.2f} deg, {years}"

    if not console.is_terminal:
        yield lambda step, *rest: console.print(f"step {step:>6}: {numbers(step, *rest)}")
        return
    columns = BarColumn(30), MofNCompleteColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=steps)
        yield lambda step, *rest: bar.update(task, completed=step, description=numbers(step, *rest))


def run(args: argparse.Namespace, console: Console) -> None:
    """Read, evolve, draw, compare."""
    if not args.output.parent.is_dir():
        raise InputError(f"--output '{args.output}': its folder does not exist.")
    space = es.space(args.space) if args.space else es.default_space()
    path = args.file or Path(get_sample_data(SAMPLE, asfileobj=False))
    terrain = read_terrain(path, args.dx, args.dy)
    steps, dt = choose_steps(args, stable_step(terrain, args.diffusivity))
    model = Model(terrain, args.diffusivity, dt, args.boundary)

    rows, columns = terrain.elevation.shape
    assumed = " (assumed; give --dx)" if terrain.assumed else ""
    console.print(
        f"{path.name}: {rows} rows {terrain.dy:.4g} m apart, "
        f"{columns} columns {terrain.dx:.4g} m apart{assumed}"
    )
    console.print(f"{steps} steps of {dt:,.4g} years on space '{space.name}'")
    with reporting(console, model, steps) as report:
        final, seconds = evolve(model, steps, space, args.every, report)
    draw(model, final, steps * dt, args.output)
    console.print(f"wrote {args.output}\n")

    count = args.compare_steps or steps
    first = Outcome(space.name, final, seconds / steps)
    if count != steps:
        first = attempt(model, count, args.every, space.name)
    others = other_spaces(model, count, args.every, space.name)
    console.print(comparison([first, *others], count), soft_wrap=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status."""
    try:
        run(parse_arguments(argv), Console(markup=False, highlight=False, soft_wrap=True))
    except (InputError, es.SpaceError, OSError) as error:
        print(f"hillslope.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
