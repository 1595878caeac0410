"""Matrices that the tests of sparse functions go through.

TEST_MATRICES=a.mtx:b.mtx.gz adds files of the Matrix Market to them, on all spaces.
"""

from __future__ import annotations

import os
from functools import partial
from zlib import crc32

import numpy as np
import pytest

import execspace as es

sparse = pytest.importorskip("scipy.sparse")


def stencil(*extents):
    """The Laplacian of a grid: a point and its neighbours."""
    n = int(np.prod(extents))
    matrix = sparse.csr_array((n, n))
    for d, extent in enumerate(extents):
        line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(extent, extent))
        parts = [sparse.eye_array(e) for e in extents]
        parts[d] = line
        whole = parts[0]
        for part in parts[1:]:
            whole = sparse.kron(whole, part)
        matrix = matrix + whole
    return sparse.csr_array(matrix)


def power_law(n, entries, seed=1):
    """A graph whose rows differ much in length, as those of social networks do."""
    rng = np.random.default_rng(seed)
    rows, columns = (np.minimum((n * rng.random(entries) ** 4).astype(int), n - 1) for _ in "rc")
    return sparse.csr_array(sparse.coo_array((rng.random(entries), (rows, columns)), shape=(n, n)))


def dense_row(n):
    matrix = sparse.lil_array((n, n))
    matrix[n // 2, :] = 1.5
    matrix.setdiag(2.0)
    return sparse.csr_array(matrix)


def empty_rows(n):
    matrix = sparse.random_array((n, n), density=0.1, rng=np.random.default_rng(3), format="lil")
    matrix[::2, :] = 0.0
    return sparse.csr_array(matrix)


MATRICES = {
    "line": lambda: stencil(40),
    "grid": lambda: stencil(9, 11),
    "cube": lambda: stencil(4, 5, 6),
    "power law": lambda: power_law(200, 3000),
    "empty rows": lambda: empty_rows(60),
    "dense row": lambda: dense_row(130),
    "wide": lambda: sparse.random_array(
        (7, 300), density=0.2, rng=np.random.default_rng(4)
    ).tocsr(),
    "tall": lambda: sparse.random_array(
        (300, 7), density=0.2, rng=np.random.default_rng(5)
    ).tocsr(),
    "nothing": lambda: sparse.csr_array((0, 0)),
    "no rows": lambda: sparse.csr_array((0, 5)),
    "no columns": lambda: sparse.csr_array((5, 0)),
    "no entries": lambda: sparse.csr_array((5, 4)),
}


def read(path):
    """A file of the Matrix Market, as float64."""
    found = sparse.csr_array(pytest.importorskip("scipy.io").mmread(path, spmatrix=False))
    return found if found.dtype.kind == "c" else found.astype(np.float64)


GIVEN = [p for p in os.environ.get("TEST_MATRICES", "").split(os.pathsep) if p]
MATRICES |= {path: partial(read, path) for path in GIVEN}


@pytest.fixture(params=MATRICES)
def matrix(request):
    """A matrix of SciPy, of float64."""
    return MATRICES[request.param]()


@pytest.fixture(autouse=True)
def on_the_space(request):
    """Functions that name no space run on the one under test."""
    if "space" not in request.fixturenames:
        yield
        return
    with es.use_space(request.getfixturevalue("space")):
        yield


# What runs everywhere, and of the rest what runs on `serial`; all of it with -m ''.
EVERYWHERE = {
    "matrix": ("grid", "nothing", *GIVEN),
    "dtype": (np.float64,),
    "mode": ("H",),
    "way": ("as it is",),
    "method": ("cg",),
    "structure": ("blocks",),
    "form": ("as it is",),
}
# Of what is left of a test's combinations, so many, spread over all of them.
MOST = {"serial": 2, "openmp": 1, "opencl": 1, "oracle": 1}
# Of these spaces each has every fourth test, for all of them run on `serial`.
SHARED = {"openmp": 0, "opencl": 1}
ON_SERIAL = {"matrix": ("grid", "power law", "empty rows", "dense row", "nothing", "wide", *GIVEN)}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what others cover: combinations of matrices, types and modes on all spaces."""
    left = {}
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if "kernels/tests" not in item.path.as_posix() or "space" not in params:
            continue
        space = params["space"]
        known = ON_SERIAL if space == "serial" else EVERYWHERE
        if params.get("matrix") in GIVEN and params.get("dtype", np.float64) is np.float64:
            continue
        share = crc32(item.originalname.encode()) % 4
        is_long = space == "oracle" and params.get("name") == "gmres"
        is_others = SHARED.get(space, share) != share
        if (
            is_long
            or is_others
            or any(params.get(n, some[0]) not in some for n, some in known.items())
        ):
            item.add_marker(pytest.mark.exhaustive)
        else:
            test = item.path, item.cls, item.originalname, space
            left.setdefault(test, []).append(item)
    for (*_, space), found in left.items():
        most = MOST.get(space, len(found))
        kept = {n * len(found) // most for n in range(most)} if len(found) > most else None
        for n, item in enumerate(found):
            if kept is not None and n not in kept:
                item.add_marker(pytest.mark.exhaustive)
