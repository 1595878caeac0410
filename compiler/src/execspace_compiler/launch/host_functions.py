"""How kernels on hosts call functions that somebody else compiled: their types and addresses.

Numba is loaded only where a function is Numba's.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from execspace.kernels.host_functions import HostFunction

from .. import ir

# ctypes' types of C -> dtypes; others have names of their own.
_C_TYPES = (
    ctypes.c_double, ctypes.c_float, ctypes.c_bool, ctypes.c_int8, ctypes.c_int16, ctypes.c_int32,
    ctypes.c_int64, ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64,
    ctypes.c_int, ctypes.c_uint, ctypes.c_long, ctypes.c_ulong, ctypes.c_size_t,
)  # fmt: skip

Signature = tuple[tuple[str, ...], str | None]


def resolve(target: HostFunction, types: tuple[str, ...]) -> Signature:
    """Dtypes of a function's parameters and of its result, for arguments of some dtypes.

    Raises
    ------
    TypeError
        If it cannot be called with them.
    """
    function = target.function
    if target.from_c:
        return _of_ctypes(function)
    if hasattr(function, "address") and hasattr(function, "_sig"):
        signature = function._sig
    else:
        signature = _compiled(function, types)
    return tuple(map(_dtype, signature.args)), _result(signature.return_type)


def address(external: ir.External) -> tuple[int, object]:
    """Address of a function that takes these types, and what must live as long as it is called."""
    function = external.code.function
    if external.code.from_c:
        return ctypes.cast(function, ctypes.c_void_p).value or 0, function
    if hasattr(function, "address"):
        return int(function.address), function
    made = _as_c_function(function, external.parameters)
    return int(made.address), made


def _of_ctypes(function: Any) -> Signature:
    if function.argtypes is None:
        raise TypeError("its argtypes are not set")
    result = function.restype
    parameters = tuple(_of_c_type(t) for t in function.argtypes)
    return parameters, None if result is None else _of_c_type(result)


def _of_c_type(kind: Any) -> str:
    if kind not in _C_TYPES:
        raise TypeError(f"{getattr(kind, '__name__', kind)} is no number that kernels have")
    return str(np.dtype(kind).name)


def _compiled(function: Any, types: tuple[str, ...]) -> Any:
    """The signature of Numba's dispatcher for arguments, which it compiles for them."""
    import numba
    from numba.core.errors import NumbaError

    given = tuple(getattr(numba.types, "boolean" if t == "bool" else t) for t in types)
    try:
        function.compile(given)
    except NumbaError as error:
        raise TypeError(f"Numba says: {str(error).strip().splitlines()[0]}") from None
    return function.overloads[given].signature


def _as_c_function(function: Any, types: tuple[str, ...]) -> Any:
    """A C function that calls Numba's dispatcher."""
    import numba

    given = tuple(getattr(numba.types, "boolean" if t == "bool" else t) for t in types)
    signature = function.overloads[given].signature
    names = ", ".join(f"x{n}" for n in range(len(types)))
    scope: dict[str, Any] = {"function": function}
    exec(f"def call({names}):\n    return function({names})", scope)
    return numba.cfunc(signature.return_type(*given))(scope["call"])


def _dtype(kind: Any) -> str:
    name = "bool" if str(kind) == "bool" else str(kind)
    try:
        found = np.dtype(name)
    except TypeError:
        found = None
    if found is None or found.kind not in "biuf":
        raise TypeError(f"Numba's {kind} is no number that kernels have")
    return str(found.name)


def _result(kind: Any) -> str | None:
    return None if str(kind) == "none" else _dtype(kind)
