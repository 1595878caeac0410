"""Numba's initialisation in this process, with Ctrl-C deferred; importing this module does it.

Numba fills its registries when it first compiles, by generators that resume where they were: one
that an exception has ended fails ever after. Later compilations can be interrupted.
"""

from __future__ import annotations

from numba.core.registry import cpu_target

cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
