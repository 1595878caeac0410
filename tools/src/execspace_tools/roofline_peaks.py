"""What a space can do at most: bandwidth of its memory, and floating-point operations a second.

Measured with execspace kernels, by a process of its own, so that no tool of the program sees it
and nothing that the program set up is disturbed. What was found is kept on disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import platformdirs

import execspace as es
from execspace import ToolError, View
from execspace.base import config
from execspace.base.files import clear_place, private_folder, read_regular
from execspace.plugins import registry as plugins
from execspace.plugins.probing import processor

from .output import write_atomically

_FORMAT = 1  # of the file; another one is measured again
BUSY = 0.2  # share of the processors; what was measured meanwhile is measured again
_MARK = "execspace-roofline "
_SECONDS = 600.0  # that a measurement may take
_LEAST_BYTES = 3 << 27  # of the three Views of the triad, if caches are small
_CACHES = 4  # times as large as all caches
_FIRST = 1 << 16  # elements of the first triad
_WATCHED = 0.2  # seconds for launches of one kind, of which the fastest counts
_LONG_ENOUGH = 1e-3  # seconds of a launch, for the clock and what a launch costs
_FAR_TOO_LONG = 1.0


@dataclass(frozen=True)
class Peaks:
    """The roofs of a space.

    Attributes
    ----------
    space, device : str
        Name of the space, and in words what it runs on.
    bandwidth : float
        Bytes a second from and to memory, of a triad.
    flops : mapping
        Name of a dtype -> operations a second, of independent multiply-adds.
    nbytes : int
        Of all Views of the triad. If that is less than the caches hold, the space was too slow
        for more.
    busy: float
        Share of the host's processors that other programs used just before, 0 to 1. The roofs may
        be too low then.
    """

    space: str
    device: str
    bandwidth: float
    flops: Mapping[str, float]
    nbytes: int
    busy: float = 0.0

    def seconds(self, flops: Mapping[str, float], moved: float) -> tuple[float, float] | None:
        """Least time of so many operations by dtype, and of so many bytes.

        None if operations are of a dtype that was not measured.
        """
        if not flops.keys() <= self.flops.keys():
            return None
        computing = sum(n / self.flops[dtype] for dtype, n in flops.items())
        return computing, moved / self.bandwidth


def peaks_of(
    space: str,
    say: Callable[[str], None] = lambda text: None,
    anew: bool = False,
    measuring: bool = True,
) -> Peaks:
    """The roofs of a space, from disk or measured now, which takes some seconds.

    Parameters
    ----------
    space : str
        Its name, as `execspace.space` takes it.
    say : callable
        Gets a sentence before a measurement begins.
    anew : bool
        Measure, whatever is on disk.
    measuring : bool
        Whether to measure if nothing is on disk.

    Raises
    ------
    ToolError
        If they cannot be measured; it says why.
    """
    path = _folder() / f"roofline-{_key(space)}.json"
    found = None if anew else _kept(path)
    if found is None and not measuring:
        raise ToolError(f"The roofs of space '{space}' were not measured so far.")
    if found is None:
        say(
            f"roofline: measuring the bandwidth and the peak of space '{space}', once for each "
            f"device and version ..."
        )
        found = _measured_apart(space)
        try:
            private_folder(path.parent)
            clear_place(path)
            write_atomically(str(path), json.dumps({"format": _FORMAT, **asdict(found)}, indent=1))
        except OSError as error:
            warnings.warn(
                f"The roofs of space '{space}' cannot be kept in {path.parent} ({error}); they are "
                f"measured again next time. Set EXECSPACE_CACHE_DIR.",
                stacklevel=2,
            )
    return found


def _folder() -> Path:
    chosen = config.get("CACHE_DIR") or platformdirs.user_cache_dir("execspace", appauthor=False)
    return Path(chosen).expanduser() / "tools"


def _key(space: str) -> str:
    """A digest of all that the roofs depend on."""
    versions = sorted(f"{p.distribution} {p.version}" for p in plugins.registry().plugins.values())
    about = (
        str(_FORMAT), es.__version__, *versions, space, _device(space), processor(),
        str(es.space(space).concurrency),
    )  # fmt: skip
    return hashlib.sha256("\n".join(about).encode()).hexdigest()[:32]


def _device(space: str) -> str:
    """What a space runs on, in words."""
    entry = plugins.registry().spaces.get(space.partition(":")[0])
    device = "" if entry is None else plugins.probe(entry).device
    return processor() if device in ("", "host") else device


def _kept(path: Path) -> Peaks | None:
    """What an earlier process found; None if there is nothing, or it was disturbed."""
    try:
        found = json.loads(read_regular(path, 1 << 20))
        if found.pop("format") != _FORMAT:
            return None
        peaks = Peaks(**found)
        rates = [peaks.bandwidth, *peaks.flops.values()]
        usable = peaks.flops and all(r > 0 for r in rates) and peaks.busy <= BUSY
        return peaks if usable else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


# -- measuring, in a process of its own -----------------------------------------------------------


def _measured_apart(space: str) -> Peaks:
    if getattr(sys, "frozen", False) or not sys.executable:
        raise ToolError(
            f"The roofs of space '{space}' cannot be measured: this program is not run by a Python "
            f"interpreter that could be started again."
        )
    # The process must find what this one has found, and watch nothing.
    paths = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": paths, "EXECSPACE_TOOLS": ""}
    command = [sys.executable, "-m", "execspace_tools.roofline_peaks", space]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"The roofs of space '{space}' cannot be measured: {error}.") from error
    lines = [s for s in done.stdout.splitlines() if s.startswith(_MARK)]
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise ToolError(f"The roofs of space '{space}' cannot be measured: {last}")
    return Peaks(**json.loads(lines[-1].removeprefix(_MARK)))


def measure(space: es.ExecutionSpace) -> Peaks:
    """Measure the roofs of a space in this process."""
    busy = _busy()
    bandwidth, nbytes = _bandwidth(space)
    flops = {}
    for kind in (es.float64, es.float32):
        rate = _rate(space, kind)
        if rate:
            flops[kind.__name__] = rate
    return Peaks(space.name, _device(space.name), bandwidth, flops, nbytes, busy)


def _busy() -> float:
    """Share of the processors that others use now; 0 where that is not known."""
    first = _ticks()
    time.sleep(0.3)
    second = _ticks()
    if first is None or second is None or second[1] == first[1]:
        return 0.0
    return round(1 - (second[0] - first[0]) / (second[1] - first[1]), 2)


def _ticks() -> tuple[int, int] | None:
    """Time in which processors did nothing, and all time, as Linux counts it."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [int(n) for n in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return numbers[3] + numbers[4], sum(numbers)


def _best(space: es.ExecutionSpace, launch: Callable[[], None]) -> float:
    """Seconds of the fastest of several launches."""
    launch()
    space.fence()
    found = float("inf")
    until = time.perf_counter() + _WATCHED
    for n in range(50):
        start = time.perf_counter()
        launch()
        space.fence()
        end = time.perf_counter()
        found = min(found, end - start)
        if end > until and (n >= 5 or found > _WATCHED):
            break
    return found


@es.kernel
def _first_touch(i: Any, a: Any, b: Any, c: Any) -> None:
    a[i] = 0.0
    b[i] = 1.0
    c[i] = 2.0


@es.kernel
def _triad(i: Any, a: Any, b: Any, c: Any, s: Any) -> None:
    a[i] = b[i] + s * c[i]


def _bandwidth(space: es.ExecutionSpace) -> tuple[float, int]:
    """Bytes a second of a triad over more than all caches hold, and bytes of its Views."""
    n = _FIRST
    rate = _rate_of_triad(space, n)
    wanted = min(max(_LEAST_BYTES, _CACHES * _cache_bytes()), _free_bytes() // 2) // 24
    while wanted > n and 24 * wanted < rate * _FAR_TOO_LONG:
        try:
            return _rate_of_triad(space, wanted), 24 * wanted
        except MemoryError:
            wanted //= 2
    return rate, 24 * n


def _rate_of_triad(space: es.ExecutionSpace, n: int) -> float:
    a, b, c = (View(n, es.float64, label="roofline", space=space) for _ in range(3))
    policy = es.RangePolicy(n, space=space)
    es.parallel_for(policy, _first_touch, a, b, c)
    return 24 * n / _best(space, partial(es.parallel_for, policy, _triad, a, b, c, 3.0))


def _free_bytes() -> int:
    """Memory of the host that nobody uses; where that is not known, a lot."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 40


def _cache_bytes() -> int:
    """Bytes of the largest cache of the host, 0 where that is not known."""
    found = [0]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        try:
            text = path.read_text(encoding="ascii").strip()
            units = {"K": 1 << 10, "M": 1 << 20}
            found.append(int(text.rstrip("KM")) * units.get(text[-1], 1))
        except (OSError, ValueError):
            continue
    return max(found)


# Spaces differ in which of these they do best: vectors over the calls of a kernel, vectors within
# a call, or many calls at a time, each with a long loop.


@es.kernel
def _short_chains(i: Any, v: Any, x: Any, y: Any, steps: Any) -> None:
    a = v[i]
    b, c, d = a + x, a - x, a + y
    for _ in range(16):
        a = a * x + y
        b = b * x + y
        c = c * x + y
        d = d * x + y
    v[i] = (a + b) + (c + d)


@es.kernel
def _more_chains(i: Any, v: Any, x: Any, y: Any, steps: Any) -> None:
    a = v[i]
    b, c, d, e = a + x, a - x, a + y, a - y
    f, g, h = b + y, c + y, d + x
    for _ in range(16):
        a = a * x + y
        b = b * x + y
        c = c * x + y
        d = d * x + y
        e = e * x + y
        f = f * x + y
        g = g * x + y
        h = h * x + y
    v[i] = ((a + b) + (c + d)) + ((e + f) + (g + h))


@es.kernel
def _long_chains(i: Any, v: Any, x: Any, y: Any, steps: Any) -> None:
    a = v[i]
    b, c, d = a + x, a - x, a + y
    for _ in range(steps):
        a = a * x + y
        b = b * x + y
        c = c * x + y
        d = d * x + y
    v[i] = (a + b) + (c + d)


@es.kernel
def _rows_of_chains(i: Any, v: Any, x: Any, y: Any, steps: Any) -> None:
    a = es.local(64, v.dtype)
    for j in range(64):
        a[j] = v[i] * j
    for _ in range(steps):
        for j in range(64):
            a[j] = a[j] * x + y
    total = v[i]
    for j in range(64):
        total += a[j]
    v[i] = total


_STEPS = 512
_CHAINS: tuple[tuple[es.Kernel, int], ...] = (  # kernel, and multiply-adds of a call
    (_short_chains, 4 * 16), (_more_chains, 8 * 16), (_long_chains, 4 * _STEPS),
    (_rows_of_chains, 64 * _STEPS),
)  # fmt: skip


def _rate(space: es.ExecutionSpace, kind: Any) -> float:
    """Operations a second of independent multiply-adds; 0 if the space has no such type."""
    found = 0.0
    for kernel, adds in _CHAINS:
        n = 1 << 4
        while True:
            try:
                v = View(n, kind, label="roofline", space=space)
                es.deep_copy(v, 1.0)
                policy, args = es.RangePolicy(n, space=space), (v, kind(0.75), kind(0.25), _STEPS)
                seconds = _best(space, partial(es.parallel_for, policy, kernel, *args))
            except es.KernelTypeError:
                return 0.0
            found = max(found, 2.0 * adds * n / seconds)
            if n >= 1 << 22 or seconds > _LONG_ENOUGH:
                break
            n *= 4
    return found


def main(space: str) -> None:
    """Measure the roofs of a space, and print them for the process that asked."""
    sys.stdout.write(f"{_MARK}{json.dumps(asdict(measure(es.space(space))))}\n")


if __name__ == "__main__":
    main(sys.argv[1])
