"""The table of all EXECSPACE_* environment variables, and the only reader of them.

Values are read when they are needed, not at import, so a program may set them first.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING

from .dataclass import dataclass
from .errors import ConfigError
from .flags import lanes_of
from .local_ranks import LocalRank, from_launcher

if TYPE_CHECKING:
    from pathlib import Path

# When execspace was imported: a file of its own that is younger may be another than was imported.
STARTED = time.time()


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable: its name without the prefix, its default, what it does."""

    name: str
    default: str | None
    text: str


VARIABLES = {
    v.name: v
    for v in (
        Variable("DEFAULT", None, "default space, or a comma list in order: `cuda:1,openmp`"),
        Variable(
            "MEMORY",
            None,
            "memory of new Views: device, shared (which the host reads), pinned, host",
        ),
        Variable(
            "POOLS",
            "1",
            "0: small Views get memory of their own, of their size, in which sanitizers see errors",
        ),
        Variable("PLUGINS", None, "comma list of plugins to load; empty loads none"),
        Variable(
            "STRICT",
            "0",
            "1: a plugin that fails to load, or is named and not there, raises instead of warning",
        ),
        Variable(
            "CHECK",
            "",
            "comma list of checks, read when the first space starts. portable: spaces of the host "
            "refuse what a device would, such as NumPy arrays, access of the host to their Views, "
            "and the lack of a fence; portable:openmp: this space of the host alone. bounds: "
            "kernels of all spaces test their indices of Views and raise ViewIndexError",
        ),
        Variable(
            "TRACEBACK",
            "short",
            "full: errors show frames of execspace, too: of the compiler, and in notebooks all",
        ),
        Variable("TOOLS", "", "comma list of profiling tools to attach at the first launch"),
        Variable(
            "PROBE_TIMEOUT", "10", "seconds that a space has to say whether it can be used here"
        ),
        Variable(
            "TUNE", None, "1: tune kernels at their first launch; 0: do not use what is tuned"
        ),
        Variable("TUNING_DIR", None, "folder of tuned choices; default: among the user's data"),
        Variable(
            "NUM_THREADS",
            None,
            "threads of host-parallel spaces, at most 1024; default: usable cores, which the ranks "
            "of a host share if their launcher has bound none of them",
        ),
        Variable(
            "LOCAL_RANK",
            None,
            "number of this process among the ranks of its host, from 0, which chooses the device "
            "of a space that is chosen without one; default: as the launcher says",
        ),
        Variable("LOCAL_SIZE", None, "how many ranks this host has; default: as the launcher says"),
        Variable("CACHE_DIR", None, "folder of compiled kernels; default: the user's cache folder"),
        Variable("CACHE_SIZE", "1024", "size limit of that folder in MiB; oldest kernels go first"),
        Variable(
            "CPU",
            None,
            "processor that host spaces compile for, by LLVM's name, with features behind it if "
            "need be: haswell, generic,+cx16; default: this one",
        ),
        Variable(
            "LANES",
            "auto",
            "neighbouring indices that hosts run in the lanes of a vector, unless kernel or policy "
            "say it: a power of two up to 64, 1 for none; auto: as many as seem to be fastest",
        ),
        Variable(
            "OPENMP_RUNTIME", None, "pool, libgomp or prange: what runs the threads of openmp"
        ),
    )
}

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


def declare(variable: Variable) -> None:
    """Add a variable of a plugin to the table."""
    VARIABLES[variable.name] = variable


def get(name: str) -> str | None:
    """Value of `EXECSPACE_<name>`, or its default (None where there is none)."""
    return os.environ.get(f"EXECSPACE_{name}", VARIABLES[name].default)


def get_bool(name: str) -> bool:
    """Value of a switch; ConfigError if it is neither 1/true/yes/on nor 0/false/no/off."""
    value = (get(name) or "").strip().lower()
    if value not in TRUE | FALSE:
        raise ConfigError(f"EXECSPACE_{name}={value!r} is not a switch; expected 1 or 0.")
    return value in TRUE


def lanes() -> int:
    """Lanes that hosts run kernels in which do not say it, EXECSPACE_LANES; 0: as is fastest."""
    value = (get("LANES") or "auto").strip().lower()
    if value == "auto":
        return 0
    number = int(value) if value.removeprefix("-").isdecimal() else value
    return lanes_of(number, "EXECSPACE_LANES", ConfigError, none="auto")


def get_int(name: str) -> int | None:
    """Value of a positive whole number, None if unset; ConfigError otherwise."""
    value = get(name)
    if value is None or not value.strip():
        return None
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigError(f"EXECSPACE_{name}={value!r} is not a whole number of 1 or more.")
    return number


def local_rank() -> LocalRank | None:
    """Which rank of its host this process is, None if nobody says so.

    EXECSPACE_LOCAL_RANK, else the launcher's environment. EXECSPACE_LOCAL_SIZE says how many there
    are; the launcher's size goes with the launcher's number only.

    Raises
    ------
    ConfigError
        If one of the two is no such number, or they do not fit together.
    """
    said, size = get("LOCAL_RANK"), get_int("LOCAL_SIZE")
    if said is None or not said.strip():
        found = from_launcher()
        if found is None or size is None:
            return found
        number, whose = found.number, "its launcher says"
    else:
        text = said.strip()
        if not (text.isascii() and text.isdecimal()):
            raise ConfigError(
                f"EXECSPACE_LOCAL_RANK={said!r} is not the number of a rank; expected a whole "
                f"number of 0 or more."
            )
        number, whose = int(text), "EXECSPACE_LOCAL_RANK says"
    if size is not None and size <= number:
        raise ConfigError(
            f"EXECSPACE_LOCAL_SIZE={size} ranks of this host are too few: {whose} that this "
            f"process is number {number}, and numbers begin with 0. Give as many as there are, or "
            f"unset it."
        )
    return LocalRank(number, size)


MOST_THREADS = 1024  # more than any host has; runtimes end the process where they get too few


def thread_count() -> int:
    """Threads of a host-parallel space: EXECSPACE_NUM_THREADS, else OMP_NUM_THREADS, else the
    usable cores, which ranks of a host share that are not bound to any of them; ConfigError for
    what is not a number of threads, or more than `MOST_THREADS`."""
    name, number = "EXECSPACE_NUM_THREADS", get_int("NUM_THREADS")
    if number is None:
        name, openmp = "OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "")
        first = openmp.partition(",")[0].strip()  # of a list, one number for each nested level
        number = int(first) if first.isdecimal() and int(first) else None
    if number is None:
        return min(_share_of_cores(), MOST_THREADS)
    if number > MOST_THREADS:
        raise ConfigError(
            f"{name}={number} is more than {MOST_THREADS} threads; give about as many as there "
            f"are cores."
        )
    return number


def _share_of_cores() -> int:
    """Cores for this process, at least one."""
    all_cores = os.cpu_count() or 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else all_cores
    rank = local_rank()
    if rank is None or rank.size is None or cores < all_cores:
        return cores  # fewer than there are: whoever bound this process has divided them
    whole, rest = divmod(cores, rank.size)
    return max(whole + (rank.number < rest), 1)


LEAST_STACK = 1 << 19  # bytes: private arrays, partial results, and the frames of a kernel
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def check_openmp_stack() -> int | None:
    """Bytes of the stacks of threads that OMP_STACKSIZE asks for; None where it says nothing.

    Raises
    ------
    ConfigError
        If they are fewer than kernels may need: one that finds no room ends the process.
    """
    text = os.environ.get("OMP_STACKSIZE", "").strip().lower()
    number, unit = (text[:-1], text[-1]) if text and text[-1] in _UNITS else (text, "k")
    if not number.strip().isdecimal():
        return None
    size = int(number) * _UNITS[unit]
    if size < LEAST_STACK:
        raise ConfigError(
            f"OMP_STACKSIZE={text} gives threads too small a stack; kernels need at least "
            f"{LEAST_STACK >> 10}k."
        )
    return size


def get_seconds(name: str) -> float:
    """Value of a time in seconds, more than 0; ConfigError otherwise."""
    value = get(name) or ""
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise ConfigError(f"EXECSPACE_{name}={value!r} is not a number of seconds above 0.")
    return seconds


def get_list(name: str) -> list[str] | None:
    """Values of a comma list, None if the variable is unset."""
    value = get(name)
    return None if value is None else [part.strip() for part in value.split(",") if part.strip()]


CHECKS = ("portable", "comm", "bounds")
_kept_checks: frozenset[str] | None = None


def checks() -> frozenset[str]:
    """Checks that EXECSPACE_CHECK asks for: "portable", or "portable:openmp" for one space; "comm";
    "bounds".

    Raises
    ------
    ConfigError
        If it names one that does not exist.
    """
    if _kept_checks is not None:
        return _kept_checks
    wanted = get_list("CHECK") or []
    for item in wanted:
        name, colon, space = item.partition(":")
        if name not in CHECKS or bool(colon) != bool(space):
            raise ConfigError(
                f"EXECSPACE_CHECK={get('CHECK')!r}: there is no check {item!r}; expected a comma "
                f"list of: {', '.join(CHECKS)}, each maybe with a space, as in portable:openmp."
            )
    return frozenset(wanted)


def keep_checks() -> None:
    """Settle what `checks` gives: spaces, Views and launches of a process must agree on it."""
    global _kept_checks
    _kept_checks = checks()


def forget_checks() -> None:
    """Read EXECSPACE_CHECK again."""
    global _kept_checks
    _kept_checks = None


def is_portable(space: str | None = None) -> bool:
    """Whether a space of the host stands for a device; without a name, whether any of them does."""
    found = checks() if _kept_checks is None else _kept_checks
    if not found:
        return False
    if space is None:
        return any(item.startswith("portable") for item in found)
    return "portable" in found or f"portable:{space.partition(':')[0]}" in found


def warn_unknown(later: tuple[str, ...] = (), known: Collection[str] = ()) -> set[str]:
    """Warn of each EXECSPACE_* variable that nothing reads: most are spelling errors.

    Not of those that begin with one of `later`, after the prefix, nor of those in `known`. Returns
    the names of which it has warned.
    """
    found = set()
    for name in os.environ:
        short = name.removeprefix("EXECSPACE_")
        if short == name or short in VARIABLES or short.startswith(later) or name in known:
            continue
        listed = ", ".join(f"EXECSPACE_{n}" for n in VARIABLES)
        warnings.warn(
            f"Environment variable {name} is not read by execspace; known: {listed}.",
            stacklevel=2,
        )
        found.add(name)
    return found


def tuning_folder() -> Path:
    """Folder of tuned choices, which need not be there: EXECSPACE_TUNING_DIR, or the user's."""
    from pathlib import Path  # not before the first kernel is compiled

    chosen = get("TUNING_DIR")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs  # not before the first kernel is compiled

    return Path(platformdirs.user_data_dir("execspace", appauthor=False), "tuning")


def is_tuned() -> bool:
    """Whether there may be tuned choices to use, or kernels are to be tuned."""
    chosen = get("TUNE")
    if chosen is not None:
        return get_bool("TUNE")
    folder = get("TUNING_DIR") or ""
    if folder not in _tuned:
        _tuned[folder] = tuning_folder().is_dir()
    return _tuned[folder]


_tuned: dict[str, bool] = {}  # by EXECSPACE_TUNING_DIR


def forget_tuned() -> None:
    """Look for tuned choices again."""
    _tuned.clear()
