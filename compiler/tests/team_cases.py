"""Team kernels in IR, for tests of how teams are mapped."""

from __future__ import annotations

from execspace import Kernel, LaunchSpec, Sum, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace_compiler import lower_kernel
from execspace_compiler.typing.lowered import Lowered


def lowered(kernel, *arguments, pattern="for", **sizes) -> Lowered:
    """A kernel for arguments such as "float64 2", a View of rank 2, or float."""
    types = []
    for a in arguments:
        if isinstance(a, str):
            name, _, rank = a.partition(" ")
            n = int(rank or 1)
            types.append(ViewType(name, n, "right", n - 1, False, "host"))
        else:
            types.append(SCALAR_TYPES[a])
    reducer = None if pattern == "for" else Sum()
    policy = policy_spec("team", 1, **sizes)
    return lower_kernel(Kernel(kernel), LaunchSpec(pattern, policy, tuple(types), reducer=reducer))
