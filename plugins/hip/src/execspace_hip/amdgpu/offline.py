"""Compiles HIP source for a named kind of AMD GPU with a clang of this machine, without a device.

ROCm's clang, or one of the system from version 15 on: its GPU backend is the same. Device libraries
are linked one by one, because the driver refuses kinds of GPUs that are newer than they are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from execspace import BackendCompileError, SpaceUnavailableError
from execspace.base.dataclass import dataclass
from execspace_gpu.compiling import CompileError

from .targets import isa_of, name_of, target_of

FILE = "kernel.hip"  # the text's name in logs
_OLDEST = 15
_SECONDS = 300
_TRIPLE = "amdgcn-amd-amdhsa"
_FAULT = re.compile(rf"{re.escape(FILE)}:(\d+):\d+: (?:fatal )?error: (.*)")
_MISSING = re.compile(r"undefined (?:hidden )?symbol: (__(?:ocml|ockl|oclc)_\w+)")
# The version of code objects decides what kernels are handed besides their arguments.
_OPTIONS = (
    "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib",
    "-mcode-object-version=5", "-O3", "-std=c++17",
)  # fmt: skip
_LIBRARIES = (
    "ocml", "ockl", "oclc_abi_version_500", "oclc_unsafe_math_off", "oclc_finite_only_off",
)  # fmt: skip


@dataclass(frozen=True)
class OfflineCompiler:
    """A clang that knows AMD GPUs.

    Attributes
    ----------
    path : Path
    libraries : Path or None
        Folder of ROCm's device libraries; without them texts have no mathematical functions.
    """

    path: Path
    libraries: Path | None = None

    @property
    def name(self) -> str:
        """What it is and where: "clang 19.1.7 at /usr/bin/clang-19"."""
        return f"clang {self.version()} at {self.path}"

    def version(self) -> str:
        """Its version, "19.1.7"."""
        return _version(self.path)

    def targets(self) -> frozenset[str]:
        """Kinds of GPUs that it knows."""
        return _targets(self.path)

    def compile(self, source: str, options: Sequence[str], target: str) -> bytes:
        """Code object made of a text.

        Parameters
        ----------
        source : str
        options : sequence of str
            As for hiprtc. What they say of an architecture is not regarded.
        target : str
            Kind of GPU, "gfx942"; with features, "gfx942:sramecc+:xnack-".

        Raises
        ------
        CompileError
            If it refuses the text. Lines in the log are those of the text, in file "kernel.hip".
        BackendCompileError
            If it does not know the kind of GPU, or has no device libraries and the text needs them.
        """
        return self._run(source, options, target)

    def assembly(self, source: str, options: Sequence[str], target: str) -> str:
        """Assembly made of a text; otherwise as `compile`."""
        return self._run(source, [*options, "-S"], target).decode()

    def _run(self, source: str, options: Sequence[str], target: str) -> bytes:
        if name_of(target) not in self.targets():
            isa_of(target)  # raises for what is not a name
            raise BackendCompileError(
                f"{self.name} does not know AMD GPU '{target}'. Install a newer clang, or name it: "
                f"EXECSPACE_HIP_COMPILER=/path/to/clang"
            )
        given = [o for o in options if not o.startswith("--offload-arch")]
        with TemporaryDirectory(prefix="execspace-") as folder:
            out = Path(folder, "kernel.out")
            command = [
                str(self.path), *_OPTIONS, f"--offload-arch={target}",
                *self._linking(given, target, Path(folder)), *given, "-o", str(out), "-",
            ]  # fmt: skip
            text = f'#line 1 "{FILE}"\n{source}'
            status, log = _called(command, text)
            if status == 0:
                return out.read_bytes()
        missing = _MISSING.search(log)
        if missing and self.libraries is None:
            raise BackendCompileError(
                f"{self.name} found no '{missing[1]}', which is in ROCm's device libraries. "
                f"Install them (rocm-device-libs), or set HIP_DEVICE_LIB_PATH to their folder."
            )
        raise CompileError(log.strip() or f"{self.path} ended with status {status}")

    def _linking(self, options: Sequence[str], target: str, folder: Path) -> Iterator[str]:
        """Options that link the device libraries, where there are any."""
        if self.libraries is None:
            return
        if "-mwavefrontsize64" in options:
            wide = True
        elif "-mno-wavefrontsize64" in options:
            wide = False
        else:
            wide = target_of(target).wave == 64
        flushing = "-fgpu-flush-denormals-to-zero" in options
        exact = "-fno-hip-fp32-correctly-rounded-divide-sqrt" not in options
        switches = {
            "wavefrontsize64": wide, "daz_opt": flushing, "correctly_rounded_sqrt": exact,
        }  # fmt: skip
        names = [*_LIBRARIES, *(f"oclc_{s}_{'on' if on else 'off'}" for s, on in switches.items())]
        paths = [self.libraries / f"{name}.bc" for name in names]
        own = self.libraries / f"oclc_isa_version_{name_of(target).removeprefix('gfx')}.bc"
        if not own.exists():  # older libraries, whose code is right for newer GPUs all the same
            own = folder / "isa.bc"
            own.write_bytes(_isa_library(self.path, target))
        for path in filter(Path.exists, (*paths, own)):  # newer libraries have fewer switches
            yield from ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(path))


def faults(log: str) -> list[tuple[int, str]]:
    """Of what a compiler said: lines of the text, from 1, and the messages."""
    return [(int(line), message) for line, message in _FAULT.findall(log)]


def find_compiler(target: str | None = None) -> OfflineCompiler:
    """The clang of EXECSPACE_HIP_COMPILER, or ROCm's, or the newest that is installed.

    Parameters
    ----------
    target : str, optional
        The kind of GPU that it has to know.

    Raises
    ------
    SpaceUnavailableError
        If there is none.
    """
    # Not by execspace's configuration: that has no such variable before the plugin is loaded.
    chosen = os.environ.get("EXECSPACE_HIP_COMPILER")
    if chosen:
        own = shutil.which(chosen)
        reason = "there is no such program" if own is None else _objection(Path(own), target)
        if own is None or reason:
            raise SpaceUnavailableError(
                f"EXECSPACE_HIP_COMPILER={chosen!r} cannot compile for AMD GPUs: {reason}. Set it "
                f"to the path of a clang of version {_OLDEST} or newer that has its lld."
            )
        return OfflineCompiler(Path(own), _libraries(Path(own)))
    reasons = []
    for path in _installed():
        reason = _objection(path, target)
        if not reason:
            return OfflineCompiler(path, _libraries(path))
        reasons.append(f"{path}: {reason}")
    found = f" ({'; '.join(reasons)})" if reasons else ""
    raise SpaceUnavailableError(
        f"No compiler for AMD GPU {target or ''}".rstrip()
        + f" was found{found}. Install ROCm, or clang {_OLDEST} or newer with its lld and "
        f"rocm-device-libs (Debian and Ubuntu: apt install clang-19 lld-19 rocm-device-libs), or "
        f"set EXECSPACE_HIP_COMPILER to a clang."
    )


def _rocm() -> Path:
    return Path(os.environ.get("ROCM_PATH") or os.environ.get("ROCM_HOME") or "/opt/rocm")


def _installed() -> Iterator[Path]:
    """Compilers that may do, the best first."""
    for folder in ("bin", "llvm/bin", "lib/llvm/bin"):
        for name in ("amdclang++", "clang++"):
            path = _rocm() / folder / name
            if os.access(path, os.X_OK):
                yield path
    numbered: dict[int, Path] = {}
    for folder in os.get_exec_path():
        for path in sorted(Path(folder).glob("clang-[0-9]*")) if folder else ():
            number = path.name.removeprefix("clang-")
            if number.isdigit() and os.access(path, os.X_OK):
                numbered.setdefault(int(number), path)
    yield from (numbered[n] for n in sorted(numbered, reverse=True) if n >= _OLDEST)
    plain = shutil.which("clang")
    if plain is not None:
        yield Path(plain)


def _objection(path: Path, target: str | None) -> str:
    """Why a compiler does not do; empty if it does."""
    try:
        version, known = _version(path), _targets(path)
    except (OSError, subprocess.SubprocessError) as error:
        return f"it cannot be run ({error})"
    if not version:
        return "it is not clang"
    if int(version.partition(".")[0]) < _OLDEST:
        return f"version {version} is older than {_OLDEST}"
    if not known:
        return "it knows no AMD GPUs"
    if not _has_linker(path):
        return f"its linker lld is not installed (lld-{version.partition('.')[0]})"
    if target is not None and name_of(target) not in known:
        return f"it does not know '{name_of(target)}'"
    return ""


@cache
def _version(path: Path) -> str:
    found = re.search(r"clang version (\d[\w.]*)", _called([str(path), "--version"])[1])
    return found[1] if found else ""


@cache
def _targets(path: Path) -> frozenset[str]:
    asked = [str(path), f"--target={_TRIPLE}", "-nogpulib", "--print-supported-cpus"]
    return frozenset(re.findall(r"^\s+(gfx\S+)$", _called(asked)[1], re.MULTILINE))


@cache
def _has_linker(path: Path) -> bool:
    answer = _called([str(path), f"--target={_TRIPLE}", "-print-prog-name=lld"])[1].strip()
    return shutil.which(answer) is not None


def _libraries(path: Path) -> Path | None:
    """Folder of device libraries: that of the environment, the compiler's own, or the system's."""
    chosen = os.environ.get("HIP_DEVICE_LIB_PATH")
    own = Path(_called([str(path), "-print-resource-dir"])[1].strip())
    places = [
        *([Path(chosen)] if chosen else ()),
        own / "lib/amdgcn/bitcode",
        own / "amdgcn/bitcode",
        _rocm() / "amdgcn/bitcode",
        *sorted(Path("/usr/lib").glob("*-linux-gnu/amdgcn/bitcode")),
        Path("/usr/lib/amdgcn/bitcode"),
        Path("/usr/amdgcn/bitcode"),
    ]
    return next((place for place in places if (place / "ocml.bc").is_file()), None)


@cache
def _isa_library(path: Path, target: str) -> bytes:
    """The library that tells the others for which instruction set they are compiled."""
    major, minor, step = isa_of(target)
    number = major * 1000 + minor * 100 + step
    text = (
        f'target triple = "{_TRIPLE}"\n@__oclc_ISA_version = linkonce_odr protected '
        f"local_unnamed_addr addrspace(4) constant i32 {number}, align 4\n"
    )
    with TemporaryDirectory(prefix="execspace-") as folder:
        out = Path(folder, "isa.bc")
        options = [f"--target={_TRIPLE}", "-nogpulib", "-x", "ir", "-c", "-emit-llvm"]
        status, log = _called([str(path), *options, "-o", str(out), "-"], text)
        if status != 0:
            raise CompileError(log)
        return out.read_bytes()


def _called(command: list[str], text: str = "") -> tuple[int, str]:
    """Status and output of a program."""
    done = subprocess.run(
        command,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=_SECONDS,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    return done.returncode, done.stdout
