"""A launch after a change gives what Python gives, in one process and over two."""

from __future__ import annotations

import builtins
import enum
import importlib
import linecache
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from changed_inputs import CASES

import execspace as es
from execspace.kernels import captures
from execspace.reducers import base as reducer
from execspace_compiler import lower_kernel
from execspace_compiler.cache import fingerprint

# Functions of the package have the names of these modules.
kernels, reductions = (
    importlib.import_module("execspace.kernels.kernel"),
    importlib.import_module("execspace.launch.prepare"),
)


def by_name(cases):
    return pytest.mark.parametrize("case", cases, ids=[c.name for c in cases])


@by_name(CASES)
def test_a_change_between_two_launches_is_noticed(case, tmp_path):
    module = case.module(tmp_path, 0)
    try:
        expected = module.result(None)
        assert module.result("oracle") == expected
        case.alter(module)
        changed = module.result(None)
        assert changed != expected, "the case changes nothing"
        assert module.result("oracle") == changed
    finally:
        case.undo(module)


def test_a_kernel_that_is_defined_at_each_call_is_compiled_once(monkeypatch):
    """As a plain function is. Its closure is read anew, and its options count."""
    compiled, space = [], es.space("oracle")
    own = type(space).compile
    monkeypatch.setattr(
        type(space), "compile", lambda self, k, s: compiled.append(k) or own(self, k, s)
    )

    def launched(value, **options):
        @es.kernel(**options)
        def kernel(i, x):
            x[i] = v[i] + 1

        v, x = np.full(2, value), np.zeros(2)
        es.parallel_for(es.RangePolicy(2, space=space), kernel, x)
        return x.tolist()

    assert [launched(float(n)) for n in range(4)] == [[n + 1.0] * 2 for n in range(4)]
    assert len(compiled) == 1
    launched(1.0, fma=False)
    launched(1.0, fma=False)
    assert len(compiled) == 2 and not compiled[-1].fma


def test_a_mark_on_a_helper_counts(monkeypatch):
    def helper(a):
        return a * 2.0 + 1.0

    kernel = es.kernel(lambda i, x: scaled(x, i, helper))
    policy, x = es.RangePolicy(2, space="oracle"), np.zeros(2)
    es.parallel_for(policy, kernel, x)
    es.parallel_for(policy, kernel, x)
    assert len(kernel.plans) == 1
    es.function(fma=False)(helper)
    es.parallel_for(policy, kernel, x)
    assert len(kernel.plans) == 2


def scaled(x, i, function):
    x[i] = function(x[i])


# -- over two processes ---------------------------------------------------------------------------


def test_a_change_between_two_processes_is_noticed(tmp_path):
    """The second process finds what the first has left in the cache, and must not take it."""
    for version in (0, 1):
        done = subprocess.run(
            [sys.executable, "-c", "import changed_inputs as c, sys; c.main(*sys.argv[1:])",
             str(tmp_path), str(version)],
            capture_output=True, text=True, check=False, timeout=300,
            env={**os.environ, "EXECSPACE_CACHE_DIR": str(tmp_path / "cache"),
                 "PYTHONPATH": str(Path(__file__).parents[1] / "support")},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout == ""


# -- fingerprints, which decide whether it is taken -----------------------------------------------


def recorded(case, version, folder):
    """Fingerprint and IR of the launches of a case's module: what `compile` was given."""
    seen = []

    def compile(space, kernel, spec):
        lowered = lower_kernel(kernel, spec)
        states = lowered.reduction and (lowered.reduction.states, lowered.reduction.result)
        text = f"{lowered.module()} {lowered.assertions} {lowered.limits} {states}"
        seen.append((fingerprint.fingerprint(kernel, spec), text))
        return plain(space, kernel, spec)

    space = es.space("oracle")
    plain = type(space).compile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(space), "compile", compile)
        linecache.clearcache()
        case.module(folder, version).result("oracle")
    return seen


def wrong_prints(case, folder):
    """Whether launches that lower to different IR have the same fingerprint."""
    before, after = (recorded(case, version, folder) for version in (0, 1))
    pairs = zip(before, after, strict=True)
    return any(a[0] == b[0] is not None and a[1] != b[1] for a, b in pairs)


@by_name([c for c in CASES if c.over_processes])
def test_what_lowers_to_something_else_has_another_fingerprint(case, tmp_path):
    assert not wrong_prints(case, tmp_path)


# -- these tests find keys that forget something --------------------------------------------------
# Each mutation takes a part out of the key of a plan, or out of a fingerprint. Some case must then
# give a wrong answer, or the part would be there for nothing.


def forgetful_tag(forget):
    """`constant_tag` that takes what `forget` says for equal."""
    kept = captures.constant_tag

    def constant_tag(value):
        return forget(value) if forget(value) is not None else kept(value)

    return constant_tag


def same_tag(kinds, tag="same"):
    return forgetful_tag(lambda v: tag if isinstance(v, kinds) else None)


TUPLE_TAG = captures._tuple_tag
PLAN_MUTATIONS = {
    "values of numbers": (captures, "constant_tag", lambda: same_tag(float), ["number"]),
    "sign of zero": (
        captures, "constant_tag",
        lambda: forgetful_tag(lambda v: v if type(v) is float else None), ["sign_of_zero"],
    ),
    "types of numbers": (
        captures, "constant_tag",
        lambda: forgetful_tag(lambda v: float(v) if type(v) in (int, float) else None),
        ["type_of_number"],
    ),
    "strings": (captures, "constant_tag", lambda: same_tag(str), ["string"]),
    "fields of NamedTuples": (
        captures, "_tuple_tag",
        lambda: lambda value, *rest: TUPLE_TAG(tuple(value), *rest),
        ["fields_of_instance"],
    ),
    "classes": (
        captures, "constant_tag", lambda: same_tag(type), ["fields_of_constructor", "dtype"],
    ),
    "classes of enumerations": (
        captures, "constant_tag",
        lambda: forgetful_tag(lambda v: v if isinstance(v, enum.Enum) else None),
        ["kind_of_enumeration"],
    ),
    "library functions": (
        captures, "constant_tag", lambda: same_tag((types.BuiltinFunctionType, np.ufunc)),
        ["library_function", "ufunc"],
    ),
    "helpers": (captures, "function_tag", lambda: lambda *a: "same", ["helper", "partial"]),
    "modules of helpers": (
        captures, "names_of", lambda: without_number(captures.names_of),
        ["helper_of_another_module"],
    ),
    "names that were fixed, in helpers": (
        captures, "fixed_names", lambda: lambda scope: {}, ["shadowed_in_helper"],
    ),
    "names that were fixed": (
        kernels, "fixed_names", lambda: lambda scope: {},
        ["shadowed_builtin", "builtins_changed", "function_of_a_module_replaced", "other_module"],
    ),
    "plans after names changed": (
        kernels.Kernel, "scan", lambda: keeping_plans(kernels.Kernel.scan),
        ["shadowed_then_another"],
    ),
    "modules in closures": (
        captures, "_is_fixed",
        lambda: lambda fn, path, value, own=captures._is_fixed: (
            isinstance(value, types.ModuleType) or own(fn, path, value)
        ),
        ["module_in_a_closure", "module_in_an_object"],
    ),
    "objects where there was a View": (
        captures, "_leads_on", lambda: lambda *a: False,
        ["view_then_object_that_changes", "view_then_object_in_helper"],
    ),
    "names in builtins": (
        captures, "_is_fixed",
        lambda: lambda fn, path, value, own=captures._is_fixed: (
            own(fn, path, value) or (path[0] not in fn.__globals__ and hasattr(builtins, path[0]))
        ),
        ["new_builtin"],
    ),
    "reducers": (
        reductions, "reducer_key", lambda: lambda reducer: "same",
        ["attribute_of_reducer", "join", "built_in_reducer"],
    ),
    "functions of reducers": (
        reducer, "function_tag", lambda: lambda *a: "same",
        ["attribute_of_reducer", "join", "final", "constant_of_join", "helper_of_join"],
    ),
    "identities": (reducer, "_identity_tag", lambda: lambda v: "same", ["identity"]),
    "attributes of reducers": (
        reducer, "_attributes", lambda: lambda r: [], ["result", "subclass_of_built_in"],
    ),
}  # fmt: skip


def without_number(own):
    def names_of(scope):
        names = own(scope)
        names.number = scope.fn.__code__
        return names

    return names_of


def keeping_plans(own):
    def scan(kernel, scope):
        kept = {} if kernel.names is None else kernel.names.plans
        names = own(kernel, scope)
        names.plans = kept
        return names

    return scan


def goes_wrong(case, folder):
    """Whether a case in one process gives a wrong answer, or none."""
    try:
        test_a_change_between_two_launches_is_noticed(case, folder)
    except (AssertionError, es.ExecspaceError):
        return True
    return False


@pytest.mark.parametrize("part", PLAN_MUTATIONS)
def test_a_plan_s_key_that_forgets_a_part_gives_wrong_answers(part, tmp_path, monkeypatch):
    owner, name, forgetful, found_by = PLAN_MUTATIONS[part]
    monkeypatch.setattr(owner, name, forgetful())
    for case in CASES:
        if case.name in found_by:
            assert goes_wrong(case, tmp_path), f"{case.name} does not notice"


PRINT_MUTATIONS = {
    "values": ("constant_tag", lambda value: type(value), ["number", "string", "sign_of_zero"]),
    "types": (
        "constant_tag", lambda value: value if isinstance(value, str | None) else value + 0.0,
        ["type_of_number"],
    ),
    "functions and classes of libraries": (
        "_library_name", lambda value: "same",
        ["library_function", "dtype", "fields_of_constructor"],
    ),
    "names": (
        "_names", lambda fn, spec: [],
        ["number", "tuple", "helper", "other_module", "fields_of_constructor"],
    ),
    "reducers": (
        "described_reducer", lambda reducer: "same",
        ["attribute_of_reducer", "join", "final", "identity", "built_in_reducer",
         "dtype_of_reducer", "reducers_of_a_tuple"],
    ),
    "arguments, captures, policy and results": (
        "_spec", lambda spec: [], ["dtype_of_argument", "number_argument", "default"],
    ),
    "the kernel": ("_kernel", lambda kernel: [], ["constant_in_kernel", "fma", "position"]),
}  # fmt: skip


@pytest.mark.parametrize("part", PRINT_MUTATIONS)
def test_a_fingerprint_that_forgets_a_part_is_wrong(part, tmp_path, monkeypatch):
    name, forgetful, found_by = PRINT_MUTATIONS[part]
    monkeypatch.setattr(fingerprint, name, forgetful)
    for case in CASES:
        if case.name in found_by:
            assert wrong_prints(case, tmp_path), f"{case.name} does not notice"


def test_each_mutation_names_cases_that_are_there():
    mutations = (*PLAN_MUTATIONS.values(), *PRINT_MUTATIONS.values())
    named = {n for *_, names in mutations for n in names}
    assert named <= {c.name for c in CASES}
