"""The file of expected failures: a line for each test, with the reason.

    # what a comment of its own says is ignored
    scan/test_scan.py::test_sizes[1000]   # rows of 1000 lose their last element, see issue 12
    reduce/test_reducers.py::test_names   # all parameters of this test

Names are as pytest prints them, from the suite's folder on and without the name of the space.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from .levels import place_in_suite


@dataclass(frozen=True, slots=True)
class Expected:
    """An expected failure: the test's name and the reason."""

    name: str
    reason: str
    line: int


def read_expected(file: str) -> list[Expected]:
    """The lines of a file.

    Raises
    ------
    pytest.UsageError
        If it cannot be read, or a line has no reason or names no test.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise pytest.UsageError(f"--xfail-file {file}: {error.strerror}") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name, mark, reason = (part.strip() for part in line.partition("#"))
        if not name:
            continue
        if not (mark and reason):
            raise pytest.UsageError(
                f"--xfail-file {file}, line {number}: '{name}' has no reason; expected "
                f"'{name}  # why it fails'"
            )
        if "::" not in name:
            raise pytest.UsageError(
                f"--xfail-file {file}, line {number}: '{name}' is not a test; expected "
                f"'FOLDER/FILE.py::TEST', as the suite prints it"
            )
        found.append(Expected(name, reason, number))
    return found


def names_of(item: pytest.Item) -> set[str]:
    """Names by which a file may mean a test: with and without its parameters."""
    place = place_in_suite(item.path)
    if place is None:
        return set()
    name = f"{place}::{item.nodeid.partition('::')[2]}"
    plain, bracket, parameters = name.partition("[")
    names = {name, plain}
    call = getattr(item, "callspec", None)
    if bracket and call is not None and "space" in call.params:
        parts = parameters.removesuffix("]").split("-")
        space = str(call.params["space"])
        if space in parts:
            parts.remove(space)
        names.add(f"{plain}[{'-'.join(parts)}]" if parts else plain)
    return names


def mark(items: list[pytest.Item], expected: list[Expected]) -> None:
    """Mark the expected failures among the tests, strictly.

    Raises
    ------
    pytest.UsageError
        If a line names no test of the suite, unless only a part of it is run.
    """
    by_name = {e.name: e for e in expected}
    used = set()
    for item in items:
        for name in names_of(item) & by_name.keys():
            used.add(name)
            reason = by_name[name].reason
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    whole = items and not items[0].config.getoption("keyword")
    missing = [e for e in expected if e.name not in used]
    if missing and whole and _is_whole_suite(items[0].config):
        lines = ", ".join(f"line {e.line} ('{e.name}')" for e in missing)
        raise pytest.UsageError(f"--xfail-file names tests that the suite does not have: {lines}")


def _is_whole_suite(config: pytest.Config) -> bool:
    return config.args == ["execspace_testing.suite"] and not config.getoption("--level")
