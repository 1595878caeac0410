"""Type checkers accept what the documentation shows, in functions without annotations, too."""

from __future__ import annotations

import os
import re
import shutil
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


ELEMENTS = """
import math

import numpy as np
import numpy.typing as npt

import execspace as es
from execspace import View


@es.kernel
def axpy(i: int, a: float, x: View[np.float64], y: View[np.float64]) -> None:
    y[i] += a * x[i]


def norm(v: View[np.float64]) -> float:
    return math.sqrt(es.parallel_reduce(v.size, lambda i: v[i] * v[i]))


def anything(v: View) -> npt.NDArray[np.generic]:
    return v.to_numpy()


x = es.array(np.arange(5.0), label="x")
y = es.ones(5)
z = es.zeros(3, np.float32)
es.parallel_for(5, axpy, 2.0, x, y)
es.parallel_for(5, axpy, 2.0, es.In(np.ones(5)), es.InOut(np.ones(5)))
es.parallel_reduce(5, lambda i: y[i], out=np.zeros(()))
out: npt.NDArray[np.float64] = y.to_numpy()
copied: View[np.float32] = z.copy(label="copy")
shaped: View[np.float64] = x.reshape(5, 1).T
listed: View[np.int32] = es.array([1, 2], np.int32)
like: View[np.float64] = es.zeros_like(x)
made: View[np.float32] = View(3, np.float32)
alias: View[np.int8] = View[np.int8](4)
x[1:3] = [1, 2]
x.fill(1)
anything(x), norm(y), x.to("serial").item(), made.dtype.type(3)
with es.use_memory("shared"), es.use_space("serial") as space:
    space.name
"""

# Line of a mistake -> what a checker must say of it.
MISTAKES = """
import numpy as np
import execspace as es
from execspace import View
def f(v: View[np.float64]) -> None: ...
z = es.zeros(3, np.float32)
f(z)  # mistake
z + 1  # mistake
a: View[np.int32] = es.ones(3)  # mistake
es.zeros_like(z, space=3)  # mistake
es.array([1], shape=2)  # mistake
es.In()  # mistake
"""


def mistakes_found(output):
    return {int(n) for n in re.findall(r"mistakes\.py:(\d+)(?::\d+)?(?: -|:) error", output)}


def check_elements(command, tmp_path, environment=None):
    typed, wrong = tmp_path / "elements.py", tmp_path / "mistakes.py"
    typed.write_text(ELEMENTS)
    wrong.write_text(MISTAKES)
    done = subprocess.run(
        [*command, str(typed), str(wrong)],
        cwd=ROOT, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    right = [line for line in done.stdout.splitlines() if "elements.py" in line and "error" in line]
    assert not right, "\n".join(right)
    lines = MISTAKES.splitlines()
    expected = {n for n, line in enumerate(lines, 1) if "# mistake" in line}
    assert mistakes_found(done.stdout) == expected, done.stdout + done.stderr


def test_mypy_knows_the_elements_of_views(tmp_path):
    check_elements(
        [sys.executable, "-m", "mypy", "--config-file=", "--no-incremental", "--strict"], tmp_path
    )


def test_pyright_knows_the_elements_of_views(tmp_path):
    if shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    roots = [str(ROOT / part / "src") for part in ("core", "compiler")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(roots)}
    check_elements(["pyright", "--pythonpath", sys.executable], tmp_path, environment)


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
