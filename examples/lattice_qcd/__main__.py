"""Make a configuration, write it, solve for quark propagators, and draw the mass of the pion.

    python examples/lattice_qcd --beta 5.7 --kappa 0.15 --space openmp

With --read it takes a configuration of a file instead, NERSC's (.nersc, .lat) or ILDG's (.lime,
.ildg); results lie in --folder.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import files
import heatbath
import numpy as np
import spectrum
from dslash import joined
from lanes import lanes_of
from lattice import Lattice
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from wilson import Wilson, antiperiodic

import execspace as es


def main(arguments: Sequence[str] | None = None) -> int:
    """The whole of it; 1 if an option is wrong, a file cannot be read, or a solution not found."""
    parser = argparse.ArgumentParser(prog="lattice_qcd", description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--extents", type=int, nargs=4, default=(8, 8, 8, 16), metavar=("X", "Y", "Z", "T"),
        help="of a new configuration, even numbers (8 8 8 16)")  # fmt: skip
    add("--beta", type=float, default=5.7, help="of the gauge action (5.7)")
    add("--kappa", type=float, default=0.15, help="of the quarks, anti-periodic in T (0.15)")
    add("--sweeps", type=int, default=60, help="sweeps of the heat bath (60)")
    add("--seed", type=int, default=1, help="of the random numbers (1)")
    add("--space", default=None, help="where to compute (the default space)")
    add("--lanes", type=int, default=None, help="of Dslash (on hosts 8 or as T allows; else 0)")
    add("--together", action="store_true",
        help="solve for all sources at once, without lanes; for devices")  # fmt: skip
    add("--read", type=Path, default=None,
        help="a configuration instead of a new one: extents are those of the file")  # fmt: skip
    add("--folder", type=Path, default=Path("lattice_qcd_results"),
        help="where results go (lattice_qcd_results)")  # fmt: skip
    options = parser.parse_args(arguments)
    console = Console()
    try:
        space = es.default_space() if options.space is None else es.space(options.space)
        links = None if options.read is None else read(options.read)
        lattice = Lattice(*(options.extents if links is None else links.shape[3::-1]))
        host = es.HOST.reachable_from(space)
        width = default_lanes(lattice, host) if options.lanes is None else options.lanes
        if options.together and options.lanes:
            raise ValueError("--together goes without lanes: leave --lanes out")
        width = 0 if options.together else width
        if width:
            lanes_of(lattice, width)
        if not 0 < options.beta < math.inf or options.sweeps < 1 or options.seed < 0:
            raise ValueError("expected beta > 0, at least one sweep, and a seed of at least 0")
        options.folder.mkdir(parents=True, exist_ok=True)
    except (files.FileError, OSError, ValueError, es.ExecspaceError) as error:
        console.print(f"lattice_qcd: {error}", style="red", markup=False)
        return 1
    bars = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"), console=console,
    )  # fmt: skip
    path = options.read or options.folder / "configuration.nersc"
    with bars:
        if links is None:
            task = bars.add_task("heat bath", total=options.sweeps, note="")

            def swept(n: int, plaquette: float) -> None:
                bars.update(task, completed=n, note=f"plaquette {plaquette:.4f}")

            gauge = heatbath.configuration(
                lattice, options.beta, options.sweeps, options.seed, space, on_sweep=swept
            )
            links = joined(lattice, gauge.even.to_numpy(), gauge.odd.to_numpy())
            files.write_nersc(path, links)
        fermions = antiperiodic(links)
        matrices = [
            Wilson(lattice, fermions, options.kappa, dtype=kind, space=space, width=width)
            for kind in ((np.float64,) if options.together else (np.float64, np.float32))
        ]
        task = bars.add_task("propagators", total=12, note="")
        start = time.perf_counter()

        def solved(source: int, iteration: int) -> None:
            bars.update(task, completed=source, note=f"iteration {iteration}")

        inner = None if options.together else matrices[1]
        try:
            correlator = spectrum.pion_correlator(
                matrices[0], inner=inner, together=options.together, progress=solved
            )
        except RuntimeError as error:
            console.print(f"lattice_qcd: {error}", style="red", markup=False)
            return 1
        bars.update(task, completed=12)
    seconds = time.perf_counter() - start
    picture = options.folder / "pion.png"
    title = f"{'x'.join(map(str, lattice.shape))}, kappa {options.kappa}"
    spectrum.plot(picture, correlator, title)
    masses = spectrum.effective_mass(correlator)
    plaquette = files.plaquette(links)
    console.print(f"configuration: {path}, plaquette {plaquette:.5f}", markup=False)
    console.print(f"propagators on {space.name} in {seconds:.1f} s, {width or 'no'} lanes")
    console.print(f"effective masses: {', '.join(f'{m:.3f}' for m in masses)}")
    console.print(f"picture: {picture}", markup=False)
    return 0


def read(path: Path) -> np.ndarray:
    """The links of a file of either format."""
    if path.suffix in (".lime", ".ildg"):
        return files.read_ildg(path)[0]
    return files.read_nersc(path)[0]


def default_lanes(lattice: Lattice, on_host: bool) -> int:
    """As many lanes as T allows, up to 8, on hosts."""
    fitting = (w for w in (8, 4, 2) if lattice.nt % (2 * w) == 0)
    return next(fitting, 0) if on_host else 0


if __name__ == "__main__":
    sys.exit(main())
