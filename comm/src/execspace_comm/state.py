"""The state of a program in JSON: numbers bit for bit, and arrays apart in files of their own.

JSON has no tuples, complex numbers, NaN, bytes or NumPy scalars, and only strings as keys. What it
lacks is an object with one key that begins with "$" and says what it is.
"""

from __future__ import annotations

import math
import struct
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import CommError

__all__ = ["decoded", "dtype_in_json", "dtype_of", "encoded", "plain"]


def encoded(value: Any, arrays: list[npt.NDArray[Any]], where: str = "state") -> Any:
    """A value as JSON has it; arrays are put into a list, and stand in JSON by their numbers.

    Raises
    ------
    CommError
        For what is neither None, a bool, a number, a string, bytes, an array, nor a list, tuple or
        dict of these, with the place where it is.
    """
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if abs(value) < 1 << 63 else {"$int": hex(value)}
    if type(value) is float:
        # repr tells finite floats exactly; of a NaN there are many.
        return value if math.isfinite(value) else {"$float": struct.pack("<d", value).hex()}
    if type(value) is complex:
        return {"$complex": struct.pack("<dd", value.real, value.imag).hex()}
    if type(value) is bytes:
        return {"$bytes": b64encode(value).decode()}
    if type(value) in (list, tuple):
        items = [encoded(one, arrays, f"{where}[{n}]") for n, one in enumerate(value)]
        return items if type(value) is list else {"$tuple": items}
    if type(value) is dict:
        return _encoded_dict(value, arrays, where)
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return {"$scalar": [dtype_in_json(value.dtype), b64encode(value.tobytes()).decode()]}
    if type(value) is np.ndarray and not value.dtype.hasobject:
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    raise CommError(
        f"{where} is of type {kind}; expected None, a bool, number, string or bytes, an array of "
        f"NumPy (a View: view.to_numpy()), or a list, tuple or dict of these."
    )


def _encoded_dict(value: dict[Any, Any], arrays: list[Any], where: str) -> Any:
    plain_keys = all(type(key) is str and not key.startswith("$") for key in value)
    items = [
        (key if plain_keys else encoded(key, arrays, f"a key of {where}"),
         encoded(one, arrays, f"{where}[{key!r}]"))
        for key, one in value.items()
    ]  # fmt: skip
    return dict(items) if plain_keys else {"$dict": items}


def decoded(value: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    """The inverse of `encoded`."""
    if isinstance(value, list):
        return [decoded(one, arrays) for one in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if not kind.startswith("$"):
        return {key: decoded(one, arrays) for key, one in value.items()}
    what = value[kind]
    if kind == "$int":
        return int(what, 16)
    if kind == "$float":
        return struct.unpack("<d", bytes.fromhex(what))[0]
    if kind == "$complex":
        return complex(*struct.unpack("<dd", bytes.fromhex(what)))
    if kind == "$bytes":
        return b64decode(what)
    if kind == "$tuple":
        return tuple(decoded(one, arrays) for one in what)
    if kind == "$dict":
        return {decoded(key, arrays): decoded(one, arrays) for key, one in what}
    if kind == "$scalar":
        return np.ndarray((), dtype_of(what[0]), b64decode(what[1]))[()]
    if kind == "$array":
        return arrays[what]
    raise CommError(f"state has a {kind!r}, which this version does not know.")


# -- dtypes ----------------------------------------------------------------------------------------


def dtype_in_json(dtype: np.dtype[Any]) -> Any:
    """A dtype as JSON has it, storage types and offsets of records included."""
    if dtype.subdtype is not None:
        return {"base": dtype_in_json(dtype.base), "shape": list(dtype.shape)}
    if dtype.names is not None and dtype.fields is not None:
        return {
            "names": list(dtype.names),
            "formats": [dtype_in_json(dtype.fields[name][0]) for name in dtype.names],
            "offsets": [int(dtype.fields[name][1]) for name in dtype.names],
            "itemsize": dtype.itemsize,
            "aligned": dtype.isalignedstruct,
        }
    return dtype.name if dtype.isbuiltin == 2 else dtype.str


def dtype_of(described: Any) -> Any:
    """The inverse of `dtype_in_json`."""
    if isinstance(described, str):
        if described[0] in "<>|=":
            return np.dtype(described)
        import ml_dtypes  # it makes NumPy know the names of storage types

        return np.dtype(getattr(ml_dtypes, described))
    if "base" in described:
        return np.dtype((dtype_of(described["base"]), tuple(described["shape"])))
    about: Any = {key: described[key] for key in ("names", "offsets", "itemsize")}
    about["formats"] = [dtype_of(one) for one in described["formats"]]
    return np.dtype(about, align=described["aligned"])


def plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a .npy file has for elements: theirs, or bytes where it cannot say theirs."""
    try:
        described = np.lib.format.dtype_to_descr(dtype)
        if str(described).isascii() and np.lib.format.descr_to_dtype(described) == dtype:
            return dtype
    except (TypeError, ValueError):
        pass
    return np.dtype(f"V{dtype.itemsize}")
