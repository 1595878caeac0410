"""Cases of test_changed_inputs.py: each input of lowering, with another value at a later launch.

A case is the text of a module in two versions, which differ in what comes first: `before` or
`after`, as many lines of each. `body` defines the kernel and ``result(space)``, which launches it,
or where `space` is None runs it as plain Python. In one process `change` is executed between two
launches (`after`, unless it says otherwise); over two the file itself changes.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np

import execspace as es

COUNT = 3


def each(space, kernel, *args, dtype=np.float64, order="C"):
    """What a kernel stores for a few indices, in an array of two dimensions that it is given.

    It is given a View, too: of those a launch like the one before is known again.
    """
    found = np.zeros((COUNT, 2), dtype, order=order)
    if space is None:
        for i in range(COUNT):
            kernel(i, found, *args)
    else:
        again = np.zeros_like(found)
        es.parallel_for(es.RangePolicy(COUNT, space=space), kernel, es.asarray(again), *args)
        es.parallel_for(es.RangePolicy(COUNT, space=space), kernel, found, *args)
        assert found.tolist() == again.tolist(), "a View and its array got different plans"
    return found.tolist()


def joined(space, kernel, reducer):
    """What a reducer of the user's own makes of a few contributions."""
    if space is not None:
        return es.parallel_reduce(es.RangePolicy(COUNT, space=space), kernel, reducer=reducer)
    made = reducer() if isinstance(reducer, type) else reducer
    value = made.identity("float64") if callable(made.identity) else made.identity
    value = functools.reduce(_called(made, "join", 2), map(kernel, range(COUNT)), value)
    if made.has("final"):
        value = _called(made, "final", 1)(value)
    return made.as_result(value)


def _called(reducer, name, parameters):
    function = getattr(type(reducer), name)
    if function.__code__.co_argcount > parameters:
        return functools.partial(function, reducer)
    return function


_made = itertools.count()


def loaded(folder, text, name=None):
    """A module of a text, from a file of its own unless it has a name."""
    module = ModuleType(name or f"changed_part_{next(_made)}")
    run(folder, text, module)
    return module


def run(folder, text, module, name=None):
    """Execute a text, which is in a file, as part of a module."""
    path = Path(folder) / f"{name or module.__name__}.py"
    path.write_text(text, encoding="utf-8")
    linecache.checkcache(str(path))
    module.__dict__.setdefault("FOLDER", str(folder))
    exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)


@dataclass(frozen=True)
class Case:
    """One input; see above.

    `restore` puts right what the change did to modules of others. `over_processes` is false where
    files cannot make the change.
    """

    name: str
    before: str
    after: str
    body: str
    change: str = ""
    restore: str = ""
    over_processes: bool = True
    texts: tuple[str, str] = field(init=False)

    def __post_init__(self):
        head = (
            "import builtins, dataclasses, enum, functools, math, operator, types\n"
            "from collections import namedtuple\n"
            "import numpy as np\nimport execspace as es\n"
            "from changed_inputs import each, joined, loaded\n"
        )
        lines = max(self.before.count("\n"), self.after.count("\n"))
        made = [
            head + text + "\n" * (lines + 1 - text.count("\n")) + textwrap.dedent(self.body)
            for text in (self.before, self.after)
        ]
        object.__setattr__(self, "texts", tuple(made))

    def module(self, folder, version) -> ModuleType:
        """The module of a version, from the same file as the other."""
        return loaded(folder, self.texts[version], f"changed_{self.name}")

    def alter(self, module) -> None:
        """Make the change in a process that has launched the kernel."""
        run(module.FOLDER, self.change or self.after, module, f"{module.__name__}_change")

    def undo(self, module) -> None:
        """Put right what the change did to others."""
        exec(self.restore, module.__dict__)


def stored(name, before, after, expression, more="", **options):
    """A case whose kernel stores an expression."""
    body = f"""
{textwrap.dedent(more)}
def kernel(i, x):
    x[i, 1] = {expression}
def result(space):
    return each(space, kernel)
"""
    return Case(name, before, after, body, **options)


def reduced(name, before, after, more, contribution="i + 1.0", reducer="R()", **options):
    """A case whose kernel contributes to a reducer."""
    body = f"""
{textwrap.dedent(more)}
def kernel(i):
    return {contribution}
def result(space):
    return joined(space, kernel, {reducer})
"""
    return Case(name, before, after, body, **options)


# More than a float64 can tell apart: shows whether a number is an integer.
BIG = "2 ** 62"

CONSTANTS = (
    stored("number", "S = 1.0", "S = 3.0", "S + i"),
    stored("type_of_number", "S = 3", "S = 3.0", f"S + {BIG} - {BIG}"),
    stored("sign_of_zero", "S = 0.0", "S = -0.0", "math.copysign(1.0, S)"),
    stored("width", "S = np.float32(0.1)", "S = np.float64(0.1)", "S * np.float64(1.0)"),
    stored("string", "S = 'a'", "S = 'b'", "1.0 if S == 'a' else 2.0"),
    stored("none", "S = None", "S = 2.0", "1.0 if S is None else S"),
    stored("tuple", "T = (1.0, 2.0)", "T = (1.0, 3.0)", "T[0] + T[1]"),
    stored("nested_tuple", "T = (1.0, (2, 3))", "T = (1.0, (2, 4))", "T[1][1] + T[0]"),
    stored("dtype", "D = np.float32", "D = np.float64", "D(0.1)"),
    stored("dtype_object", "D = np.dtype('f4')", "D = np.dtype('f8')", "D.itemsize + i"),
    stored("attribute", "c = types.SimpleNamespace(s=1.0)", "c = types.SimpleNamespace(s=2.0)",
           "c.s", change="c.s = 2.0"),
    stored("attribute_of_class", "class C: s = 1.0", "class C: s = 2.0", "C.s",
           change="C.s = 2.0"),
    stored("attribute_of_module", "m = types.ModuleType('m'); m.s = 1.0",
           "m = types.ModuleType('m'); m.s = 2.0", "m.s", change="m.s = 2.0"),
    stored("enumeration", "class E(enum.IntEnum): A = 1", "class E(enum.IntEnum): A = 2", "E.A"),
    stored("kind_of_enumeration", "class E(int, enum.Enum): A = 1",
           "class E(float, enum.Enum): A = 1.0", f"a + {BIG} - {BIG}", more="a = E.A",
           change="""
class E(float, enum.Enum): A = 1.0
a = E.A"""),
    stored("array_then_tuple", "V = np.array([1.0])", "V = (2.0,)", "V[0]"),
    stored("view_then_object", "V = np.zeros(3)", "V = types.SimpleNamespace(size=7)", "V.size"),
    stored("view_then_object_that_changes", "V = np.zeros(3)", "V = types.SimpleNamespace(size=7)",
           "V.size", change="""
V = types.SimpleNamespace(size=7)
result('oracle')
V.size = 8""", over_processes=False),
    stored("view_then_object_in_helper", "V = np.zeros(3)", "V = types.SimpleNamespace(size=7)",
           "h(i)", more="def h(i):\n    return V.size + i", change="""
V = types.SimpleNamespace(size=7)
result('oracle')
V.size = 8""", over_processes=False),
    stored("none_then_object_that_changes", "V = None", "V = types.SimpleNamespace(s=7.0)",
           "1.0 if V is None else V.s", change="""
V = types.SimpleNamespace(s=7.0)
kept = V.s
V.s = 8.0""", over_processes=False),
)  # fmt: skip

NAMEDTUPLES = (
    stored("fields_of_instance", "P = namedtuple('P', 'a b')", "P = namedtuple('P', 'b a')",
           "p.a", more="p = P(1.0, 2.0)", change="P = namedtuple('P', 'b a'); p = P(1.0, 2.0)"),
    stored("fields_of_constructor", "P = namedtuple('P', 'a b')", "P = namedtuple('P', 'b a')",
           "P(1.0 + i, 20.0).a"),
    stored("fields_in_helper", "P = namedtuple('P', 'a b')", "P = namedtuple('P', 'b a')",
           "made(i).a", more="def made(i):\n    return P(1.0 + i, 20.0)"),
    reduced("fields_of_identity", "P = namedtuple('P', 'a b')", "P = namedtuple('P', 'b a')", """
        class R(es.Reducer):
            identity = P(0.0, 1.0)
            def join(x, y):
                return P(x.a + y.a, x.b * y.b)
        """, contribution="P(i + 1.0, i + 2.0)",
            change="P = namedtuple('P', 'b a'); R.identity = P(0.0, 1.0)", reducer="R",
            over_processes=False),
)  # fmt: skip

FUNCTIONS = (
    stored("helper", "def h(a): return a + 1", "def h(a): return a + 2", "h(i)"),
    stored("constant_of_helper", "S = 1.0", "S = 2.0", "h(i)", more="def h(a): return a * S"),
    stored("helper_of_helper", "def g(a): return a + 1", "def g(a): return a + 2", "h(i)",
           more="def h(a): return g(a)"),
    stored("default_of_helper", "def h(a, s=1.0): return a + s", "def h(a, s=2.0): return a + s",
           "h(i)", change="h.__defaults__ = (2.0,)"),
    stored("keyword_of_helper", "def h(a, *, s=1.0): return a + s",
           "def h(a, *, s=2.0): return a + s", "h(i)", change="h.__kwdefaults__ = {'s': 2.0}"),
    stored("partial", "S = 1.0", "S = 2.0", "p(i)",
           more="def h(s, a): return a + s\np = functools.partial(h, S)",
           change="p = functools.partial(h, 2.0)"),
    stored("closure_of_helper", "S = 1.0", "S = 2.0", "h(i)",
           more="def make(s): return lambda a: a * s\nh = make(S)", change="h = make(2.0)"),
    stored("library_function", "f = math.sin", "f = math.cos", "f(i)"),
    stored("ufunc", "f = np.floor", "f = np.ceil", "f(i + 0.5)"),
    stored("helper_of_another_module", "T = 'math'", "T = 'numpy'", "h(3.5)",
           more=f"""
def of(name):
    text = f"import {{name}} as m\\ndef h(a):\\n    return m.floor(a) + {BIG} - {BIG}\\n"
    return loaded(FOLDER, text).h
h = of(T)
""", change="h = of('numpy')"),
    Case("kernel_as_helper", "S = 1.0", "S = 2.0", """
@es.kernel
def inner(a):
    return a + S
def kernel(i, x):
    x[i, 1] = inner(i)
def result(space):
    return each(space, kernel)
"""),
)  # fmt: skip

KERNELS = (
    Case("closure", "S = 1.0", "S = 2.0", """
def make(s):
    @es.kernel
    def kernel(i, x):
        x[i, 1] = s + i
    return kernel
def result(space):
    return each(space, make(S))
"""),
    Case("default", "S = 1.0", "S = 2.0", """
def kernel(i, x, s=S):
    x[i, 1] = s
def result(space):
    return each(space, kernel)
""", change="kernel.__defaults__ = (2.0,)"),
    Case("keyword_default", "S = 1.0", "S = 2.0", """
def kernel(i, x, *, s=S):
    x[i, 1] = s
def result(space):
    return each(space, kernel)
""", change="kernel.__kwdefaults__ = {'s': 2.0}"),
    Case("static", "S = 1", "S = 2", """
def kernel(i, x, s: es.static):
    x[i, 1] = s
def result(space):
    return each(space, kernel, S)
"""),
    Case("function_as_argument", "def f(a): return a + 1", "def f(a): return a + 2", """
def kernel(i, x, g):
    x[i, 1] = g(i)
def result(space):
    return each(space, kernel, f)
"""),
    Case("functor", "S = 1.0", "S = 2.0", """
@dataclasses.dataclass(frozen=True)
class F:
    s: float
    def __call__(self, i, x):
        x[i, 1] = self.s
def result(space):
    return each(space, F(S))
"""),
    Case("functor_changed", "S = 1.0", "S = 2.0", """
class F:
    def __init__(self, s):
        self.s = s
    def __call__(self, i, x):
        x[i, 1] = self.s
f = F(S)
def result(space):
    return each(space, f)
""", change="f.s = 2.0"),
    Case("method", "S = 1.0", "S = 2.0", """
class F:
    scale = S
    def run(self, i, x):
        x[i, 1] = self.scale
def result(space):
    return each(space, F().run)
""", change="F.scale = 2.0"),
    Case("constant_in_kernel", "def kernel(i, x): x[i, 1] = 1.0", "def kernel(i, x): x[i, 1] = 2.0",
         """
def result(space):
    return each(space, kernel)
"""),
    Case("position", "def kernel(i, x): assert i >= 0; x[i, 1] = 1.0",
         "def kernel(i, x):  assert i >= 0;  x[i, 1] = 1.0", """
def result(space):
    return kernel.__code__.co_code and list(kernel.__code__.co_positions()), each(space, kernel)
"""),
    Case("fma", "O = {}", "O = {'fma': False}", """
@es.kernel(**O)
def kernel(i, x):
    x[i, 1] = x[i, 0] * 2.0 + i
def result(space):
    return O, each(space, kernel)
""", change="O = {'fma': False}; kernel = es.kernel(**O)(kernel.fn)"),
    Case("dtype_of_argument", "D = np.float64", "D = np.float32", """
def kernel(i, x):
    x[i, 1] = 0.1
def result(space):
    return each(space, kernel, dtype=D)
"""),
    Case("layout_of_argument", "O = 'C'", "O = 'F'", """
def kernel(i, x):
    x[i, 1] = i
def result(space):
    return O, each(space, kernel, order=O)
"""),
    Case("number_argument", "S = 3", "S = 3.0", f"""
def kernel(i, x, s):
    x[i, 1] = s + {BIG} - {BIG}
def result(space):
    return each(space, kernel, S)
"""),
)  # fmt: skip

MEANINGS = (
    stored("shadowed_builtin", "pass", "def abs(a): return a + 100.0", "abs(-1.0 - i)"),
    stored("shadowed_by_a_builtin", "pass", "min = max", "min(1.0, 2.0 + i)"),
    stored("builtin_again", "def abs(a): return a + 100.0", "pass", "abs(-1.0 - i)",
           change="del abs"),
    stored("shadowed_in_helper", "pass", "def abs(a): return a + 100.0", "h(i)",
           more="def h(a): return abs(-1.0 - a)"),
    stored("shadowed_then_another", "pass", "pass", "abs(-1.0) + max(i, 1)",
           more="def other(a, b=0.0): return a + b + 100.0", change="""
abs = other
result('oracle')
del abs
max = other""", over_processes=False),
    stored("builtins_changed", "pass", "pass", "divmod(7.0, 2.0)[0] + i",
           change="builtins.divmod, kept = lambda a, b: (a * 10, b), divmod",
           restore="builtins.divmod = kept", over_processes=False),
    stored("new_builtin", "pass", "pass", "changed_input.s + i",
           more="builtins.changed_input = types.SimpleNamespace(s=1.0)",
           change="builtins.changed_input.s = 2.0", restore="del builtins.changed_input",
           over_processes=False),
    stored("other_module", "import math as m", "import numpy as m",
           f"m.floor(3.5) + {BIG} - {BIG}"),
    stored("module_of_the_user", "m = math", "m = types.SimpleNamespace(sqrt=lambda a: a + 1)",
           "m.sqrt(4.0)"),
    stored("function_of_a_module_replaced", "pass", "pass", "math.erf(i)",
           change="math.erf, kept = math.erfc, math.erf", restore="math.erf = kept",
           over_processes=False),
    stored("module_in_an_object", "c = types.SimpleNamespace(m=math)",
           "c = types.SimpleNamespace(m=np)", f"c.m.floor(3.5) + {BIG} - {BIG}", change="c.m = np"),
    Case("module_in_a_closure", "M = math", "M = np", f"""
def make(m):
    return lambda i, x: put(i, x, m.floor(3.5) + {BIG} - {BIG})
def put(i, x, value):
    x[i, 1] = value
def result(space):
    return each(space, make(M))
"""),
)  # fmt: skip

# Joins are associative, so that it does not matter how a space takes them together.
_MODULO = """
@dataclasses.dataclass
class R(es.Reducer):
    modulus: float = 7.0
    identity = 0.0
    def join(self, a, b):
        return (a + b) % self.modulus
"""
REDUCERS = (
    reduced("attribute_of_reducer", "S = 4.0", "S = 5.0", _MODULO, reducer="R(S)"),
    reduced("join", "def j(a, b): return a + b", "def j(a, b): return a * b + a + b", """
        class R(es.Reducer):
            identity = 0.0
            join = j
        """, change="R.join = lambda a, b: a * b + a + b"),
    reduced("final", "def f(a): return a + 1.0", "def f(a): return a + 2.0", """
        @dataclasses.dataclass
        class R(es.Reducer):
            scale: float = 1.0
            identity = 0.0
            final = f
            def join(a, b):
                return a + b
        """, change="R.final = lambda a: a + 2.0"),
    reduced("identity", "S = -1e9", "S = 5.0", """
        class R(es.Reducer):
            identity = S
            def join(a, b):
                return max(a, b)
        """, change="R.identity = 5.0"),
    reduced("identity_by_dtype", "S = -1e9", "S = 5.0", """
        class R(es.Reducer):
            def identity(self, dtype):
                return S
            def join(a, b):
                return max(a, b)
        """),
    reduced("constant_of_join", "S = 4.0", "S = 5.0", """
        class R(es.Reducer):
            identity = 0.0
            def join(a, b):
                return (a + b) % S
        """),
    reduced("helper_of_join", "def h(b): return b", "def h(b): return b + 1", """
        class R(es.Reducer):
            identity = 0.0
            def join(a, b):
                return (a + b) % h(4.0)
        """),
    reduced("builtin_in_join", "pass", "def abs(a): return a * 1.0", """
        class R(es.Reducer):
            identity = 0.0
            def join(a, b):
                return max(abs(a), abs(b))
        """, contribution="i - 3.0"),
    reduced("result", "S = 1.0", "S = 2.0", """
        class R(es.Reducer):
            identity = (0.0, 0.0)
            def __init__(self, unit):
                self.unit = unit
            def join(a, b):
                return a[0] + b[0], a[1] + b[1]
            def as_result(self, value):
                return (*value, self.unit)
        """, contribution="(i + 1.0, 2.0)", reducer="R(S)"),
    Case("built_in_reducer", "R = es.Sum()", "R = es.Prod()", """
def result(space):
    if space is None:
        return 9.0 if type(R) is es.Sum else 24.0
    return es.parallel_reduce(es.RangePolicy(3, space=space), lambda i: i + 2.0, reducer=R)
"""),
    Case("dtype_of_reducer", "D = None", "D = es.float32", """
def result(space):
    if space is None:
        total = np.float64(0) if D is None else np.float32(0)
        for _ in range(3):
            total += np.float32(0.1)
        return float(total)
    return es.parallel_reduce(es.RangePolicy(3, space=space), lambda i: np.float32(0.1),
                              reducer=es.Sum(dtype=D))
"""),
    Case("subclass_of_built_in", "S = 1.0", "S = 2.0", """
class Least(es.Min):
    def __init__(self, unit):
        super().__init__()
        object.__setattr__(self, "unit", unit)
    def as_result(self, value):
        return (value, self.unit)
def result(space):
    if space is None:
        return (1.0, S)
    return es.parallel_reduce(es.RangePolicy(3, space=space), lambda i: (i + 1.0, i),
                              reducer=(Least(S), es.Sum))[0]
"""),
    Case("reducers_of_a_tuple", "S = 4.0", "S = 5.0", _MODULO + """
def result(space):
    if space is None:
        return (joined(None, lambda i: i + 1.0, R(S)), 3.0)
    return es.parallel_reduce(es.RangePolicy(3, space=space), lambda i: (i + 1.0, i + 1.0),
                              reducer=(R(S), es.Max))
"""),
)  # fmt: skip

CASES = (*CONSTANTS, *NAMEDTUPLES, *FUNCTIONS, *KERNELS, *MEANINGS, *REDUCERS)


# Compiled by two processes, one after the other; the rest by its fingerprints alone.
COMPILED = frozenset((
    "sign_of_zero", "width", "fields_of_constructor", "helper", "shadowed_builtin", "other_module",
    "attribute_of_reducer", "final", "identity", "builtin_in_join", "dtype_of_reducer",
))  # fmt: skip


def main(folder: str, version: str) -> None:
    """Run one version of those cases on `serial`, and tell which are wrong."""
    for case in CASES:
        if case.name in COMPILED:
            module = case.module(folder, int(version))
            found, expected = module.result("serial"), module.result(None)
            if found != expected:
                print(f"{case.name}: got {found}, expected {expected}")
