"""Elements of storage types on the host: their package, what is read, rounding, other libraries."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace.base.storage_types import FORMATS, NAMES, as_stored, pattern_of, storage_dtype

ml_dtypes = pytest.importorskip("ml_dtypes")


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


# -- the package -----------------------------------------------------------------------------------


def test_the_package_is_loaded_when_a_type_is_asked_for():
    program = (
        "import sys, execspace as es; es.View(3); dir(es)\n"
        "assert 'ml_dtypes' not in sys.modules\n"
        "from execspace import *\n"
        "assert 'ml_dtypes' not in sys.modules\n"
        "es.bfloat16\n"
        "assert 'ml_dtypes' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_name_alone_loads_it():
    program = "import execspace as es; assert str(es.View(3, 'float8_e5m2').dtype) == 'float8_e5m2'"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_types_are_those_of_the_package(name):
    assert getattr(es, name) is getattr(ml_dtypes, name)
    assert name in dir(es)
    assert name not in es.__all__


def test_without_the_package_it_is_said_how_to_install_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.delitem(vars(es), name, raising=False)
    text = rf"es\.{name} is a type of the package ml_dtypes.* pip install ml_dtypes"
    with pytest.raises(es.DTypeError, match=text):
        es.View(3, name)
    with pytest.raises(AttributeError, match=text):
        getattr(es, name)
    assert not hasattr(es, name)


def test_other_types_of_the_package_are_refused():
    with pytest.raises(es.DTypeError, match="cannot be an element of a View"):
        es.View(3, ml_dtypes.float8_e3m4)
    with pytest.raises(es.DTypeError, match="cannot be an element of a View"):
        es.view_of(np.zeros(3, ml_dtypes.int4))


# -- elements --------------------------------------------------------------------------------------


def test_an_element_that_is_read_is_a_float32(name):
    view = es.array([0.1, 2, -3], name, memory=es.HOST)
    expected = np.array([0.1, 2, -3], storage_dtype(name)).astype(np.float32)
    for n in range(3):
        assert type(view[n]) is np.float32
        assert view[n] == expected[n]
    assert [type(v) for v in view] == [np.float32] * 3
    assert list(view) == list(expected)
    assert np.asarray(view).dtype == storage_dtype(name)


def test_what_is_stored_is_rounded_once():
    view = es.View(2, es.bfloat16, memory=es.HOST)
    view[0] = 1 + 2.0**-8 + 2.0**-40
    view[1] = 2**60 + 2**52 + 1
    assert list(view) == [1 + 2.0**-7, 2.0**60 + 2.0**53]
    view[0] += 2.0**-8
    assert view[0] == 1 + 2.0**-6
    view[:] = [1 + 2.0**-8 + 2.0**-40, 0]
    assert list(view) == [1 + 2.0**-7, 0]


def test_an_array_shares_its_memory(name):
    array = np.arange(6).reshape(2, 3).astype(storage_dtype(name))
    view = es.view_of(array)
    view[1, 2] = 7
    assert float(array[1, 2]) == 7
    assert view.dtype == array.dtype
    assert np.shares_memory(np.asarray(view.T), array)
    array.flags.writeable = False
    with pytest.raises(es.ViewError, match="read-only"):
        es.view_of(array)[0, 0] = 1


def test_what_is_shown(name):
    view = es.array([0.5, 2, -3], name, label="x", memory=es.HOST)
    assert repr(view) == f"<View 'x' {name} (3,) layout=right memory=host>\n[0.5 2 -3]"
    assert "0.5" in view._repr_html_()
    assert name in view._repr_html_()


def test_an_array_of_a_kernel_called_as_a_function(name):
    held = es.local((2, 2), name)
    held[0, 1] = 0.1
    assert type(held[0, 1]) is np.float32
    assert held[0, 1] == np.float32(np.array(0.1).astype(storage_dtype(name)))
    assert held[1, 1] == 0


def test_atomic_functions_called_by_python_refuse_them(name):
    for elements in (es.View(2, name, memory=es.HOST), np.zeros(2, storage_dtype(name))):
        for call in (
            lambda e: es.atomic_add(e, 0, 1.0), lambda e: es.atomic_load(e, 0),
            lambda e: es.atomic_exchange(e, 0, 1.0), lambda e: es.atomic_store(e, 0, 1.0),
        ):  # fmt: skip
            with pytest.raises(
                es.DTypeError, match=f"no atomic operations on elements of .*{name}"
            ):
                call(elements)


def test_the_type_in_an_annotation(name):
    view = es.View[getattr(es, name)](3)
    assert view.dtype == storage_dtype(name)
    with pytest.raises(es.DTypeError, match="Leave out one"):
        es.View[getattr(es, name)](3, es.float32)


# -- rounding --------------------------------------------------------------------------------------


REALS = st.floats() | st.floats(width=32) | st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize("number", [2**60 + 2**52 + 1, 2**63 + 2**55 + 1, 3 * 2**64, -(2**127) - 1])
def test_large_integers_are_rounded_once(number):
    """Also those of a list, which NumPy makes float64 first: a tie then."""
    form, dtype = FORMATS["bfloat16"], storage_dtype("bfloat16")
    expected = np.array(pattern_of(number, form), form.word).view(dtype)
    view = es.array([number, 1], es.bfloat16, memory=es.HOST)
    assert view[0] == expected
    view[1] = number
    assert view[1] == expected
    es.deep_copy(view, 0)
    es.deep_copy(view, number)
    assert view[0] == expected


@given(number=REALS)
def test_arrays_are_rounded_as_numbers_are(number):
    kind = np.int64 if isinstance(number, int) else np.float64
    for name, form in FORMATS.items():
        found = as_stored(np.array([number], kind), storage_dtype(name)).view(form.word)[0]
        expected = pattern_of(number, form)
        sign = 1 << (form.bits - 1)
        if expected in (form.nan, form.nan | sign):
            assert int(found) & ~sign == form.nan
        else:
            assert int(found) == expected


@given(number=st.floats(width=32))
def test_float32_are_rounded_as_by_ml_dtypes(number):
    for name, form in FORMATS.items():
        with np.errstate(all="ignore"):
            expected = np.float32(number).astype(storage_dtype(name)).view(form.word)
        sign = 1 << (form.bits - 1)
        if number == number:
            assert pattern_of(np.float32(number), form) == int(expected)
        else:
            assert int(expected) & ~sign == form.nan


# -- other libraries -------------------------------------------------------------------------------


def test_tensors_of_pytorch(name, torch):
    tensor = torch.tensor([[1.0, 2.5], [3.0, -4.0]]).to(getattr(torch, name))
    view = es.view_of(tensor)
    assert view.dtype == storage_dtype(name)
    assert view.to_numpy().astype(np.float32).tolist() == [[1, 2.5], [3, -4]]
    view[0, 0] = 7
    assert float(tensor[0, 0]) == 7
    assert es.view_of(tensor.T).layout == "left"
    given = torch.from_dlpack(view)
    assert given.dtype == tensor.dtype
    assert given.data_ptr() == tensor.data_ptr()
    own = es.ones((3, 2), name, memory=es.HOST)
    torch.from_dlpack(own)[1, 1] = 5
    assert own[1, 1] == 5
    assert own[0, 0] == 1


def test_a_tensor_without_the_package(torch, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(es.ViewTypeError, match="pip install"):
        es.view_of(torch.zeros(3, dtype=torch.bfloat16))


def test_numpy_has_no_name_for_them(name):
    view = es.View(3, name, memory=es.HOST)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(view)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brings __buffer__")
def test_there_is_no_buffer(name):
    with pytest.raises(BufferError, match=f"is of {name}, for which buffers have no name"):
        memoryview(es.View(3, name, memory=es.HOST))
