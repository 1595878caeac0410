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
    parser.addini(
        "execspace_levels",
        "levels on which a space is tested, as NAME=7 for the first seven or NAME=1-7,9: for one "
        "that shares its compiler with another, which is tested whole",
        type="args",
    )
    group.addoption(
        "--xfail-file",
        metavar="FILE",
        help="expected failures: a line each, 'FOLDER/FILE.py::TEST  # reason'; a test that "
        "passes all the same counts as failed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the file of expected failures, so that faults in it come before any test."""
    if config.getoption("--space"):  # now, so that a space which is not there ends the run here
        config.pluginmanager.import_plugin("execspace_testing.fixtures")
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
    limits = _limits(config)
    if most is not None or limits:
        kept, left_out = [], []
        for item in items:
            level, wanted = _level(item) or 0, limits.get(_space_of(item))
            run = not level or (level <= (most or level) and (wanted is None or level in wanted))
            (kept if run else left_out).append(item)
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
    expected = config.stash.get(_EXPECTED, [])
    if expected:
        from .expected import mark

        mark(items, expected)


def _limits(config: pytest.Config) -> dict[str, set[int]]:
    limits = {}
    for text in config.getini("execspace_levels"):
        name, _, levels = text.partition("=")
        limits[name] = set()
        for part in (f"1-{levels}" if levels.isdigit() else levels).split(","):
            first, _, last = part.partition("-")
            if not (first.isdigit() and (last or first).isdigit()):
                raise pytest.UsageError(
                    f"execspace_levels: {text!r}; expected NAME=LEVELS, as in mine=7 or mine=1-7,9"
                )
            limits[name] |= set(range(int(first), int(last or first) + 1))
    return limits


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
    if not _CONFIG:
        return
    found = dict(report.user_properties)
    space, level = str(found.get(_SPACE, "")), found.get(_LEVEL)
    if level is None and report.failed:  # a process that died could not note it
        from .levels import level_of_name

        named = level_of_name(report.nodeid)
        level = None if named is None else named.number
        space = "" if named is None else _space_named(_CONFIG[-1], report.nodeid)
    if level is not None:
        reports = _reports(_CONFIG[-1])
        reports.add(space, int(str(level)), report)
        if report.when not in ("setup", "call"):  # of its three reports the last one
            line = reports.ended(space, int(str(level)))
            terminal = _CONFIG[-1].pluginmanager.getplugin("terminalreporter")
            if line is not None and terminal is not None:
                terminal.write_line("")  # ends that of the dots
                terminal.write_line(line)


def _reports(config: pytest.Config) -> Report:
    from .report import Report

    return config.stash.setdefault(_REPORT, Report())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests of each level, so that a line can tell when it is done."""
    for item in session.items:
        level = _level(item)
        if level is not None:
            _reports(session.config).expect(_space_of(item), level)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """As `pytest_collection_finish`, where other processes collect: each the same tests."""
    from .levels import level_of_name

    reports = _reports(node.config)
    if reports.left:
        return
    for name in ids:
        level = level_of_name(name)
        if level is not None:
            reports.expect(_space_named(node.config, name), level.number)


def _space_named(config: pytest.Config, test: str) -> str:
    """The space among the parameters of a test's name."""
    given = test.partition("[")[2].removesuffix("]").split("-")
    return next((s for s in _spaces(config) if s in given), "")


def _spaces(config: pytest.Config) -> list[str]:
    from .fixtures import spaces_under_test

    return spaces_under_test(config)


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
