"""What `explain` tells of compiled kernels: registers, spills, LDS, and how many run at once."""

from __future__ import annotations

from execspace_gpu.occupancy import Residency

from .code_object import read_code_object
from .targets import Target, occupancy


def resource_usage_of(code: bytes, target: Target) -> tuple[dict[str, dict[str, int]], list[str]]:
    """ResourceUsage of each kernel of a code object, and a line on its occupancy.

    Of LDS it counts what the text declares; scratch memory of teams comes with the launch.
    """
    usage: dict[str, dict[str, int]] = {}
    lines: list[str] = []
    unit = "compute unit" if target.compute_units == 1 else "work-group processor"
    for name, k in read_code_object(code).kernels.items():
        found = occupancy(target, k.vgprs, k.lds, k.threads, k.sgprs)
        usage[name] = {
            "registers": k.vgprs, "scalar registers": k.sgprs,
            "spills": k.vgpr_spills + k.sgpr_spills, "local": k.scratch, "shared": k.lds,
            "threads": k.threads, "wavefronts": found.waves, "most wavefronts": found.most,
            "occupancy": 100 * found.waves // found.most,
        }  # fmt: skip
        full = "the hardware has no room for more" if found.limit == "hardware" else (
            f"limited by {'the size of the ' if found.limit == 'work-group' else ''}{found.limit}"
        )  # fmt: skip
        lines.append(
            f"{name}: {found.waves} of {found.most} wavefronts of a {unit} at once on "
            f"{target.name} ({target.family}), {full}"
        )
    return usage, lines


def residency_of(
    target: Target, registers: int, own: int, threads: int, scalars: int = 0
) -> Residency:
    """How many work-groups run at once on a unit, by the LDS that a launch adds to their own."""
    keeps = target.waves * target.simds * target.wave

    def groups(nbytes: int) -> int:
        return occupancy(target, registers, own + nbytes, threads, scalars).groups

    return Residency(groups, threads, keeps, target.lds - own)
