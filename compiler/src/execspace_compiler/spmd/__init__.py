"""Single program, multiple data: a kernel over neighbouring indices in the lanes of vectors.

`varying.py` finds out what is the same in all lanes, `form.py` writes the function of vectors, and
`choice.py` says whether that is worth it. The names below are for backends of others, too.
"""

from .form import LaneForm, kernel_in_lanes
from .varying import Findings, NotVectorised

__all__ = ["Findings", "LaneForm", "NotVectorised", "kernel_in_lanes"]
