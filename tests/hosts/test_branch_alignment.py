"""Machine code for x86 is padded so that no branch crosses 32 bytes, wherever a loop happens to be.

Whether it is shows in a new process: the option is LLVM's, of the whole process.
"""

from __future__ import annotations

import platform
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

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


def test_this_llvm_is_known_to_have_the_option():
    """An unknown option would end the process: whoever raises the version tries it out first."""
    assert llvm.llvm_version_info[0] in machine._ALIGN_BRANCHES
