"""``execspace run``: programs run as with ``python``, and tools report when they end."""

import re
import zipfile

import pytest
from program_folder import Folder

from execspace import cli

LAUNCH = """
import execspace as es
es.parallel_for(es.RangePolicy(5, space="oracle"), lambda i: None, label="five")
"""


@pytest.fixture
def folder(tmp_path):
    """A folder to run in; ``folder.write(name, program)`` puts a program there."""

    class WithRun(Folder):
        def run(self, *arguments, **settings):
            return self.python("-m", "execspace", "run", *arguments, **settings)

    return WithRun(tmp_path, COLUMNS="100")


def both(folder, *arguments):
    """A program run by Python and by the command; they agree but for the report."""
    plain, watched = folder.python(*arguments), folder.run(*arguments)
    assert watched.returncode == plain.returncode
    assert watched.stdout == plain.stdout
    assert watched.stderr.startswith(plain.stderr)
    return watched.stdout, watched.stderr[len(plain.stderr) :], watched.returncode


def test_a_script_runs_as_python_runs_it(folder):
    folder.write("lib/near.py", "WHERE = 'beside the script'")
    folder.write("lib/program.py", f"""
        import sys, inspect
        import near
        print(__name__, __file__, __spec__, __package__, __doc__, sys.argv, sys.path[0])
        print(near.WHERE, sys.modules["__main__"].near is near)
        def f(): pass
        print(inspect.getsource(f), f.__module__)
        {LAUNCH.strip().replace(chr(10), chr(10) + " " * 8)}
    """)  # fmt: skip
    _, report, code = both(folder, "lib/program.py", "--help", "--tool", "x", "--", "-m", "a b")
    assert code == 0
    assert report.startswith("Kernels\n")
    assert re.search(r"^five +oracle +for +1 ", report, re.MULTILINE)


def test_a_module_runs_as_python_m_runs_it(folder):
    folder.write("pack/__init__.py", "")
    folder.write("pack/other.py", "VALUE = 3")
    folder.write("pack/__main__.py", """
        import sys
        from .other import VALUE
        print(__name__, __package__, __spec__.name, sys.argv, sys.path[0], VALUE)
    """)  # fmt: skip
    stdout, _, code = both(folder, "-m", "pack", "--list", "-m", "--")
    assert code == 0 and stdout.startswith("__main__ pack pack.__main__ ")


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_folder_or_an_archive_with_a_main_module(folder, kind):
    folder.write("app/other.py", "VALUE = 3")
    folder.write("app/__main__.py", "import sys, other\nprint(__name__, sys.argv, other.VALUE)")
    if kind == "archive":
        with zipfile.ZipFile(folder.path / "app.zip", "w") as archive:
            for name in ("other.py", "__main__.py"):
                archive.write(folder.path / "app" / name, name)
    name = "app" if kind == "folder" else "app.zip"
    stdout, _, code = both(folder, name, "x")
    assert (stdout, code) == (f"__main__ ['{name}', 'x'] 3\n", 0)


ENDS = {
    "returns": ("", 0),
    "exits with a number": ("import sys; sys.exit(7)", 7),
    "exits with a text": ("raise SystemExit('done for today')", 1),
    "exits with nothing": ("raise SystemExit", 0),
    "raises": ("def f():\n    1 / 0\nf()", 1),
    "raises what the command would catch": ("es.View(-1)", 1),
    "raises with a cause": ("try: 1 / 0\nexcept Exception as e: raise OSError('disk') from e", 1),
    "has its own hook": ("import sys; sys.excepthook = lambda *a: print('hooked', a[1])\n1 / 0", 1),
    "closes its output": ("import sys; sys.stdout.close()", 0),
}


@pytest.mark.parametrize("case", ENDS)
def test_it_ends_as_the_program_does_and_the_report_comes_anyway(folder, case):
    program, expected = ENDS[case]
    folder.write("program.py", f"{LAUNCH}{program}\n")
    plain = folder.python("program.py", EXECSPACE_TOOLS="kernel-timer")
    watched = folder.run("program.py")
    for result in (plain, watched):
        assert result.returncode == expected
        assert re.search(r"^five +oracle +for +1 ", result.stderr, re.MULTILINE)
    before = [result.stderr.partition("Kernels\n")[0] for result in (plain, watched)]
    assert before[0] == before[1]  # tracebacks start at the program
    assert watched.stdout == plain.stdout


@pytest.mark.parametrize("case", ["module", "syntax"])
def test_errors_of_the_program_are_shown_as_by_python(folder, case):
    folder.write("broken.py", {"module": "import no_such_thing", "syntax": "x = = 1"}[case])
    _, report, code = both(folder, "broken.py")
    assert code == 1
    assert report == "" if case == "syntax" else "no kernel was launched" in report
    assert folder.run("-m", "broken").returncode == 1


def test_what_runs_at_exit_and_in_threads_is_in_the_report(folder):
    folder.write("program.py", """
        import atexit, threading, time
        import execspace as es
        def nothing(i): pass
        def launch(label): es.parallel_for(es.RangePolicy(2, space="oracle"), nothing, label=label)
        launch("first")
        atexit.register(launch, "at exit")
        threading.Thread(target=lambda: (time.sleep(0.2), launch("thread"))).start()
    """)  # fmt: skip
    result = folder.run("program.py")
    assert result.returncode == 0, result.stderr
    for label in ("first", "at exit", "thread"):
        assert re.search(rf"^{label} +oracle +for +1 ", result.stderr, re.MULTILINE), result.stderr


def test_several_tools_with_options(folder):
    folder.write("program.py", LAUNCH)
    result = folder.run(
        "--tool", "kernel-timer:out.csv:sort=calls", "--tool=memory-high-water", "program.py"
    )
    assert result.returncode == 0
    assert result.stderr.index("Kernels\n") < result.stderr.index("high-water mark")
    assert (folder.path / "out.csv").read_text().startswith("space,pattern,label,calls,")


def test_tools_of_the_environment_report_as_well(folder):
    folder.write("program.py", LAUNCH)
    alone = folder.run("program.py", EXECSPACE_TOOLS="memory-high-water")
    assert "high-water mark" in alone.stderr and "Kernels\n" not in alone.stderr
    both = folder.run("--tool", "kernel-timer", "program.py", EXECSPACE_TOOLS="memory-high-water")
    assert "high-water mark" in both.stderr and "Kernels\n" in both.stderr


def test_the_tools_are_listed_with_their_options(folder):
    result = folder.run("--list")
    assert result.returncode == 0
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert lines["tool"].split() == ["what", "it", "shows", "options"]
    assert lines["kernel-timer"].endswith(" path= sort=total limit=0 copies=0 fences=0")
    assert set(lines) > {
        "space-time-stack", "memory-events", "memory-high-water", "trace", "nvtx", "logger",
        "roofline",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "expected a script, or -m MODULE; execspace run --help shows how."),
        (["-m"], 2, "expected a script, or -m MODULE"),
        (["gone.py"], 2, "'gone.py' cannot be read: No such file or directory."),
        (["-m", "no_such_module"], 2, "No module named no_such_module."),
        (["--list", "program.py"], 2, "--list runs nothing; leave out the program and --tool."),
        (
            ["--tool", "kernel-timr", "program.py"],
            1,
            "not a profiling tool; .* Did you mean 'kernel",
        ),
        (["--tool", "kernel-timer:depth=3", "program.py"], 1, "has no option 'depth'; options: pa"),
        (["--too", "logger", "program.py"], 2, "unrecognized arguments: --too"),
    ],
)
def test_a_command_line_that_makes_no_sense_runs_nothing(folder, arguments, code, message):
    folder.write("program.py", "print('running')")
    result = folder.run(*arguments)
    assert result.returncode == code
    assert re.search(message, result.stderr), result.stderr
    assert "Traceback" not in result.stderr and "Kernels" not in result.stderr
    assert result.stdout == ""


def test_without_tools_it_says_what_to_install(folder):
    folder.write("program.py", "print('running')")
    for arguments in (["--list"], ["program.py"]):
        result = folder.run(*arguments, EXECSPACE_PLUGINS="serial")
        assert (result.returncode, result.stdout) == (1, "")
        assert "pip install -e tools." in result.stderr


def test_its_own_help(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["run", "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: execspace run [--tool NAME[:OPTION=VALUE]...]...")
    assert "--list" in text


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_folder_or_an_archive_without_a_main_module(folder, kind):
    """As Python says it: one line, and no report of a program that never ran."""
    folder.write("empty/other.py", "")
    name = "empty"
    if kind == "archive":
        name = "empty.zip"
        with zipfile.ZipFile(folder.path / name, "w") as archive:
            archive.writestr("other.py", "")
    found = folder.run(name)
    assert found.returncode == 2
    assert found.stderr == f"execspace: can't find '__main__' module in '{name}'.\n"
