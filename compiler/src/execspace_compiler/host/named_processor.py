"""The processor that EXECSPACE_CPU names, refused with a message if LLVM cannot compile for it.

LLVM has no function that knows its processors. Of a name that it does not know it says so on
standard error, and ends the process when code is generated. So another process tries; and since a
name stands for features that nobody tells, it shows the instructions that functions become.
"""

from __future__ import annotations

import re
import sys
from functools import cache

from execspace.base.errors import ConfigError

_TRIED = """
import sys
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
target = llvm.Target.from_triple(llvm.get_process_triple())
machine = target.create_target_machine(cpu=sys.argv[1], features=sys.argv[2])
for text in sys.argv[3:]:
    print(machine.emit_assembly(llvm.parse_assembly(text)), end="\\0")
"""
_SECONDS = 60


def _masked(lanes: int, bits: int) -> str:
    """A function that loads numbers under a mask."""
    t, m, name = f"<{lanes} x i{bits}>", f"<{lanes} x i1>", f"llvm.masked.load.v{lanes}i{bits}.p0"
    call = f"call {t} @{name}(ptr %p, i32 1, {m} %m, {t} zeroinitializer)"
    declared = f"declare {t} @{name}(ptr, i32 immarg, {m}, {t})"
    return f"{declared} define {t} @f(ptr %p, {m} %m) {{ %y = {call} ret {t} %y }}"


# Features, a function for each, and what is in its instructions if a processor has the feature.
_SHOWN = {
    "fma": (
        "declare double @llvm.fma.f64(double, double, double) define double @f(double %x) "
        "{ %y = call double @llvm.fma.f64(double %x, double %x, double %x) ret double %y }",
        r"vfn?madd",
    ),
    "neon": ("define <4 x i32> @f(<4 x i32> %x) { %y = add <4 x i32> %x, %x ret <4 x i32> %y }",
             r"\bv\d+\.4s"),
    "avx2": ("define <8 x i32> @f(<8 x i32> %x) { %y = add <8 x i32> %x, %x ret <8 x i32> %y }",
             r"vpaddd.*ymm"),
    "avx512f": (
        "define <16 x i32> @f(<16 x i32> %x) { %y = add <16 x i32> %x, %x ret <16 x i32> %y }",
        r"vpaddd.*zmm",
    ),
    "avx512vl": (_masked(8, 32), r"ymm.*\{%k"),
    "avx512bw": (_masked(16, 16), r"ymm.*\{%k"),
}  # fmt: skip


def split(chosen: str) -> tuple[str, str]:
    """Name and features in a value of EXECSPACE_CPU.

    Raises
    ------
    ConfigError
        If there is no name, or a feature without a sign, at which LLVM ends the process.
    """
    name, *features = (part.strip() for part in chosen.split(","))
    features = [f for f in features if f]
    wrong = next((f for f in features if f[0] not in "+-" or len(f) == 1), None)
    if not name or wrong is not None:
        what = "no name of a processor" if not name else f"{wrong!r} among its features"
        raise ConfigError(
            f"EXECSPACE_CPU={chosen!r} has {what}; expected LLVM's name, and behind it features "
            f"with a sign, as in 'haswell' or 'generic,+cx16'."
        )
    return name, ",".join(features)


@cache
def try_out(name: str, features: str) -> frozenset[str]:
    """What a processor has of the features that lanes depend on, by LLVM's names.

    Raises
    ------
    ConfigError
        If LLVM does not know it or its features, or has no code for them.
    """
    if not sys.executable:
        return frozenset()
    import subprocess  # 4 ms, and hardly any program names a processor

    done = subprocess.run(
        [sys.executable, "-c", _TRIED, name, features, *(text for text, _ in _SHOWN.values())],
        capture_output=True, text=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode == 0 and "is not a recognized" not in done.stderr:
        shown = zip(_SHOWN.items(), done.stdout.split("\0"), strict=False)
        return frozenset(f for (f, (_, wanted)), text in shown if re.search(wanted, text))
    said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    chosen = f"{name},{features}" if features else name
    raise ConfigError(
        f"EXECSPACE_CPU={chosen!r}: LLVM cannot compile for it: {said[0]}. Expected LLVM's name of "
        f"a processor of this kind, such as the one that "
        f"llvmlite.binding.get_host_cpu_name() gives; unset it for this processor."
    )
