"""A share of `make nightly`, and launches of several processes that share a cache on disk."""

from __future__ import annotations

import json
import subprocess
import sys
from random import Random

import pytest

import execspace as es
from execspace_testing import reference
from execspace_testing.suite.differential import asserting, campaign, sequences

ORACLE_CASES = 48


def test_random_programs_of_every_pattern_agree_with_cpython():
    space, tally = es.space("oracle"), campaign.Tally()
    size = campaign.Size(3, 3, 8)
    campaign.run(space, 0, iter(range(ORACLE_CASES)), size, tally, lambda: False)
    assert [found.message for found in tally.differences] == []
    assert tally.total > ORACLE_CASES
    assert len(tally.programs) == len(campaign.PATTERNS) + 1  # and those that are refused


def test_random_assertions_fail_on_hosts_where_they_do_in_cpython():
    for seed in range(4):
        asserting.check(es.space("serial"), Random(f"hosts {seed}"), 5)


def test_all_changes_between_launches_are_noticed():
    assert not sequences.wrong("oracle")
    assert not sequences.wrong_after_change("oracle")


@pytest.mark.slow
def test_processes_that_share_a_cache_keep_variants_apart(tmp_path, monkeypatch):
    """What one process compiled does not answer for what another one has changed."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    names = [
        "attribute of a reducer", "attribute that final reads", "number that join captures",
        "order of the fields of a NamedTuple", "text of a helper",
    ]  # fmt: skip
    for variant in (0, 1, 0):
        command = [sys.executable, "-m", sequences.__name__, "serial", str(variant), *names]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        python = json.loads(json.dumps(sequences.answers(None, variant, names)))
        assert len(python) == len(names)
        assert json.loads(done.stdout.splitlines()[-1]) == python


def test_each_place_that_programs_avoid_is_documented(request):
    page = (request.config.rootpath / "docs" / "semantics.md").read_text(encoding="utf-8")
    for heading, place, _ in reference.AVOIDED:
        assert heading in page
        assert place in page, f"docs/semantics.md does not say: {place}"
