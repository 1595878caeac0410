"""How tests of the kit draw examples with Hypothesis."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings


def drawn(examples: int, *suppressed: HealthCheck) -> settings:
    """Settings for a test that takes `space`: so many examples, the same in each run.

    The first example that fails ends the test. To look for a smaller one would launch the kernel
    hundreds of times, and on a space that cannot compile it, compile it as often.
    """
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.function_scoped_fixture, *suppressed],
    )
