"""The compiler's interface for backends: this module is all that plugins may rely on.

Each name is loaded on first use, so a host backend loads no printer of C, and a GPU backend no
LLVM. docs/plugins.md says what each is for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import cache, ir, spmd
    from .codegen.cfamily.c import C
    from .codegen.cfamily.cuda import CUDA
    from .codegen.cfamily.dialect import Dialect
    from .codegen.cfamily.hip import hip
    from .codegen.cfamily.opencl import OPENCL, OPENCL_NVIDIA
    from .host.calls import forbid_teams
    from .host.fork import Fork
    from .host.jit import begin_plan, compile_plan
    from .host.launcher import Launcher
    from .host.machine import host_capabilities
    from .host.pool import SPIN_NS, Pool, start
    from .launch.call_builder import CallBuilder
    from .launch.captured import CapturedLaunch
    from .launch.device_code import DeviceCode
    from .launch.device_launch import Call, DeviceLaunch, Grid
    from .launch.device_plan import DevicePlan
    from .launch.frame import Frame
    from .launch.results import result_of
    from .launch.sources import Sources, Traits
    from .mapping.block_geometry import Limits
    from .mapping.default_tiles import gpu_tiles
    from .mapping.tuning_candidates import device_candidates
    from .oracle.interpret import interpret
    from .passes.pipeline import lower_kernel
    from .teams.host_limits import HOST_TEAMS
    from .typing.lowered import Lowered

# Module of each name, as above.
_MODULES = {
    "C": "codegen.cfamily.c",
    "CUDA": "codegen.cfamily.cuda",
    "Call": "launch.device_launch",
    "CallBuilder": "launch.call_builder",
    "CapturedLaunch": "launch.captured",
    "DeviceCode": "launch.device_code",
    "DeviceLaunch": "launch.device_launch",
    "DevicePlan": "launch.device_plan",
    "Dialect": "codegen.cfamily.dialect",
    "Fork": "host.fork",
    "Frame": "launch.frame",
    "Grid": "launch.device_launch",
    "HOST_TEAMS": "teams.host_limits",
    "Launcher": "host.launcher",
    "Limits": "mapping.block_geometry",
    "Lowered": "typing.lowered",
    "OPENCL": "codegen.cfamily.opencl",
    "OPENCL_NVIDIA": "codegen.cfamily.opencl",
    "Pool": "host.pool",
    "SPIN_NS": "host.pool",
    "Sources": "launch.sources",
    "Traits": "launch.sources",
    "begin_plan": "host.jit",
    "cache": "",
    "compile_plan": "host.jit",
    "device_candidates": "mapping.tuning_candidates",
    "forbid_teams": "host.calls",
    "gpu_tiles": "mapping.default_tiles",
    "hip": "codegen.cfamily.hip",
    "host_capabilities": "host.machine",
    "interpret": "oracle.interpret",
    "ir": "",
    "lower_kernel": "passes.pipeline",
    "result_of": "launch.results",
    "spmd": "",
    "start": "host.pool",
}

__all__ = [
    "CUDA",
    "HOST_TEAMS",
    "OPENCL",
    "OPENCL_NVIDIA",
    "SPIN_NS",
    "C",
    "Call",
    "CallBuilder",
    "CapturedLaunch",
    "DeviceCode",
    "DeviceLaunch",
    "DevicePlan",
    "Dialect",
    "Fork",
    "Frame",
    "Grid",
    "Launcher",
    "Limits",
    "Lowered",
    "Pool",
    "Sources",
    "Traits",
    "begin_plan",
    "cache",
    "compile_plan",
    "device_candidates",
    "forbid_teams",
    "gpu_tiles",
    "hip",
    "host_capabilities",
    "interpret",
    "ir",
    "lower_kernel",
    "result_of",
    "spmd",
    "start",
]


def __getattr__(name: str) -> Any:
    try:
        module = _MODULES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    package = __name__.rpartition(".")[0]
    if not module:
        return import_module(f"{package}.{name}")
    found = globals()[name] = getattr(import_module(f"{package}.{module}"), name)
    return found
