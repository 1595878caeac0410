"""Counts what came of the tests of each level, and prints it for each space."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest

from .levels import LEVELS, Level


@dataclass
class Tally:
    """What the tests of one level on one space came to."""

    counts: Counter[str] = field(default_factory=Counter)
    skips: Counter[str] = field(default_factory=Counter)
    expected: Counter[str] = field(default_factory=Counter)

    @property
    def passes(self) -> bool:
        """Something was tested, and nothing failed that was not expected to."""
        return self.counts["passed"] > 0 and not self.counts["failed"]

    @property
    def verdict(self) -> str:
        """One word."""
        return "pass" if self.passes else "FAIL" if self.counts["failed"] else "none"

    @property
    def told(self) -> str:
        """How many tests came to what."""
        return ", ".join(f"{n} {what}" for what, n in sorted(self.counts.items()) if n)


@dataclass
class Report:
    """The tallies of all spaces and levels."""

    tallies: dict[str, dict[int, Tally]] = field(default_factory=dict)
    left: Counter[tuple[str, int]] = field(default_factory=Counter)  # tests that have not ended

    def add(self, space: str, level: int, report: pytest.TestReport) -> None:
        """Count one report of a test's setup, call or teardown."""
        tally = self.tallies.setdefault(space, {}).setdefault(level, Tally())
        if report.failed:
            tally.counts["failed"] += 1
        elif report.skipped and hasattr(report, "wasxfail"):
            tally.counts["expected"] += 1
            tally.expected[str(report.wasxfail).removeprefix("reason: ")] += 1
        elif report.skipped:
            tally.counts["skipped"] += 1
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            tally.skips[reason.removeprefix("Skipped: ")] += 1
        elif report.when == "call":
            tally.counts["passed"] += 1

    def expect(self, space: str, level: int) -> None:
        """A test that is going to run."""
        self.left[space, level] += 1

    def ended(self, space: str, level: int) -> str | None:
        """A line on a level on a space, if this test was the last one of it."""
        if (space, level) not in self.left:
            return None
        self.left[space, level] -= 1
        if self.left[space, level]:
            return None
        tally, of = self.tallies.get(space, {}).get(level, Tally()), f" of space '{space}'"
        title = f"{LEVELS[level - 1].folder}: {tally.told}"
        return f"level {level}{of if space else ''} {tally.verdict}  {title}"

    def print(self, terminal: pytest.TerminalReporter, levels: tuple[Level, ...]) -> None:
        """A table and a verdict for each space; tests without a space count for every one."""
        shared = self.tallies.pop("", {})
        for space, tallies in sorted(self.tallies.items()):
            for number, tally in shared.items():
                tallies.setdefault(number, Tally()).counts += tally.counts
            _print_space(terminal, space, tallies, levels)
        if not self.tallies and shared:
            _print_space(terminal, "none", shared, levels)


def _print_space(
    terminal: pytest.TerminalReporter,
    space: str,
    tallies: dict[int, Tally],
    levels: tuple[Level, ...],
) -> None:
    terminal.section(f"conformance of space '{space}'", sep="=")
    nothing = Tally()
    ran = [level for level in levels if level.number in tallies]
    passed = 0
    for level in levels:
        tally = tallies.get(level.number, nothing)
        if tally.passes and passed == level.number - 1:
            passed = level.number
        verdict = tally.verdict
        title = f"{level.folder}: {level.title}"
        markup = {"green": tally.passes, "red": verdict == "FAIL"}
        terminal.write_line(
            f"{level.number:>3}  {verdict}  {title:<66} {tally.told or 'not run'}", **markup
        )
    for level in levels:
        tally = tallies.get(level.number, nothing)
        for reason, count in tally.skips.items():
            terminal.write_line(f"     level {level.number}, {count} skipped: {reason}")
        for reason, count in tally.expected.items():
            terminal.write_line(f"     level {level.number}, {count} expected to fail: {reason}")
    if ran != list(levels[: len(ran)]):
        numbers = ", ".join(str(level.number) for level in ran)
        terminal.write_line(f"Only tests of levels {numbers} were run: no level can be given.")
        return
    whole = passed == len(ran)
    sentence = f"Space '{space}' passes level {passed} of {len(LEVELS)}."
    if len(ran) < len(LEVELS):
        sentence += f" Levels beyond {len(ran)} were not run."
    terminal.write_line(sentence, bold=True, green=whole, red=not whole)
