r"""Compiles texts of HIP kernels for AMD GPUs and checks what the compiler made of each.

    python tests/hip_on_host/run.py --arch gfx942 --texts folder -- \
        --pyargs execspace_testing.suite --space hip
    python tests/support/hip_compile.py folder --json found.json

The first command collects every text that the conformance kit runs; the second compiles those for
wavefronts of 64 lanes for gfx90a and gfx942, and those for 32 lanes for gfx1100. Checked are
spills, LDS, the largest work-group, the width of wavefronts, and occupancy; private arrays may take
memory. The exit status says whether all is as it should be.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from execspace_gpu.compiling import CompileError
from execspace_hip.amdgpu.code_object import read_code_object
from execspace_hip.amdgpu.offline import OfflineCompiler, find_compiler
from execspace_hip.amdgpu.targets import TARGETS, occupancy, target_of

OPTIONS = ["-w", "-ffp-contract=fast-honor-pragmas"]
GROUPS = re.compile(r"^_ES_KERNEL\((\d+)\) (\w+)\(", re.MULTILINE)
LEAST = 4  # wavefronts of a compute unit, of the smallest work-groups


@dataclass(frozen=True)
class Found:
    """What a compiler made of a kernel."""

    text: str
    target: str
    kernel: str
    faults: tuple[str, ...]
    registers: int = 0
    scratch: int = 0
    lds: int = 0
    wavefronts: int = 0


def compiled(path: Path, target: str, compiler: OfflineCompiler) -> list[Found]:
    """Each kernel of a text, with what is wrong with it."""
    source = path.read_text(encoding="utf-8")
    kind = target_of(target, known_only=True)
    try:
        code = read_code_object(compiler.compile(source, OPTIONS, target))
    except CompileError as error:
        return [Found(path.name, target, "", (str(error)[:2000],))]
    expected = {name: int(group) for group, name in GROUPS.findall(source)}
    found = []
    for name, k in code.kernels.items():
        faults = []
        if k.vgpr_spills or k.sgpr_spills:
            faults.append(f"{k.vgpr_spills} vector and {k.sgpr_spills} scalar registers spilled")
        if k.lds > kind.lds:
            faults.append(f"{k.lds} bytes of LDS of {kind.lds}")
        if k.threads != expected.get(name):
            faults.append(f"work-groups of up to {k.threads}, launched with {expected.get(name)}")
        if k.wave != kind.wave:
            faults.append(f"wavefronts of {k.wave} lanes, the text is for {kind.wave}")
        had = occupancy(kind, k.vgprs, k.lds, k.threads, k.sgprs)
        if had.waves < LEAST:
            faults.append(f"{had.waves} wavefronts at once, limited by {had.limit}")
        found.append(
            Found(path.name, target, name, tuple(faults), k.vgprs, k.scratch, k.lds, had.waves)
        )
    return found


def main() -> int:
    """Compile all and sum up."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="+", help="texts, named HASH-ARCH.hip")
    parser.add_argument(
        "--target", action="append", choices=sorted(TARGETS), help="may be repeated"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="file for the sums")
    options = parser.parse_args()
    targets = options.target or ["gfx90a", "gfx942", "gfx1100"]
    jobs = []
    for path in sorted(p for folder in options.folder for p in folder.glob("*.hip")):
        wave = target_of(path.stem.rpartition("-")[2]).wave
        jobs += [(path, target) for target in targets if TARGETS[target].wave == wave]
    if not jobs:
        parser.error(f"no texts in {', '.join(map(str, options.folder))}")
    compilers = {target: find_compiler(target) for target in targets}
    with ThreadPoolExecutor(options.workers) as pool:
        every = [
            kernel
            for kernels in pool.map(lambda job: compiled(*job, compilers[job[1]]), jobs)
            for kernel in kernels
        ]
    wrong = [kernel for kernel in every if kernel.faults]
    sums = {}
    for target in targets:
        own = [k for k in every if k.target == target and k.kernel]
        sums[target] = {
            "compiler": compilers[target].name.partition(" at ")[0],
            "texts": sum(t == target for _, t in jobs),
            "kernels": len(own),
            "faults": sum(bool(k.faults) for k in every if k.target == target),
            "with memory of a work-item": sum(k.scratch > 0 for k in own),
            "most registers": max((k.registers for k in own), default=0),
            "wavefronts of a unit": dict(sorted(Counter(k.wavefronts for k in own).items())),
        }
        print(target, json.dumps(sums[target]))
    for kernel in wrong[:50]:
        print(f"{kernel.text} for {kernel.target}, {kernel.kernel}: {'; '.join(kernel.faults)}")
    if options.json:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        record = {"date": when, "targets": sums, "wrong": [asdict(k) for k in wrong]}
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
