"""Errors of execspace in IPython and with rich: short, with the user's lines, nothing lost."""

from __future__ import annotations

import io
import re
import traceback

import numpy as np
import pytest

import execspace as es

pytest.importorskip("IPython")


def launches(kernel, where="serial"):
    with es.use_space(where):
        es.parallel_for(3, kernel, np.zeros(3))


@es.kernel
def mixes(i, x):
    x[i] = x[i] & 1.5


@es.kernel
def asserts(i, x):
    assert x[i] > 0, "positive"


def raises_another():
    try:
        es.View(-1, label="v")
    except es.ViewError as error:
        raise KeyError("of the user") from error


def handles_another():
    try:
        raise KeyError("of the user")
    except KeyError:
        es.View(-1, label="v")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.delenv("EXECSPACE_TRACEBACK", raising=False)
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell(colors="nocolor")
    monkeypatch.setattr("IPython.get_ipython", lambda: made)
    made.user_ns.update(globals())
    yield made
    made.history_manager.end_session()
    made.history_manager.save_thread = None


@pytest.fixture
def shown(shell, capsys):
    """What IPython prints of the error of a cell."""

    def run(cell):
        capsys.readouterr()
        assert not shell.run_cell(cell, store_history=True).success
        return capsys.readouterr().out

    return run


def without_carets(text):
    """Lines without those of carets below frames, which each version of Python puts elsewhere."""
    return [line for line in text.rstrip().splitlines() if line.strip(" ^~")]


pytestmark = pytest.mark.filterwarnings("ignore")
HIDDEN = r"\(\d+ frames? of execspace not shown; EXECSPACE_TRACEBACK=full shows all\)"


def test_the_users_frames_and_the_place_in_the_kernel(shown):
    cell = "@es.kernel\ndef mine(i, x):\n    x[i] = x[i] & 1.5\n\n\nlaunches(mine)"
    lines = without_carets(shown(cell))
    assert re.fullmatch(HIDDEN, lines.pop())
    place = launches.__code__.co_firstlineno + 2
    assert lines == [
        "Traceback (most recent call last):",
        '  File "Cell In[1]", line 6, in <module>',
        "    launches(mine)",
        f'  File "{__file__}", line {place}, in launches',
        "    es.parallel_for(3, kernel, np.zeros(3))",
        "KernelTypeError: in kernel 'mine'",
        "Cell In[1]:3:12: '&' needs integers, got float64 and Python float",
        "    3 |     x[i] = x[i] & 1.5",
        "      |            ^^^^^^^^^^",
        "hint: convert it with int(...); tests are joined with and, or, not",
    ]


@pytest.mark.parametrize("where", ["serial", "oracle"])
def test_assertions_of_kernels(shown, where):
    text = shown(f"launches(asserts, {where!r})")
    assert "KernelAssertionError: in kernel 'asserts' at index 0\n" in text
    assert text.count("es.parallel_for(3, kernel, np.zeros(3))") == 1
    assert "      |            ^^^^^^^^\n" in text
    assert not re.search(r'File ".*(execspace|execspace_\w+)/(?!tests)\w+/\w+.py"', text)


@pytest.mark.parametrize(
    "cell", ["es.View(-1)", "es.space('nowhere')", "es.parallel_for(3, 4)", "es.Sum(shape=0)"]
)
def test_all_errors_of_execspace_are_short(shown, cell):
    lines = without_carets(shown(cell))
    assert lines[:3] == [
        "Traceback (most recent call last):", '  File "Cell In[1]", line 1, in <module>',
        f"    {cell}",
    ]  # fmt: skip
    assert re.match(r"\w+Error: ", lines[3])
    assert len(lines) == 5 and re.fullmatch(HIDDEN, lines[4])


def test_what_was_handled_is_told(shown):
    lines = without_carets(shown("handles_another()"))
    assert lines.index("KeyError: 'of the user'") < lines.index(
        "During handling of the above exception, another exception occurred:"
    )
    assert lines[-2] == "ViewError: View 'v': shape (-1,) has a negative extent."
    assert '    raise KeyError("of the user")' in lines


def test_notes_are_told(shown):
    text = shown(
        "try:\n    es.View(-1)\nexcept es.ViewError as error:\n"
        "    error.add_note('while it was made'); raise"
    )
    assert "has a negative extent.\nwhile it was made\n" in text


def test_errors_of_the_user_are_ipythons(shown):
    text = shown("raises_another()")
    assert "---->" in text and "not shown" not in text


@pytest.mark.parametrize("cell", ["%xmode Verbose", "import os; os.environ[NAME] = 'full'"])
def test_other_tracebacks_are_had_when_they_are_asked_for(shell, shown, monkeypatch, cell):
    monkeypatch.setenv("EXECSPACE_TRACEBACK", "short")  # and put back, whatever the cell does
    shell.user_ns["NAME"] = "EXECSPACE_TRACEBACK"
    assert shell.run_cell(cell).success
    text = shown("launches(mixes)")
    assert "---->" in text and "launch/prepare.py" in text and "not shown" not in text


def test_a_syntax_error_is_shown_by_ipython_with_its_place(shown):
    """IPython has a form of its own for these, which it does not ask anybody about."""
    text = shown("launches(lambda i, x: [1.0])")
    assert "KernelSyntaxError: in kernel '<lambda>'" in text
    assert "hint: " in text


def test_python_shows_what_it_always_shows():
    with pytest.raises(es.KernelTypeError) as found:
        launches(mixes)
    text = "".join(traceback.format_exception(found.value))
    assert "launch/prepare.py" in text and "not shown" not in text


# -- colours --------------------------------------------------------------------------------------


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_colours_change_no_character(shell, shown):
    pytest.importorskip("rich")
    bare = shown("launches(mixes)")
    shell.colors = "linux"
    coloured = shown("launches(mixes)").replace("Cell In[2]", "Cell In[1]")
    assert plain(coloured) == bare
    assert "\x1b[1;31mKernelTypeError\x1b[0m" in coloured
    assert re.search(r"\x1b\[1;31m +\^{10}\x1b\[0m\n", coloured)


def test_without_rich_there_are_no_colours(shell, shown, monkeypatch):
    shell.colors = "linux"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "\x1b" not in shown("launches(mixes)")


def test_rich_highlights_the_source_of_a_message():
    rich = pytest.importorskip("rich.console")
    with pytest.raises(es.KernelTypeError) as found:
        launches(mixes)
    found.value.add_note("[bold]a note[/bold]")
    file = io.StringIO()
    rich.Console(file=file, force_terminal=True, width=200, color_system="standard").print(
        found.value
    )
    text = file.getvalue()
    assert plain(text).rstrip() == f"KernelTypeError: {found.value}\n[bold]a note[/bold]"
    assert "\x1b[94m1.5\x1b[0m" in text  # a number of Python


def test_rich_shows_the_message_in_its_tracebacks():
    rich = pytest.importorskip("rich.console")
    from rich.traceback import Traceback

    with pytest.raises(es.KernelTypeError) as found:
        launches(mixes)
    error, file = found.value, io.StringIO()
    made = Traceback.from_exception(type(error), error, error.__traceback__, suppress=[es])
    rich.Console(file=file, width=100).print(made)
    text = file.getvalue()
    assert "    x[i] = x[i] & 1.5\n      |            ^^^^^^^^^^\n" in text
    assert "launch(" not in text  # lines of what is suppressed
