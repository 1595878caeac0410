"""ErrorReporter: the first so many faults that kernels found, kept for the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.dataclass import dataclass
from ..base.readonly import ReadOnly
from ..contract.dtypes import int64
from ..contract.space import ExecutionSpace
from ..kernels.atomics import atomic_fetch_inc
from ..kernels.refusals import check_integer
from ..views.deep_copy import deep_copy
from ..views.view import View
from .arguments import chosen_space, element_type, whole

__all__ = [
    "ErrorReporter",
]


@dataclass(eq=False)
class ErrorReporter(ReadOnly):
    """Takes reports of kernels, each with the number of who reports, as long as there is room.

    It is a dataclass of Views: pass it to a launch, and call `add_report` in the kernel. What comes
    when it is full is counted, and lost.

    Parameters
    ----------
    capacity : int
        How many reports are kept.
    dtype : dtype-like
        Of a report: a number or a record.
    space : str or ExecutionSpace, optional
        Where the kernels run; the default space if not given.

    Attributes
    ----------
    dtype : dtype
    space : ExecutionSpace

    Raises
    ------
    ViewError
        If `capacity` is no integer of 0 or more.
    DTypeError
        If there are no elements of this type.
    SpaceError
        If there is no such space.

    Notes
    -----
    Reports are in the order in which they came, which is another one in each run where several
    threads report.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/ErrorReporter.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> errors = es.ErrorReporter(2, es.float64, space="serial")
    >>> x = es.array([1.0, -4.0, 9.0, -1.0, -2.0], space="serial")
    >>> @es.kernel
    ... def root(i, x, errors):
    ...     if x[i] < 0.0:
    ...         errors.add_report(i, x[i])
    ...     else:
    ...         x[i] = np.sqrt(x[i])
    >>> es.parallel_for(es.RangePolicy(5, space="serial"), root, x, errors)
    >>> errors.num_report_attempts(), errors.full()
    (3, True)
    >>> reporters, reports = errors.get_reports()
    >>> reporters.tolist(), reports.tolist()
    ([1, 3], [-4.0, -1.0])
    """

    _attempts: View
    _reporters: View
    _reports: View

    _fixed = frozenset(("dtype", "space"))
    _instead = "resize gives it another capacity; else make a new ErrorReporter"
    _for_kernels = ("add_report", "capacity")

    def __init__(
        self, capacity: int, dtype: npt.DTypeLike, *, space: str | ExecutionSpace | None = None
    ) -> None:
        number = whole("ErrorReporter", "capacity", capacity)
        self.dtype = element_type("ErrorReporter", "dtype", dtype, "biufcV", "numbers or records")
        self.space = chosen_space(space)
        self._attempts = View(1, int64, label="ErrorReporter.attempts", space=self.space)
        self._lost = 0  # attempts before a `resize`, of which no report was kept
        self._make(number)

    def _make(self, capacity: int) -> None:
        self._reporters = View(capacity, int64, label="ErrorReporter.reporters", space=self.space)
        self._reports = View(capacity, self.dtype, label="ErrorReporter.reports", space=self.space)

    def __repr__(self) -> str:
        return (
            f"<ErrorReporter for {self.capacity} reports of {self.dtype} on space "
            f"'{self.space.name}'>"
        )

    @property
    def capacity(self) -> Any:
        """How many reports are kept; in kernels, too."""
        return self._reporters.extent(0)

    def add_report(self, reporter: Any, report: Any) -> Any:
        """Report something; for kernels.

        Parameters
        ----------
        reporter : int
            Who reports, such as the index of the kernel.
        report : number or record
            Of the type of the reports.

        Returns
        -------
        bool
            Whether there was room for it.
        """
        check_integer("reporter", reporter)
        place = atomic_fetch_inc(self._attempts, 0)
        if place < self._reporters.extent(0):
            self._reporters[place] = reporter
            self._reports[place] = report
            return True
        return False

    # -- on the host ------------------------------------------------------------------------------

    def num_report_attempts(self) -> int:
        """How often `add_report` was called since the last `clear`. Blocks."""
        return self._places() + self._lost

    def _places(self) -> int:
        """How many places have been asked for, those beyond the capacity included."""
        return int(self._attempts.to_numpy()[0])

    def num_reports(self) -> int:
        """How many reports are there. Blocks."""
        return min(self._places(), int(self.capacity))

    def full(self) -> bool:
        """Whether there is no room for a further report. Blocks."""
        return self._places() >= int(self.capacity)

    def get_reports(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """New arrays of who reported, and of the reports. Blocks."""
        count = self.num_reports()
        return self._reporters[:count].to_numpy(), self._reports[:count].to_numpy()

    def clear(self) -> None:
        """Forget all reports; in order with launches on the space."""
        deep_copy(self._attempts, 0, instance=self.space)
        self._lost = 0

    def resize(self, capacity: int) -> None:
        """Give it another capacity, and keep the first reports of those that are there. Blocks.

        Reports that were lost, or for which there is no room any more, do not come back; they still
        count as attempts.

        Raises
        ------
        ViewError
            If `capacity` is no integer of 0 or more.
        """
        number = whole("ErrorReporter.resize", "capacity", capacity)
        attempts = self.num_report_attempts()
        kept = min(self.num_reports(), number)
        reporters, reports = self._reporters, self._reports
        self._make(number)
        deep_copy(self._reporters[:kept], reporters[:kept])
        deep_copy(self._reports[:kept], reports[:kept])
        deep_copy(self._attempts, kept)
        self._lost = attempts - kept
