"""Options of LLVM, of the whole process: no branch crosses 32 bytes, and what vectors leave of a
row goes in narrower ones.

Whether branches are padded shows in a new process.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

import execspace as es
from execspace_compiler.host import machine

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="x86 only"
)

# Twenty tests and branches one after the other: some of them would cross a multiple of 32.
PROGRAM = """
import llvmlite.binding as llvm
from execspace_compiler.host import machine

blocks = "\\n".join(
    f"b{n}:\\n  %v{n} = load volatile i64, ptr %p\\n  %c{n} = icmp eq i64 %v{n}, {n}\\n"
    f"  br i1 %c{n}, label %out, label %b{n + 1}"
    for n in range(20)
)
text = f"define void @f(ptr %p) {{\\n{blocks}\\nb20:\\n  ret void\\nout:\\n"
text += "  store volatile i64 1, ptr %p\\n  ret void\\n}\\n"
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
plain = llvm.Target.from_default_triple().create_target_machine(opt=3, jit=True)
before = plain.emit_object(llvm.parse_assembly(text))
machine.target_machine()
after = plain.emit_object(llvm.parse_assembly(text))
print(len(after) - len(before))
"""


def test_branches_are_padded():
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    assert int(ran.stdout) > 0


def test_this_llvm_is_known_to_have_the_options():
    """An unknown option would end the process: whoever raises the version tries it out first."""
    assert llvm.llvm_version_info[0] in machine._OPTIONS_KNOWN


def scaled(i, j, a, b):
    a[i, j] = 3 * b[i, j]


@pytest.mark.skipif(not machine.processor().has("avx512f"), reason="vectors of less than 8")
def test_what_is_left_of_a_row_goes_in_narrower_vectors():
    if max(widths(64)) < 8:
        pytest.skip("LLVM prefers vectors of less than 8 on this processor, as on Intel's")
    assert 8 in widths(62) and min(widths(62)) < 8


def widths(n):
    """Of vectors of a kernel, for rows of n elements."""
    a, b = (es.View((n, n), memory=es.HOST) for _ in range(2))
    found = es.explain(es.MDRangePolicy((n, n), space="serial"), scaled, a, b).vectorisation
    return {int(n) for text in found for n in re.findall(r"vectors of (\d+) x float64", text)}
