"""The element type of a View in annotations: ``View[np.float64]``.

Type checkers know `View` as generic in NumPy's scalar types. At run time ``View[np.float64]`` is an
alias whose call makes a View of that dtype.
"""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from ..base.errors import DTypeError, ViewTypeError
from ..contract.dtypes import as_dtype

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    ScalarT = TypeVar("ScalarT", bound=np.generic, default=Any)

    class Typed(Generic[ScalarT]):
        """Base of what has elements of a NumPy scalar type."""

else:
    from typing import TypeVar

    ScalarT = TypeVar("ScalarT", bound=np.generic)

    class Typed:
        """Base of what has elements of a NumPy scalar type."""

        __slots__ = ()

        def __class_getitem__(cls, scalar: Any) -> Any:
            if isinstance(scalar, tuple):
                raise ViewTypeError(
                    f"{cls.__name__}[...] takes one element type, as {cls.__name__}[np.float64]; "
                    f"got {len(scalar)}."
                )
            return _Alias(cls, scalar)


class _Alias(GenericAlias):
    """What ``View[np.float64]`` is at run time."""

    def __call__(self, shape: Any, dtype: Any = None, **options: Any) -> Any:
        made: Any = self.__origin__
        (scalar,) = self.__args__
        if isinstance(scalar, type) and issubclass(scalar, np.generic):
            if dtype is not None and as_dtype(dtype) != np.dtype(scalar):
                raise DTypeError(
                    f"View[{scalar.__name__}] has elements of {scalar.__name__}; got "
                    f"dtype={dtype!r}. Leave out one of the two."
                )
            dtype = scalar
        elif dtype is None:
            return made(shape, **options)
        return made(shape, dtype, **options)
