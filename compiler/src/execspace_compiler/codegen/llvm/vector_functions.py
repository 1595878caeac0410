"""Vector variants of libm's functions, which LLVM's loop vectoriser calls in its loops.

A call names its variants in the attribute "vector-function-abi-variant". They are functions of
glibc's libmvec, and of Intel's libsvml where that is installed (intel-cmplr-lib-rt on PyPI). Their
errors were measured, and are compared with what docs/semantics.md allows: a kernel that is not
fastmath takes only those that keep it.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from execspace.base.dataclass import dataclass

# What LLVM must know of libm's functions and of their variants to move and to vectorise calls.
# Nobody reads errno after them.
ATTRIBUTES = "nounwind willreturn nosync memory(none)"
LIBMVEC, LIBSVML = "libmvec", "libsvml"
BINARY = frozenset(("pow", "atan2", "hypot"))


@dataclass(frozen=True, slots=True)
class Errors:
    """Greatest errors in units in the last place (ULP), over the arguments of docs/semantics.md.

    Attributes
    ----------
    allowed : float
        What docs/semantics.md allows.
    sse, avx2, avx512 : float
        Of libmvec's variants for vectors of 128, 256 and 512 bits. Those for AVX call those for
        SSE.
    svml : float
        Of libsvml's functions of high accuracy, the worst of those for any processor.
    """

    allowed: float
    sse: float
    avx2: float
    avx512: float
    svml: float


@dataclass(frozen=True, slots=True)
class Library:
    """A library of vector functions that was found.

    Attributes
    ----------
    name : str
        LIBMVEC or LIBSVML.
    functions : frozenset of str
        Functions of libm that it has all vector variants of, such as "exp" and "expf".
    """

    name: str
    functions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Abi:
    """A calling convention for vectors.

    Attributes
    ----------
    letter : str
        In names of the vector function ABI.
    bits : int
        Of a vector.
    feature : str
        What the target must have, as LLVM names it.
    column : str
        Of `Errors`; empty if errors were not measured.
    """

    letter: str
    bits: int
    feature: str
    column: str


X86 = (
    Abi("e", 512, "avx512f", "avx512"),
    Abi("d", 256, "avx2", "avx2"),
    Abi("c", 256, "avx", "sse"),
    Abi("b", 128, "sse2", "sse"),
)
AARCH64 = (Abi("n", 128, "neon", ""),)

# Measured with glibc 2.36 on an AMD EPYC (Zen 4) and with libsvml 2026.2, against binary128: of
# float32 and one argument at every number of the range down to 2**-13, else at 10 to 80 million
# arguments, some of them close to powers of two, and at more around the worst.
# What one search missed of another was less than this margin. libsvml's functions of high accuracy
# need none: Intel states at most 1 ULP.
SEARCH_MARGIN = 0.25
TABLE: dict[tuple[str, str], Errors] = {
    ("exp", "float64"): Errors(2, 3.20, 3.20, 3.20, 0.74),
    ("exp2", "float64"): Errors(2, 1.65, 1.64, 1.05, 0.74),
    ("expm1", "float64"): Errors(2, 2.96, 2.96, 2.09, 0.61),
    ("log", "float64"): Errors(1.5, 1.57, 1.59, 1.54, 0.68),
    ("log2", "float64"): Errors(1.5, 2.09, 2.09, 1.86, 0.53),
    ("log10", "float64"): Errors(2, 2.09, 2.09, 1.94, 0.61),
    ("log1p", "float64"): Errors(2, 2.59, 2.59, 1.94, 0.73),
    ("sin", "float64"): Errors(1.5, 3.39, 3.40, 3.32, 0.53),
    ("cos", "float64"): Errors(1.5, 3.54, 3.59, 3.51, 0.52),
    ("tan", "float64"): Errors(2, 3.64, 3.26, 3.40, 0.58),
    ("asin", "float64"): Errors(2, 3.04, 2.59, 2.60, 0.85),
    ("acos", "float64"): Errors(2, 2.09, 1.76, 1.79, 0.82),
    ("atan", "float64"): Errors(1.5, 2.62, 2.61, 2.60, 0.73),
    ("sinh", "float64"): Errors(2.5, 2.14, 1.90, 1.90, 0.88),
    ("cosh", "float64"): Errors(2, 1.54, 1.54, 2.01, 0.76),
    ("tanh", "float64"): Errors(2.5, 2.17, 2.14, 1.20, 0.76),
    ("asinh", "float64"): Errors(2, 3.52, 3.45, 1.51, 0.74),
    ("acosh", "float64"): Errors(2, 3.04, 2.78, 1.94, 0.90),
    ("atanh", "float64"): Errors(2.5, 3.49, 3.45, 1.47, 0.77),
    ("cbrt", "float64"): Errors(4, 1.50, 1.50, 1.82, 0.56),
    ("erf", "float64"): Errors(1, 2.54, 2.54, 2.54, 0.78),
    ("erfc", "float64"): Errors(4, 1.55, 1.55, 1.55, 0.76),
    ("pow", "float64"): Errors(2, 1.00, 1.00, 1.00, 0.74),
    ("atan2", "float64"): Errors(2, 2.23, 2.69, 2.63, 0.81),
    ("hypot", "float64"): Errors(1.5, 1.99, 1.21, 1.46, 0.84),
    ("exp", "float32"): Errors(3, 2.94, 2.64, 2.64, 0.76),
    ("exp2", "float32"): Errors(2, 1.11, 0.83, 1.01, 0.63),
    ("expm1", "float32"): Errors(2, 1.81, 1.68, 2.36, 0.59),
    ("log", "float32"): Errors(2, 3.97, 3.94, 3.94, 0.92),
    ("log2", "float32"): Errors(2, 2.62, 2.09, 2.12, 0.67),
    ("log10", "float32"): Errors(2.5, 2.63, 2.79, 3.50, 0.64),
    ("log1p", "float32"): Errors(2.5, 2.11, 1.96, 1.96, 0.61),
    ("sin", "float32"): Errors(2, 2.08, 1.86, 1.86, 0.61),
    ("cos", "float32"): Errors(2, 2.10, 1.94, 1.94, 0.61),
    ("tan", "float32"): Errors(3, 3.92, 3.66, 3.35, 0.94),
    ("asin", "float32"): Errors(3, 3.07, 2.67, 3.12, 0.76),
    ("acos", "float32"): Errors(3, 2.51, 2.16, 2.10, 0.80),
    ("atan", "float32"): Errors(2, 2.82, 2.47, 2.30, 0.83),
    ("sinh", "float32"): Errors(2.5, 2.03, 1.55, 1.55, 0.92),
    ("cosh", "float32"): Errors(2.5, 1.85, 2.08, 2.48, 0.77),
    ("tanh", "float32"): Errors(2.5, 1.03, 1.03, 1.38, 0.57),
    ("asinh", "float32"): Errors(2, 2.16, 2.09, 1.01, 0.69),
    ("acosh", "float32"): Errors(2, 3.21, 2.81, 1.16, 0.90),
    ("atanh", "float32"): Errors(2.5, 2.10, 2.05, 1.91, 0.76),
    ("cbrt", "float32"): Errors(2.5, 2.86, 2.86, 1.94, 0.68),
    ("erf", "float32"): Errors(2, 1.93, 1.93, 4.00, 0.78),
    ("erfc", "float32"): Errors(4, 1.68, 1.62, 1.62, 0.81),
    ("pow", "float32"): Errors(2, 0.63, 0.63, 0.63, 0.77),
    ("atan2", "float32"): Errors(3.5, 3.85, 3.42, 3.42, 0.88),
    ("hypot", "float32"): Errors(1.5, 1.43, 1.21, 1.25, 0.62),
}  # fmt: skip


def keeps_bound(name: str, kind: str, column: str) -> bool:
    """Whether a variant keeps the error that docs/semantics.md allows.

    Parameters
    ----------
    name : str
        libm's function, as it is called for float64.
    kind : str
        "float64" or "float32".
    column : str
        Of `Errors`: "sse", "avx2", "avx512" or "svml".
    """
    errors = TABLE[name, kind]
    searched = column != "svml" and (kind == "float64" or name in BINARY)
    margin = SEARCH_MARGIN if searched else 0.0
    measured: float = getattr(errors, column)
    return measured + margin <= errors.allowed


def variants(
    name: str,
    kind: str,
    features: frozenset[str],
    fastmath: bool,
    libraries: Iterable[Library],
) -> tuple[str, ...]:
    """Mappings for "vector-function-abi-variant" of a call of libm's function.

    What is left over of a loop after the last whole vector calls libm, whose results differ in
    their last bits. Without fastmath all variants have the same results at least, and
    `uniform_calls.uniform` makes the rest of a loop have them, too.

    Parameters
    ----------
    name : str
        libm's function, as it is called for float64, such as "exp".
    kind : str
        "float64" or "float32"; others have no variants.
    features : frozenset of str
        Of the target, as LLVM names them. "prefer-256-bit" leaves out wider vectors.
    fastmath : bool
        Takes variants for all lengths of vectors, whatever their errors.
    libraries : iterable of Library
        Those to use, the preferred one first.

    Returns
    -------
    tuple of str
        Longest vectors first; empty if there are none.
    """
    if (name, kind) not in TABLE:
        return ()
    called = scalar_symbol(name, kind)
    for library in libraries:
        if called not in library.functions:
            continue
        if library.name == LIBSVML:
            found = tuple(
                mapping_to(called, name, lanes, svml_symbol(name, kind, lanes, not fastmath))
                for lanes in svml_lanes(kind, features)
                if fastmath or keeps_bound(name, kind, "svml")
            )
        elif fastmath:
            found = tuple(_by_abi(name, kind, abi) for abi in abis(features))
        else:
            exact = exact_abi(name, kind, features)
            found = () if exact is None else (_by_abi(name, kind, exact),)
        if found:
            return found
    return ()


def exact_abi(name: str, kind: str, features: frozenset[str]) -> Abi | None:
    """The widest vectors for which libmvec's variant keeps the allowed error, if there are any."""
    usable = (abi for abi in abis(features) if abi.column and keeps_bound(name, kind, abi.column))
    return next(usable, None)


def abis(features: frozenset[str]) -> tuple[Abi, ...]:
    """Calling conventions that a target has, widest first, one for each width."""
    if "neon" in features:
        return AARCH64
    found = [abi for abi in X86 if abi.feature in features]
    widest = 256 if "prefer-256-bit" in features else 512
    of_width = {abi.bits: abi for abi in reversed(found) if abi.bits <= widest}
    return tuple(sorted(of_width.values(), key=lambda abi: -abi.bits))


def mapping_to(called: str, name: str, lanes: int, function: str) -> str:
    """A mapping from calls of a scalar function to any vector function."""
    return f"_ZGV_LLVM_N{lanes}{_operands(name)}_{called}({function})"


def vector_function(mapping: str) -> tuple[str, int, int]:
    """Name, lanes and number of operands of the vector function of a mapping."""
    match = re.fullmatch(r"_ZGV(?:_LLVM_|[a-z])N(\d+)(v+)_[^(]+\((.+)\)", mapping)
    if match is None:
        raise ValueError(
            f"Expected a mapping such as '_ZGVdN4v_exp(_ZGVdN4v_exp)', got '{mapping}'; "
            f"take what `variants` returns."
        )
    return match[3], int(match[1]), len(match[2])


def declaration(mapping: str, kind: str) -> str:
    """IR that declares the vector function of a mapping.

    LLVM follows a mapping only if the module has its function when loops are vectorised, so
    `@llvm.compiler.used` must hold it until then.
    """
    function, lanes, operands = vector_function(mapping)
    vector = f"<{lanes} x {llvm_type(kind)}>"
    return f"declare {vector} @{function}({', '.join([vector] * operands)}) {ATTRIBUTES}"


def scalar_symbol(name: str, kind: str) -> str:
    """libm's function of a type: "expf" for "exp" of float32."""
    return name if kind == "float64" else f"{name}f"


def mvec_symbol(name: str, kind: str, abi: Abi) -> str:
    """libmvec's function for vectors."""
    lanes = abi.bits // element_bits(kind)
    return f"_ZGV{abi.letter}N{lanes}{_operands(name)}_{scalar_symbol(name, kind)}"


def svml_symbol(name: str, kind: str, lanes: int, exact: bool) -> str:
    """libsvml's function for vectors, or with one lane for a number; `exact` is high accuracy."""
    return f"__svml_{scalar_symbol(name, kind)}{lanes}{'_ha' if exact else ''}"


def svml_lanes(kind: str, features: frozenset[str]) -> tuple[int, ...]:
    """Lengths of vectors of a target, longest first; libsvml itself looks at the processor."""
    return tuple(abi.bits // element_bits(kind) for abi in abis(features) if abi in X86)


def llvm_type(kind: str) -> str:
    """LLVM's name of a type."""
    return {"float64": "double", "float32": "float"}[kind]


def element_bits(kind: str) -> int:
    """Bits of a number."""
    return {"float64": 64, "float32": 32}[kind]


@cache
def libraries() -> tuple[Library, ...]:
    """Libraries of vector functions on this machine, the more exact one first.

    Loads them, once, so that compiled code finds their functions. Only Linux with glibc has any:
    on x86-64, and on AArch64 from glibc 2.38 on.
    """
    if sys.platform != "linux":
        return ()
    machine = platform.machine().lower()
    x86 = machine in ("x86_64", "amd64")
    known = X86 if x86 else AARCH64 if machine in ("aarch64", "arm64") else ()
    found = []
    if x86 and _load("libintlc.so.5") and _load("libsvml.so"):
        found.append(Library(LIBSVML, _complete(_svml_symbols)))
    if known and _load("libmvec.so.1"):
        found.append(
            Library(
                LIBMVEC,
                _complete(lambda name, kind: [mvec_symbol(name, kind, abi) for abi in known]),
            )
        )
    return tuple(library for library in found if library.functions)


def _svml_symbols(name: str, kind: str) -> list[str]:
    widths = (1, *(abi.bits // element_bits(kind) for abi in X86))
    return [svml_symbol(name, kind, n, exact) for n in widths for exact in (False, True)]


def _complete(symbols: Callable[[str, str], Sequence[str]]) -> frozenset[str]:
    """Functions of libm of which all symbols are there."""
    import llvmlite.binding

    return frozenset(
        scalar_symbol(name, kind)
        for name, kind in TABLE
        if all(llvmlite.binding.address_of_symbol(s) for s in symbols(name, kind))
    )


def _load(file: str) -> bool:
    """Load a library where the system looks, or from this environment, where pip puts it."""
    import llvmlite.binding

    for place in (file, str(Path(sys.prefix, "lib", file))):
        try:
            llvmlite.binding.load_library_permanently(place)
        except RuntimeError:
            continue
        return True
    return False


def _by_abi(name: str, kind: str, abi: Abi) -> str:
    function = mvec_symbol(name, kind, abi)
    return f"{function}({function})"


def _operands(name: str) -> str:
    return "vv" if name in BINARY else "v"
