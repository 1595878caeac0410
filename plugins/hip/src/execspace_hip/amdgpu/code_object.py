"""Reads AMD code objects: registers, spills, scratch memory, LDS and arguments of each kernel.

The compiler writes them into a note of the ELF file, so no device is needed. Kernels that spill, or
whose arguments lie elsewhere than where they are put, are found before anything runs.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from execspace import BackendCompileError
from execspace.base.dataclass import dataclass

_METADATA = 32  # NT_AMDGPU_METADATA, of notes whose owner is "AMDGPU"
_SECTIONS, _SECTION_SIZE, _SECTION_COUNT = 0x28, 0x3A, 0x3C  # in the header of 64-bit ELF
_FORMS = {
    b"__CLANG_OFFLOAD_BUNDLE__": "a bundle of clang's",
    b"CCOB": "a compressed bundle of clang's",
    b"!<arch>\n": "an archive",
    b"BC\xc0\xde": "LLVM bitcode",
}


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel.

    Attributes
    ----------
    offset, size : int
        Where it lies in what a launch hands over, and how many bytes it has.
    kind : str
        "by_value", "global_buffer", ..., or "hidden_block_count_x" and the like for what the
        runtime adds.
    """

    offset: int
    size: int
    kind: str

    @property
    def hidden(self) -> bool:
        """Whether the runtime adds it: it is not in the text."""
        return self.kind.startswith("hidden_")


@dataclass(frozen=True)
class KernelResources:
    """What a kernel needs.

    Attributes
    ----------
    name : str
    vgprs, agprs : int
        Vector registers of a work-item, accumulation registers included; and how many those are.
    sgprs : int
        Scalar registers of a wavefront.
    vgpr_spills, sgpr_spills : int
        Registers that were moved to memory.
    scratch : int
        Bytes of memory of a work-item: spills, and arrays whose indices are not known.
    lds : int
        Bytes of LDS of a work-group, without what a launch adds.
    threads : int
        The largest work-group.
    wave : int
        Lanes of a wavefront.
    kernarg : int
        Bytes of all arguments, hidden ones included.
    arguments : tuple of Argument
    """

    name: str
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch: int
    lds: int
    threads: int
    wave: int
    kernarg: int
    arguments: tuple[Argument, ...]

    @property
    def given(self) -> tuple[Argument, ...]:
        """The arguments of the text."""
        return tuple(a for a in self.arguments if not a.hidden)


@dataclass(frozen=True)
class CodeObject:
    """What is told of a code object.

    Attributes
    ----------
    arch : str
        "gfx942", with features where the code depends on them: "gfx942:sramecc+:xnack-".
    kernels : dict
        By name.
    """

    arch: str
    kernels: dict[str, KernelResources]


def whole(code: bytes) -> bytes:
    """A code object with its last byte, which CuPy's `getPTX` takes for the end of a text.

    It belongs to a number in the last header of a section, and is 0.
    """
    if len(code) < 64 or code[:5] != b"\x7fELF\x02":
        return code
    begin = int.from_bytes(code[_SECTIONS : _SECTIONS + 8], "little")
    size = int.from_bytes(code[_SECTION_SIZE : _SECTION_SIZE + 2], "little")
    count = int.from_bytes(code[_SECTION_COUNT : _SECTION_COUNT + 2], "little")
    return code + b"\0" if begin + size * count == len(code) + 1 else code


def read_code_object(code: bytes) -> CodeObject:
    """Figures of all kernels of a code object.

    Raises
    ------
    BackendCompileError
        If that is not a code object for an AMD GPU, or a damaged one.
    """
    try:
        import msgpack
        from elftools.elf.elffile import ELFFile
    except ImportError as error:
        raise BackendCompileError(
            f"Code objects cannot be read: {error}. Install what reads them: "
            f"pip install msgpack pyelftools"
        ) from error
    _check_form(code)
    try:
        machine, note = _note_of(ELFFile(BytesIO(whole(code))))
    except Exception as error:  # its reader fails on damaged files in many ways
        raise BackendCompileError(
            f"An ELF file of {len(code)} bytes is damaged ({error!r}); expected a whole one. "
            f"Compile it again."
        ) from error
    if machine != "EM_AMDGPU":
        raise BackendCompileError(
            f"An ELF file for {machine}; expected a code object for AMD GPUs (EM_AMDGPU)."
        )
    if note is None:
        raise BackendCompileError(
            "A code object without metadata of its kernels (note NT_AMDGPU_METADATA); expected one "
            "that was linked. Compile without -c and -fgpu-rdc."
        )
    try:
        found = msgpack.unpackb(note)
        kernels = {k[".name"]: _figures(k) for k in found.get("amdhsa.kernels", ())}
        return CodeObject(_arch(found.get("amdhsa.target", "")), kernels)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackendCompileError(
            f"The metadata of a code object cannot be read ({type(error).__name__}: {error}); "
            f"expected code object version 3 or newer. Compile it again."
        ) from error


def _check_form(code: bytes) -> None:
    if code.startswith(b"\x7fELF"):
        return
    form = next((what for begin, what in _FORMS.items() if code.startswith(begin)), None)
    if form is None:
        raise BackendCompileError(
            f"{len(code)} bytes that begin with {code[:8]!r}; expected a code object, which is an "
            f"ELF file."
        )
    raise BackendCompileError(
        f"Got {form}, expected a code object, which is an ELF file. Compile for one kind of GPU "
        f"with --cuda-device-only --no-gpu-bundle-output, and link."
    )


def _note_of(elf: Any) -> tuple[str, bytes | None]:
    """For which machine the file is, and the bytes of the note."""
    for segment in elf.iter_segments("PT_NOTE"):
        for note in segment.iter_notes():
            if note["n_name"] == "AMDGPU" and note["n_type"] == _METADATA:
                return elf["e_machine"], bytes(note["n_descdata"])
    return elf["e_machine"], None


def _arch(triple: str) -> str:
    """The kind of GPU in "amdgcn-amd-amdhsa--gfx942"; empty if the code object does not say."""
    return triple[triple.find("gfx") :] if "gfx" in triple else ""


def _figures(kernel: dict[str, Any]) -> KernelResources:
    return KernelResources(
        name=kernel[".name"],
        vgprs=kernel[".vgpr_count"],
        agprs=kernel.get(".agpr_count", 0),
        sgprs=kernel[".sgpr_count"],
        vgpr_spills=kernel.get(".vgpr_spill_count", 0),
        sgpr_spills=kernel.get(".sgpr_spill_count", 0),
        scratch=kernel[".private_segment_fixed_size"],
        lds=kernel[".group_segment_fixed_size"],
        threads=kernel[".max_flat_workgroup_size"],
        wave=kernel[".wavefront_size"],
        kernarg=kernel[".kernarg_segment_size"],
        arguments=tuple(
            Argument(a[".offset"], a[".size"], a[".value_kind"]) for a in kernel.get(".args", ())
        ),
    )
