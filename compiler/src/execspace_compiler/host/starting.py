"""Numba's first start in this process, for which Ctrl-C waits; importing this module is that start.

Numba fills the tables of what it can compile when it first compiles, by generators that go on where
they were: one that an exception has ended fails ever after. A compilation can be interrupted.
"""

from __future__ import annotations

from numba.core.registry import cpu_target

cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
