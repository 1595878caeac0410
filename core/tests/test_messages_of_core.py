"""The messages that users meet most, word for word: what is wrong, then what to do."""

import ctypes

import numpy as np
import pytest

import execspace as es


def readonly():
    values = np.zeros(2)
    values.flags.writeable = False
    return es.view_of(values, label="A")


def view(*shape, **options):
    return es.View(shape, label="A", **options)


DTYPES = (
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, "
    "complex64, complex128"
)

MESSAGES = {
    "dtype unknown": (
        lambda: view(2, dtype="flaot64"),
        es.DTypeError,
        f"dtype 'flaot64' does not exist; expected one of {DTYPES}, for example es.float64.",
    ),
    "dtype unusable": (
        lambda: view(2, dtype="U4"),
        es.DTypeError,
        f"dtype 'U4' cannot be an element of a View; expected one of {DTYPES}, "
        "or a structured dtype of them.",
    ),
    "negative extent": (
        lambda: view(2, -3),
        es.ViewError,
        "View 'A': shape (2, -3) has a negative extent.",
    ),
    "extent not an integer": (
        lambda: view(2.5),
        es.ViewError,
        "View 'A': shape (2.5,) is not valid; expected an integer or a sequence of integers. For a "
        "View of these elements write es.array(...).",
    ),
    "rank above 8": (
        lambda: view(*(1,) * 9),
        es.ViewError,
        "View 'A': rank 9 exceeds 8.",
    ),
    "shape beyond any memory": (
        lambda: view(2**40, 2**40),
        es.ViewError,
        "View 'A': shape (1099511627776, 1099511627776) exceeds the address space.",
    ),
    "layout": (
        lambda: view(2, layout="stride"),
        es.ViewError,
        "View 'A': layout 'stride' does not exist; expected 'left', 'right', a sequence of strides "
        "or an es.Layout.",
    ),
    "index out of bounds": (
        lambda: view(2, 3)[1, 3],
        es.ViewIndexError,
        "View 'A': index 3 is out of bounds for dimension 1 of extent 3.",
    ),
    "pair out of bounds": (
        lambda: es.subview(view(5), (2, 6)),
        es.ViewIndexError,
        "View 'A': range (2, 6) does not lie within dimension 0 of extent 5.",
    ),
    "too many indices": (
        lambda: view(2)[0, 0],
        es.ViewError,
        "View 'A' has rank 1; expected 1 index, got 2.",
    ),
    "index not an integer": (
        lambda: view(2)[0.5],
        es.ViewError,
        "View 'A': cannot index dimension 0 with 0.5; expected an integer, a slice or es.ALL "
        "(es.subview also takes a pair).",
    ),
    "read-only": (
        lambda: readonly().__setitem__(0, 1.0),
        es.ViewError,
        "View 'A' is read-only.",
    ),
    "not an array": (
        lambda: es.view_of([1, 2]),
        TypeError,
        "Cannot make a View of 'list': expected a NumPy array, a DLPack tensor, or an object with "
        "the buffer protocol. Make it an array: np.asarray(...).",
    ),
    "big-endian": (
        lambda: es.view_of(np.zeros(2, ">f8"), label="A"),
        es.ViewError,
        "Cannot make a View 'A' of an array of dtype >f8 with strides (8,): elements must be "
        "aligned and in native byte order. Copy it first.",
    ),
    "deep_copy of shapes": (
        lambda: es.deep_copy(view(2, 3), es.View((3, 2), label="B")),
        es.ViewError,
        "deep_copy: destination View 'A' has shape (2, 3), source View 'B' has (3, 2); expected "
        "the same.",
    ),
    "deep_copy of kinds": (
        lambda: es.deep_copy(view(2, dtype=es.int64), 1.5),
        TypeError,
        "deep_copy: a value of type float cannot be stored in View 'A' of dtype int64 without loss "
        "of kind; convert it first: astype('int64'), or give casting='unsafe'.",
    ),
    "range backwards": (
        lambda: es.RangePolicy(3, 1),
        es.PolicyError,
        "RangePolicy: end 1 is less than begin 3; for an empty range give two equal bounds.",
    ),
    "bound not an integer": (
        lambda: es.RangePolicy(2.5),
        es.PolicyError,
        "RangePolicy: end must be an integer, got 2.5.",
    ),
    "ranks of bounds": (
        lambda: es.MDRangePolicy((0,), (2, 2)),
        es.PolicyError,
        "MDRangePolicy: lower has 1 entries and upper has 2; expected the same number.",
    ),
    "tile": (
        lambda: es.MDRangePolicy((8, 8), tile=(4,)),
        es.PolicyError,
        "MDRangePolicy: tile (4,); expected 2 extents of at least 1.",
    ),
    "iterate": (
        lambda: es.MDRangePolicy((8, 8), iterate="up"),
        es.PolicyError,
        "MDRangePolicy: iterate='up'; expected one of ('auto', 'left', 'right'), or a pair of "
        "them: the order of tiles, and that within a tile.",
    ),
    "no kernel": (
        lambda: es.parallel_for(3, 5),
        es.LaunchError,
        "5 is not a kernel; expected a Python function, a lambda, or a function decorated with "
        "@es.kernel.",
    ),
    "no policy": (
        lambda: es.parallel_for(3.0, lambda i: None),
        es.PolicyError,
        "3.0 is not a policy; expected an integer, es.RangePolicy, es.MDRangePolicy or "
        "es.TeamPolicy.",
    ),
    "no reducer of that name": (
        lambda: es.parallel_reduce(3, lambda i: i, reducer="median"),
        es.LaunchError,
        "No plugin registers a reducer named 'median'; registered: none.",
    ),
    "no space of that name": (
        lambda: es.View(2, space="cuda:1"),
        es.UnknownSpaceError,
        "Space 'cuda' is not installed; installed spaces: none. Spaces come from plugins; "
        "section Install of execspace's README lists those of its repository.",
    ),
    "no space at all": (
        lambda: es.parallel_for(3, lambda i: None),
        es.SpaceUnavailableError,
        "No execution space is usable: of the plugins that are installed, EXECSPACE_PLUGINS='' "
        "takes none that has a space. Unset it, or add the name of one, as "
        "EXECSPACE_PLUGINS=serial.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES)
def test_message(case):
    action, kind, text = MESSAGES[case]
    with pytest.raises(kind) as error:
        action()
    assert str(error.value) == text


def test_long_values_are_shortened():
    with pytest.raises(es.LaunchError) as raised:
        es.parallel_for(3, np.random.default_rng(0).random(1000))
    assert len(str(raised.value)) < 600
    assert str(raised.value).startswith("array([6.369")
    assert " ... " in str(raised.value)
    assert "is not a kernel; expected a Python function" in str(raised.value)


def test_host_functions_that_need_the_gil():
    with pytest.raises(es.LaunchError, match=r"host_function\(.*the function needs the GIL"):
        es.host_function(ctypes.pythonapi.PyLong_AsLong)
