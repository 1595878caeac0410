"""Compiles the text of HIP kernels for the host, and the library that runs them."""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from . import machine
from .image import made
from .mutations import NothingToMutateError, mutated

_KERNEL = re.compile(r"_ES_KERNEL\((\d+)\) (\w+)\(")
_ARCH = re.compile(r"--(?:offload|gpu)-arch=(.+)")
_SANITIZE = {
    "": ["-O1"],
    "thread": ["-fsanitize=thread", "-O1", "-g1"],
    # Compiling is most of the work, and takes half as long again with optimizations.
    "address": [
        "-fsanitize=address,undefined", "-fsanitize-recover=address,undefined", "-O0", "-g1",
        "-fno-omit-frame-pointer",
    ],
}  # fmt: skip
_FLAGS = [
    "-std=c++20", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fno-strict-aliasing",
]  # fmt: skip
# The library copies memory without functions that sanitizers look into.
_RUNTIME = [
    "-std=c++20", "-O2", "-Wall", "-fPIC", "-shared", "-fno-builtin",
    "-fno-tree-loop-distribute-patterns",
]  # fmt: skip
_DEFINES = {"": [], "thread": ["-D_ES_THREAD"], "address": ["-D_ES_ADDRESS"]}
_SOURCES = ("runtime.cpp", "halves.cpp", "fibers.hpp", "groups.hpp")


class CompileError(Exception):
    """The compiler refused a text; the message is its log."""


def compiler() -> str:
    """The C++ compiler of the host."""
    return os.environ.get("CXX") or "g++"


def _environment() -> dict[str, str]:
    """Without the sanitizer that this process may run under: compilers are slow with it."""
    return {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | {"LC_ALL": "C"}


def _run(command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    # With a path, and files left open, the compiler is started by posix_spawn. Of another start
    # ThreadSanitizer makes a fork, which copies the tables of all its memory.
    found = [shutil.which(command[0]) or command[0], *command[1:]]
    return subprocess.run(
        found, input=text, capture_output=True, text=True, check=False, env=_environment(),
        close_fds=False,
    )  # fmt: skip


@cache
def own_folder() -> Path:
    """Of this process, for the libraries that it loads; sanitizers read them until it ends."""
    folder, process = tempfile.mkdtemp(prefix="hip-on-host-"), os.getpid()

    def remove() -> None:
        if os.getpid() == process:  # not in one that was forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)


@cache
def runtime_library(sanitizer: str) -> Path:
    """The library that runs work-items; compiled if this is the first use of these sources."""
    flags = [*_RUNTIME, *_DEFINES[sanitizer]]
    key = hashlib.sha256(" ".join([compiler(), *flags]).encode())
    for name in _SOURCES:
        key.update((machine.FOLDER / name).read_bytes())
    told = os.environ.get("HIP_ON_HOST_BUILD")
    folder = Path(told or Path(tempfile.gettempdir(), f"hip-on-host-{os.getuid()}"))
    path = folder / f"runtime-{sanitizer or 'plain'}-{key.hexdigest()[:16]}.so"
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = own_folder() / path.name
        sources = [str(machine.FOLDER / name) for name in _SOURCES if name.endswith(".cpp")]
        done = _run([compiler(), *flags, *sources, "-o", str(new), "-lm", "-lpthread"])
        if done.returncode:
            raise CompileError(done.stderr)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_bytes(new.read_bytes())
        beside.replace(path)
    return path


def shared_library(source: str, name: str, folder: Path) -> Path:
    """A source of this folder as a library with the name of another one."""
    path = folder / name
    flags = ["-x", "c++", "-O1", "-fPIC", "-shared", f"-Wl,-soname,{name}", "-fpermissive", "-w"]
    text = 'extern "C" {\n' + (machine.FOLDER / source).read_text(encoding="utf-8") + "\n}\n"
    done = _run([compiler(), *flags, "-", "-o", str(path)], text)
    if done.returncode:
        raise CompileError(done.stderr)
    return path


def _keep(text: str, arch: str) -> None:
    folder = os.environ.get("HIP_ON_HOST_TEXTS")
    if folder:
        name = hashlib.sha256(text.encode()).hexdigest()[:20]
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, f"{name}-{arch.partition(':')[0]}.hip").write_text(text, encoding="utf-8")


def _mutation(text: str, wave: int) -> tuple[str, list[str], bool]:
    """The text as it is compiled, options, and whether it was changed."""
    name = os.environ.get("HIP_ON_HOST_MUTATION")
    if not name:
        return text, [], False
    try:
        at = int(machine.number("HIP_ON_HOST_MUTATION_AT", 0))
        new, options = mutated(text, name, at, wave)
    except NothingToMutateError as error:
        if os.environ.get("HIP_ON_HOST_MUTATION_LENIENT"):
            return text, [], False
        raise NothingToMutateError(f"HIP_ON_HOST_MUTATION={name}: {error}.") from None
    folder = os.environ.get("HIP_ON_HOST_MUTATED")
    if folder:  # so that whoever started this sees that there was something to find
        Path(folder, hashlib.sha256(text.encode()).hexdigest()[:20]).write_text(new)
    return new, options, True


def compile_text(text: str, file: str, options: tuple[str, ...]) -> bytes:
    """A library of the host with the kernels of a text, and what there is to know of them.

    Parameters
    ----------
    text : str
    file : str
        What the log names it.
    options : tuple of str
        Those of hiprtc; of these only the architecture matters.

    Raises
    ------
    CompileError
        With the log of the compiler; an empty one if nobody knows the architecture.
    NothingToMutateError
    """
    archs = [m[1] for o in options if (m := _ARCH.fullmatch(o))]
    if not archs:
        raise CompileError("Error: Please provide architecture for which code is to be generated.")
    arch, sanitizer = archs[-1], machine.sanitizer()
    wave = machine.wave_of(arch)
    if wave is None:
        raise CompileError("")
    _keep(text, arch)
    text, more, changed = _mutation(text, wave)
    kernels = {name: int(bound) for bound, name in _KERNEL.findall(text)}
    entries = "".join(f"_ES_ENTRY({name})\n" for name in kernels)
    flags = [*_FLAGS, *_SANITIZE[sanitizer], *more]
    with tempfile.NamedTemporaryFile(dir=own_folder(), suffix=".so") as library:
        done = _run(
            [
                compiler(), *flags, "-D_ES_SHIM", f"-D_ES_WAVE={wave}",
                "-include", str(machine.FOLDER / "shim.hpp"), "-x", "c++", "-", "-o", library.name,
                "-nostdlib", "-lgcc",
            ],
            f'#line 1 "{file}"\n{text}\n#line 1 "entries"\n{entries}',
        )  # fmt: skip
        if done.returncode:
            raise CompileError(done.stderr)
        code = Path(library.name).read_bytes()
    head = {"arch": arch, "wave": wave, "sanitizer": sanitizer, "kernels": kernels, "text": text}
    head["mutation"] = os.environ["HIP_ON_HOST_MUTATION"] if changed else ""
    return made(head, code)
