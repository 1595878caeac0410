"""A field of two substances that react, cut into blocks for Dask.

    python examples/tasks/with_dask.py
    python examples/tasks/with_dask.py --size 4096 --blocks 4 --gpus 4
    python examples/tasks/with_dask.py --address tcp://scheduler:8786 --blocks 8

`map_overlap` gives each block a rim of its neighbours' cells and cuts it off afterwards. A task is
`advance` of gray_scott.py: NumPy arrays in and out, kernels on the space of its worker. Without
--address the workers are processes of this machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate
from time import perf_counter
from typing import Any

import gray_scott
import numpy as np
from gray_scott import advance, rounds, started
from program import CannotRun, check, cut_options, draw, parser, read, reporting, run, settings
from program import space_of_worker as where


def advanced(
    field: Any, steps: int, rim: int, feed: float, kill: float
) -> Iterator[tuple[int, Any]]:
    """The field, an array of Dask, after each exchange, and how many steps were done."""
    done = 0
    for now in rounds(steps, rim):
        field = field.map_overlap(
            advance, steps=now, feed=feed, kill=kill,
            depth={0: 0, 1: rim, 2: rim}, boundary={0: "none", 1: "periodic", 2: "periodic"},
            meta=np.empty((0, 0, 0)),  # else Dask calls `advance` here, to see what it returns
        ).persist()  # fmt: skip
        done += now
        yield done, field


def cluster(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """The address that was given, or worker processes with settings of their own."""
    from dask.distributed import LocalCluster, Nanny, Scheduler, SpecCluster

    environment = settings(options)
    if options.address:
        return nullcontext(options.address)  # whoever started its workers has settled theirs
    if not options.gpus:
        return LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=None,
            env=environment,
        )  # fmt: skip
    workers = {
        n: {
            "cls": Nanny,
            "options": {"nthreads": 1, "env": environment | {"CUDA_VISIBLE_DEVICES": str(n)}},
        }
        for n in range(options.gpus)
    }
    return SpecCluster(workers, {"cls": Scheduler, "options": {"port": 0, "dashboard": False}})


def work(options: argparse.Namespace) -> None:
    """Simulate, check, draw."""
    try:
        import dask.array
        from dask.distributed import Client, wait
    except ImportError as error:
        raise CannotRun(
            f"Dask cannot be imported ({error}); pip install 'dask[array]' distributed"
        ) from error
    cells, rates = started(options.size, options.size), (options.feed, options.kill)
    side = -(-options.size // options.blocks)
    with cluster(options) as there, Client(there) as client:
        if options.address:
            client.upload_file(gray_scott.__file__)  # workers elsewhere have no such module
        workers = sorted(client.run(where).values())
        began = perf_counter()
        blocks = dask.array.from_array(cells, chunks=(2, side, side))
        with reporting(options.steps, "steps") as report:
            for done, field in advanced(blocks, options.steps, options.rim, *rates):
                wait(field)
                report(done)
                if done <= 2 * options.rim:
                    check(field.compute(), cells, done, *rates)
        found, seconds = field.compute(), perf_counter() - began
    print(f"{len(workers)} workers: {'; '.join(workers)}")
    print(f"{options.steps} steps of {field.npartitions} blocks in {seconds:.1f} s")
    print(f"{min(options.steps, 2 * options.rim)} steps are what NumPy computes, to the last bit")
    cuts = [list(accumulate(sizes))[:-1] for sizes in field.chunks[1:]]
    draw(options.output, found, f"{field.npartitions} blocks, {options.steps} steps", cuts)
    print(f"wrote {options.output}")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and do it."""
    made = parser("with_dask.py", __doc__, 256, 1500)
    cut_options(made, "block")
    add = made.add_argument
    add("--blocks", type=int, default=2, metavar="N", help="blocks in each direction (2)")
    add("--gpus", type=int, default=0, metavar="N", help="a worker for each of N GPUs (0)")
    add("--address", help="a scheduler that runs already; its workers need execspace")
    options = read(made, argv)
    return run("with_dask.py", lambda: work(options))


if __name__ == "__main__":
    sys.exit(main())
