"""explain: what a plan tells of itself, as a record and as text; and a kind of device that is not
there: a plugin's target compiles, and nothing runs."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace.plugins import registry as plugins


class Compiled(es.Plan):
    """A plan that cannot be launched."""

    source = "the text"
    resource_usage = {"f": {"registers": 12}}  # noqa: RUF012

    def __init__(self, space, spec):
        self.space, self.spec = space, spec

    def launch(self, bounds, args):
        raise AssertionError("explain launches nothing")

    def mapping(self, bounds):
        return [f"over {bounds}"]


class Target(es.ExecutionSpace):
    """Compiles for a device by its name."""

    memory_space = es.HOST

    def __init__(self, name):
        self.name = f"vendor {name}"

    def compile(self, kernel, spec):
        return Compiled(self, spec)

    def synchronize(self, label=""):
        pass


class Talkative(Compiled):
    """A plan that has all that explain asks for."""

    vectorisation = ("1 innermost loop: vectors of 4 x float64",)
    cache = ("entry7", "hit on disk")
    variables = {"i": "int64", "x": "float64[1,right]@host", "helper.t": "float64"}  # noqa: RUF012


class Silent(es.Plan):
    """A plan that has nothing of it."""

    def __init__(self, space, spec):
        self.space, self.spec = space, spec

    def launch(self, bounds, args):
        raise AssertionError("explain launches nothing")


def target(name):
    if name == "v2":
        raise es.SpaceUnavailableError("Target 'v2': no compiler is installed; install one.")
    return Target(name) if name == "v1" else None


@pytest.fixture
def vendor():
    """A plugin that knows the targets "v1" and, without compiler, "v2"; its space cannot start."""

    def start(device):
        raise AssertionError("nothing may start the space")

    entry = es.SpaceEntry("vendor", start, es.API_VERSION, target=target)
    other = es.SpaceEntry("other", start, es.API_VERSION)
    spaces = plugins.registry().spaces
    spaces |= {"other": other, "vendor": entry}
    yield
    del spaces["other"], spaces["vendor"]


def halve(i, x):
    x[i] = x[i] / 2


def test_a_target_is_compiled_for_in_place_of_the_policys_space(vendor, plain):
    policy = es.RangePolicy(8, space=plain)
    found = es.explain(policy, halve, np.zeros(8), target="v1")
    assert (found.space, found.source) == ("vendor v1", "the text")
    assert found.arguments == ("float64[1,right]@host",) and found.mapping == ("over (0, 8)",)
    assert "  f: registers 12" in str(found)
    assert not plain.compiled
    assert es.kernel(halve).explain(8, np.zeros(8), target="v1").space == "vendor v1"


TEXT = """\
kernel 'halve', parallel_for on space 'vendor v1'
arguments:
  0: float64[1,right]@host
variables:
  i: int64
  x: float64[1,right]@host
  helper.t: float64
mapping:
  over (0, 8)
resource usage:
  f: registers 12
vectorisation:
  1 innermost loop: vectors of 4 x float64
cache:
  entry7
  hit on disk
source:

the text"""


def test_all_that_a_plan_tells_is_in_the_record_and_in_the_text(vendor, monkeypatch):
    monkeypatch.setattr(Target, "compile", lambda self, kernel, spec: Talkative(self, spec))
    found = es.explain(8, halve, np.zeros(8), target="v1")
    assert list(found.variables) == ["i", "x", "helper.t"]
    assert found.vectorisation == Talkative.vectorisation
    assert (found.cache_key, found.cache) == ("entry7", "hit on disk")
    assert str(found) == TEXT


def test_a_plan_need_not_tell_anything(vendor, monkeypatch):
    monkeypatch.setattr(Target, "compile", lambda self, kernel, spec: Silent(self, spec))
    found = es.explain(8, halve, np.zeros(8), target="v1")
    assert (found.variables, found.vectorisation, found.cache_key, found.cache) == ({}, (), "", "")
    assert str(found) == (
        "kernel 'halve', parallel_for on space 'vendor v1'\narguments:\n  0: float64[1,right]@host"
    )


def test_a_target_that_nobody_knows(vendor):
    with pytest.raises(es.UnknownSpaceError) as caught:
        es.explain(8, halve, np.zeros(8), target="v3")
    assert str(caught.value) == (
        "target='v3': none of the spaces other, vendor knows such a device. Without target= a "
        "kernel is compiled for the space of its policy."
    )
    with pytest.raises(es.UnknownSpaceError, match=r"target=3; expected a string such as 'gfx942'"):
        es.explain(8, halve, np.zeros(8), target=3)


def test_a_target_without_a_compiler(vendor):
    with pytest.raises(es.SpaceUnavailableError, match="install one"):
        es.explain(8, halve, np.zeros(8), target="v2")
