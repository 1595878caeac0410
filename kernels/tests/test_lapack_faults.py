"""What functions of one matrix refuse before they write, and matrices without elements."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_kernels import MatrixError, lapack


def test_matrices(space):
    A, wide = es.ones((3, 3), space=space), es.ones((3, 4), space=space)
    b, pivots = es.ones(3, space=space), es.zeros(3, np.int32, space=space)
    for name, args in (
        ("getrf", ()), ("gesv", (b,)), ("potrf", ()), ("posv", (b,)), ("trtri", ()), ("geqrf", ()),
    ):  # fmt: skip
        function = getattr(lapack, name)
        with pytest.raises(es.ViewError, match=f"{name}: A is a list; expected a View or an array"):
            function([[1.0]], *args)
        with pytest.raises(es.ViewError, match=f"{name}: A: .* is of int64; expected float32, flo"):
            function(es.ones((3, 3), np.int64, space=space), *args)
        with pytest.raises(es.ViewError, match=f"{name}: A: .* has rank 1, shape"):
            function(b, *args)
        with pytest.raises(es.ViewError, match=f"{name}: .* which is read-only"):
            function(A.readonly(), *args)
        if name not in ("getrf", "geqrf"):
            with pytest.raises(MatrixError, match=f"{name}: A is of 3 x 4; expected a square matr"):
                function(wide, *args)
        with pytest.raises(MatrixError, match=f"{name}: vendor=1; expected True, False or None"):
            function(A, *args, vendor=1)
    for name, args in (("getrs", (pivots, b)), ("potrs", (b,))):
        with pytest.raises(MatrixError, match=f"{name}: A is of 3 x 4; expected a square matrix"):
            getattr(lapack, name)(wide, *args)
    assert (A.to_numpy() == 1).all() and (b.to_numpy() == 1).all()


def test_right_sides(space):
    A, pivots = es.ones((3, 3), space=space), es.zeros(3, np.int32, space=space)
    for name, before in (("getrs", (pivots,)), ("gesv", ()), ("potrs", ()), ("posv", ())):

        def call(B, name=name, before=before):
            return getattr(lapack, name)(A, *before, B)

        with pytest.raises(es.ViewError, match=rf"{name}: B: .* expected \(3,\) or \(3, k\), as A"):
            call(es.ones((4, 2), space=space))
        with pytest.raises(es.ViewError, match=f"{name}: B is View .* of float32, and A of float"):
            call(es.ones(3, np.float32, space=space))
        with pytest.raises(es.ViewError, match=f"{name}: B is View .* overlaps A in memory"):
            call(A)
        with pytest.raises(es.ViewError, match=f"{name}: B is View .* overlaps A in memory"):
            call(A[:, 1])
        with pytest.raises(es.ViewError, match=f"{name}: B is a list; expected a View or an array"):
            call([1.0, 2.0, 3.0])
        with pytest.raises(es.ViewError, match=f"{name}: B.* which is read-only"):
            call(es.ones(3, space=space).readonly())
    assert (A.to_numpy() == 1).all()


def test_options(space):
    A, b = es.ones((3, 3), space=space), es.ones(3, space=space)
    pivots = es.zeros(3, np.int32, space=space)
    with pytest.raises(MatrixError, match="getrs: mode='C'; expected 'N', 'T' or 'H'"):
        lapack.getrs(A, pivots, b, "C")
    with pytest.raises(es.ViewError, match=r"getrs: pivots: .* expected int32 or int64 and \(3,\)"):
        lapack.getrs(A, pivots[:2], b)
    with pytest.raises(es.ViewError, match=r"getrs: pivots: .* of float64 .* expected int32 or"):
        lapack.getrs(A, b, b)
    for function, args in (
        (lapack.potrf, ()), (lapack.potrs, (b,)), (lapack.posv, (b,)), (lapack.trtri, ()),
    ):  # fmt: skip
        with pytest.raises(
            MatrixError, match=f"{function.__name__}: uplo='X'; expected 'L' or 'U'"
        ):
            function(A, *args, uplo="X")
    with pytest.raises(MatrixError, match="trtri: unit_diagonal='yes'; expected True or False"):
        lapack.trtri(A, unit_diagonal="yes")


def test_arrays(space):
    """NumPy's are taken as they are, where the space reaches them."""
    A, b = np.array([[4.0, 1.0], [2.0, 3.0]]), np.array([6.0, 8.0])
    try:
        es.space_for(es.view_of(A), space=space)
    except es.SpaceAccessError:
        pytest.skip("the space does not reach the host's memory")
    _, info = lapack.gesv(A, b, space=space)
    es.fence()
    assert info.item() == 0 and np.allclose(b, [1.0, 2.0])


@pytest.mark.parametrize("vendor", [None, False])
def test_no_elements(space, vendor):
    options = {"vendor": vendor, "space": space}
    for shape in ((0, 0), (0, 3), (3, 0)):
        A = es.View(shape, space=space)
        pivots, info = lapack.getrf(A, **options)
        assert pivots.shape == (0,) and info.item() == 0
        tau = lapack.geqrf(A, **options)
        assert tau.shape == (0,)
        B = es.ones((shape[0], 2), space=space)
        assert (lapack.ormqr(A, tau, B, **options).to_numpy() == 1).all()
        Q = es.ones((shape[0], shape[0]), space=space)
        assert (lapack.orgqr(A, tau, Q, **options).to_numpy() == np.eye(shape[0])).all()
        U, s, Vh = (found.to_numpy() for found in lapack.svd(A, **options))
        assert s.shape == (0,)
        assert (np.eye(shape[0]) == U).all() and (Vh == np.eye(shape[1])).all()
        U, s, Vh = lapack.svd(A, False, **options)
        assert U.shape == (shape[0], 0) and Vh.shape == (0, shape[1])
    A, b = es.View((0, 0), space=space), es.View(0, space=space)
    assert lapack.gesv(A, b, **options)[1].item() == 0
    assert lapack.posv(A, b, **options).item() == lapack.trtri(A, **options).item() == 0
    w, V = lapack.eigh(A, **options)
    assert w.shape == (0,) and V.shape == (0, 0)


@pytest.mark.parametrize("vendor", [None, False])
def test_pivots_that_are_no_rows(space, vendor):
    A, b = es.array(np.eye(3), space=space), es.ones(3, space=space)
    if A.memory_space is not es.HOST:
        pytest.skip("they are looked at in memory of the host")
    for wrong in ([1, 2, 3], [0, -1, 2], [10**9, 1, 2]):
        pivots = es.array(np.array(wrong, np.int32), space=space)
        with pytest.raises(MatrixError, match=r"getrs: pivots\[\d\] is .*; expected 0 to 2"):
            lapack.getrs(A, pivots, b, vendor=vendor)
    assert b.to_numpy().tolist() == [1.0] * 3


@pytest.mark.parametrize("n", [5, 100])
def test_nan(space, n):
    """Of libraries, which leave out what is NaN, and of ours."""
    if space.name == "oracle" and n > 5:
        pytest.skip("each step is one of Python")
    H, b = np.eye(n), es.ones(n, space=space)
    H[3, 3] = np.nan
    A = es.array(H, space=space)
    assert lapack.posv(A, b).item() == 4 and b.to_numpy().tolist() == [1.0] * n
    G = np.random.default_rng(8).random((n, n))
    G[0, 0] = np.nan
    lapack.gesv(es.array(G, space=space), b)
    assert np.isnan(b.to_numpy()).all()
    G[0, 0] = np.inf
    assert np.isnan(lapack.svd(es.array(G, space=space), compute_uv=False).to_numpy()).all()
