"""es.histogram as devices with many threads run it: teams that count in scratch memory."""

import sys

import numpy as np
import pytest

import execspace as es

# A function of the package has the name of this module.
histograms = sys.modules[es.histogram.__module__]


@pytest.fixture(params=["serial", "openmp", "oracle"])
def where(request, monkeypatch):
    """A space that is taken for such a device, with small teams."""
    monkeypatch.setattr(histograms, "_MANY", 0)
    monkeypatch.setattr(histograms, "_TEAM", 4)
    monkeypatch.setattr(histograms, "_ELEMENTS", 2)
    monkeypatch.setattr(histograms, "_LOAD", 64)
    return es.space(request.param)


@pytest.fixture
def leagues(monkeypatch):
    """Sizes of the leagues of histograms, None for those that have none."""
    found, own = [], histograms._teams

    def teams(*args):
        made = own(*args)
        found.append(made and made.league_size)
        return made

    monkeypatch.setattr(histograms, "_teams", teams)
    return found


@pytest.mark.parametrize("bins", [5, [-1.0, 0.0, 0.5, 2.0, 7.0]], ids=["equal", "edges"])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_those_of_numpy(where, leagues, bins, weighted):
    values = np.random.default_rng(1).normal(1.0, 2.0, 301)
    weights = np.arange(301.0) % 8 if weighted else None
    given = None if weights is None else es.array(weights, space=where)
    view = es.array(values, space=where)
    range = (-2.0, 4.0) if bins == 5 else None
    counts, edges = es.histogram(view, bins, range, weights=given, space=where)
    expected, places = np.histogram(values, bins, range, weights=weights)
    np.testing.assert_array_equal(counts.to_numpy(), expected)
    np.testing.assert_array_equal(edges.to_numpy(), places)
    assert leagues[0] > 1


def test_few_elements_or_many_bins_need_no_teams(where, leagues):
    view = es.array(np.arange(100.0), space=where)
    for bins in (50, 100_000):
        es.histogram(view, bins, (0.0, 100.0), space=where)
    assert leagues == [None, None]
