"""The processor that EXECSPACE_CPU names, refused with a message if LLVM cannot compile for it.

LLVM has no function that knows its processors. Of a name that it does not know it says so on
standard error, and ends the process when code is generated. So another process tries.
"""

from __future__ import annotations

import sys
from functools import cache

from execspace.base.errors import ConfigError

_TRIED = """
import sys
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
text = "define double @f(double %x) { %y = fadd double %x, %x ret double %y }"
target = llvm.Target.from_triple(llvm.get_process_triple())
machine = target.create_target_machine(cpu=sys.argv[1], features=sys.argv[2])
machine.emit_object(llvm.parse_assembly(text))
"""
_SECONDS = 60


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
def try_out(name: str, features: str) -> None:
    """Raise ConfigError if LLVM does not know a processor or features, or has no code for them."""
    if not sys.executable:
        return
    import subprocess  # 4 ms, and hardly any program names a processor

    done = subprocess.run(
        [sys.executable, "-c", _TRIED, name, features],
        capture_output=True, text=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode == 0 and "is not a recognized" not in done.stderr:
        return
    said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    chosen = f"{name},{features}" if features else name
    raise ConfigError(
        f"EXECSPACE_CPU={chosen!r}: LLVM cannot compile for it: {said[0]}. Expected LLVM's name of "
        f"a processor of this kind, such as the one that "
        f"llvmlite.binding.get_host_cpu_name() gives; unset it for this processor."
    )
