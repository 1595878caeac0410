"""Tuning: options of policies found by measurement and kept on disk, by kernel, shapes and device.

`tune` searches. Later launches use what it found: `tuned.wrapped` looks when a plan is made, so a
launch of which nothing is tuned costs nothing. A space suggests what is to be tried as stages, for
which `choices` has those of blocks of threads, of rows and of teams.
"""

from __future__ import annotations

from ..contract.records import Choice
from ..contract.space import CandidateGenerator
from .choices import (
    DEFAULT,
    block_candidates,
    extents_of,
    host_candidates,
    order_of,
    row_candidates,
    team_candidates,
    team_size_to_keep,
)
from .search import Measured
from .store import Record, clear, everything
from .tuner import Tuning, tune

__all__ = [
    "DEFAULT",
    "CandidateGenerator",
    "Choice",
    "Measured",
    "Record",
    "Tuning",
    "block_candidates",
    "clear",
    "everything",
    "extents_of",
    "host_candidates",
    "order_of",
    "row_candidates",
    "team_candidates",
    "team_size_to_keep",
    "tune",
]
