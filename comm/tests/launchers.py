"""MPI programs as tests start them: with each MPI library that is installed, and a time limit."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import psutil

SETTINGS = ("EXECSPACE_", "OMPI_COMM_", "OMPI_UNIVERSE", "PMIX_", "PMI_", "MPI4PY_")


@dataclass(frozen=True)
class Launcher:
    """A library and what starts its programs."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def begin(self, ranks, *args, **variables):
        """Start a program of Python on ranks."""
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(SETTINGS) or "CACHE" in k
        }
        environment |= {"OPENBLAS_NUM_THREADS": "1", "EXECSPACE_NUM_THREADS": "1"}
        return subprocess.Popen(
            [*self.command, "-n", str(ranks), sys.executable, *map(str, args)],
            env=environment | self.environment | variables, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def run(self, ranks, *args, seconds=240, **variables):
        """Exit status and output of a program; a program that does not end is ended, and told."""
        process = self.begin(ranks, *args, **variables)
        return ended(process, seconds)


def ended(process, seconds):
    """Exit status and output, when it has ended."""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        # Ranks have groups of their own, outlive a launcher that is killed, and hold its output.
        for each in [*psutil.Process(process.pid).children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                each.kill()
        output, _ = process.communicate(timeout=30)
        return None, f"not done after {seconds} s:\n{output}"
    return process.returncode, output


def launchers():
    """Those that are installed: as wheels, beside each other, or as the system has them."""
    folder, found = Path(sys.executable).parent, []
    library = folder.parent / "lib"
    open_mpi = ("--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE")
    if (library / "libmpi.so.40").exists():
        command = (str(folder / "prterun"), "--personality", "ompi", *open_mpi)
        environment = {"MPI4PY_LIBMPI": str(library / "libmpi.so.40")}
        found.append(Launcher("openmpi", command, environment))
    elif shutil.which("mpirun.openmpi"):
        found.append(Launcher("openmpi", ("mpirun.openmpi", *open_mpi)))
    if (library / "libmpi.so.12").exists():
        environment = {"MPI4PY_LIBMPI": str(library / "libmpi.so.12")}
        found.append(Launcher("mpich", (str(folder / "mpiexec.hydra"),), environment))
    elif shutil.which("mpiexec.mpich"):
        found.append(Launcher("mpich", ("mpiexec.mpich",)))
    return {launcher.name: launcher for launcher in found}
