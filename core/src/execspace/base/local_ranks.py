"""Which of the ranks of a host this process is, as its launcher's environment says.

Launchers of MPI programs number the processes that they start on each host from 0. Kokkos reads
the same variables: https://kokkos.org/kokkos-core-wiki/ProgrammingGuide/Initialization.html.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from .dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LocalRank:
    """A rank among those of its host.

    Attributes
    ----------
    number : int
        From 0.
    size : int or None
        Ranks of the host; None if nobody says.
    """

    number: int
    size: int | None = None

    @property
    def is_alone(self) -> bool:
        """Whether no other rank is known to be on this host."""
        return self.number == 0 and (self.size is None or self.size == 1)

    def __str__(self) -> str:
        return f"local rank {self.number}" + (f" of {self.size}" if self.size is not None else "")


# Number and size. Those of MPI's own launchers come first, for under a batch system they are
# started by its launcher, and its variables are of that.
_PAIRS = (
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),  # Open MPI
    ("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),  # MVAPICH2
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # Hydra, of MPICH and Intel MPI
    ("PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"),  # HPE's PALS
    ("PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"),  # Cray's PMI
)


def from_launcher(environment: Mapping[str, str] = os.environ) -> LocalRank | None:
    """The rank that a launcher has given this process, None if it was started by none.

    A variable that is no number counts as one that is not there: it is not the user's to mend. So
    does a size that is not greater than the number.
    """
    for number, size in _PAIRS:
        found = _whole(environment, number)
        if found is not None:
            return _checked(found, _whole(environment, size))
    found = _whole(environment, "FLUX_TASK_LOCAL_ID")
    if found is not None:
        # Of several hosts nothing says how many tasks this one has.
        one_host = _whole(environment, "FLUX_JOB_NNODES") == 1
        return _checked(found, _whole(environment, "FLUX_JOB_SIZE") if one_host else None)
    return _of_slurm(environment)


def _of_slurm(environment: Mapping[str, str]) -> LocalRank | None:
    """The task of a step, which `srun` starts: a batch script has the number of a task, too."""
    found = _whole(environment, "SLURM_LOCALID")
    in_step = {"SLURM_STEP_ID", "SLURM_STEPID"} & environment.keys()
    if found is None or not in_step or "SLURM_PROCID" not in environment:
        return None
    tasks = environment.get("SLURM_STEP_TASKS_PER_NODE")
    if tasks is None:  # what the job asked for; a step may be smaller, but says so
        return _checked(found, _whole(environment, "SLURM_NTASKS_PER_NODE"))
    return _checked(found, _tasks_of(tasks, _whole(environment, "SLURM_NODEID")))


def _tasks_of(text: str, node: int | None) -> int | None:
    """Tasks of a node by Slurm's list of all nodes, as "4(x2),3"; None for what cannot be read."""
    of_nodes: list[tuple[int, int]] = []  # how many nodes, and the tasks of each of them
    for part in text.split(","):
        tasks, bracket, times = part.strip().partition("(x")
        nodes = times.removesuffix(")") if bracket else "1"
        if not (_is_number(tasks) and _is_number(nodes)):
            return None
        of_nodes.append((int(nodes), int(tasks)))
    if len({tasks for _, tasks in of_nodes}) == 1:
        return of_nodes[0][1]
    if node is not None:
        for nodes_alike, number in of_nodes:
            if node < nodes_alike:
                return number
            node -= nodes_alike
    return None


def _checked(number: int, size: int | None) -> LocalRank:
    return LocalRank(number, size if size is not None and size > number else None)


def _whole(environment: Mapping[str, str], name: str) -> int | None:
    """Value of a variable that is a whole number of 0 or more, else None."""
    text = environment.get(name, "").strip()
    return int(text) if _is_number(text) else None


def _is_number(text: str) -> bool:
    """Whether a text has digits only, and not so many that it is no number of a process."""
    return text.isascii() and text.isdecimal() and len(text) <= 9
