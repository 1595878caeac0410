"""Calls of CPython's C API in LLVM IR: reading the arguments of a launch, making its result."""

from __future__ import annotations

from collections.abc import Callable

from execspace import ScalarType, ViewType
from execspace.base.dataclass import dataclass

from .. import ir
from ..codegen.llvm.emitter import Emitter
from ..codegen.llvm.operations import cast
from ..codegen.llvm.spelling import parts, type_of
from ..ir.types import FLOAT64, INT64, Scalar, TupleTy, flat_scalars
from .objects import OBJECTS, TABLE


@dataclass(frozen=True)
class Argument:
    """An argument of a chunk function: its types in LLVM IR, and its values in the entry."""

    kinds: tuple[str, ...]
    values: tuple[str, ...]


def is_boxed(t: ViewType | ScalarType) -> bool:
    """Whether an argument is a NumPy scalar that is no Python number, too."""
    return not isinstance(t, ViewType) and not t.weak and t.dtype not in ("bool", "float64")


class PythonApi:
    """Writes the calls into the entry of a launch."""

    def __init__(self, e: Emitter) -> None:
        self.e = e
        e.module.globals[TABLE] = f"@{TABLE} = global [{len(OBJECTS)} x ptr] zeroinitializer"

    def _call(self, name: str, result: str, *args: str) -> str:
        """Call a function with arguments that are written with their types."""
        kinds = ", ".join(a.split(" ")[0] for a in args)
        symbol = self.e.module.declare(name, result, kinds)
        text = f"call {result} {symbol}({', '.join(args)})"
        if result == "void":
            self.e.do(text)
            return ""
        return self.e.op(text)

    def object(self, name: str) -> str:
        """An object of the table."""
        n = OBJECTS.index(name)
        at = self.e.op(
            f"getelementptr inbounds [{len(OBJECTS)} x ptr], ptr @{TABLE}, i32 0, i32 {n}"
        )
        return self.e.op(f"load ptr, ptr {at}")

    def none(self) -> str:
        """A new reference to None."""
        found = self.object("none")
        self._call("Py_IncRef", "void", f"ptr {found}")
        return found

    def drop(self, value: str) -> None:
        """Give up a reference, which may be NULL."""
        self._call("Py_DecRef", "void", f"ptr {value}")

    def call(self, name: str, *args: str) -> str:
        """The result of calling an object of the table; NULL if it raises."""
        return self._variadic("PyObject_CallFunctionObjArgs", self.object(name), *args)

    def _variadic(self, function: str, *args: str) -> str:
        fixed = "ptr, ptr" if function == "PyObject_CallMethodObjArgs" else "ptr"
        symbol = self.e.module.declare(function, "ptr", f"{fixed}, ...")
        given = ", ".join(f"ptr {a}" for a in (*args, "null"))
        return self.e.op(f"call ptr ({fixed}, ...) {symbol}({given})")

    def _stop_if(self, test: str, hint: str) -> str:
        """Begin a block for when a test holds; returns the label to go on at."""
        stop, on = self.e.label(hint), self.e.label("on")
        self.e.branch(test, stop, on)
        self.e.start(stop)
        return on

    # -- arguments ------------------------------------------------------------------------------

    def arguments(self, given: str, count: str, expected: int) -> tuple[str, str]:
        """The two tuples of a launch, bounds and arguments, if there are as many of those."""
        e = self.e
        on = self._stop_if(e.op(f"icmp ne i64 {count}, 2"), "few")
        e.ret(f"ptr {self.call('misused')}")
        e.start(on)
        second = e.op(f"getelementptr ptr, ptr {given}, i64 1")
        bounds, args = e.op(f"load ptr, ptr {given}"), e.op(f"load ptr, ptr {second}")
        size = self._call("PyTuple_Size", "i64", f"ptr {args}")
        on = self._stop_if(e.op(f"icmp ne i64 {size}, {expected}"), "wrong")
        self._call("PyErr_Clear", "void")
        e.ret(f"ptr {self.call('misused')}")
        e.start(on)
        return bounds, args

    def item(self, row: str, n: int) -> str:
        """An item of a tuple, which keeps it alive."""
        return self._call("PyTuple_GetItem", "ptr", f"ptr {row}", f"i64 {n}")

    def integer(self, value: str) -> str:
        """A Python int as int64."""
        return self._call("PyLong_AsLongLong", "i64", f"ptr {value}")

    def address(self, row: str, n: int) -> str:
        """An item of a tuple that is an address."""
        return self.e.op(f"inttoptr i64 {self.integer(self.item(row, n))} to ptr")

    def held(
        self, args: str, n: int, t: ViewType | ScalarType, limits: tuple[int, int] | None
    ) -> str:
        """An argument before it is converted: of a View the address of its descriptor, of a Python
        integer with limits its value, and of a NumPy scalar a new number of Python's."""
        given = self.item(args, n)
        if isinstance(t, ViewType):
            name = self.object("descriptor")
            number = self._call("PyObject_GetAttr", "ptr", f"ptr {given}", f"ptr {name}")
            address = self.integer(number)
            self.drop(number)
            return self.e.op(f"inttoptr i64 {address} to ptr")
        if limits is not None:
            return self._limited(given, args, *limits)
        if not is_boxed(t):
            return given
        return self._variadic("PyObject_CallMethodObjArgs", given, self.object("item"))

    def argument(
        self, held: str, p: ir.Var, t: ViewType | ScalarType, limits: tuple[int, int] | None
    ) -> Argument:
        """A View as the address of its descriptor, or a number in the type of a parameter."""
        if isinstance(t, ViewType):
            return Argument(("ptr",), (held,))
        assert isinstance(p.type, Scalar)
        kinds = tuple(type_of(x) for x in parts(p.type))
        if limits is not None:
            return Argument(kinds, (held,))
        values = self._number(held, p.type)
        if is_boxed(t):
            self.drop(held)
        return Argument(kinds, values)

    def _number(self, given: str, t: Scalar) -> tuple[str, ...]:
        """A Python number in a type."""
        if t.kind == "c":
            names = ("PyComplex_RealAsDouble", "PyComplex_ImagAsDouble")
            found = [self._call(name, "double", f"ptr {given}") for name in names]
            return tuple(
                self._as(v, FLOAT64, part) for v, part in zip(found, parts(t), strict=True)
            )
        if t.is_float:
            return (self._as(self._call("PyFloat_AsDouble", "double", f"ptr {given}"), FLOAT64, t),)
        if t.name == "bool":
            truth = self._call("PyObject_IsTrue", "i32", f"ptr {given}")
            return (self.e.op(f"icmp ne i32 {truth}, 0"),)
        if t.name == "uint64":
            return (self._call("PyLong_AsUnsignedLongLong", "i64", f"ptr {given}"),)
        return (self._as(self.integer(given), INT64, t),)

    def _as(self, v: str, source: Scalar, t: Scalar) -> str:
        found = cast(self.e, v, source, t)
        assert isinstance(found, str)
        return found

    def _limited(self, given: str, args: str, low: int, high: int) -> str:
        """A Python int; the launch is refused if it does not fit."""
        e = self.e
        slot = e.slot("i32")
        value = self._call("PyLong_AsLongLongAndOverflow", "i64", f"ptr {given}", f"ptr {slot}")
        beyond = e.op(f"icmp ne i32 {e.op(f'load i32, ptr {slot}')}, 0")
        less = e.op(f"icmp slt i64 {value}, {max(low, -(2**63))}")
        more = e.op(f"icmp sgt i64 {value}, {min(high, 2**63 - 1)}")
        outside = e.op(f"or i1 {beyond}, {e.op(f'or i1 {less}, {more}')}")
        on = self._stop_if(outside, "refused")
        e.ret(f"ptr {self.call('refuse', args)}")
        e.start(on)
        return value

    def raise_if_failed(self) -> None:
        """Return to Python if a conversion raised."""
        failed = self._call("PyErr_Occurred", "ptr")
        on = self._stop_if(self.e.op(f"icmp ne ptr {failed}, null"), "failed")
        self.e.ret("ptr null")
        self.e.start(on)

    # -- the GIL --------------------------------------------------------------------------------

    def release(self, test: str) -> str:
        """Release the GIL if a test holds; where the state for `acquire` is."""
        place = self.e.slot("ptr")

        def save() -> None:
            self.e.do(f"store ptr {self._call('PyEval_SaveThread', 'ptr')}, ptr {place}")

        self._only_if(test, save)
        return place

    def acquire(self, place: str, test: str) -> None:
        """Wait for the GIL, if it was released."""

        def restore() -> None:
            state = self.e.op(f"load ptr, ptr {place}")
            self._call("PyEval_RestoreThread", "void", f"ptr {state}")

        self._only_if(test, restore)

    def _only_if(self, test: str, act: Callable[[], None]) -> None:
        if test == "true":
            act()
            return
        inside, after = self.e.label("gil"), self.e.label("on")
        self.e.branch(test, inside, after)
        self.e.start(inside)
        act()
        self.e.jump(after)
        self.e.start(after)

    # -- results --------------------------------------------------------------------------------

    def made(self, result: Scalar | TupleTy | None, values: list[str]) -> str:
        """A number, or a tuple of the numbers of a result."""
        rest = iter(values)
        objects = []
        for t in flat_scalars(result):
            objects.append(self._made(t, [next(rest) for _ in parts(t)]))
        if len(objects) == 1:
            return objects[0]
        row = self._call("PyTuple_New", "ptr", f"i64 {len(objects)}")
        for n, v in enumerate(objects):
            self._call("PyTuple_SetItem", "i32", f"ptr {row}", f"i64 {n}", f"ptr {v}")
        return row

    def _made(self, t: Scalar, values: list[str]) -> str:
        if t.kind == "c":
            doubles = [self._as(v, p, FLOAT64) for v, p in zip(values, parts(t), strict=True)]
            return self._call("PyComplex_FromDoubles", "ptr", *(f"double {v}" for v in doubles))
        (v,) = values
        if t.is_float:
            return self._call("PyFloat_FromDouble", "ptr", f"double {self._as(v, t, FLOAT64)}")
        if t.name == "bool":
            return self._call("PyBool_FromLong", "ptr", f"i64 {self.e.op(f'zext i1 {v} to i64')}")
        if t.name == "uint64":
            return self._call("PyLong_FromUnsignedLongLong", "ptr", f"i64 {v}")
        return self._call("PyLong_FromLongLong", "ptr", f"i64 {self._as(v, t, INT64)}")
