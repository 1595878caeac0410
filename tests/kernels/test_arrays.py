"""Arrays that mean more than their elements are refused wherever arrays enter.

A mask, a unit or the index of a table would be lost without a word. The message says what to write.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import execspace as es


@es.kernel
def double(i, x):
    x[i] = 2.0 * x[i]


def capturing(x):
    return lambda i: x[i]


ENTRIES = {
    "view_of": lambda x: es.view_of(x),
    "parallel_for": lambda x: es.parallel_for(2, double, x),
    "parallel_reduce": lambda x: es.parallel_reduce(2, lambda i, x: x[i], x),
    "parallel_scan": lambda x: es.parallel_scan(2, lambda i, prefix, final, x: x[i], x),
    "explain": lambda x: es.explain(2, double, x),
    "a capture": lambda x: es.parallel_reduce(2, capturing(x)),
    "source of deep_copy": lambda x: es.deep_copy(es.View(3), x),
    "destination of deep_copy": lambda x: es.deep_copy(x, 0.0),
    "subview": lambda x: es.subview(x, es.ALL),
    "a store from the host": lambda x: es.View(3).__setitem__(slice(None), x),
    "create_mirror": lambda x: es.create_mirror(x),
    "create_mirror_view": lambda x: es.create_mirror_view(x),
    "create_mirror_view_and_copy": lambda x: es.create_mirror_view_and_copy("oracle", x),
    "DualView": lambda x: es.DualView(view=x),
    "ScatterView": lambda x: es.ScatterView(x),
    "sort": lambda x: es.sort(x),
    "histogram": lambda x: es.histogram(x, 3),
    "searchsorted": lambda x: es.searchsorted(x, np.zeros(2)),
    "fill_random": lambda x: es.fill_random(x, 0, 1),
    "out=": lambda x: es.parallel_reduce(2, lambda i: 1.0, out=x),
    "resize": lambda x: es.resize(x, 4),
    "the shape of a View": lambda x: es.View(x),
    "static": lambda x: es.parallel_for(2, es.kernel(with_static), np.zeros(2), x),
    "an identity": lambda x: es.parallel_reduce(2, lambda i: (1.0, 1.0, 1.0), reducer=joining(x)),
}


def with_static(i, y, x: es.static):
    y[i] = 1.0


def joining(x):
    class Joining(es.Reducer):
        identity = x

        def join(a, b):
            return a

    return Joining()


class Units(np.ndarray):
    """As the arrays of astropy."""

    unit = "m"
    value = property(np.asarray)


class Labelled(np.ndarray):
    """Nobody knows what it means."""

    def __array_finalize__(self, other):
        self.labels = getattr(other, "labels", None)


class Named(np.ndarray):
    """Only a name."""


class Quantity:
    """As the arrays of pint, which hand out those that they hold."""

    def __init__(self, magnitude):
        self.magnitude, self.units = magnitude, "m"
        self.__array_interface__ = magnitude.__array_interface__


class MaskedTensor:
    mask = None

    def __init__(self, held):
        self.__array_interface__ = held.__array_interface__


HELD = np.array([1.0, 2.0, 3.0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # numpy.matrix is on its way out
    MATRIX = np.matrix([1.0, 2.0, 3.0])
NOTED = HELD.view(Named)
NOTED.note = "of last year"
MORE = {
    "with a note": (NOTED, "may mean more than its elements"),
    "masked": (np.ma.array(HELD, mask=[0, 1, 0]), r"has a mask.*x\.filled\(value\)"),
    "masked nowhere": (np.ma.array(HELD), r"has a mask.*x\.filled\(value\)"),
    "a masked constant": (np.ma.masked, r"has a mask.*x\.filled\(value\)"),
    "matrix": (MATRIX, r"products and subscripts of its own.*np\.asarray\(x\)"),
    "with a unit": (HELD.view(Units), r"has a unit.*x\.value"),
    "unknown subclass": (HELD.view(Labelled), r"may mean more than its elements.*np\.asarray\(x\)"),
    "quantity": (Quantity(HELD), r"has a unit.*x\.magnitude"),
    "foreign mask": (MaskedTensor(HELD), "has a mask"),
}
# What names no array anyhow, or has a message of its own that says what is expected.
OTHERWISE = {"resize", "the shape of a View", "static", "ScatterView", "an identity"}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("what", MORE)
def test_what_means_more_than_its_elements_is_refused(what, entry):
    value, why = MORE[what]
    before = HELD.copy()
    hidden = not isinstance(value, np.ndarray)
    if entry == "a capture" and hidden:  # an object, of which kernels know the attributes
        why = "cannot index 'x'"
    if entry == "an identity" and hidden:
        pytest.skip("no array of NumPy, so no identity")
    if entry in OTHERWISE:
        why = "expected"
        if entry == "an identity":
            why = MORE[what][1]
    with es.use_space("oracle"), pytest.raises(es.ExecspaceError, match=f"(?s){why}") as caught:
        ENTRIES[entry](value)
    assert isinstance(caught.value, TypeError | ValueError)
    assert np.array_equal(HELD, before)


@pytest.mark.parametrize(
    "plain",
    [
        lambda path: np.memmap(path, np.float64, "w+", shape=(3,)),
        lambda path: np.rec.array(np.zeros(3, [("x", "f8")])),
        lambda path: np.ma.array(HELD, mask=[0, 1, 0]).filled(0.0),
        lambda path: np.asarray(HELD.view(Labelled)),
        lambda path: HELD.copy().view(Named),
    ],
)
def test_arrays_that_are_their_elements_are_taken(plain, tmp_path):
    array = plain(tmp_path / "elements")
    assert es.view_of(array).shape == (3,)
    es.deep_copy(es.create_mirror(array), array)


# -- what is not an array in memory
# -------------------------------------------------------------------


def stand_in(module, name, **methods):
    """An object of a class of that name, without the package."""
    made = type(name, (), {"__module__": module, "__array__": lambda self: HELD, **methods})
    return made()


FOREIGN = [
    ("pandas.core.series", "Series", r"x\.to_numpy\(\)"),
    ("pandas.core.frame", "DataFrame", r"x\.to_numpy\(\)"),
    ("pandas.core.indexes.base", "Index", r"x\.to_numpy\(\)"),
    ("pandas", "Series", r"x\.to_numpy\(\)"),
    ("xarray.core.dataarray", "DataArray", r"x\.to_numpy\(\)"),
    ("xarray.core.dataset", "Dataset", r"x\['name'\]\.to_numpy\(\)"),
    ("polars.series.series", "Series", r"x\.to_numpy\(\)"),
    ("scipy.sparse._csr", "csr_matrix", r"x\.toarray\(\)"),
    ("scipy.sparse._coo", "coo_array", r"x\.toarray\(\)"),
    ("sparse.numba_backend._coo.core", "COO", r"x\.todense\(\)"),
]


@pytest.mark.parametrize(("module", "name", "hint"), FOREIGN)
def test_tables_and_sparse_arrays_are_told_how_they_become_arrays(module, name, hint):
    check_hints(stand_in(module, name), name, hint)


def test_an_unknown_class_that_gives_an_array_is_told_by_its_own_method():
    check_hints(stand_in("mine", "Table", to_numpy=lambda self: HELD), "Table", r"x\.to_numpy\(\)")
    check_hints(stand_in("mine", "Sparse", toarray=lambda self: HELD), "Sparse", r"x\.toarray\(\)")


def check_hints(value, name, hint):
    captured = hint.replace("x", "value", 1) if "\\[" not in hint else hint
    with es.use_space("oracle"):
        for entry, error in [("view_of", es.ViewTypeError), ("parallel_for", es.LaunchError),
                             ("source of deep_copy", es.ViewTypeError),
                             ("sort", es.ViewTypeError)]:  # fmt: skip
            with pytest.raises(error, match=f"(?s){name}.*{hint}"):
                ENTRIES[entry](value)
        with pytest.raises(es.KernelTypeError, match=f"(?s)hint: make it an array: .*{captured}"):
            es.parallel_reduce(3, lambda i: value[i])


@pytest.mark.parametrize(
    ("package", "make", "name", "hint"),
    [
        ("pandas", lambda p: p.Series([1.0, 2.0]), "Series", r"x\.to_numpy\(\)"),
        ("pandas", lambda p: p.DataFrame({"a": [1.0]}), "DataFrame", r"x\.to_numpy\(\)"),
        ("pandas", lambda p: p.array([1, None]), "IntegerArray", r"x\.to_numpy\(\)"),
        ("pandas", lambda p: p.date_range("2020", periods=2), "Datetime", r"x\.to_numpy\(\)"),
        ("xarray", lambda p: p.DataArray([1.0, 2.0]), "DataArray", r"x\.to_numpy\(\)"),
        ("xarray", lambda p: p.Dataset({"a": ("x", [1.0])}), "Dataset", r"to_numpy\(\)"),
        ("sparse", lambda p: p.COO(np.eye(3)), "COO", r"x\.todense\(\)"),
        ("scipy.sparse", lambda p: p.csr_array(np.eye(3)), "csr_array", r"x\.toarray\(\)"),
        ("scipy.sparse", lambda p: p.csr_matrix(np.eye(3)), "csr_matrix", r"x\.toarray\(\)"),
    ],
)
def test_real_tables_and_sparse_arrays(package, make, name, hint):
    value = make(pytest.importorskip(package))
    with es.use_space("oracle"):
        for entry in ("view_of", "parallel_for", "source of deep_copy", "sort"):
            with pytest.raises(es.ExecspaceError, match=f"(?s){name}.*{hint}"):
                ENTRIES[entry](value)


def test_sequences_of_numbers_and_of_views():
    views = (np.zeros(3), es.View(3, space="serial"))
    with es.use_space("oracle"):
        for plain in ([1.0, 2.0], (1.0, 2.0), range(3)):
            if not isinstance(plain, tuple):
                with pytest.raises(es.LaunchError, match=r"Make it an array: np\.asarray\("):
                    es.parallel_for(2, double, plain)
            with pytest.raises(es.ViewTypeError, match=r"Make it an array: np\.asarray"):
                es.deep_copy(es.View(2), plain)
        with pytest.raises(es.LaunchError, match=r"Pass a tuple of them: tuple\(x\)"):
            es.parallel_for(2, double, [*views])
        with pytest.raises(es.LaunchError, match="one by one, or as the fields of a dataclass"):
            es.parallel_for(2, double, {"x": views[0]})
