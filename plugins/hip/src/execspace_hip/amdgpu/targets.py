"""Kinds of AMD GPUs, as data: lanes of a wavefront, registers, LDS, and what kernels get of them.

The numbers are those that LLVM's AMDGPU backend computes with. `occupancy` agrees with what the
compiler prints for kernels, tests compare them; nothing here was measured on AMD hardware.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from execspace import BackendCompileError, TileTable
from execspace.base.dataclass import dataclass
from execspace_compiler.backend import Limits, gpu_tiles

Adding = Literal["native", "coarse-grained", "exchanges"]
Limit = Literal["registers", "LDS", "work-group", "hardware"]


@dataclass(frozen=True)
class Target:
    """What a kind of GPU has. Its unit is what a work-group runs on: a compute unit, or on RDNA two
    of them, a work-group processor.

    Attributes
    ----------
    name : str
        As the compiler has it, without features: "gfx942".
    family : str
        What people call it: "MI300".
    wave : int
        Lanes of a wavefront.
    vgprs, vgpr_granule, most_vgprs : int
        Vector registers of a lane of a SIMD, in which steps a wavefront gets them, and how many one
        can have; with accumulation registers, where there are some.
    sgprs, sgpr_granule : int
        Scalar registers of a SIMD; 0 where they limit nothing.
    waves, simds : int
        Wavefronts that a SIMD keeps, and SIMDs of a unit.
    compute_units : int
        Of a unit.
    lds, unit_lds, lds_granule : int
        Bytes of LDS that a work-group can have, that a unit has, and in which steps they are given.
    barriers : int
        Work-groups of more than one wavefront that a unit keeps.
    float64_add : str
        Atomic addition of float64 in memory: "native" (an instruction), "exchanges" (a loop of
        compare-and-swap), or "coarse-grained": an instruction without effect on pinned and managed
        memory. clang takes that one from version 21 on unless it is told
        ``-fatomic-fine-grained-memory``, before only with ``-munsafe-fp-atomics``.
    float64_add_lds : bool
        Whether there is an instruction for LDS.
    block : int
        Work-items of a work-group, where nothing else says how many.
    assumed : str
        What was assumed of a GPU that is not known; empty of those that are.
    """

    name: str
    family: str
    wave: int = 64
    vgprs: int = 512
    vgpr_granule: int = 8
    most_vgprs: int = 512
    sgprs: int = 800
    sgpr_granule: int = 4
    waves: int = 8
    simds: int = 4
    compute_units: int = 1
    lds: int = 64 * 1024
    unit_lds: int = 64 * 1024
    lds_granule: int = 512
    barriers: int = 16
    float64_add: Adding = "native"
    float64_add_lds: bool = True
    block: int = 256
    assumed: str = ""

    @property
    def threads(self) -> int:
        """Work-items that a compute unit keeps."""
        return self.wave * self.waves * self.simds // self.compute_units


_RDNA = Target(
    "gfx10",
    "RDNA",
    wave=32,
    vgprs=1024,
    vgpr_granule=16,
    most_vgprs=256,
    sgprs=0,
    sgpr_granule=1,
    waves=16,
    compute_units=2,
    unit_lds=128 * 1024,
    lds_granule=1024,
    barriers=32,
    float64_add="exchanges",
    float64_add_lds=False,
)
_MORE_REGISTERS = replace(_RDNA, vgprs=1536, vgpr_granule=24)

TARGETS = {
    target.name: target
    for target in (
        Target("gfx90a", "MI200", float64_add="coarse-grained"),
        Target("gfx942", "MI300"),
        Target("gfx950", "MI350", lds=160 * 1024, unit_lds=160 * 1024, lds_granule=1280),
        replace(_RDNA, name="gfx1030", family="RX 6800 and 6900"),
        replace(_MORE_REGISTERS, name="gfx1100", family="RX 7900"),
        replace(_MORE_REGISTERS, name="gfx1201", family="RX 9070"),
    )
}
"""Those whose numbers are known, by name."""

# The fewest registers of any in a family: what is said of occupancy is then never too much.
_FAMILIES = {
    9: replace(
        Target("gfx9", "GCN and CDNA"),
        vgprs=256,
        vgpr_granule=4,
        most_vgprs=256,
        float64_add="exchanges",
        float64_add_lds=False,
    ),
    10: _RDNA,
    11: _RDNA,
    12: _RDNA,
}
_NAME = re.compile(r"gfx(?P<major>\d+)(?P<minor>[0-9a-f])(?P<step>[0-9a-f])")
MOST_THREADS = 1024  # of a work-group, on all of them
LDS = 64 * 1024  # bytes that a work-group can have on all of them


def name_of(arch: str) -> str:
    """The kind of GPU in an architecture with its features, such as "gfx942:sramecc+:xnack-"."""
    return arch.partition(":")[0]


def isa_of(arch: str) -> tuple[int, int, int]:
    """Version of the instruction set: (9, 0, 10) of "gfx90a".

    Raises
    ------
    BackendCompileError
        If that is not the name of an AMD GPU.
    """
    found = _NAME.fullmatch(name_of(arch))
    if found is None:
        raise BackendCompileError(
            f"'{arch}' is not a kind of AMD GPU; expected a name such as 'gfx942'. Known are "
            f"{', '.join(TARGETS)}; `rocminfo` tells what a machine has."
        )
    return int(found["major"]), int(found["minor"], 16), int(found["step"], 16)


def target_of(arch: str, known_only: bool = False) -> Target:
    """What a kind of GPU has.

    Parameters
    ----------
    arch : str
        "gfx942", or as a device tells it, "gfx942:sramecc+:xnack-".
    known_only : bool
        Refuse what is not in `TARGETS`. Otherwise it is taken for one of its family, and `assumed`
        says so: on a device that is there, kernels run all the same.

    Raises
    ------
    BackendCompileError
        If that is not the name of an AMD GPU, or is not known and has to be.
    """
    name = name_of(arch)
    if name in TARGETS:
        return TARGETS[name]
    major = isa_of(arch)[0]
    if known_only:
        raise BackendCompileError(
            f"Nothing is known of AMD GPU '{name}'; known are {', '.join(TARGETS)}. Name one of "
            f"them: the nearest is good enough to see a kernel's registers."
        )
    family = _FAMILIES.get(major, _FAMILIES[9] if major < 9 else _RDNA)
    assumed = (
        f"Nothing is known of AMD GPU '{name}'. It is taken for one with wavefronts of "
        f"{family.wave} lanes, {family.vgprs} registers of a lane and {family.lds // 1024} KiB of "
        f"LDS for a work-group."
    )
    return replace(family, name=name, assumed=assumed)


@dataclass(frozen=True)
class Occupancy:
    """How much of a kernel runs at once on a unit.

    Attributes
    ----------
    waves : int
        Wavefronts on a unit.
    waves_per_simd : int
        On the SIMD that has most of them.
    groups : int
        Work-groups on a unit; 0 if the kernel cannot run.
    most : int
        Wavefronts that a unit keeps at most.
    limit : str
        Why there are no more: "registers", "LDS", "work-group" (its size does not divide what there
        is, or a unit has no more barriers) or "hardware" (it is full).
    """

    waves: int
    waves_per_simd: int
    groups: int
    most: int
    limit: Limit


def waves_of_registers(target: Target, vgprs: int, sgprs: int = 0) -> int:
    """Wavefronts of a SIMD whose registers suffice; 0 if a wavefront cannot have so many."""
    if vgprs > target.most_vgprs:
        return 0
    found = min(target.waves, target.vgprs // _rounded(vgprs, target.vgpr_granule))
    if target.sgprs:
        found = min(found, target.sgprs // _rounded(sgprs, target.sgpr_granule))
    return found


def occupancy(
    target: Target, vgprs: int, lds_bytes: int, threads: int, sgprs: int = 0
) -> Occupancy:
    """What of a kernel runs at once on a unit of a GPU.

    Parameters
    ----------
    target : Target
    vgprs : int
        Vector registers of a work-item, accumulation registers included.
    lds_bytes : int
        LDS of a work-group, what the launch adds included.
    threads : int
        Work-items of a work-group.
    sgprs : int
        Scalar registers of a wavefront.

    Raises
    ------
    ValueError
        If there are no such work-groups.
    """
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(
            f"A work-group of {threads} work-items; expected 1 to {MOST_THREADS} on AMD GPUs."
        )
    of_group = -(-threads // target.wave)
    most = target.waves * target.simds
    fitting = most // of_group
    if of_group > 1:  # one wavefront alone needs no barrier
        fitting = min(fitting, target.barriers)
    registers = waves_of_registers(target, vgprs, sgprs) * target.simds // of_group
    lds = target.unit_lds // _rounded(lds_bytes, target.lds_granule)
    if lds_bytes > target.lds:
        lds = 0
    groups = min(fitting, registers, lds)
    limit: Limit = "hardware" if groups * of_group == most else "work-group"
    if groups < fitting:
        limit = "registers" if registers <= lds else "LDS"
    waves = groups * of_group
    return Occupancy(waves, -(-waves // target.simds), groups, most, limit)


def _rounded(number: int, step: int) -> int:
    """The next multiple of a step, at least one."""
    return max(-(-number // step), 1) * step


def limits_of(threads: int, block: Sequence[int], grid: Sequence[int]) -> Limits:
    """Largest blocks and grids, of what a device tells of both.

    Blocks times threads must be below 2^32 along each axis.
    """
    most = ((1 << 32) - 1) // threads
    x, y, z = (min(int(n), most) for n in grid)
    return Limits(int(threads), (int(block[0]), int(block[1]), int(block[2])), (x, y, z))


def hip_tiles(name: str, wave: int) -> TileTable:
    """Tiles for wavefronts of so many lanes, under the name of a space.

    A wavefront goes along rows where neighbours are read, so that it loads whole lines of the
    cache; all else is as on other GPUs.
    """
    measured = gpu_tiles(name)
    across = {rank: (wave, 256 // wave, *[1] * (rank - 2)) for rank in measured.tiles["stencil"]}
    return replace(
        measured,
        tiles={**measured.tiles, "stencil": across},
        summary="those of other GPUs, fitted to the wavefront; not measured on AMD hardware",
    )
