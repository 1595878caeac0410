"""Where kernels may come from, and how the oracle is stepped through and measured.

Modules, closures and factories are everywhere in these tests; here are the places where Python
itself keeps no source or keeps it in a way of its own.
"""

from __future__ import annotations

import bdb
import doctest
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import execspace as es

PROGRAM = """
import execspace as es

SCALE = 3

def helper(v):
    return v * SCALE

@es.kernel
def kernel(i, x):
    square = lambda v: v * v
    x[i] = helper(square(i))

def plain(i, x):
    x[i] = -i
"""


def launched(space, kernel, n=4):
    x = np.zeros(n)
    with es.use_space(space):
        es.parallel_for(n, kernel, x)
    return x.tolist()


def test_exec_of_a_string_that_the_caller_holds(space):
    scope: dict = {}
    exec(PROGRAM, scope)
    assert launched(space, scope["kernel"]) == [0, 3, 12, 27]
    assert launched(space, scope["plain"]) == [0, -1, -2, -3]  # comes from the same text


def test_exec_of_a_literal(space):
    scope: dict = {}
    exec("import execspace as es\n@es.kernel\ndef kernel(i, x):\n    x[i] = i + 1\n", scope)
    assert launched(space, scope["kernel"]) == [1, 2, 3, 4]


def test_a_text_that_only_looks_alike_is_not_taken():
    text = "import execspace as es\n@es.kernel\ndef kernel(i, x):\n    x[i] = {}\n"
    decoy = text.format(1)  # noqa: F841 - held by the caller like the right one
    code, scope = compile(text.format(2), "<string>", "exec"), {}
    exec(code, scope)
    with pytest.raises(es.KernelSyntaxError, match="the source of this function is not available"):
        launched("oracle", scope["kernel"])


def test_source_is_given_where_it_cannot_be_found(space):
    scope: dict = {}
    code = compile(PROGRAM, "<built elsewhere>", "exec")
    exec(code, scope)
    kernel = es.kernel(source=PROGRAM)(scope["plain"])
    assert launched(space, kernel) == [0, -1, -2, -3]


OTHER_TEXTS = {
    "another text": ("x = 1\n", "it defines no function"),
    "another function": (PROGRAM.replace("def plain", "def other"), "it defines .*other"),
    "another parameter": (
        PROGRAM.replace("def plain(i, x)", "def plain(i, y)"),
        "has the parameters i, y, and in the running code i, x",
    ),
    "another number": (PROGRAM.replace("-i", "3 * i"), "has the constants .*3"),
    "another statement": (PROGRAM.replace("-i", "+i"), "other statements"),
    "other lines": ("\n" + PROGRAM, "begins in line"),
    "no Python": (PROGRAM + "def", "it cannot be compiled"),
    "no text": (b"def plain(i, x): pass", "it is of type 'bytes', expected a string"),
}


@pytest.mark.parametrize("which", OTHER_TEXTS)
def test_a_source_that_is_not_the_function_s_is_refused(which):
    """It would run instead of the function."""
    text, difference = OTHER_TEXTS[which]
    scope: dict = {}
    exec(compile(PROGRAM, "<built elsewhere>", "exec"), scope)
    with pytest.raises(es.KernelSyntaxError, match=f"'plain' is not the text.*: .*{difference}"):
        es.kernel(source=text)(scope["plain"])


def test_a_function_that_is_nested_or_defined_twice_is_found_in_its_source():
    text = """
def make(n):
    def plain(i, x):
        x[i] = n
    return plain


def plain(i, x):
    x[i] = 1


first = plain


def plain(i, x):
    x[i] = 2
"""
    scope: dict = {}
    exec(compile(text, "<built elsewhere>", "exec"), scope)
    for fn, value in ((scope["make"](3), 3), (scope["first"], 1), (scope["plain"], 2)):
        assert launched("oracle", es.kernel(source=text)(fn)) == [value] * 4


def test_messages_about_such_kernels_show_the_line():
    scope: dict = {}
    exec("import execspace as es\n@es.kernel\ndef kernel(i, x):\n    x[i] = i + missing\n", scope)
    with pytest.raises(es.KernelSyntaxError) as caught:
        launched("oracle", scope["kernel"])
    assert "    4 |     x[i] = i + missing\n" in str(caught.value)
    assert ":4:16: name 'missing' is not defined" in str(caught.value)


def test_python_c():
    text = textwrap.dedent("""
        import numpy as np, execspace as es
        @es.kernel
        def kernel(i, x):
            x[i] = 2 * i
        x = np.zeros(3)
        with es.use_space("oracle"):
            es.parallel_for(3, kernel, x)
        print(x.tolist())
    """)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 2.0, 4.0]\n"


def test_the_plain_prompt_says_what_to_do():
    lines = "import numpy as np, execspace as es\ndef k(i, x): x[i] = i\n\n"
    launch = 'es.parallel_for(es.RangePolicy(1, space="oracle"), k, np.zeros(1))\n'
    done = subprocess.run(
        [sys.executable, "-i", "-q"], input=lines + launch, capture_output=True, text=True
    )
    if sys.version_info >= (3, 13):  # keeps what was typed
        assert "Error" not in done.stderr
    else:
        assert "put the kernel into a file and import it" in done.stderr


def documented():
    """A doctest is a source like any other.

    >>> import numpy as np, execspace as es
    >>> def kernel(i, x):
    ...     x[i] = i * factor
    >>> factor, x = 5, np.zeros(3)
    >>> es.parallel_for(es.RangePolicy(3, space="oracle"), kernel, x)
    >>> x.tolist()
    [0.0, 5.0, 10.0]
    """


def test_doctest():
    module = types.ModuleType("documented")
    test = doctest.DocTestFinder().find(documented, "documented", module, globs={})[0]
    assert doctest.DocTestRunner(verbose=False).run(test) == doctest.TestResults(0, 5)


@pytest.mark.filterwarnings("ignore")
def test_notebook_cells(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    cells = [
        "import numpy as np, execspace as es\nx = np.zeros(3)",
        "def kernel(i, x):\n    x[i] = i + offset",
        "offset = 1\nes.parallel_for(es.RangePolicy(3, space='oracle'), kernel, x)",
        "a = x.tolist()\noffset = 2",
        "def kernel(i, x):\n    x[i] = offset * i",  # defined anew
        "es.parallel_for(es.RangePolicy(3, space='oracle'), kernel, x); b = x.tolist()",
    ]
    try:
        for cell in cells:
            shell.run_cell(cell).raise_error()
        assert (shell.user_ns["a"], shell.user_ns["b"]) == ([1, 2, 3], [0, 2, 4])
    finally:
        shell.history_manager.end_session()
        shell.history_manager.save_thread = None


# -- texts that IPython and timeit put into functions of their own ---------------------------------

BEGIN = """\
import timeit
import numpy as np, execspace as es
x, z, P = np.zeros(3), 0, es.RangePolicy(3, space="oracle")
"""
KERNEL = "def kernel(i, x):\n    x[i] += 1 + z\n"
MARKED = f"@es.kernel\n{KERNEL}"
LAUNCH = "es.parallel_for(P, kernel, x)"
LAMBDA = "es.parallel_reduce(P, lambda i, x: x[i] + z, x)"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cell", [
    f"%%time\n{KERNEL}{LAUNCH}",
    f"%%time\n\n{MARKED}{LAUNCH}\nx",  # its last line is taken off
    f"%time {LAMBDA}",
    f"%timeit -n 2 -r 1 {LAMBDA}",
    f"%%timeit -n 2 -r 1\n{KERNEL}{LAUNCH}",
    f"%%timeit -n 2 -r 1 z = 2\n{MARKED}{LAUNCH}",  # which it captures
    f"%%timeit -n 2 -r 1\nz = 2\n{LAMBDA}",
    f"%prun -q -T profile {LAMBDA}",
    f"%%capture\n{KERNEL}{LAUNCH}",
    f"timeit.timeit({LAMBDA!r}, number=2, globals=globals())",
    f"timeit.timeit({LAMBDA!r}, 'from __main__ import es, P, x; z = 2', number=2)",
    f"exec({LAMBDA!r})",
])  # fmt: skip
def test_timed_cells(tmp_path, monkeypatch, cell):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    monkeypatch.setitem(sys.modules, "__main__", shell.user_module)
    try:
        shell.run_cell(BEGIN).raise_error()
        shell.run_cell(cell).raise_error()
        if MARKED in cell and "timeit" not in cell:  # what is marked is kept
            shell.run_cell(LAUNCH).raise_error()
        ran = cell.count(LAUNCH) * (2 if "timeit" in cell else 1) * (3 if "z = 2" in cell else 1)
        assert shell.user_ns["x"].tolist()[0] >= ran
    finally:
        shell.history_manager.end_session()
        shell.history_manager.save_thread = None


def test_a_text_that_holds_another_function_of_that_name_is_not_taken():
    """Of two texts with a function of one name, each function has its own."""
    found = {}
    for number in (1, 2):
        text = f"def kernel(i, x):\n    x[i] = {number}\n"
        exec(text, found)
        if number == 1:
            first = found["kernel"]
    text = "def kernel(i, x):\n    x[i] = 3\n"
    x = np.zeros(3)
    with pytest.raises(es.KernelSyntaxError, match="is not available"):
        es.parallel_for(es.RangePolicy(3, space="oracle"), first, x)
    assert text.endswith("3\n")  # held while the first was looked for
    assert x.tolist() == [0, 0, 0]


MODULE = """\
def helper(v):
    doubled = 2 * v
    return doubled


def kernel(i, x):
    if i > 100:
        x[i] = 0.0
    y = helper(i)
    for k in range(2):
        y += k
    x[i] = y
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "stepped.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "stepped", raising=False)
    import stepped

    return stepped


class Recorder(bdb.Bdb):
    """A debugger that steps on and on, and notes where it is."""

    def __init__(self, file):
        super().__init__()
        self.file, self.lines, self.seen = file, [], {}

    def user_line(self, frame):
        if frame.f_code.co_filename == self.file:
            self.lines.append(frame.f_lineno)
            self.seen.update({n: v for n, v in frame.f_locals.items() if n in ("y", "i", "k")})
        self.set_step()


def test_a_debugger_steps_through_the_users_own_lines(module):
    recorder = Recorder(module.__file__)
    x = np.zeros(2)
    es.parallel_for(es.RangePolicy(0, space="oracle"), module.kernel, x)  # compiles
    recorder.runcall(es.parallel_for, es.RangePolicy(1, 2, space="oracle"), module.kernel, x)
    assert x[1] == 3
    assert recorder.lines == [7, 9, 2, 3, 10, 11, 10, 11, 10, 12]
    assert recorder.seen == {"i": 1, "y": 3, "k": 1}


def test_pdb(module, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, execspace as es, stepped\n"
        "es.parallel_for(es.RangePolicy(3, space='oracle'), stepped.kernel, np.zeros(3))\n"
    )
    commands = "break stepped.py:9, i == 2\ncontinue\np 'at', int(i)\nstep\nstep\nwhere\nquit\n"
    done = subprocess.run(
        [sys.executable, "-m", "pdb", str(program)],
        input=commands, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert "('at', 2)" in done.stdout
    assert "-> doubled = 2 * v" in done.stdout
    assert "-> y = helper(i)" in done.stdout


def test_coverage_counts_the_lines_of_kernels(module):
    import coverage

    measured = coverage.Coverage(data_file=None, include=[module.__file__], config_file=False)
    with measured.collect():
        es.parallel_for(es.RangePolicy(2, space="oracle"), module.kernel, np.zeros(2))
    _, statements, _, missing, _ = measured.analysis2(module.__file__)
    assert [n for n in missing if n not in (1, 6)] == [8]  # 1 and 6 ran at the import
    assert {2, 3, 7, 9, 10, 11, 12} <= set(statements)


# -- sizes --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_indices_beyond_2_to_the_31(name):
    """3 GB of int8: offsets, extents and strides need more than 32 bits."""
    n = 3 * 2**30
    try:
        big = np.zeros(n, np.int8)
        big[-1] = 0  # pages are only taken when touched
    except MemoryError:
        pytest.skip("needs 3 GB of memory")
    square = big.reshape(3, 2**30)
    rows = np.zeros((3, 2), np.int64)

    def touch(i, x, step):
        x[i * step] = i % 100 + 1

    def corners(i, x, rows):
        rows[i, 0] = x[i, 0]
        rows[i, 1] = x[i, x.extent(1) - 1] + x.size - x.size

    step = 2**24
    with es.use_space(name):
        es.parallel_for(n // step, touch, big, step)
        es.parallel_for(es.RangePolicy(n - 2, n), lambda i, x: store(x, i), big)
        es.parallel_for(3, corners, square, rows)
        extent = es.parallel_reduce(1, lambda i, x: x.extent(0) + i, big)
        last = es.parallel_reduce(es.RangePolicy(n - 3, n), lambda i, x: i * x[i], big)
    expected = np.arange(n // step) % 100 + 1
    np.testing.assert_array_equal(big[::step], expected)
    assert (extent, last) == (n, 7 * (n - 2) + 7 * (n - 1))
    np.testing.assert_array_equal(rows[:, 0], expected[:: 2**30 // step])
    assert rows[2, 1] == 7


def store(x, i):
    x[i] = 7
