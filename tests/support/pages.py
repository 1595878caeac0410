"""Programs of the documentation, run block by block and in one namespace for each page.

- a ```python block is executed, and a ```text block right after it is what it prints;
- a ```pycon block is a doctest;
- a ```python block with `if __name__ == "__main__":` is a script: on the page it defines names, and
  `Page.run_script` runs it in a process of its own, where it prints its ```text block;
- a block below a line `<!-- needs: dask, ray -->` is left out where one of these is not installed;
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
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
READMES = [
    *PAGES,
    *(
        ROOT / part / "README.md"
        for part in ("core", "compiler", "gpu", "tools", "kernels", "comm")
    ),
]
READMES += sorted(ROOT.glob("plugins/*/README.md"))
FLAGS = doctest.ELLIPSIS | doctest.REPORT_NDIFF
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"^<!-- needs: ([\w, ]+) -->\n\Z", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text, the numbers of its lines in the page, what it needs."""

    language: str
    text: str
    first: int
    last: int
    needs: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        """Whether it is a program."""
        return self.language in ("python", "pycon")

    @property
    def is_script(self) -> bool:
        """Whether it is a program for a process of its own."""
        return self.language == "python" and 'if __name__ == "__main__":' in self.text

    @property
    def missing(self) -> list[str]:
        """The modules that it needs and that are not installed."""
        return [module for module in self.needs if find_spec(module) is None]


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        first = text.count("\n", 0, match.start(2)) + 1
        needs = NEEDS.search(text, 0, match.start())
        modules = tuple(re.findall(r"\w+", needs[1])) if needs else ()
        found.append(Block(match[1], match[2], first, first + match[2].count("\n"), modules))
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
        """The blocks that run, here."""
        return (block for block in blocks(self.page) if block.runs and not block.missing)

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
        if not block.is_script:
            self.compare(block, printed.getvalue())

    def compare(self, block: Block, printed: str) -> None:
        """What a block has printed, with what the page says."""
        if block.first in self.expected:
            want = without_places(self.expected[block.first]).splitlines(keepends=True)
            got = without_places(printed).splitlines(keepends=True)
            assert got == want, "expected (-) and got (+):\n" + "".join(difflib.ndiff(want, got))

    def run_script(self, block: Block, folder: Path) -> None:
        """Run one that is a script, as a file in a folder."""
        script = folder / "script.py"
        script.write_text(block.text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder, env=dict(os.environ), capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        self.compare(block, done.stdout)

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
