"""A row of the roofline's table: what it tells, plots and writes of a kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RooflineRecord:
    """All launches of one kernel on one space.

    Attributes
    ----------
    space, label : str
    calls : int
    timed : int
        Calls of which both the work and the time on the device are known. All that follows is of
        these.
    seconds : float
        In which they ran on the device.
    flops : float
        Floating-point operations.
    moved : int
        Bytes that have to come from memory or go there.
    functions : float
        Calls of mathematical functions, which are not in `flops`.
    intensity, gflops, gbytes : float or None
        Operations for each byte, and 1e9 operations and bytes a second. None if no time is known.
    roof : float or None
        Percent of what the roofs allow for this kernel. None if they are not known.
    bound : str
        "memory" or "compute", whichever roof is over this kernel; empty if they are not known.
    exact : bool
        Operations and bytes are exact; else `notes` say by which rules they were counted.
    notes : str
    """

    space: str
    label: str
    calls: int
    timed: int
    seconds: float
    flops: float
    moved: int
    functions: float
    intensity: float | None
    gflops: float | None
    gbytes: float | None
    roof: float | None
    bound: str
    exact: bool
    notes: str
