"""No sequence of launches and changes makes a test know a launch again that is another one.

Each launch is compared with what its key leads to at that moment; see known_launches.py.
"""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from known_launches import FOR, Launches, code_of, empty, loaded

import execspace as es
from execspace.kernels.recent import Recent


def values_of(m):
    """What names may be bound to; the same objects each time."""
    f = m.of_closure(1.0, m.V)
    numbers = (
        0,
        1,
        True,
        1.0,
        0.0,
        -0.0,
        math.nan,
        2**70,
        1j,
        np.float32(1),
        np.float64(1),
        np.True_,
    )
    views = (m.V, m.W, m.x, m.ints, m.fixed, np.zeros(8), np.zeros(8, "int32"))
    functions = (
        abs, math.sqrt, np.sin, np.add, float, np.float32, m.helper, m.doubled, m.counted, m.inner,
        m.other.shifted, m.other.rooted, m.other.stored, f, functools.partial(m.helper, 1.0),
    )  # fmt: skip
    others = (
        None, "s", "t", (1, 2.0), (m.helper, 1), SimpleNamespace(a=1.0, v=m.W), m.other, math, np,
        es.Sum, np.dtype("float64"), SimpleNamespace(), DELETED,
    )  # fmt: skip
    return (*numbers, *views, *functions, *others)


DELETED = object()
NAMES = (
    "g n flag text V W helper doubled counted inner shifted rooted stored other math np operator "
    "abs kind builtin ufunc obj obj.a obj.v other.scale other.shift other.V other.abs other.math "
    "float"
).split()  # fmt: skip


def bind(m, name, value):
    """Bind a name of a module, or of an object there; or delete it."""
    *path, last = name.split(".")
    owner = functools.reduce(lambda of, part: getattr(of, part, None), path, m)
    if owner is None or isinstance(owner, es.View | np.ndarray) or owner in (math, np):
        return
    try:
        if value is DELETED:
            delattr(owner, last)
        else:
            setattr(owner, last, value)
    except (AttributeError, TypeError):  # what cannot be changed is no matter here
        pass


def change_helper(m, change):
    """Change a function that kernels call, not what names it."""
    helper = m.changed
    if change == "code":
        helper.__code__ = code_of("a - g") if "+" in helper.__name__ else code_of("a + n")
    elif change == "mark":
        es.function(fma=False)(helper)
    elif change == "unmark":
        helper.__dict__.clear()
    elif change == "default":
        helper.__defaults__ = None if helper.__defaults__ else (1.0,)
    else:
        helper.__module__ = "numpy" if helper.__module__ != "numpy" else "part"


def steps():
    """A launch, which is done twice, or a change, after which the last launch is done again."""
    number = st.integers(0, 5)
    launch = st.tuples(st.just("launch"), st.integers(0, 2 * len(FOR) + 3), *[number] * 5)
    other = st.tuples(st.just("other"), st.integers(1, 5), number)
    change = st.tuples(st.just("bind"), st.integers(0, 1000), st.integers(0, 100))
    helper = st.tuples(
        st.just("helper"), st.sampled_from(["code", "mark", "unmark", "default", "module"])
    )
    cell = st.tuples(st.just("cell"), st.integers(0, 100))
    space = st.tuples(st.just("space"), st.integers(0, 2))
    return st.one_of(launch, other, other, change, change, change, helper, cell, space)


def names_of(kernel):
    """Names to bind, most of them such as a kernel reads."""
    code = kernel.fn.__code__ if isinstance(kernel, es.Kernel) else kernel.__code__
    read = {*code.co_names, "helper", "g"}
    return 6 * [name for name in NAMES if name.partition(".")[0] in read] + NAMES


def launch_of(m, s, kernels, which, policy, args, pattern, reducer, out):
    """The arguments of `Launches.check`."""
    policies = (
        3, es.RangePolicy(3), es.RangePolicy(-1, 3), es.RangePolicy(3, space=s.two),
        es.MDRangePolicy((2, 2)), True,
    )  # fmt: skip
    x = m.x
    given = ((x,), (m.ints,), (x, 1), (x, 1.0), (x, True), (m.fixed,))
    patterns = ("for", "for", "for", "reduce", "reduce", "scan")
    reducers = (es.Sum, es.Sum(), es.Max, es.Max(), (es.Sum, es.Max), None)
    outs = (None, None, m.total, m.total, m.count, np.zeros(()))
    start = patterns[pattern]
    joined = () if start == "for" else (reducers[reducer], outs[out])
    return start, policies[policy], kernels[which % len(kernels)], given[args], *joined


def play(sequence):
    """Do the steps of a sequence; how many launches a test knew."""
    v = es.ones(8)
    m = loaded(
        x=es.zeros(8), V=v, W=es.ones(8), ints=es.zeros(8, dtype="int32"), fixed=v.readonly(),
        total=es.zeros(()), count=es.zeros((), dtype="int64"), obj=SimpleNamespace(a=2.0, v=v),
    )  # fmt: skip
    m.changed, values, done = m.helper, values_of(m), Launches()
    closure = m.of_closure(1.0, v)
    plain = [*(getattr(m, name) for name in FOR), closure, m.returns]
    kernels = [*plain, *map(es.kernel, plain)]
    space, last, chosen = done.one, None, []
    for kind, *what in sequence:
        if kind == "launch":
            chosen = what
            last = launch_of(m, done, kernels, *chosen)
        elif last is None:
            continue
        elif kind == "other":  # as the last one, but for one thing
            chosen[what[0]] = what[1]
            last = launch_of(m, done, kernels, *chosen)
        elif kind == "bind":
            names = names_of(last[2])
            bind(m, names[what[0] % len(names)], values[what[1] % len(values)])
        elif kind == "helper":
            change_helper(m, *what)
        elif kind == "cell":
            cell, value = closure.__closure__[what[0] % 2], values[what[0] % len(values)]
            del cell.cell_contents
            if value is not DELETED:
                cell.cell_contents = value
        else:
            space = (done.one, done.two, done.one)[what[0]]
        with es.use_space(space):
            for _ in range(2):
                done.check(*last)
    done.all.clear()
    return done.known


def test_no_sequence_of_launches_and_changes_gets_a_wrong_plan(monkeypatch):
    monkeypatch.setattr(Recent, "wants", lambda self: True)
    known = []

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(st.lists(steps(), min_size=3, max_size=16))
    def check(sequence):
        try:
            known.append(play(sequence))
        finally:
            empty()

    check()
    assert sum(known) > 3 * len(known), "hardly any launch was known again"
