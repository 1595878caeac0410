"""Where Views of a benchmark lie: with a device, also where that is the processor of the host.

Such a device lends memory of the host at each launch, which then blocks.
"""

from __future__ import annotations

from typing import Any

import execspace as es


def own_memory(space: Any) -> str | None:
    """The argument ``memory=`` of Views that belong to a space alone."""
    return None if space.memory_spaces[0] is es.HOST else "device"
