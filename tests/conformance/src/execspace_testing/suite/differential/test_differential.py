"""Random programs give the same bits on every space.

DIFFERENTIAL_EXAMPLES=2000 runs that many programs for each space, with new random seeds, a
Hypothesis database and shrinking. Without it a few fixed ones are run.
"""

from __future__ import annotations

import pytest

from execspace_testing.sizes import interpreted

from .compare import examine, run


def test_random_programs_agree(space):
    if interpreted(space):
        pytest.skip(f"space '{space.name}' is what the others are compared with")
    examine(space.name, lambda program: run(program, space), has_complex=space.capabilities.complex)
