"""Small modules of LLVM IR, compiled and run on arrays."""

from __future__ import annotations

import ctypes
from functools import cache

import llvmlite.binding as llvm
import numpy as np

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

HOST = frozenset(name for name, has in llvm.get_host_cpu_features().items() if has)


def machine(features=None):
    """A target like this machine, or a plain processor with some features."""
    target = llvm.Target.from_default_triple()
    if features is None:
        cpu, chosen = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        return target.create_target_machine(cpu=cpu, features=chosen, opt=3, jit=True)
    chosen = ",".join(f"+{name}" for name in sorted(features))
    return target.create_target_machine(cpu="x86-64", features=chosen, opt=3, jit=True)


def parsed(text, target):
    """A module for a target, not optimised."""
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    return module


def optimised(text, target):
    """A module as -O3 makes it."""
    module = parsed(text, target)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return module


def function(module, target, name, arguments):
    """A function of a module, with pointers for arrays and integers for counts."""
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    types = [ctypes.c_void_p if a == "ptr" else ctypes.c_int64 for a in arguments]
    entry = ctypes.CFUNCTYPE(None, *types)(engine.get_function_address(name))

    def call(*values):
        entry(*(v.ctypes.data if isinstance(v, np.ndarray) else v for v in values))

    call.engine = engine
    return call


@cache
def over_arrays(symbol, lanes, number, operands):
    """Calls a function for each group of `lanes` elements of arrays."""
    vector = number if lanes == 1 else f"<{lanes} x {number}>"
    align = {"double": 8, "float": 4, "x86_fp80": 16}[number]
    loads = "\n".join(
        f"%{x}p = getelementptr {number}, ptr %{x}, i64 %i\n"
        f"%{x}v = load {vector}, ptr %{x}p, align {align}"
        for x in "xy"[:operands]
    )
    given = ", ".join(f"{vector} %{x}v" for x in "xy"[:operands])
    text = f"""
        declare {vector} @{symbol}({", ".join([vector] * operands)})
        define void @run(ptr %to, ptr %x, ptr %y, i64 %n) {{
        entry:
          br label %next
        next:
          %i = phi i64 [ 0, %entry ], [ %j, %next ]
          {loads}
          %r = call {vector} @{symbol}({given})
          %p = getelementptr {number}, ptr %to, i64 %i
          store {vector} %r, ptr %p, align {align}
          %j = add i64 %i, {lanes}
          %more = icmp slt i64 %j, %n
          br i1 %more, label %next, label %end
        end:
          ret void
        }}"""
    target = machine()
    return function(parsed(text, target), target, "run", ("ptr", "ptr", "ptr", "i64"))


def evaluated(symbol, lanes, number, operands, x, y):
    """What a function of numbers or of vectors gives for arrays."""
    to = np.empty_like(x)
    assert len(x) % lanes == 0
    over_arrays(symbol, lanes, number, operands)(to, x, y, len(x))
    return to
