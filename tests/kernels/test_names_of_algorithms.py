"""Names of es.algorithms and es.algorithms.team."""

import execspace as es


def test_the_team_has_all_algorithms():
    others = {"team", "argsort", "histogram", "fill_random", "lower_bound", "upper_bound",
              "searchsorted"}  # fmt: skip
    assert set(es.algorithms.team.__all__) == set(es.algorithms.__all__) - others
