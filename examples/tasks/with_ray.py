"""A field of two substances that react, cut into strips that live in Ray's actors.

    python examples/tasks/with_ray.py
    python examples/tasks/with_ray.py --size 4096 --workers 4 --gpus 1 --space cuda
    python examples/tasks/with_ray.py --address auto --workers 16

An actor is a `Strip` of gray_scott.py: its Views stay in its process from call to call. Only the
edges travel, as NumPy arrays, from actor to actor. Without --address Ray is started here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from gray_scott import Array, Strip, rounds, started
from program import CannotRun, check, cut_options, draw, parser, read, reporting, run, settings
from program import space_of_worker as where


class Actor(Strip):
    """A strip, and where its kernels run."""

    def where(self) -> str:
        """The space of its process."""
        return where()


def exchanged(strips: Sequence[Any], steps: int) -> list[Any]:
    """Give each strip the edges of its neighbours, and have all go some steps."""
    edges = [strip.edges.options(num_returns=2).remote() for strip in strips]
    last = len(strips) - 1
    return [
        strip.advance.remote(steps, edges[n - 1][1], edges[n + 1 if n < last else 0][0])
        for n, strip in enumerate(strips)
    ]


def work(options: argparse.Namespace) -> None:
    """Simulate, check, draw."""
    try:
        import ray
    except ImportError as error:
        raise CannotRun(f"Ray cannot be imported ({error}); pip install ray") from error
    cells, rates = started(options.size, options.size), (options.feed, options.kill)
    parts = np.array_split(cells, options.workers, axis=1)
    here = {} if options.address else {"num_cpus": options.workers, "include_dashboard": False}
    ray.init(
        options.address,
        runtime_env={
            "env_vars": settings(options),
            # Workers elsewhere have no such modules; those of this machine find them by themselves.
            **({"working_dir": str(Path(__file__).parent)} if options.address else {}),
        },
        log_to_driver=False,
        **here,
    )
    try:
        made = ray.remote(num_cpus=1, num_gpus=options.gpus)(Actor)
        strips = [made.remote(part, options.rim, *rates) for part in parts]
        spaces = ray.get([strip.where.remote() for strip in strips])

        def whole() -> Array:
            return np.concatenate(ray.get([s.cells.remote() for s in strips]), axis=1)

        began, done = perf_counter(), 0
        with reporting(options.steps, "steps") as report:
            for now in rounds(options.steps, options.rim):
                ray.get(exchanged(strips, now))
                done += now
                report(done)
                if done <= 2 * options.rim:
                    check(whole(), cells, done, *rates)
        found, seconds = whole(), perf_counter() - began
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    finally:
        ray.shutdown()
    print(f"{len(parts)} actors: {'; '.join(spaces)}")
    print(f"{options.steps} steps of {len(parts)} strips in {seconds:.1f} s")
    print(f"{min(options.steps, 2 * options.rim)} steps are what NumPy computes, to the last bit")
    cuts = np.cumsum([part.shape[1] for part in parts])[:-1].tolist()
    draw(options.output, found, f"{len(parts)} strips, {options.steps} steps", (cuts, ()))
    print(f"wrote {options.output}")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and do it."""
    made = parser("with_ray.py", __doc__, 256, 1500)
    cut_options(made, "strip")
    add = made.add_argument
    add("--gpus", type=float, default=0, metavar="X", help="GPUs of each actor, also 0.5 (0)")
    add("--address", help="a cluster that runs already, or auto")
    options = read(made, argv)
    return run("with_ray.py", lambda: work(options))


if __name__ == "__main__":
    sys.exit(main())
