"""Code objects whose code is for the host: in form those of AMD, with the notes on each kernel.

What a CPU has none of, registers and memory of groups among it, is some number or nothing there.
"""

from __future__ import annotations

import json
import struct
from typing import Any

_MAGIC = b"\nHIP on the host\n"
_AMDGPU, _SHARED_OBJECT, _NOTE, _METADATA = 0xE0, 3, 4, 32  # e_machine, e_type, p_type, n_type
_HEADER, _SEGMENT = 64, 56  # bytes


def made(head: dict[str, Any], code: bytes) -> bytes:
    """A code object of a library of the host, and what there is to know of it."""
    kernels = [
        {
            ".name": name, ".vgpr_count": 32, ".agpr_count": 0, ".sgpr_count": 32,
            ".private_segment_fixed_size": 0, ".group_segment_fixed_size": 0,
            ".max_flat_workgroup_size": bound, ".wavefront_size": head["wave"],
            ".kernarg_segment_size": 0, ".args": [],
        }
        for name, bound in head["kernels"].items()
    ]  # fmt: skip
    target = f"amdgcn-amd-amdhsa--{head['arch']}"
    told = _packed({"amdhsa.kernels": kernels, "amdhsa.target": target, "amdhsa.version": [1, 2]})
    note = struct.pack("<III8s", 7, len(told), _METADATA, b"AMDGPU") + told
    note += bytes(-len(note) % 4)
    elf = struct.pack(
        "<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 64, 4, _SHARED_OBJECT, _AMDGPU, 1, 0, _HEADER,
        0, 0, _HEADER, _SEGMENT, 1, 0, 0, 0,
    )  # fmt: skip
    place = _HEADER + _SEGMENT
    segment = struct.pack("<IIQQQQQQ", _NOTE, 4, place, place, place, len(note), len(note), 4)
    return elf + segment + note + _MAGIC + json.dumps(head).encode() + b"\n" + code + b"\0"


def parted(image: bytes) -> tuple[dict[str, Any], bytes]:
    """What is known of a code object, and the library in it."""
    _, magic, rest = image.partition(_MAGIC)
    if not magic:
        raise ValueError("no code of the pretended compiler")
    head, _, code = rest.partition(b"\n")
    found: dict[str, Any] = json.loads(head)
    return found, code


def _packed(value: Any) -> bytes:
    """In the form of MessagePack; of it only what the notes need, in its longest spelling."""
    if isinstance(value, int):
        return b"\xce" + struct.pack(">I", value)
    if isinstance(value, str):
        return b"\xdb" + struct.pack(">I", len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(_packed, value))
    pairs = (_packed(k) + _packed(v) for k, v in value.items())
    return b"\xdf" + struct.pack(">I", len(value)) + b"".join(pairs)
