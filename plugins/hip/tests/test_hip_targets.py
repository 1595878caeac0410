"""What is known of AMD GPUs, against what the compiler for them says of kernels."""

from __future__ import annotations

import re
from math import prod

import pytest

from execspace import BackendCompileError, SpaceUnavailableError
from execspace_compiler.backend import gpu_tiles
from execspace_hip.amdgpu.offline import find_compiler
from execspace_hip.amdgpu.targets import (
    TARGETS,
    Occupancy,
    hip_tiles,
    isa_of,
    occupancy,
    target_of,
    waves_of_registers,
)

KERNEL = 'extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256))) void'


def assembly_for(target, text, *options):
    try:
        compiler = find_compiler(target)
    except SpaceUnavailableError as error:
        pytest.skip(str(error))
    return compiler.assembly(text, options, target)


def test_features_do_not_change_what_a_gpu_has():
    assert target_of("gfx942:sramecc+:xnack-") is target_of("gfx942") is TARGETS["gfx942"]
    assert not any(target.assumed for target in TARGETS.values())


@pytest.mark.parametrize(
    ("name", "wave"), [("gfx908", 64), ("gfx803", 64), ("gfx1102", 32), ("gfx1250", 32)]
)
def test_what_is_not_known_is_taken_for_its_family_and_said(name, wave):
    target = target_of(f"{name}:xnack-")
    assert (target.name, target.wave) == (name, wave)
    assert f"'{name}'" in target.assumed
    assert f"{wave} lanes" in target.assumed
    with pytest.raises(BackendCompileError, match=f"'{name}'.*gfx90a, gfx942"):
        target_of(name, known_only=True)


@pytest.mark.parametrize("name", ["sm_90", "", "gfx", "gfx9", "gfx94z", "MI300", "GFX942"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(BackendCompileError, match=r"not a kind of AMD GPU.*gfx942.*rocminfo"):
        target_of(name)


def test_versions_of_instruction_sets():
    assert isa_of("gfx90a") == (9, 0, 10)
    assert isa_of("gfx942:xnack+") == (9, 4, 2)
    assert isa_of("gfx1201") == (12, 0, 1)


def test_threads_of_a_compute_unit():
    assert [target_of(name).threads for name in ("gfx90a", "gfx942", "gfx950")] == [2048] * 3
    assert [target_of(name).threads for name in ("gfx1030", "gfx1100", "gfx1201")] == [1024] * 3


@pytest.mark.parametrize(
    ("name", "vgprs", "lds", "threads", "expected"),
    [
        ("gfx942", 64, 0, 256, Occupancy(32, 8, 8, 32, "hardware")),
        ("gfx942", 65, 0, 256, Occupancy(28, 7, 7, 32, "registers")),
        ("gfx942", 512, 0, 256, Occupancy(4, 1, 1, 32, "registers")),
        ("gfx942", 513, 0, 256, Occupancy(0, 0, 0, 32, "registers")),
        ("gfx942", 72, 0, 1024, Occupancy(16, 4, 1, 32, "registers")),
        ("gfx942", 129, 0, 1024, Occupancy(0, 0, 0, 32, "registers")),
        ("gfx942", 32, 0, 192, Occupancy(30, 8, 10, 32, "work-group")),
        ("gfx942", 32, 0, 65, Occupancy(32, 8, 16, 32, "hardware")),
        ("gfx942", 32, 0, 64, Occupancy(32, 8, 32, 32, "hardware")),
        ("gfx942", 32, 8192, 256, Occupancy(32, 8, 8, 32, "hardware")),
        ("gfx942", 32, 8193, 256, Occupancy(28, 7, 7, 32, "LDS")),
        ("gfx942", 32, 65536, 256, Occupancy(4, 1, 1, 32, "LDS")),
        ("gfx942", 32, 65537, 256, Occupancy(0, 0, 0, 32, "LDS")),
        ("gfx950", 32, 65537, 256, Occupancy(8, 2, 2, 32, "LDS")),
        ("gfx950", 32, 160 * 1024, 256, Occupancy(4, 1, 1, 32, "LDS")),
        ("gfx1030", 64, 0, 256, Occupancy(64, 16, 8, 64, "hardware")),
        ("gfx1030", 65, 0, 256, Occupancy(48, 12, 6, 64, "registers")),
        ("gfx1030", 256, 0, 1024, Occupancy(0, 0, 0, 64, "registers")),
        ("gfx1030", 257, 0, 32, Occupancy(0, 0, 0, 64, "registers")),
        ("gfx1100", 96, 0, 256, Occupancy(64, 16, 8, 64, "hardware")),
        ("gfx1100", 97, 0, 256, Occupancy(48, 12, 6, 64, "registers")),
        ("gfx1100", 24, 65536, 256, Occupancy(16, 4, 2, 64, "LDS")),
        ("gfx1100", 24, 65537, 256, Occupancy(0, 0, 0, 64, "LDS")),
        ("gfx1100", 24, 0, 64, Occupancy(64, 16, 32, 64, "hardware")),
        ("gfx1100", 24, 0, 96, Occupancy(63, 16, 21, 64, "work-group")),
    ],
)
def test_occupancy(name, vgprs, lds, threads, expected):
    assert occupancy(target_of(name), vgprs, lds, threads) == expected


@pytest.mark.parametrize("threads", [0, -1, 1025])
def test_sizes_that_no_work_group_has(threads):
    with pytest.raises(ValueError, match=rf"{threads} work-items; expected 1 to 1024"):
        occupancy(target_of("gfx942"), 32, 0, threads)


def told(assembly, pattern):
    return [int(number) for number in re.findall(pattern, assembly, re.MULTILINE)]


@pytest.mark.parametrize("name", TARGETS)
def test_the_compiler_computes_the_same_from_registers(name):
    target = target_of(name)
    vector = [10, 40, 63, 64, 65, 71, 72, 84, 96, 97, 128, 168, 200, 255]
    scalar = [60, 90, 94, 95, 97, 101]
    clobbered = [f"v{n}" for n in vector] + [f"s{n}" for n in scalar]
    text = "".join(f'{KERNEL} k{c}() {{ asm volatile("" ::: "{c}"); }}\n' for c in clobbered)
    assembly = assembly_for(name, text)
    waves = told(assembly, r"^; Occupancy: (\d+)")
    vgprs = told(assembly, r"^ +\.vgpr_count: +(\d+)")
    sgprs = told(assembly, r"^ +\.sgpr_count: +(\d+)")
    assert len(waves) == len(vgprs) == len(sgprs) == len(clobbered)
    found = [waves_of_registers(target, v, s) for v, s in zip(vgprs, sgprs, strict=True)]
    assert found == waves
    assert len(set(waves)) > 3  # registers did limit it


@pytest.mark.parametrize("name", TARGETS)
def test_the_compiler_computes_the_same_from_lds(name):
    target = target_of(name)
    # Compilers before 2026 round nothing, so these are multiples of what is given at a time.
    step = target.lds_granule
    sizes = [n // step * step for n in (2000, 8192, 12000, 16384, 20000, 32768, 40000, target.lds)]
    text = "".join(
        f"{KERNEL} k{n}() {{ static __attribute__((shared)) char s[{n}]; "
        f'asm volatile("" :: "v"(s)); }}\n'
        for n in sizes
    )
    assembly = assembly_for(name, text)
    assert told(assembly, r"^ +\.group_segment_fixed_size: +(\d+)") == sizes
    found = [occupancy(target, 8, n, 256).waves_per_simd for n in sizes]
    assert found == told(assembly, r"^; Occupancy: (\d+)")


def added(name, text, *options):
    """The instruction that adds float64 atomically, wherever the memory is unless options tell."""
    newer = int(find_compiler(name).version().partition(".")[0]) >= 21
    anywhere = ["-fatomic-fine-grained-memory"] if newer and not options else []
    assembly = assembly_for(name, text, *anywhere, *options)
    found = re.findall(r"^\s+((?:global_atomic|ds)_(?:add|cmp)\w*)", assembly, re.MULTILINE)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("name", TARGETS)
def test_instructions_that_add_float64(name):
    target = target_of(name)
    scope = "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT"
    memory = f"{KERNEL} k(double *x) {{ __hip_atomic_fetch_add(x, 1.5, {scope}); }}"
    assembly_for(name, memory)  # or skips
    plain, unsafe = added(name, memory), added(name, memory, "-munsafe-fp-atomics")
    native = [instruction == "global_atomic_add_f64" for instruction in (plain, unsafe)]
    assert all(yes or "cmpswap" in i for yes, i in zip(native, (plain, unsafe), strict=True))
    assert (
        native
        == {
            "native": [True, True],
            "coarse-grained": [False, True],
            "exchanges": [False, False],
        }[target.float64_add]
    )
    lds = (
        f"{KERNEL} k(double *x) {{ static __attribute__((shared)) double s; s = 0;"
        f"__builtin_amdgcn_s_barrier(); __hip_atomic_fetch_add(&s, *x, {scope});"
        f"__builtin_amdgcn_s_barrier(); *x = s; }}"
    )
    assert (added(name, lds) == "ds_add_f64") == target.float64_add_lds


@pytest.mark.parametrize(("wave", "across"), [(64, (64, 4)), (32, (32, 8))])
def test_tiles_fit_the_wavefront(wave, across):
    table, measured = hip_tiles("hip", wave), gpu_tiles("hip")
    assert table.name == "hip"
    assert table.find("stencil", 2) == across
    for rank in range(2, 7):
        assert prod(table.find("stencil", rank)) == target_of("gfx942").block
        assert table.find("stencil", rank)[0] == wave
        assert table.find("transpose", rank) == measured.find("transpose", rank)
    assert table.items_per_thread == measured.items_per_thread
    assert "not measured on AMD hardware" in table.summary
