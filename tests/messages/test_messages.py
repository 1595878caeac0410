"""What a wrong kernel is told, whole: where (file, line, column, carets), what, and what to write.

The kernels are in kernels_*.py and their messages in golden/. To accept a change of a message, run
with UPDATE_GOLDEN=1 and read the diff as somebody would who has never seen the compiler.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import linecache
import os
import re
from pathlib import Path

import numpy as np
import pytest

import execspace as es
import execspace_compiler
from execspace.base.errors import ExecspaceError
from execspace.launch.prepare import planned
from execspace_compiler.frontend.advice import ADVICE
from execspace_compiler.host.launch_source import Source
from execspace_compiler.passes.pipeline import lower_kernel, refuse_float16

from .cases import CASES
from .kernels_host_functions import half
from .kernels_launch import doubled, float16_in_a_local_array

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "golden"
for module in sorted(FOLDER.glob("kernels_*.py")):
    importlib.import_module(f".{module.stem}", __package__)


def message_of(error, *folders):
    """Class and text of an exception, with files by their names only."""
    text = f"{type(error).__name__}: {error}"
    for folder in (FOLDER, *folders):
        text = text.replace(f"{folder}{os.sep}", "")
    return text + "\n"


def check(name, text):
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{name} has no golden file; see the docstring above"
    assert text == path.read_text(encoding="utf-8"), f"{name} changed; see the docstring above"


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    with pytest.raises(ExecspaceError) as caught:
        CASES[name].launch()
    check(name, message_of(caught.value))


# -- messages that no kernel in a file can provoke ----------------------------------------------


def launch(kernel, space="oracle"):
    with es.use_space(space):
        es.parallel_for(4, kernel, np.zeros(4))


def test_source_not_available():
    scope = {}
    exec("def kernel(i, x):\n    x[i] = 1.0\n", scope)
    with pytest.raises(es.KernelSyntaxError) as caught:
        launch(scope["kernel"])
    check("source_not_available", message_of(caught.value))


@pytest.mark.parametrize("where", ["read_from_standard_input", "typed_at_the_prompt"])
def test_source_that_came_from_standard_input(where, monkeypatch):
    monkeypatch.setattr("sys.ps1", ">>> ", raising=False)
    if where == "read_from_standard_input":
        monkeypatch.delattr("sys.ps1")
    scope = {}
    exec(compile("def kernel(i, x):\n    x[i] = 1.0\n", "<stdin>", "exec"), scope)
    with pytest.raises(es.KernelSyntaxError) as caught:
        launch(es.kernel(scope["kernel"]))
    check(f"source_{where}", message_of(caught.value))


def test_source_of_a_helper_not_available():
    scope = {}
    exec("def helper(v):\n    return v\n", scope)
    helper = scope["helper"]

    def kernel(i, x):
        x[i] = helper(x[i])

    with pytest.raises(es.KernelSyntaxError) as caught:
        launch(kernel)
    text = message_of(caught.value)
    check("source_of_a_helper_not_available", re.sub(r"test_messages.py:\d+", "FILE:LINE",
          re.sub(r"\n +\d+ \|", "\n LINE |", text)))  # fmt: skip


def module_from(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_file_changed_since_import(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def kernel(i, x):\n    x[i] = 1.0\n")
    kernel = module_from(path).kernel
    path.write_text("# something new\n\ndef kernel(i, y, x):\n    y[i] = 2.0 * x[i]\n")
    linecache.checkcache(str(path))
    with pytest.raises(es.KernelSyntaxError) as caught:
        launch(kernel)
    check("file_changed_since_import", message_of(caught.value, tmp_path))


def test_file_that_is_gone(tmp_path):
    """As where only what Python compiled was installed."""
    path = tmp_path / "compiled_only.py"
    path.write_text("def kernel(i, x):\n    x[i] = 1.0\n")
    kernel = module_from(path).kernel
    path.unlink()
    linecache.checkcache(str(path))
    with pytest.raises(es.KernelSyntaxError) as caught:
        launch(kernel)
    check("source_file_is_gone", message_of(caught.value, tmp_path))


def test_generated_text_that_does_not_compile(monkeypatch):
    monkeypatch.setattr(
        "execspace_compiler.host.building.launch_module",
        lambda *_: Source("define ptr launch() {}\n", (), ()),
    )

    def kernel(i, x):
        x[i] = 1.0

    with pytest.raises(es.BackendCompileError) as caught:
        launch(kernel, "serial")
    check("backend_compile_error", message_of(caught.value))


def test_a_space_that_calls_no_functions_of_the_host():
    """Most backends: their kernels are lowered without a resolver."""

    def kernel(i, x):
        x[i] = half(x[i])

    policy, args = es.RangePolicy(4, space="oracle"), (np.zeros(4),)
    spec = planned(policy, kernel, args, "for", None).plan.spec
    with pytest.raises(es.KernelTypeError) as caught:
        lower_kernel(es.kernel(kernel), spec)
    check("host_function_on_a_device", message_of(caught.value))


@pytest.mark.parametrize(
    ("name", "kernel", "dtype"),
    [
        ("float16_on_a_device", doubled, np.float16),
        ("float16_in_a_local_array", float16_in_a_local_array, np.float64),
    ],
)
def test_a_device_without_float16(name, kernel, dtype):
    policy, args = es.RangePolicy(4, space="oracle"), (np.zeros(4, dtype),)
    spec = planned(policy, kernel, args, "for", None).plan.spec
    with pytest.raises(es.KernelTypeError) as caught:
        refuse_float16(lower_kernel(es.kernel(kernel), spec), "device 'a processor'")
    check(name, message_of(caught.value))


# -- what every message has ---------------------------------------------------------------------

# About a launch rather than a place in a kernel: the traceback shows the launch.
LAUNCHES = {
    "bfloat16_as_an_argument", "result_in_a_bfloat16",
    "list_as_out", "array_of_dates", "array_of_strings", "builtin_instead_of_a_kernel",
    "dict_argument", "function_instead_of_a_reducer", "integer_argument_beyond_64_bits",
    "integer_for_unsigned_that_needs_64_bits",
    "integer_that_does_not_fit", "integer_that_does_not_fit_in_a_store", "list_argument",
    "long_double_argument", "negative_integer_for_unsigned", "negative_number_of_indices",
    "number_instead_of_a_kernel", "partial_with_an_unknown_keyword",
    "partial_with_too_many_arguments", "static_array", "static_dict", "static_list",
    "static_parameter_without_a_value", "string_instead_of_a_policy", "tuple_instead_of_a_policy",
    "ufunc_instead_of_a_kernel", "unknown_reducer",
    "array_reduction_in_a_tuple", "base_class_as_a_reducer", "final_of_three",
    "join_of_a_built_in_reducer", "join_of_three",
    "join_that_captures_a_view", "join_that_is_a_class_method", "no_reducers",
    "out_for_one_of_two_numbers", "out_for_two_of_one_number", "out_of_a_narrower_kind",
    "out_of_an_array_of_a_narrower_kind", "out_of_another_extent", "out_of_no_views",
    "out_of_rank_1", "out_that_is_read_only", "reducer_class_that_needs_arguments",
    "reducer_without_identity", "reducer_without_join", "scan_into_a_record_of_few_fields",
    "scan_of_a_dynamic_range", "scan_of_a_negative_number_of_indices", "scan_of_arrays",
    "scan_with_a_tile",
    "shape_of_nothing", "shape_with_an_identity_that_is_a_tuple", "tuple_of_tuples_of_reducers",
    "unknown_reducer_in_a_tuple", "range_instead_of_a_policy",
    "range_with_a_step_instead_of_a_policy", "array_instead_of_a_policy",
    "reducer_by_a_similar_name", "ufunc_instead_of_a_reducer",
    "list_of_arrays_as_an_argument", "argument_that_adds_in_its_own_way",
}  # fmt: skip
# Raised while the kernel runs: the traceback shows the line of the kernel.
RUNNING = {
    "out_of_bounds", "out_of_bounds_of_a_captured_view", "out_of_bounds_of_a_field",
    "out_of_bounds_of_a_layout_of_ones_own", "out_of_bounds_of_a_local_array",
    "out_of_bounds_of_a_row",
}  # fmt: skip
# A defect of execspace itself, not of the kernel.
DEFECTS = {"backend_compile_error"}
# There is no text to point into, or another one than that of the running code.
NO_SOURCE = {
    "source_not_available", "source_of_a_helper_not_available", "file_changed_since_import",
    "source_read_from_standard_input", "source_typed_at_the_prompt", "source_file_is_gone",
}  # fmt: skip
# Not of a launch: of a backend that cannot do what the oracle can.
OTHER_SPACES = {
    "float16_in_a_local_array", "float16_on_a_device", "host_function_on_a_device",
}  # fmt: skip
# Assertions say what the author of the kernel wrote.
ASSERTIONS = {name for name in CASES if name.startswith("assertion_")}

PLACE = re.compile(r"(called from )?(\S+\.py):(\d+):(\d+)(?:: .*)?")
names = sorted({*CASES, *NO_SOURCE, *DEFECTS, *OTHER_SPACES})


def golden(name):
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_goldens_are_those_of_the_cases():
    assert len(names) >= 75
    assert {path.stem for path in GOLDEN.iterdir()} == set(names)


@pytest.mark.parametrize("name", sorted({*CASES} - LAUNCHES - RUNNING))
def test_every_message_points_to_its_place(name):
    lines = golden(name).splitlines()
    places = [(n, m) for n, line in enumerate(lines) if (m := PLACE.fullmatch(line))]
    assert places
    assert not places[0][1][1], "the fault comes first, then the calls that lead to it"
    for n, (_, file, line, column) in ((n, m.groups()) for n, m in places):
        source = (FOLDER / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert lines[n + 1] == f"{int(line):5d} | {source.expandtabs(4)}"
        carets = re.fullmatch(r"      \| ( *)(\^+)", lines[n + 2])
        assert carets
        assert len(carets[1]) == len(source[: int(column) - 1].expandtabs(4))
        assert len(carets[1] + carets[2]) <= len(source.expandtabs(4))


@pytest.mark.parametrize("name", sorted({*names} - LAUNCHES - RUNNING - DEFECTS - ASSERTIONS))
def test_every_fault_has_a_hint(name):
    head, *faults = golden(name).rstrip("\n").split("\n\n")
    assert re.fullmatch(r"\w+: (\d+ errors )?in kernel '.*'", head)
    assert len(faults) == int(re.findall(r"(\d+) errors", head)[0] if "errors" in head else 1)
    for fault in faults:
        assert len(re.findall(r"^hint: .+[^.]$", fault, re.MULTILINE)) == 1, fault
        message = re.split(r":\d+:\d+: ", fault.splitlines()[0], maxsplit=1)[1]
        assert 5 < len(message) < 180
        assert message[-1] not in ".!"


@pytest.mark.parametrize("name", sorted(LAUNCHES))
def test_messages_about_launches_say_what_is_expected(name):
    assert re.search(
        r"expected|pass |Pass |holds|its parameters are|registered: |cannot be|give |leave out",
        golden(name),
    )


# Faults that are about no type: a number, a step, a name.
NO_TYPES = {
    "argument_given_twice", "atomic_division_by_zero",
    "division_by_literal_zero", "division_of_constants_by_zero", "infinity_as_an_integer",
    "join_with_an_assert", "op_of_an_insertion", "order_of_a_hankel_function",
    "local_array_of_negative_extent", "nan_as_an_integer", "range_with_step_zero",
    "remainder_by_zero",
}  # fmt: skip
TYPES = re.compile(
    r"\b(u?int\d+|float\d+|complex\d+|bool|Python (int|float|complex)|index \(int64\)|View|string"
    r"|tuple|None|function|method|module|local array|subview|record|64 bits|slice|constant"
    r"|arguments?|parameters?|View's?|attribute|SimpleNamespace|Model|Settings|object of Weight"
    r"|list|dict|conversion|digits|format|returns nothing|team|nested range|reducer|vector|mask"
    r"|UnorderedMap|Bitset|OffsetView)\b"
)


@pytest.mark.parametrize(
    "name", sorted(n for n in names if (GOLDEN / f"{n}.txt").exists()
                   and golden(n).startswith("KernelTypeError") and n not in NO_TYPES)
)  # fmt: skip
def test_faults_of_type_name_the_types(name):
    places = [line for line in golden(name).splitlines() if PLACE.fullmatch(line)]
    for message in (p for p in places if not p.startswith("called from")):
        assert TYPES.search(message.split(": ", 1)[1]), message


def test_nothing_internal_is_in_a_message():
    for name in names:
        text = golden(name)
        assert not re.search(r"_local_\d|_captured\b|object at 0x|\b_t\d|user_|site-packages", text)
        assert "/" not in re.sub(r"hint: .*|.* \| .*|FOLDER/", "", text).replace(" / ", "")


# -- every fault has a message here -------------------------------------------------------------


# These stand in async functions only, which are refused as a whole.
ASYNC = {"await", "async for", "async with"}


@pytest.mark.parametrize("what", sorted({what for what, _ in ADVICE.values()} - ASYNC))
def test_every_construct_of_the_advice_has_a_golden(what):
    assert any(f"{what} is not supported in a kernel" in golden(name) for name in names)


# What no kernel is known to lead to: types of a prefix only grow; an object that the byte code of
# a kernel does not read, in code that its syntax tree has.
UNREACHABLE = {
    "the type of what this scan returns depends on that of its prefix and never settles",
    "' is an object, of which a kernel knows the attributes only",
    "' changes a private array, and does more than that, but the ",  # test_device_team.py
}


def faults():
    """(file, line, constant parts of the message) of each fault that the compiler raises."""
    for path in sorted(Path(execspace_compiler.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            message = None
            if getattr(node.func, "id", "") in ("type_fault", "syntax_fault"):
                message = node.args[1] if len(node.args) > 1 else None
            elif getattr(node.func, "attr", "") == "_fault":
                message = node.args[0]
            if message is not None:
                parts = [n.value for n in ast.walk(message)
                         if isinstance(n, ast.Constant) and isinstance(n.value, str)]  # fmt: skip
                if parts:
                    yield f"{path.name}:{node.lineno}", max(parts, key=len)


def test_every_fault_of_the_compiler_has_a_golden():
    text = "\n".join(golden(name) for name in names)
    missing = [
        f"{place}: {part!r}"
        for place, part in faults()
        if part.strip() not in text and part not in UNREACHABLE
    ]
    assert not missing, "\n".join(missing)


def test_errors_are_also_those_of_python():
    assert issubclass(es.KernelSyntaxError, SyntaxError)
    assert issubclass(es.KernelTypeError, TypeError)
    assert issubclass(es.LaunchError, TypeError)
    assert issubclass(es.ViewIndexError, IndexError)
    assert issubclass(es.UnknownSpaceError, LookupError)
    assert issubclass(es.KernelAssertionError, AssertionError)
    assert issubclass(es.BackendCompileError, RuntimeError)
