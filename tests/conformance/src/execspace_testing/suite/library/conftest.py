"""Fixtures of the tests of algorithms: a record of what was launched."""

from __future__ import annotations

import pytest

import execspace as es


class Recorder(es.profiling.Tool):
    def __init__(self):
        self.kernels, self.copies = [], []

    def on_kernel_begin(self, pattern, name, space, launch):
        self.kernels.append((pattern, name, space))

    def on_copy(self, destination, source, nbytes):
        self.copies.append((destination, source))


@pytest.fixture
def recorder():
    tool = es.profiling.attach(Recorder())
    yield tool
    es.profiling.detach(tool)
