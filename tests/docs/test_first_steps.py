"""What somebody meets in the first hour: tracebacks, misspelt names, plots, explain."""

from __future__ import annotations

import subprocess
import sys
import traceback
import types
from pathlib import Path

import numpy as np
import pytest

import execspace as es
import execspace_compiler

OURS = tuple(str(Path(m.__file__).parent) for m in (es, execspace_compiler))


# -- tracebacks -----------------------------------------------------------------------------------


@es.function
def faulty(v):
    return v & 1.5


@es.kernel
def calls_a_faulty_function(i, x):
    for k in range(3):
        if x[i] > k:
            x[i] = faulty(x[i])


@es.kernel
def is_not_the_language(i, x):
    x[i] = [1.0 for _ in x]


LAUNCHES = {
    "parallel_for": lambda k: es.parallel_for(3, k, np.zeros(3)),
    "parallel_reduce": lambda k: es.parallel_reduce(3, k, np.zeros(3)),
    "explain": lambda k: es.explain(3, k, np.zeros(3)),
}


def frames_of_ours(error):
    """Frames of execspace in what Python, or a notebook, shows of an error and its causes."""
    count, seen = 0, error
    while seen is not None:
        count += sum(
            frame.filename.startswith(OURS) for frame in traceback.extract_tb(seen.__traceback__)
        )
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return count


@pytest.mark.parametrize("where", ["oracle", "serial"])
@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("kernel", [calls_a_faulty_function, is_not_the_language])
def test_the_traceback_of_an_error_in_a_kernel_is_short(kernel, launch, where, monkeypatch):
    def caught(setting):
        monkeypatch.setenv("EXECSPACE_TRACEBACK", setting)
        with es.use_space(where), pytest.raises(es.KernelError) as found:
            LAUNCHES[launch](kernel)
        return found.value

    short, full = caught("short"), caught("full")
    assert frames_of_ours(short) <= 4
    assert frames_of_ours(full) > frames_of_ours(short) + 3
    assert str(short) == str(full)
    assert traceback.extract_tb(short.__traceback__)[0].filename == __file__  # the launch


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("parallel_fro", "parallel_for"), ("Veiw", "View"), ("foat64", "float64"),
        ("deepcopy", "deep_copy"), ("rangepolicy", "RangePolicy"), ("TeamPolcy", "TeamPolicy"),
        ("paralel_reduce", "parallel_reduce"), ("atomic_addd", "atomic_add"), ("Tunin", "Tuning"),
    ],
)  # fmt: skip
def test_a_misspelt_name_gets_a_suggestion(wrong, right):
    with pytest.raises(
        AttributeError, match=f"has no attribute '{wrong}'. Did you mean: '{right}'"
    ):
        getattr(es, wrong)


def test_every_public_name_is_suggested_for_itself_without_a_letter():
    for name in es.__all__:
        if len(name) > 6 and not hasattr(es, name[:-1]):
            with pytest.raises(AttributeError, match="Did you mean: '"):
                getattr(es, name[:-1])


def test_a_name_that_is_like_no_other_gets_none():
    with pytest.raises(AttributeError, match=r"has no attribute 'qqqq'$"):
        es.qqqq


def test_dir_lists_public_names_only():
    names = {name for name in dir(es) if not name.startswith("__")}
    assert names == {*es.__all__, "bfloat16", "float8_e4m3fn", "float8_e5m2"}
    modules = {name for name in names if isinstance(getattr(es, name), types.ModuleType)}
    assert modules == {"algorithms", "profiling", "special", "tuning"}
    assert {"__version__", "__doc__", "__all__"} <= {*dir(es)}


# -- explain --------------------------------------------------------------------------------------


def value(i, x):
    return 2.0 * x[i]


def store(i, x):
    x[i] = 1.0


def test_explain_needs_no_reducer_for_a_kernel_that_returns_a_value():
    """A launch with parallel_reduce needs none either; the default is es.Sum."""
    x = np.zeros(3)
    with es.use_space("oracle"):
        for kernel in (value, es.kernel(value), lambda i, x: x[i] * 2.0):
            found = es.explain(3, kernel, x, pattern="reduce")
            assert es.explain(3, kernel, x, reducer=es.Sum).pattern == found.pattern == "reduce"
        assert es.explain(3, value, x).pattern == "reduce"
        assert es.kernel(value).explain(3, x).pattern == "reduce"
        assert es.explain(3, store, x).pattern == "for"


def test_explain_of_a_faulty_kernel_says_what_is_wrong_with_it():
    with es.use_space("oracle"), pytest.raises(es.KernelTypeError, match="faulty_function"):
        es.explain(3, calls_a_faulty_function, np.zeros(3))


# -- plots ----------------------------------------------------------------------------------------


def test_a_view_is_plotted_as_an_array_is(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    x = es.View(20, label="x", space="serial")
    z = es.View((20, 30), label="z", space="serial")
    es.deep_copy(x, np.linspace(0, 1, 20))
    es.deep_copy(z, np.random.default_rng(1).random((20, 30)))
    figure, axes = plt.subplots()
    (line,) = axes.plot(x)
    assert np.array_equal(line.get_ydata(), np.asarray(x))
    axes.plot(x, x, "o")
    axes.plot(z)
    axes.plot(z[:, 2], z[:, 3])
    axes.scatter(x, x, c=x)
    axes.imshow(z)
    axes.contour(z)
    axes.pcolormesh(z)
    axes.hist(x)
    axes.bar(x, x)
    axes.fill_between(x, x)
    axes.errorbar(x, x, yerr=x)
    axes.step(x, x)
    figure.savefig(tmp_path / "plot.png")
    plt.close(figure)


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), None), (None, slice(None)), None, (None, 2), (..., None), (None, ...),
        (slice(1, None), None), (None, slice(None), None), (..., ), (2, None),
        (slice(None, None, -2), None),
    ],
)  # fmt: skip
def test_new_axes_are_those_of_numpy(key):
    a = np.arange(6.0)
    A = es.view_of(a, label="A")
    part = A[key]
    assert np.array_equal(np.asarray(part), a[key])
    assert isinstance(part, es.View)
    assert np.asarray(part).strides == a[key].strides or part.size <= 1 or None in a[key].shape
    assert np.shares_memory(np.asarray(part), a)


def test_new_axes_of_more_dimensions_can_be_stored_through_and_launched_over():
    a = np.zeros((3, 4))
    A = es.View((3, 4), label="A", space="serial")
    every = slice(None)
    for key in [
        (every, None, every),
        (..., 0, None),
        (..., None, 1),
        (None, 1, None, 2),
        (None, 1),
        (0, None),
        None,
    ]:
        assert A[key].shape == a[key].shape
        A[key] = 2.0
        a[key] = 2.0
    assert np.array_equal(np.asarray(A), a)
    es.parallel_for(3, store_row, A[:, None, :])
    assert (np.asarray(A)[:, 1] == 7.0).all()
    fixed = es.View((4, es.static(3)))[:, None, :]
    assert fixed.type.static == (None, None, 3)
    with pytest.raises(es.ViewError, match="rank 9 exceeds 8"):
        A[(None,) * 7]


@es.kernel
def store_row(i, x):
    x[i, 0, 1] = 7.0


def test_indexing_by_a_mask_or_a_list_says_what_there_is():
    A = es.view_of(np.arange(4.0), label="A")
    for key in (np.array([True, False, True, False]), [0, 2], np.array([0, 2])):
        with pytest.raises(es.ViewError, match=r"cannot index dimension 0 .*np\.asarray\(A\)\["):
            A[key]


# -- types ----------------------------------------------------------------------------------------


def test_nothing_of_this_needs_an_import_of_the_compiler():
    code = (
        "import sys, execspace as es\n"
        "try: es.parallel_fro\n"
        "except AttributeError: pass\n"
        "dir(es)\n"
        "assert 'execspace_compiler' not in sys.modules and 'llvmlite' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
