"""Random launches of every pattern give what CPython gives, and what is refused is refused.

CPython runs each kernel as the Python function that it is, so these tests do not share a front end
with the compiler that they test. `make nightly` runs many more of the same programs.
"""

from __future__ import annotations

from random import Random

import pytest

import execspace as es

from . import patterns, sequences, team_cases
from .cases import check
from .refused import REFUSED


@pytest.mark.parametrize("pattern", patterns.PATTERNS)
def test_a_launch_gives_what_cpython_gives(space, pattern):
    has = space.capabilities
    options = {"has_complex": has.complex, "has_float16": has.float16}
    check(
        patterns.case(Random(f"suite {pattern}"), pattern, 2, statements=3, most=60, **options),
        space,
    )


@pytest.mark.parametrize("pattern", ["for", "reduce"])
def test_teams_give_what_cpython_gives(space, pattern):
    if not isinstance(space, es.SupportsTeams):
        pytest.skip(f"space '{space.name}' has no teams")
    rng = Random(f"suite teams {pattern}")
    check(team_cases.case(rng, pattern, 3, has_complex=space.capabilities.complex), space)


@pytest.mark.parametrize("pattern", patterns.PATTERNS)
def test_what_kernels_do_not_have_is_refused_in_every_pattern(space, pattern):
    """No statement is dropped while the rest of the kernel is run."""
    for name, text in REFUSED:
        rng = Random(f"{pattern} {name}")
        check(patterns.case(rng, pattern, 1, statements=1, refused=(name, text)), space)


def test_reducers_of_one_class_keep_their_attributes_apart(space):
    assert not sequences.wrong_of_temporaries(space)


SOME = tuple(
    s for s in sequences.SEQUENCES
    if s.name in ("text of join", "final", "order of the fields of a NamedTuple", "helper of join")
)  # fmt: skip


def test_a_launch_after_a_change_gives_what_cpython_gives(space):
    assert not sequences.wrong(space, SOME)
