"""Programs of the documentation, run block by block and in one namespace for each page.

- a ```python block is executed, and a ```text block right after it is what it prints;
- a ```pycon block is a doctest;
- other blocks are not executed.

test_docs.py runs the pages on machines of all kinds, docs_on_device.py on one with a device.
"""

from __future__ import annotations

import builtins
import contextlib
import difflib
import doctest
import io
import itertools
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
READMES = [
    *PAGES,
    *(ROOT / part / "README.md" for part in ("core", "compiler", "gpu", "tools", "kernels")),
]
READMES += sorted(ROOT.glob("plugins/*/README.md"))
FLAGS = doctest.ELLIPSIS | doctest.REPORT_NDIFF
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text, and the numbers of its lines in the page."""

    language: str
    text: str
    first: int
    last: int

    @property
    def runs(self) -> bool:
        """Whether it is a program."""
        return self.language in ("python", "pycon")


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        first = text.count("\n", 0, match.start(2)) + 1
        found.append(Block(match[1], match[2], first, first + match[2].count("\n")))
    return found


def outputs(page: Path) -> dict[int, str]:
    """The ```text block that directly follows each ```python block, by the latter's line."""
    lines = page.read_text(encoding="utf-8").split("\n")
    return {
        a.first: b.text
        for a, b in itertools.pairwise(blocks(page))
        if (a.language, b.language) == ("python", "text")
        and not "".join(lines[a.last : b.first - 2]).strip()
    }


def without_places(text: str) -> str:
    """Messages of the compiler without the numbers of lines, which change with the page."""
    text = re.sub(r"(\w+\.md):\d+:\d+", r"\1", text)
    return re.sub(r"^ *\d* \|", "|", text, flags=re.MULTILINE)


class Page:
    """Runs the blocks of a page."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.names: dict[str, Any] = {"__name__": page.stem}
        self.expected = outputs(page)
        lines = [""] * page.read_text(encoding="utf-8").count("\n")
        for block in blocks(page):
            if block.language == "python":
                lines[block.first - 1 : block.last - 1] = block.text.splitlines()
        source = "\n".join(lines) + "\n"
        # Kernels are compiled from source, which Python looks up here.
        linecache.cache[page.name] = (len(source), None, source.splitlines(True), page.name)

    def programs(self) -> Iterator[Block]:
        """The blocks that run."""
        return (block for block in blocks(self.page) if block.runs)

    def run(self) -> None:
        """Run all of them; AssertionError for the first that prints something else."""
        for block in self.programs():
            self.execute(block)

    def execute(self, block: Block) -> None:
        """Run one, after those before it."""
        if block.language == "pycon":
            name = f"{self.page.name}:{block.first}"
            test = doctest.DocTestParser().get_doctest(block.text, {}, name, name, block.first - 1)
            check(test, self.names)
            return
        printed = io.StringIO()
        in_place = "\n" * (block.first - 1) + block.text  # so that numbers of lines agree
        code = compile(in_place, self.page.name, "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)
        if block.first in self.expected:
            want = without_places(self.expected[block.first]).splitlines(keepends=True)
            got = without_places(printed.getvalue()).splitlines(keepends=True)
            assert got == want, "expected (-) and got (+):\n" + "".join(difflib.ndiff(want, got))

    def close(self) -> None:
        """Forget all that the page made."""
        self.names.clear()
        linecache.cache.pop(self.page.name, None)
        vars(builtins).pop("_", None)  # the last value that a doctest displayed


def check(test: doctest.DocTest, names: dict[str, Any] | None = None) -> None:
    """Run a doctest; names that it defines are kept in `names`."""
    if names is not None:
        test.globs = names
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(test, out=report.write, clear_globs=names is None)
    vars(builtins).pop("_", None)
    assert not runner.failures, report.getvalue()


def name_of(path: Path) -> str:
    """Path of a page in the repository; of another one its name."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
