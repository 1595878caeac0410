"""Figures of kernels, read from code objects; the compiler's, and damaged ones."""

from __future__ import annotations

import random
import sys

import pytest

from execspace import BackendCompileError, SpaceUnavailableError
from execspace_hip.amdgpu.code_object import Argument, read_code_object, whole
from execspace_hip.amdgpu.offline import find_compiler
from execspace_hip.amdgpu.targets import target_of

TEXT = """
typedef struct { long long n; double a; int k; int pad; } _args;
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 128))) void
#define ITEM __builtin_amdgcn_workitem_id_x()
KERNEL one(const _args _a, double *__restrict__ x, const unsigned char *y, int z) {
    static __attribute__((shared)) double s[96];
    s[ITEM % 96] = z;
    __builtin_amdgcn_s_barrier();
    if (ITEM < _a.n) x[ITEM] = _a.a * y[ITEM] + s[_a.k];
}
KERNEL with_array(int *x) {
    int a[40];
    for (int i = 0; i < 40; ++i) a[i] = x[i];
    for (int i = 0; i < 40; ++i) a[x[i] & 31] += i;
    for (int i = 0; i < 40; ++i) x[i] = a[i];
}
KERNEL __attribute__((amdgpu_num_vgpr(24))) spilling(double *x) {
    double a[64];
    for (int i = 0; i < 64; ++i) a[i] = x[64 * i + ITEM];
    asm volatile("" ::: "memory");
    for (int i = 0; i < 64; ++i) x[64 * i + ITEM] = a[i] * a[63 - i];
}
"""


def code_for(target, text=TEXT, *options):
    try:
        compiler = find_compiler(target)
    except SpaceUnavailableError as error:
        pytest.skip(str(error))
    return compiler.compile(text, ["-w", *options], target)


@pytest.fixture(scope="module")
def code():
    return code_for("gfx90a")


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_figures_of_kernels(target):
    found = read_code_object(code_for(target))
    assert found.arch == target
    assert sorted(found.kernels) == ["one", "spilling", "with_array"]
    one, array, spilling = (found.kernels[k] for k in ("one", "with_array", "spilling"))
    assert {k.threads for k in found.kernels.values()} == {128}
    assert {k.wave for k in found.kernels.values()} == {target_of(target).wave}
    assert one.given == (
        Argument(0, 24, "by_value"),
        Argument(24, 8, "global_buffer"),
        Argument(32, 8, "global_buffer"),
        Argument(40, 4, "by_value"),
    )
    assert one.kernarg >= 44
    assert (one.lds, one.scratch, one.vgpr_spills, one.sgpr_spills) == (96 * 8, 0, 0, 0)
    assert 0 < one.vgprs < 32 and 0 < one.sgprs < 64
    assert array.scratch >= 4 * 32 and array.vgpr_spills == 0
    assert spilling.vgpr_spills > 0 and spilling.scratch > 0


def test_accumulation_registers_are_among_the_vector_registers():
    text = 'extern "C" __attribute__((global)) void k() { asm volatile("" ::: "v9", "a19"); }'
    found = read_code_object(code_for("gfx90a", text)).kernels["k"]
    assert (found.agprs, found.vgprs) == (20, 12 + 20)


def test_features_and_wavefronts_are_those_of_the_code():
    assert read_code_object(code_for("gfx942:sramecc+:xnack-")).arch == "gfx942:sramecc+:xnack-"
    wide = read_code_object(code_for("gfx1100", TEXT, "-mwavefrontsize64"))
    assert {k.wave for k in wide.kernels.values()} == {64}


def test_what_the_runtime_adds_is_hidden():
    text = (
        'extern "C" __attribute__((global)) void k(unsigned *x) '
        "{ *x = __builtin_amdgcn_workgroup_size_x(); }"
    )
    found = read_code_object(code_for("gfx942", text)).kernels["k"]
    assert found.given == (Argument(0, 8, "global_buffer"),)
    assert "hidden_group_size_x" in {a.kind for a in found.arguments if a.hidden}


def test_the_last_byte_may_be_cut_off(code):
    assert code[-1:] == b"\0"
    assert whole(code) == code
    assert whole(code[:-1]) == code
    assert read_code_object(code[:-1]) == read_code_object(code)


@pytest.mark.parametrize(
    ("begin", "what"),
    [
        (b"__CLANG_OFFLOAD_BUNDLE__\1\0\0\0", "a bundle.*--no-gpu-bundle-output"),
        (b"CCOB\2\0\1\0", "a compressed bundle.*--no-gpu-bundle-output"),
        (b"BC\xc0\xde\x35", "LLVM bitcode"),
        (b"!<arch>\nx", "an archive"),
        (b"", "0 bytes"),
        (b"hello", "5 bytes that begin with b'hello'"),
    ],
)
def test_other_forms_are_named(begin, what):
    with pytest.raises(BackendCompileError, match=f"{what}.*ELF file|{what}"):
        read_code_object(begin)


def test_elf_files_for_other_machines(code):
    with pytest.raises(BackendCompileError, match=r"for EM_X86_64; expected .*AMD GPUs"):
        read_code_object(code[:18] + (62).to_bytes(2, "little") + code[20:])


def test_what_was_not_linked_has_no_metadata():
    code = code_for("gfx942", TEXT, "-c", "-fgpu-rdc")
    with pytest.raises(BackendCompileError, match="expected"):
        read_code_object(code)


def test_damaged_code_objects_are_refused_or_read(code):
    """Whatever bytes there are, no other exception comes out."""
    chance = random.Random(1)
    refused = 0
    for _ in range(300):
        damaged = bytearray(code[: chance.choice([len(code), chance.randrange(len(code))])])
        for _ in range(chance.randrange(1, 4) if damaged else 0):
            damaged[chance.randrange(min(len(damaged), 1200))] = chance.randrange(256)
        try:
            read_code_object(bytes(damaged))
        except BackendCompileError:
            refused += 1
    assert 100 < refused < 300


@pytest.mark.parametrize("name", ["msgpack", "elftools.elf.elffile"])
def test_a_missing_package_is_named(monkeypatch, name, code):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BackendCompileError, match="pip install msgpack pyelftools"):
        read_code_object(code)
