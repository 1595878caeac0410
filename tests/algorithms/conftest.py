"""Fixtures of the tests of algorithms: a pretend device, and a record of what was launched."""

from __future__ import annotations

from pathlib import Path

import pytest

import execspace as es

SOURCE = (Path(__file__).parents[1] / "fake_device.py").read_text(encoding="utf-8")


@pytest.fixture
def fake(fake_plugin):
    """An asynchronous device whose memory the host cannot read."""
    fake_plugin("fake", SOURCE)
    space = es.space("fake")
    yield space
    space.close()


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
