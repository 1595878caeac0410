"""pytest plugin of the conformance kit: its options, expected failures, and the report of levels.

Every pytest session of an environment with the kit loads this file, so it imports nothing of
ours at start-up and leaves tests that are not of the suite alone. What tests share is in
`execspace_testing.fixtures`, which the suite asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .report import Report

_LEVEL, _SPACE = "execspace_level", "execspace_space"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--space`, `--level` and `--xfail-file`."""
    group = parser.getgroup("execspace", "execspace's conformance kit")
    group.addoption(
        "--space",
        metavar="NAME",
        action="append",
        help="space that tests with the `space` fixture run on, such as mine or mine:1; may be "
        "given several times (default: every usable space)",
    )
    group.addoption(
        "--level",
        metavar="N",
        type=int,
        help="run the levels of the suite up to this one only",
    )
    group.addoption(
        "--xfail-file",
        metavar="FILE",
        help="expected failures: a line each, 'FOLDER/FILE.py::TEST  # reason'; a test that "
        "passes all the same counts as failed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the file of expected failures, so that faults in it come before any test."""
    if config.getoption("--xfail-file"):
        from .expected import read_expected

        config.stash[_EXPECTED] = read_expected(config.getoption("--xfail-file"))


_EXPECTED: pytest.StashKey[list[Any]] = pytest.StashKey()
_REPORT: pytest.StashKey[Report] = pytest.StashKey()


def _level(item: pytest.Item) -> int | None:
    from .levels import level_of

    found = level_of(item.path)
    return None if found is None else found.number


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out levels that were not asked for, and mark expected failures."""
    most = config.getoption("--level")
    if most is not None:
        kept = [i for i in items if (_level(i) or 0) <= most]
        config.hook.pytest_deselected(items=[i for i in items if i not in set(kept)])
        items[:] = kept
    expected = config.stash.get(_EXPECTED, [])
    if expected:
        from .expected import mark

        mark(items, expected)


def _space_of(item: pytest.Item) -> str:
    call = getattr(item, "callspec", None)
    return "" if call is None else str(call.params.get("space", ""))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Any:
    """Note level and space in the report, which xdist carries to the process that prints."""
    report = yield
    level = _level(item)
    if level is not None:
        report.user_properties.append((_LEVEL, level))
        report.user_properties.append((_SPACE, _space_of(item)))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what the tests of each level came to."""
    found = dict(report.user_properties)
    if _LEVEL in found and _CONFIG:
        from .report import Report

        reports = _CONFIG[-1].stash.setdefault(_REPORT, Report())
        reports.add(str(found[_SPACE]), int(str(found[_LEVEL])), report)


_CONFIG: list[pytest.Config] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember the session's configuration for the hooks that are not given it."""
    _CONFIG.append(session.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Forget it."""
    if session.config in _CONFIG:
        _CONFIG.remove(session.config)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """A table of levels for each space, and what it passes."""
    found = config.stash.get(_REPORT, None)
    if found is not None:
        from .levels import LEVELS

        most = config.getoption("--level") or len(LEVELS)
        found.print(terminalreporter, LEVELS[:most])
