"""Type checkers accept what the documentation shows, in functions without annotations, too."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)

TYPED = """
import math

import execspace as es


class Norm(es.Reducer):
    identity = 0.0

    @staticmethod
    def join(a: float, b: float) -> float:
        return a + b

    @staticmethod
    def final(a: float) -> float:
        return math.sqrt(a)


class Scaled(es.Reducer):
    identity = 0.0

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @staticmethod
    def join(a: float, b: float) -> float:
        return a + b

    def final(self, a: float) -> float:
        return self.factor * a


class Least(es.Reducer):
    def identity(self, dtype: str) -> float:
        return math.inf

    def join(self, a: float, b: float) -> float:
        return min(a, b)


def square(i: int) -> float:
    return float(i * i)


def total(reducer: es.Reducer | type[es.Reducer]) -> float:
    return float(es.parallel_reduce(3, square, reducer=reducer))


total(Norm), total(Norm()), total(Scaled(2.0)), total(Least), total(es.Sum), total(es.Max())
policy: es.RangePolicy = es.RangePolicy(3, space="serial")
A: es.View = es.View((3, es.static(2)), es.float32, label="A")
shape: tuple[int, ...] = A.shape
es.resize(A, (4, 2))
es.create_mirror_view_and_copy(es.HOST, A)
"""


def code_of(page):
    """The program of a page: its blocks in order, and what was typed at the prompt."""
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = ["import math\nimport numpy as np\nimport execspace as es\n"]
    for kind, block in BLOCK.findall(text):
        if kind == "pycon":
            lines = [line[4:] for line in block.splitlines() if line[:4] in (">>> ", "... ", "...")]
            block = "\n".join(lines) + "\n"
        parts.append(block)
    return "\n".join(parts)


# What a program without annotations has that the strictest check would not.
UNTYPED = (
    "# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls\n"
    "# mypy: allow-untyped-decorators, allow-any-generics, no-warn-return-any\n"
    '# mypy: disable-error-code="no-redef,var-annotated,assignment"\n'
)


def test_annotated_reducers_and_those_of_the_documentation_pass(tmp_path):
    """The former the strictest check; the latter's bodies are checked without annotations."""
    typed, page = tmp_path / "typed.py", tmp_path / "page.py"
    typed.write_text(TYPED)
    page.write_text(UNTYPED + code_of("docs/reductions.md"))
    command = [sys.executable, "-m", "mypy", "--config-file=", "--no-incremental", "--strict"]
    done = subprocess.run(
        [*command, str(typed), str(page)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = [line for line in done.stdout.splitlines() if ": error:" in line]
    # NumPy has it that an element with an unknown index may be an array.
    found = [line for line in found if 'has incompatible type "ndarray' not in line]
    assert not found, "\n".join(found)
    assert "checked 2 source files" in done.stdout, done.stdout + done.stderr
