"""Kernels whose text `exec` got from an expression, a file as standard input, and other ways."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import execspace as es

TEMPLATE = "@es.kernel\ndef kernel(i, x):\n    x[i] = {}\n"
SETTINGS = {"value": 4.5}


class Size:
    """Something with data, and with a property that must not run again."""

    counted = 0
    rows = 3

    @property
    def columns(self):
        Size.counted += 1
        return 4


def stored(names):
    """What the kernel of a namespace stores."""
    out = np.zeros(2)
    es.parallel_for(es.RangePolicy(2, space="oracle"), names["kernel"], out)
    return out.tolist()


def test_exec_may_be_given_an_expression():
    n, size, names = 3, Size(), {"es": es}
    exec(
        f"@es.kernel\ndef kernel(i, x):\n    x[i] = {n} + {size.rows:>3} + {SETTINGS['value']!r}\n",
        names,
    )
    assert stored(names) == [10.5, 10.5]
    exec(TEMPLATE.format(n + 1), names)
    assert stored(names) == [4, 4]
    exec("@es.kernel\ndef kernel(i, x):\n    x[i] = %d - %s\n" % (n, np.float32(0.5)), names)  # noqa: UP031
    assert stored(names) == [2.5, 2.5]
    exec(TEMPLATE.replace("{}", str(n)) + "# the end", names)
    assert stored(names) == [3, 3]
    exec(
        textwrap.dedent(f"""
            @es.kernel
            def kernel(i, x):
                x[i] = twice({n})

            def twice(y):
                return 2 * y
        """),
        names,
    )
    assert stored(names) == [6, 6]
    exec(
        "@es.kernel\ndef kernel(i, x):\n"
        + "\n".join(f"    x[i] += {k} * {m}" for k in range(3) for m in (1, n)),
        names,
    )
    assert stored(names) == [12, 12]
    exec(compile(f"@es.kernel\ndef kernel(i, x):\n    x[i] = {n}\n", "made.py", "exec"), names)
    assert stored(names) == [3, 3]


def test_exec_may_be_given_what_a_file_holds(tmp_path):
    path, names = tmp_path / "text", {"es": es}
    path.write_text(TEMPLATE.format(7))
    exec(path.read_text(), names)
    assert stored(names) == [7, 7]
    exec((path.parent / path.name).read_text(encoding="utf-8"), names := {"es": es})
    assert stored(names) == [7, 7]
    exec(Path(f"{path.parent}", "text").read_text(), names := {"es": es})
    assert stored(names) == [7, 7]


def test_kernels_of_a_template_differ_though_their_place_is_the_same():
    made = []
    for n in (1, 2, 3):
        names = {"es": es}
        exec(f"@es.kernel\ndef kernel(i, x):\n    x[i] = {n}\n", names)
        made.append(names)
    assert [stored(names) for names in made] == [[1, 1], [2, 2], [3, 3]]


def once(text):
    """A call may do anything, so it is not repeated."""
    once.calls += 1
    return text


once.calls = 0


def test_an_expression_that_does_more_than_to_read_is_not_evaluated_again():
    size, items, names = Size(), iter((1, 2)), {"es": es}
    for run in (
        lambda: exec(once(TEMPLATE.format(1) + "#" * once.calls), names),
        lambda: exec(TEMPLATE.format(size.columns), names),
        lambda: exec(f"@es.kernel\ndef kernel(i, x):\n    x[i] = {next(items)}\n", names),
    ):
        run()
        with pytest.raises(es.KernelSyntaxError, match="source of this function is not available"):
            stored(names)
    assert (once.calls, Size.counted, next(items)) == (1, 1, 2)


def test_an_expression_that_gives_another_text_now_is_not_taken():
    n = [1]
    names = {"es": es, "change": lambda: n.append(n.pop() + 1)}
    exec(f"change()\n@es.kernel\ndef kernel(i, x):\n    x[i] = {n[0]}\n", names)
    with pytest.raises(es.KernelSyntaxError, match="source of this function is not available"):
        stored(names)


PROGRAM = """
import numpy as np
import execspace as es

def twice(y): return 2 * y

@es.kernel
def kernel(i, x):
    x[i] = twice(i + 1)

n, x = 5, np.zeros(2)
es.parallel_for(es.RangePolicy(2, space="oracle"), kernel, x)
names = {"es": es}
exec(f"@es.kernel\\ndef other(i, x):\\n    x[i] += {n}\\n", names)
es.parallel_for(es.RangePolicy(2, space="oracle"), names["other"], x)
print(x)
"""


@pytest.mark.parametrize("how", ["command", "standard input", "script"])
def test_a_program_is_compiled_however_python_gets_it(how, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = {"command": ["-c", PROGRAM], "standard input": [], "script": [str(script)]}[how]
    with script.open() as file:
        done = subprocess.run(
            [sys.executable, *command], stdin=file, capture_output=True, text=True, timeout=120
        )
    assert done.stdout == "[7. 9.]\n", done.stderr
