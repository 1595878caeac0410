"""ScatterView and UniqueToken by themselves: what nobody contributed to, other sizes, refusals.

What kernels do with them is tested on every space by the conformance kit's level of atomic
operations."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


@pytest.mark.parametrize("dtype", ["int16", "uint8", "float32"])
@pytest.mark.parametrize("op", ["min", "max"])
def test_what_nobody_contributed_to_stays(op, dtype):
    A = es.View(3, dtype, space="serial")
    es.deep_copy(A, 7)
    for strategy in ("plain", "atomic", "duplicated"):
        es.ScatterView(A, op=op, strategy=strategy, space="serial").contribute(A)
        assert np.asarray(A).tolist() == [7, 7, 7]


def test_resize_realloc_and_reset_except():
    A = es.View((2, 2), es.int64, label="A", space="serial")
    policy = es.MDRangePolicy((2, 2), space="serial")

    def fill(i, j, copies):
        copies[0, i, j] += 1 + i

    for strategy in ("plain", "duplicated"):
        scatter = es.ScatterView(A, strategy=strategy, space="serial")
        es.parallel_for(policy, fill, scatter.copies())
        scatter.resize((3, 1))
        B = es.View((3, 1), es.int64, space="serial")
        scatter.contribute(B)
        assert np.asarray(B).tolist() == [[1], [2], [0]]
        scatter.reset_except(scatter.copies())
        scatter.contribute(B)
        assert np.asarray(B).tolist() == [[2], [4], [0]]
        scatter.reset_except(B)
        scatter.contribute(B)
        assert np.asarray(B).tolist() == [[2], [4], [0]]
        es.parallel_for(policy, fill, es.ScatterView(A, space="serial").copies())
        scatter.realloc((2, 2))
        es.deep_copy(A, 5)
        scatter.contribute(A)
        assert (np.asarray(A) == 5).all()
        with pytest.raises(
            es.ViewError, match=r"ScatterView of 'A' has rank 2; expected 2 .* got 1"
        ):
            scatter.resize(4)


def test_what_is_refused():
    A = es.View(4, es.complex128, label="A", space="serial")
    with pytest.raises(es.ViewError, match="op 'mean' does not exist; expected 'sum'"):
        es.ScatterView(A, op="mean", space="serial")
    with pytest.raises(es.ViewError, match="op 'min' is not defined for complex128"):
        es.ScatterView(A, op="min", space="serial")
    with pytest.raises(es.ViewError, match=r"strategy 'fast' does not exist .* expected 'plain'"):
        es.ScatterView(A, strategy="fast", space="serial")
    with pytest.raises(es.ViewError, match=r"access\(\) of 1 copies .* Pass copies\(\)"):
        es.ScatterView(A, strategy="duplicated", space="serial").access()


def test_on_the_host_it_is_plain_python():
    token = es.UniqueToken("serial", size=2)
    first, second = token.acquire(), token.acquire()
    assert (first, second) == (0, 1)
    token.release(first)
    assert token.acquire(1) == 0
    assert "2 ids" in repr(token)


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_a_wrong_size_is_refused(size):
    with pytest.raises(es.PolicyError, match=r"UniqueToken: size is .*expected an integer"):
        es.UniqueToken("serial", size)


@pytest.mark.parametrize("strategy", ["plain", "duplicated"])
def test_static_extents_of_the_view_are_those_of_the_buffers(strategy):
    A = es.View((4, es.static(3)), label="A", space="serial")
    scatter = es.ScatterView(A, strategy=strategy, space="serial")
    assert scatter.copies().type.static == (None, None, 3)
    scatter.resize((6, 3))
    assert scatter.copies().shape[1:] == (6, 3)
    assert scatter.copies().type.static == (None, None, 3)
    for change in (scatter.resize, scatter.realloc):
        with pytest.raises(es.ViewError, match="ScatterView of 'A' has a static extent 1"):
            change((6, 4))
