"""Make a configuration, write it, solve for quark propagators, and draw the mass of the pion.

    python examples/lattice_qcd --beta 5.7 --kappa 0.16 --space openmp

With --read it takes a configuration of a file instead, NERSC's (.nersc, .lat) or ILDG's (.lime,
.ildg); results lie in --folder.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import files
import heatbath
import numpy as np
import spectrum
from dslash import joined
from lattice import Lattice
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from wilson import Wilson, antiperiodic

import execspace as es


def main(arguments: Sequence[str] | None = None) -> int:
    """The whole of it; 1 if a file cannot be read."""
    parser = argparse.ArgumentParser(prog="lattice_qcd", description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--extents", type=int, nargs=4, default=(8, 8, 8, 16), metavar=("X", "Y", "Z", "T"))
    add("--beta", type=float, default=5.7, help="of the gauge action (5.7)")
    add("--kappa", type=float, default=0.15, help="of the quarks (0.15)")
    add("--sweeps", type=int, default=60, help="sweeps of the heat bath (60)")
    add("--seed", type=int, default=1, help="of the random numbers (1)")
    add("--space", default=None, help="where to compute (the default space)")
    add("--lanes", type=int, default=None, help="lanes of Dslash (4 on hosts, 0 on devices)")
    add("--together", action="store_true", help="solve for all sources at once, without lanes")
    add("--read", type=Path, default=None, help="a configuration instead of a new one")
    add("--folder", type=Path, default=Path("lattice_qcd_results"), help="where results go")
    options = parser.parse_args(arguments)
    console = Console()
    space = es.default_space() if options.space is None else es.space(options.space)
    options.folder.mkdir(parents=True, exist_ok=True)
    bars = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"), console=console,
    )  # fmt: skip
    with bars:
        if options.read is None:
            lattice = Lattice(*options.extents)
            task = bars.add_task("heat bath", total=options.sweeps, note="")

            def swept(n: int, plaquette: float) -> None:
                bars.update(task, completed=n, note=f"plaquette {plaquette:.4f}")

            gauge = heatbath.configuration(
                lattice, options.beta, options.sweeps, options.seed, space, on_sweep=swept
            )
            links = joined(lattice, gauge.even.to_numpy(), gauge.odd.to_numpy())
            path = options.folder / "configuration.nersc"
            files.write_nersc(path, links)
        else:
            path = options.read
            try:
                links = read(path)
            except (files.FileError, OSError) as error:
                console.print(f"[red]{path}: {error}[/red]")
                return 1
            lattice = Lattice(*links.shape[3::-1])
        host = es.HOST.reachable_from(space)
        width = options.lanes if options.lanes is not None else default_lanes(lattice, host)
        if options.together and options.lanes:
            parser.error("--together goes without lanes: leave --lanes out")
        width = 0 if options.together else width
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
        correlator = spectrum.pion_correlator(
            matrices[0], inner=inner, together=options.together, progress=solved
        )
        bars.update(task, completed=12)
    seconds = time.perf_counter() - start
    picture = options.folder / "pion.png"
    title = f"{'x'.join(map(str, lattice.shape))}, kappa {options.kappa}"
    spectrum.plot(picture, correlator, title)
    masses = spectrum.effective_mass(correlator)
    console.print(f"configuration: {path}, plaquette {files.plaquette(links):.5f}")
    console.print(f"propagators on {space.name} in {seconds:.1f} s, {width or 'no'} lanes")
    console.print(f"effective masses: {', '.join(f'{m:.3f}' for m in masses)}")
    console.print(f"picture: {picture}")
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
