"""Where a function's source ends, whatever its lines look like."""

import ast
import importlib.util
import inspect
import textwrap

import pytest

from execspace import KernelSyntaxError
from execspace_compiler.frontend.source import source_of

LONG = "\n".join(f"line {k}" for k in range(40))

CASES = {
    "plain": "def f(i, a):\n    a[i] = 1\n\n\nx = 2\n",
    "last in the file": "def f(i, a):\n    a[i] = 1",
    "one line": "def f(i, a): a[i] = 1\nx = 2\n",
    "comments further left": "def f(i, a):\n    a[i] = 1\n# here\n    a[i] += 1\n",
    "a bracket further left": "def f(i, a):\n    a[i] = max(\n1,\n2\n)\n    a[i] += 1\n",
    "a string further left": 'def f(i, a):\n    """One\ntwo\n\n    x\n"""\n    a[i] = 1\n',
    "a long string": f'def f(i, a):\n    """One\n{LONG}\n"""\n    a[i] = 1\nx = 1\n',
    "a line that goes on": "def f(i, a):\n    a[i] = 1 + \\\n2\n    a[i] += 1\nx = 1\n",
    "decorators": "d = lambda: lambda f: f\n@d(\n)\n# why\n@d()\ndef f(i, a):\n    a[i] = 1\n",
    "within a block": "if True:\n    def f(i, a):\n        a[i] = 1\nelse:\n    f = None\n",
    "tabs": "if True:\n\tdef f(i, a):\n\t\ta[i] = 1\n\tx = 1\n",
    "parameters on lines of their own": "def f(\n    i,\n    a,\n):\n    a[i] = 1\nx = 1\n",
    "an else": "def f(i, a):\n    if i:\n        a[i] = 1\n    else:\n        a[i] = 2\nx = 1\n",
}


@pytest.mark.parametrize("case", CASES)
def test_a_function_is_found_whole(case, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(CASES[case])
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = source_of(module.f).node
    # what Python itself takes for its source, token by token
    lines, first = inspect.getsourcelines(module.f)
    assert (found.end_lineno, len(found.body)) == _seen(lines, first)


def _seen(lines, first):
    (node,) = ast.parse(textwrap.dedent("".join(lines))).body
    return node.end_lineno + first - 1, len(node.body)


def test_a_file_that_is_no_python_any_more_is_said_to_differ(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("def f(i, a):\n    a[i] = 1\n")
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("def f(i, a):\n    a[i] = (1\n" + "x = 1\n" * 3000)
    with pytest.raises(KernelSyntaxError, match="does not match the running code"):
        source_of(module.f)
