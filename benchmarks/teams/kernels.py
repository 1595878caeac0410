"""The programs of examples/teams, whose kernels the benchmarks of teams time.

They are imported under their own names, as they import each other.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "examples" / "teams"))

import bitonic
import column
import f1
import yax

__all__ = ["bitonic", "column", "f1", "yax"]
