"""Calls of vectorised functions with one result for an argument, wherever in a loop it stands.

A vector of a loop takes the function from a library of vector functions, and what is left over
after the last whole vector from libm. Here both take it from one vector function: vectors of other
lengths are filled up or cut for it, and a number is spread over all its lanes. So a result depends
neither on its index nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable

from execspace.base.dataclass import dataclass

from .vector_functions import (
    ATTRIBUTES,
    BINARY,
    LIBMVEC,
    LIBSVML,
    TABLE,
    Library,
    declaration,
    element_bits,
    exact_abi,
    keeps_bound,
    llvm_type,
    mapping_to,
    mvec_symbol,
    scalar_symbol,
    svml_lanes,
    svml_symbol,
    variants,
    vector_function,
)

LONGEST = 512  # bits of a vector
# Inlined before loops are vectorised, the bodies would hide what the mappings are for.
_DEFINED = f"linkonce_odr hidden {{}} noinline {ATTRIBUTES}"


@dataclass(frozen=True, slots=True)
class Uniform:
    """How a module calls a function.

    Attributes
    ----------
    called : str
        What calls of numbers name.
    mappings : tuple of str
        For "vector-function-abi-variant" of these calls.
    declared : str
        IR that declares `called` and the vector functions.
    defined : str
        IR that defines those of them which are in no library. It may take the place of `declared`
        from the start, or be linked to the optimised module.
    unvectorised : str
        IR to link in the place of `defined` if no loop came to call a vector function: calls
        libm, which is faster for one number.
    """

    called: str
    mappings: tuple[str, ...]
    declared: str
    defined: str
    unvectorised: str

    @property
    def functions(self) -> tuple[str, ...]:
        """Vector functions, which `@llvm.compiler.used` must hold."""
        return tuple(vector_function(mapping)[0] for mapping in self.mappings)


def uniform(
    name: str, kind: str, features: frozenset[str], libraries: Iterable[Library]
) -> Uniform | None:
    """How to call a function of libm within the allowed errors, or None if it stays libm's.

    Parameters
    ----------
    name : str
        libm's function, as it is called for float64, such as "exp".
    kind : str
        "float64" or "float32"; others stay libm's.
    features : frozenset of str
        Of the target, as LLVM names them. "prefer-256-bit" leaves out wider vectors.
    libraries : iterable of Library
        Those to use, the preferred one first.
    """
    if (name, kind) not in TABLE:
        return None
    for library in libraries:
        if scalar_symbol(name, kind) not in library.functions:
            continue
        if library.name == LIBSVML and keeps_bound(name, kind, "svml"):
            return _by_svml(name, kind, features)
        abi = exact_abi(name, kind, features)
        if library.name == LIBMVEC and abi is not None:
            function = mvec_symbol(name, kind, abi)
            return _around(name, kind, function, abi.bits // element_bits(kind))
    return None


def any_accuracy(
    name: str, kind: str, features: frozenset[str], libraries: Iterable[Library]
) -> Uniform | None:
    """How to call a function of libm with fastmath: vector versions whatever their errors, and
    libm for one number. None if it stays libm's.

    LLVM does not know the name that is called, or it would turn some calls into intrinsics, which
    have no vector versions.
    """
    found = variants(name, kind, features, True, libraries)
    if not found:
        return None
    called = f"execspace.fast.{scalar_symbol(name, kind)}"
    functions = [vector_function(mapping)[:2] for mapping in found]
    mappings = tuple(mapping_to(called, name, lanes, f) for f, lanes in functions)
    names = ("a", "b") if name in BINARY else ("a",)
    libm = _libm(called, scalar_symbol(name, kind), llvm_type(kind), names)
    return Uniform(called, mappings, _declared(name, kind, called, mappings), libm, libm)


def _by_svml(name: str, kind: str, features: frozenset[str]) -> Uniform:
    """libsvml's functions, which have equal results for all lengths, one number included."""
    called = svml_symbol(name, kind, 1, exact=True)
    mappings = tuple(
        mapping_to(called, name, lanes, svml_symbol(name, kind, lanes, exact=True))
        for lanes in svml_lanes(kind, features)
    )
    declared = _declared(name, kind, called, mappings)
    return Uniform(called, mappings, declared, declared, declared)


def _around(name: str, kind: str, function: str, lanes: int) -> Uniform:
    """Functions of all lengths around one for vectors of `lanes`."""
    called = f"execspace.{scalar_symbol(name, kind)}"
    names = ("a", "b") if name in BINARY else ("a",)
    lengths = [n for n in (2, 4, 8, 16) if n * element_bits(kind) <= LONGEST]
    named = {n: function if n == lanes else f"{called}.{n}" for n in lengths}
    mappings = tuple(mapping_to(called, name, n, named[n]) for n in reversed(lengths))
    vectors = [
        _vector(named[n], n, function, lanes, llvm_type(kind), names) for n in lengths if n != lanes
    ]
    kernel = declaration(mapping_to(called, name, lanes, function), kind) + "\n"
    spread = _spread(called, function, lanes, llvm_type(kind), names)
    libm = _libm(called, scalar_symbol(name, kind), llvm_type(kind), names)
    declared = _declared(name, kind, called, mappings)
    return Uniform(called, mappings, declared, "".join([kernel, *vectors, spread]), libm)


def _declared(name: str, kind: str, called: str, mappings: tuple[str, ...]) -> str:
    number = llvm_type(kind)
    operands = ", ".join([number] * (2 if name in BINARY else 1))
    lines = [f"declare {number} @{called}({operands}) {ATTRIBUTES}"]
    lines += [declaration(mapping, kind) for mapping in mappings]
    return "\n".join(lines) + "\n"


def _vector(
    name: str, length: int, function: str, lanes: int, number: str, operands: tuple[str, ...]
) -> str:
    """A function of vectors of `length`, which calls one of vectors of `lanes`."""
    outer, inner = f"<{length} x {number}>", f"<{lanes} x {number}>"
    lines, parts = [], []
    for part in range(max(1, length // lanes)):
        # A short vector is repeated, so that no lane has an argument that costs more than others.
        picked = _mask((part * lanes + k) % length for k in range(lanes))
        for x in operands:
            lines.append(f"%{x}{part} = shufflevector {outer} %{x}, {outer} poison, {picked}")
        arguments = ", ".join(f"{inner} %{x}{part}" for x in operands)
        lines.append(f"%r{part} = call {inner} @{function}({arguments})")
        parts.append(f"%r{part}")
    if length < lanes:
        lines.append(f"%cut = shufflevector {inner} %r0, {inner} poison, {_mask(range(length))}")
        parts = ["%cut"]
    width = lanes
    while len(parts) > 1:
        half = f"<{width} x {number}>"
        width *= 2
        joined = [f"%j{width}.{k}" for k in range(len(parts) // 2)]
        for k, to in enumerate(joined):
            first, second = parts[2 * k : 2 * k + 2]
            mask = _mask(range(width))
            lines.append(f"{to} = shufflevector {half} {first}, {half} {second}, {mask}")
        parts = joined
    return _definition(name, outer, operands, [*lines, f"ret {outer} {parts[0]}"])


def _spread(name: str, function: str, lanes: int, number: str, operands: tuple[str, ...]) -> str:
    """A function of numbers, which calls one of vectors with all lanes equal."""
    vector = f"<{lanes} x {number}>"
    lines = []
    for x in operands:
        lines.append(f"%{x}0 = insertelement {vector} poison, {number} %{x}, i32 0")
        lines.append(
            f"%{x}1 = shufflevector {vector} %{x}0, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer"
        )
    arguments = ", ".join(f"{vector} %{x}1" for x in operands)
    lines.append(f"%r = call {vector} @{function}({arguments})")
    lines.append(f"%first = extractelement {vector} %r, i32 0")
    return _definition(name, number, operands, [*lines, f"ret {number} %first"])


def _libm(name: str, function: str, number: str, operands: tuple[str, ...]) -> str:
    """A function of numbers, which calls libm."""
    types = ", ".join([number] * len(operands))
    arguments = ", ".join(f"{number} %{x}" for x in operands)
    body = [f"%r = call {number} @{function}({arguments})", f"ret {number} %r"]
    declared = f"declare {number} @{function}({types}) {ATTRIBUTES}\n"
    return declared + _definition(name, number, operands, body)


def _definition(name: str, result: str, operands: tuple[str, ...], body: list[str]) -> str:
    head = f"{result} @{name}({', '.join(f'{result} %{x}' for x in operands)})"
    return f"define {_DEFINED.format(head)} {{\n  " + "\n  ".join(body) + "\n}\n"


def _mask(lanes: Iterable[int]) -> str:
    chosen = [f"i32 {lane}" for lane in lanes]
    return f"<{len(chosen)} x i32> <{', '.join(chosen)}>"
