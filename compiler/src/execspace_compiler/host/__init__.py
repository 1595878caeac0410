"""Kernels on the host through Numba: runtime functions, compiling, caching, launching.

For plugins whose memory is the host's. Needs Numba: install ``execspace-compiler[numba]``.
"""

from execspace.base.interrupts import held

with held():  # an interrupted import or first start leaves Numba unusable
    from . import runtime as _runtime  # noqa: F401 - all that generated source calls
    from . import starting as _starting  # noqa: F401
