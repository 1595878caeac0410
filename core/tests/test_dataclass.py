"""`base.dataclass` makes what the standard library's does."""

import abc
import copy
import dataclasses
import inspect
import pickle
import threading
from dataclasses import field
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from execspace.base.dataclass import dataclass

T = TypeVar("T")
MAKERS = [dataclasses.dataclass, dataclass]


def classes(dataclass, **options):
    """Classes of all kinds, made by one of the two."""

    @dataclass(**options)
    class Empty:
        pass

    @dataclass(**options)
    class Point:
        """A point."""

        x: int
        y: "float" = 1.0
        kinds: ClassVar[list[int]] = []
        marks: "ClassVar[int]" = 3

        def length(self):
            return abs(self.x)

    @dataclass(**options)
    class Fields:
        a: int = field(compare=False)
        b: list[int] = field(default_factory=list, repr=False, compare=False)
        c: int = field(default=5)
        d: Any = field(default=None, kw_only=True)
        e: int = field(init=False, default=7)
        f: list[int] = field(init=False, default_factory=list, compare=False)

    @dataclass(**options)
    class Derived(Point):
        z: int = 2
        y: float = 8.0

    @dataclass(**options)
    class Late:
        a: int
        twice: int = field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "twice", 2 * self.a)

    @dataclass(**options)
    class Own:
        a: int

        def __repr__(self):
            return "mine"

        def __eq__(self, other):
            return True

    @dataclass(**options)
    class Hashed:
        a: int

        def __hash__(self):
            return 17

    class Shaped(abc.ABC):
        @property
        @abc.abstractmethod
        def shape(self):
            """Its shape."""

    @dataclass(**options)
    class Square(Shaped, Generic[T]):
        side: int

        @property
        def shape(self):
            return self.side, self.side

    return Empty, Point, Fields, Derived, Late, Own, Hashed, Square


OPTIONS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"eq": False},
    {"frozen": True, "eq": False},
]


def outcome(action):
    """What an action gives, or which error it raises."""
    try:
        return action()
    except Exception as error:
        return type(error), str(error)


MADE = {
    "Empty": [lambda C: C(), lambda C: C(1)],
    "Point": [lambda C: C(1), lambda C: C(1, 2.0), lambda C: C(y=3, x=1), lambda C: C()],
    "Fields": [lambda C: C(1), lambda C: C(1, [2]), lambda C: C(1, d=3), lambda C: C(1, e=3)],
    "Derived": [lambda C: C(1), lambda C: C(1, 2.0, 3)],
    "Late": [lambda C: C(1), lambda C: C(2)],
    "Own": [lambda C: C(1), lambda C: C(2)],
    "Hashed": [lambda C: C(1), lambda C: C(2)],
    "Square": [lambda C: C(1), lambda C: C(2)],
}
USES = {
    "repr": repr,
    "hash": lambda o: hash(o) if type(o).__hash__ is not object.__hash__ else "by identity",
    "equal": lambda o: (o == copy.copy(o), o != copy.copy(o), o == 1, o == 1),
    "twice": lambda o: (o == o, o == o),
    "fields": lambda o: [
        (f.name, f.type, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(o)
    ],
    "asdict": dataclasses.asdict,
    "astuple": dataclasses.astuple,
    "replace": lambda o: repr(dataclasses.replace(o, a=9)),
    "set a field": lambda o: setattr(o, "a", 9),
    "set x": lambda o: (setattr(o, "x", 9), o.x),
    "delete a field": lambda o: delattr(o, "a"),
    "set another": lambda o: (setattr(o, "other", 9), o.other),
    "values": lambda o: {f.name: getattr(o, f.name) for f in dataclasses.fields(o)},
    "class": lambda o: (type(o).__name__, type(o).__qualname__, type(o).__match_args__),
    "slots": lambda o: (getattr(o, "__slots__", None), hasattr(o, "__dict__")),
    "signature": lambda o: str(inspect.signature(type(o))),
    "of the class": lambda o: (
        {n: getattr(type(o), n, None) for n in ("y", "kinds", "marks", "c")}
        | ({} if hasattr(o, "__dict__") else {"y": 0, "c": 0})
    ),
    "abstract": lambda o: inspect.isabstract(type(o)),
    "names": lambda o: [
        (getattr(type(o), n).__qualname__, getattr(type(o), n).__module__)
        for n in ("__init__", "__repr__")
    ],
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_same_as_by_the_standard_library(options, use):
    for pair in zip(*(classes(maker, **options) for maker in MAKERS), strict=True):
        for make in MADE[pair[0].__name__]:
            expected, found = (outcome(lambda c=c, make=make: make(c)) for c in pair)
            if not isinstance(expected, tuple):
                expected, found = (outcome(lambda o=o: USES[use](o)) for o in (expected, found))
            if "super(type, obj)" in str(expected):  # a defect that Python 3.11 has with slots
                assert found[0] is dataclasses.FrozenInstanceError
            else:
                assert found == expected, (pair, use)


@dataclass(frozen=True, slots=True)
class Module:
    """A class that pickle finds."""

    a: int
    b: tuple[int, ...] = ()


def test_pickles_and_copies():
    made = Module(1, (2,))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(made, protocol)) == made
    assert copy.deepcopy(made) == made and hash(copy.copy(made)) == hash(made)


def test_derived_by_the_standard_library():
    @dataclasses.dataclass(frozen=True)
    class Third(Module):
        c: int = 4

    assert Third(1, c=5) == Third(1, (), 5) and Third(1) != Third(2)
    assert repr(Third(1)).endswith("Third(a=1, b=(), c=4)")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Third(1).a = 2


def test_no_frozen_class_of_one_that_is_not():
    @dataclass
    class Open:
        a: int

    with pytest.raises(TypeError, match="Closed and Open must both be frozen, or neither"):

        @dataclass(frozen=True)
        class Closed(Open):
            b: int


def test_what_contains_itself():
    @dataclass
    class Node:
        inner: Any = None

    node = Node()
    node.inner = node
    assert repr(node).endswith("Node(inner=...)")


def test_threads_that_call_first_at_the_same_time():
    for _ in range(50):

        @dataclass(frozen=True, slots=True)
        class Value:
            a: int

        found = []
        barrier = threading.Barrier(4)

        def use(Value=Value, found=found, barrier=barrier):
            barrier.wait()
            found.append((Value(1) == Value(1), len({Value(1), Value(1)}), repr(Value(2))[-10:]))

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [(True, 1, "Value(a=2)")] * 4
