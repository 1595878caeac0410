"""``execspace precompile``: after it, a program finds its kernels on disk."""

import json
import os
import re
import time
from types import SimpleNamespace

import pytest
from program_folder import Folder

from execspace import cli

# Attached by `sitecustomize` to programs that run as usual: what their kernels came from.
WATCH = """
import atexit
import execspace as es

class Found(es.profiling.Tool):
    found = []
    def on_compile(self, kernel, from_disk):
        self.found.append((kernel, from_disk))

es.profiling.attach(Found())
atexit.register(lambda: print("COMPILED", Found.found))
"""

SEVERAL = """
import sys
import numpy as np
import execspace as es

@es.kernel
def fill(i, x):
    x[i] = i

@es.function
def helper(a):
    return a * 2.0

def scaled(i, x):
    x[i] = helper(x[i])

def sums(i, before, final, x):
    if final:
        x[i] = before
    return 1.0

n = 10
x, y = es.View(n), es.View((n, n))
es.parallel_for(n, fill, x)
es.parallel_for(n, scaled, x)
es.parallel_for(es.MDRangePolicy((n, n), tile=(4, 4)), lambda i, j, y: 1.0, y)
mean = es.parallel_reduce(n, lambda i, x: x[i], x) / n
top = es.parallel_reduce(n, lambda i, x: x[i], x, reducer=es.Max) - mean
es.parallel_scan(n, sums, x)
es.parallel_for(es.TeamPolicy(4, 2), lambda team, x: None, x)
es.parallel_for(n - 1, lambda i, a, b: None, x[1:], x[:-1])
es.fence()
print(__name__, sys.argv[1:], mean, top)
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a cache of its own, to run programs in."""

    class WithCache(Folder):
        def precompile(self, *arguments, **settings):
            """The command with --json; its document, code, and what the program printed."""
            done = self.python("-m", "execspace", "precompile", "--json", *arguments, **settings)
            try:
                document = json.loads(done.stdout)
            except ValueError:
                raise AssertionError(done.stdout + done.stderr) from None
            return SimpleNamespace(code=done.returncode, told=done.stderr, **document)

        def compiled(self, *arguments, **settings):
            """Run a program as usual: the kernels that were compiled, and those from disk."""
            self.write("watch/sitecustomize.py", WATCH)
            paths = os.pathsep.join([str(self.path / "watch"), os.environ.get("PYTHONPATH", "")])
            done = self.python(*arguments, PYTHONPATH=paths, **settings)
            [line] = re.findall(r"^COMPILED (.*)$", done.stdout, re.MULTILINE)
            found = eval(line)
            return (
                [name for name, from_disk in found if not from_disk],
                [name for name, from_disk in found if from_disk],
            )

    return WithCache(
        tmp_path, EXECSPACE_CACHE_DIR=str(tmp_path / "cache"), EXECSPACE_DEFAULT="serial"
    )


def names(done, result="compiled"):
    return [k["kernel"].partition(":")[0] for k in done.kernels if k["result"] == result]


@pytest.mark.parametrize("name", ["serial", "openmp"])
def test_an_ordinary_run_finds_every_kernel_on_disk(folder, name):
    folder.write("program.py", SEVERAL)
    first = folder.precompile("--space", name, "program.py", "--space", "x", "-m")
    assert first.code == 0 and first.ok and first.complete, first.told
    assert first.told == "__main__ ['--space', 'x', '-m'] 0.0 -inf\n"
    assert names(first) == ["fill", "scaled", *["<lambda>"] * 3, "sums", *["<lambda>"] * 2]
    assert (first.compiled, first.from_cache, first.failed, first.notes) == (8, 0, 0, [])
    assert {k["space"] for k in first.kernels} == {name}
    assert all(k["kept"] and k["seconds"] > 0 for k in first.kernels)
    assert [k["pattern"] for k in first.kernels][3:6] == ["reduce", "reduce", "scan"]
    assert [k["types"] for k in first.kernels][:3] == ["float64[1]", "float64[1]", "float64[2]"]
    compiled, from_disk = folder.compiled("program.py", EXECSPACE_DEFAULT=name)
    assert compiled == [] and len(from_disk) == 8
    again = folder.precompile("--space", name, "program.py")
    assert (again.compiled, again.from_cache, again.code) == (0, 8, 0)


def test_views_that_overlap(folder):
    folder.write("program.py", """
        import execspace as es
        def shift(i, a, b):
            a[i] = b[i]
        x = es.ones(10)
        es.parallel_for(9, shift, x[1:], x[:-1])
    """)  # fmt: skip
    assert names(folder.precompile("program.py")) == ["shift", "shift"]
    assert folder.compiled("program.py") == ([], ["shift", "shift"])


def test_names_that_are_bound_anew_between_launches(folder):
    """Each launch is compiled with what it captures then, though it is compiled later."""
    folder.write("program.py", """
        import execspace as es
        x = es.View(4)
        FACTOR = 0
        def scaled(i, x):
            x[i] = FACTOR * i
        def made(step):
            def inner(i, x):
                x[i] = step + FACTOR
            return inner
        for n in range(6):
            FACTOR = n
            es.parallel_for(4, scaled, x)
            es.parallel_for(4, made(n), x)
        for n in range(6):  # once more
            FACTOR = n
            es.parallel_for(4, scaled, x)
        FACTOR = "nothing that kernels know"
    """)  # fmt: skip
    done = folder.precompile("--jobs", "3", "program.py")
    assert sorted(names(done)) == ["inner"] * 6 + ["scaled"] * 6
    compiled, from_disk = folder.compiled("program.py")
    assert compiled == [] and set(from_disk) == {"inner", "scaled"}


def test_modules_folders_and_the_search_path(folder):
    folder.write("pack/__init__.py", "")
    folder.write("pack/kernels.py", "def fill(i, x):\n    x[i] = i\n")
    folder.write("pack/__main__.py", """
        import sys
        import execspace as es
        from .kernels import fill
        es.parallel_for(4, fill, es.View(4))
        print(__name__, __package__, sys.argv[1:])
    """)  # fmt: skip
    done = folder.precompile("-m", "pack", "--jobs", "7")
    assert (done.code, names(done), done.told) == (0, ["fill"], "__main__ pack ['--jobs', '7']\n")
    assert folder.compiled("-m", "pack") == ([], ["fill"])
    folder.write("app/near.py", "WHERE = 'beside'")
    folder.write("app/__main__.py", "import near; print(near.WHERE)")
    done = folder.precompile("app")
    assert (done.code, done.kernels, done.told) == (0, [], "beside\n")


def test_the_table_comes_after_what_the_program_prints(folder):
    folder.write("program.py", SEVERAL + "sys.stdout.close()\n")
    done = folder.python("-m", "execspace", "precompile", "program.py")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "__main__ [] 0.0 -inf"
    assert lines[1].split() == ["kernel", "space", "pattern", "types", "time", "result"]
    assert re.fullmatch(r"fill +serial +for +float64\[1\] +[\d.]+ m?s +compiled", lines[2])
    assert re.fullmatch(
        r"8 kernels: 8 compiled, 0 already in the cache, 0 failed; [\d.]+ m?s", lines[-1]
    )
    assert done.stderr == ""


FAULTY = """
import execspace as es
x = es.View(4)
def before(i, x): pass
def faulty(i, x):
    x[i] = "text"
def after(i, x): pass
es.parallel_for(4, before, x)
es.parallel_for(4, faulty, x)
es.parallel_for(4, after, x)
"""


def test_a_kernel_that_fails_is_reported_and_the_others_are_compiled(folder):
    folder.write("program.py", FAULTY)
    done = folder.precompile("program.py")
    assert (done.code, done.ok, done.complete, done.failed) == (1, False, True, 1)
    assert names(done) == ["before", "after"] and names(done, "failed") == ["faulty"]
    assert "expected a number, got a string" in done.kernels[1]["error"]
    told = folder.python("-m", "execspace", "precompile", "program.py")
    assert told.returncode == 1
    assert "faulty on serial: KernelTypeError: in kernel 'faulty'\n" in told.stdout
    assert "program.py:6:12: expected a number, got a string" in told.stdout
    assert "3 kernels: 0 compiled, 2 already in the cache, 1 failed; " in told.stdout


def test_a_reduction_that_fails_ends_the_program(folder):
    folder.write("program.py", FAULTY + """
def total(i, x):
    return nowhere
es.parallel_reduce(4, total, x)
es.parallel_for(4, lambda i: None)
""")  # fmt: skip
    done = folder.precompile("program.py")
    assert (done.code, done.complete, done.failed) == (1, False, 2)
    assert "Traceback" in done.told and "'nowhere'" in done.told
    assert names(done) == ["before", "after"]


ENDS = {
    "raises": ("1 / es.parallel_reduce(4, lambda i: 1)", 1, "exit code 1. Its reductions gave"),
    "exits with a number": ("import sys; sys.exit(7)", 1, "exit code 7. Its reductions gave"),
    "exits with a text": ("raise SystemExit('a word')", 1, "exit code 1."),
    "exits well": ("raise SystemExit(0)", 0, ""),
    "is interrupted": ("raise KeyboardInterrupt", 130, "exit code 130."),
}


@pytest.mark.parametrize("case", ENDS)
def test_what_was_compiled_is_kept_however_the_program_ends(folder, case):
    program, code, note = ENDS[case]
    folder.write("program.py", f"""
        import execspace as es
        def fill(i, x):
            x[i] = i
        es.parallel_for(4, fill, es.View(4))
        {program}
    """)  # fmt: skip
    done = folder.precompile("program.py")
    assert done.code == code and done.complete is (not note)
    assert all(note in text for text in done.notes) and len(done.notes) == bool(note)
    if code != 130:
        assert names(done)[0] == "fill"
        assert folder.compiled("program.py")[1][0] == "fill"
    assert ("a word" in done.told) is (case == "exits with a text")
    assert ("ZeroDivisionError" in done.told) is (case == "raises")


LOOP = """
import execspace as es
x = es.full(4, 8.0)
def halve(i, x):
    x[i] *= 0.5
def largest(i, x):
    return x[i]
steps = 0
while es.parallel_reduce(4, largest, x, reducer=es.Max) > 1.0 or steps == 0:
    es.parallel_for(4, halve, x)
    steps += 1
left = es.parallel_reduce(4, lambda i, x: x[i], x)
es.parallel_for(int(4 / left), lambda i, x: None, x)
print(steps, left)
"""


def test_a_program_that_depends_on_results_needs_run(folder):
    folder.write("program.py", LOOP)
    done = folder.precompile("program.py")
    assert (done.code, done.complete, done.compiled) == (1, False, 3)
    assert "ZeroDivisionError" in done.told and "--run" in done.notes[0]
    done = folder.precompile("--run", "program.py")
    assert (done.code, done.told, done.notes) == (0, "3 4.0\n", [])
    assert (done.compiled, done.from_cache) == (1, 3)
    assert folder.compiled("program.py")[0] == []


ENDLESS = """
import time
import execspace as es
def halve(i, x):
    x[i] *= 0.5
x = es.ones(4)
def wait():
    while es.parallel_reduce(4, lambda i, x: x[i], x) < 1.0:
        es.parallel_for(4, halve, x)
try:
    {}
finally:
    print("cleared up")
"""


@pytest.mark.parametrize("case", ["wait()", "wait_in_thread()"])
def test_a_loop_without_an_end_is_ended(folder, case):
    text = ENDLESS.format(case).replace(
        "wait_in_thread()",
        """
    import threading
    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(0.1)""",
    )
    folder.write("program.py", text)
    before = time.monotonic()
    done = folder.precompile("--seconds", "4", "program.py")
    assert time.monotonic() - before < 40
    assert (done.code, done.complete) == (0, False)
    assert done.notes[0].startswith("The program was ended after 4 seconds, see --seconds.")
    assert "cleared up" in done.told
    assert sorted(names(done)) == ["<lambda>", "halve"]


def test_a_program_that_cannot_be_ended_is_left(folder):
    folder.write("program.py", """
        import time
        import execspace as es
        es.parallel_for(4, lambda i: None)
        while True:
            try:
                time.sleep(100)
            except BaseException:
                print("caught")
    """)  # fmt: skip
    before = time.monotonic()
    done = folder.precompile("--seconds", "4", "program.py")
    assert time.monotonic() - before < 60
    assert (done.code, done.complete, done.compiled) == (0, False, 1)


def test_copies_and_captured_views_work_as_usual(folder):
    folder.write("program.py", """
        import numpy as np
        import execspace as es
        x, a = es.ones(4), np.zeros(4)
        captured = es.zeros(4)
        y = es.View(4)
        def put(i, a):
            captured[i] = a[i]
        es.parallel_for(4, put, es.InOut(a))
        es.deep_copy(y, x)
        es.fence()
        total = es.zeros(())
        es.parallel_reduce(4, lambda i, x: x[i], x, out=total)
        print(np.asarray(y).tolist(), total[()], a.tolist())
    """)  # fmt: skip
    done = folder.precompile("program.py")
    assert (done.code, done.told) == (0, "[1.0, 1.0, 1.0, 1.0] 0.0 [0.0, 0.0, 0.0, 0.0]\n")
    assert folder.compiled("program.py")[0] == []


def test_spaces_of_others_are_compiled_by_the_thread_that_launches(folder):
    """A space without steps, and without a cache on disk: which is said."""
    folder.write("program.py", """
        import threading
        import execspace as es

        class PlainPlan(es.Plan):
            def __init__(self, space, spec):
                self.space, self.spec = space, spec
            def launch(self, bounds, args):
                print("launched on", bounds)
                return 0

        class Plain(es.ExecutionSpace):
            name = "plain"
            memory_space = es.HOST
            def compile(self, kernel, spec):
                print(threading.current_thread().name)
                return PlainPlan(self, spec)
            def synchronize(self, label=""):
                pass

        plain = Plain()
        es.parallel_for(es.RangePolicy(3, 9, space=plain), lambda i: None)
        es.parallel_reduce(es.RangePolicy(3, 9, space=plain), lambda i: 1)
        es.parallel_for(es.RangePolicy(3, space="oracle"), lambda i: None)
    """)  # fmt: skip
    done = folder.precompile("program.py")
    assert done.told == "MainThread\nMainThread\nlaunched on (3, 3)\n"
    assert (done.code, done.compiled) == (0, 3)
    assert done.notes == [
        f"Space '{name}': it keeps nothing on disk, so later runs compile again."
        for name in ("plain", "oracle")
    ]


def test_what_cannot_be_kept_is_said(folder):
    folder.write("program.py", FAULTY.replace('"text"', "1.0"))
    folder.write("occupied", "not a folder")
    done = folder.precompile("program.py", EXECSPACE_CACHE_DIR=str(folder.path / "occupied"))
    assert (done.code, done.ok, done.compiled) == (1, False, 3)
    assert [k["kept"] for k in done.kernels] == [False] * 3
    [note] = done.notes
    assert "later runs compile them again: before, faulty, after. Set EXECSPACE_CACHE_DIR" in note


def test_tools_and_tuning_watch_a_program_that_computes_nothing(folder):
    folder.write("program.py", """
        import execspace as es
        x = es.ones((8, 8))
        def double(i, j, x):
            x[i, j] *= 2.0
        policy = es.MDRangePolicy((8, 8))
        with es.profile("kernel-timer") as found:
            chosen = es.tune(policy, double, x)
            es.parallel_for(chosen.policy, double, x, label="twice")
        assert "twice" in found.report()
        print(chosen.complete, x[0, 0])
    """)  # fmt: skip
    done = folder.precompile("program.py", EXECSPACE_TUNE="1")
    assert (done.code, done.told) == (0, "False 1.0\n")
    assert not (folder.path / "tuning").exists()


def test_child_processes_of_a_program(folder):
    folder.write("program.py", """
        import multiprocessing
        import execspace as es
        def fill(i, x):
            x[i] = 1.0
        def work(n):
            x = es.View(4)
            es.parallel_for(4, fill, x)
            return es.parallel_reduce(4, lambda i, x: x[i], x)
        if __name__ == "__main__":
            work(0)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(work, range(4)))
    """)  # fmt: skip
    done = folder.precompile("program.py")
    assert done.code == 0 and "[0.0, 0.0, 0.0, 0.0]" in done.told


def test_launches_at_exit_and_in_threads_compute_nothing(folder):
    folder.write("program.py", """
        import atexit, threading, time
        import execspace as es
        x = es.zeros(4)
        def fill(i, x):
            x[i] = 1.0
        def late(i, x):
            x[i] = 1.0
        def at_exit():
            es.parallel_for(4, late, x)
            print(x[0])
        atexit.register(at_exit)
        def twice(i, x):
            x[i] *= 2.0
        def even_later():
            time.sleep(0.3)
            es.parallel_for(4, twice, x)
        def later():
            time.sleep(0.3)
            es.parallel_for(4, fill, x)
            threading.Thread(target=even_later).start()
        threading.Thread(target=later).start()
    """)  # fmt: skip
    done = folder.python("-m", "execspace", "precompile", "program.py")
    assert done.returncode == 0, done.stderr
    for kernel in ("fill", "twice"):
        assert re.search(rf"^{kernel} +serial ", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("\n0.0\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "expected a script, or -m MODULE; execspace precompile --help shows how."),
        (["-m"], 2, "expected a script, or -m MODULE"),
        (["gone.py"], 2, "'gone.py' cannot be read: No such file or directory."),
        (["-m", "no_such_module"], 2, "No module named no_such_module."),
        (["--space", "nowhere", "program.py"], 1, "Space 'nowhere' is not installed"),
        (["--jobs", "0", "program.py"], 2, "'0' is not a number of threads from 1 to 1024"),
        (["--seconds", "-1", "program.py"], 2, "'-1' is not a number of seconds above 0"),
        (["--job", "2", "program.py"], 2, "unrecognized arguments: --job"),
    ],
)
def test_a_command_line_that_makes_no_sense_runs_nothing(folder, arguments, code, message):
    folder.write("program.py", "print('running')")
    done = folder.python("-m", "execspace", "precompile", *arguments)
    assert done.returncode == code
    assert re.search(message, done.stderr), done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_a_program_that_is_not_python(folder):
    folder.write("broken.py", "x = = 1")
    done = folder.python("-m", "execspace", "precompile", "broken.py")
    assert done.returncode == 1 and "SyntaxError" in done.stderr and done.stdout == ""


def test_its_own_help(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["precompile", "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: execspace precompile [--space NAME] [--jobs N] [--run]")
    assert cli.main(["--help"]) == 0
    assert "\n  precompile   " in capsys.readouterr().out


def test_ordinary_programs_load_nothing_of_it(folder):
    folder.write("program.py", """
        import sys
        import execspace as es
        es.parallel_for(4, lambda i: None)
        print([m for m in sys.modules if "precompil" in m or "concurrent" in m])
    """)  # fmt: skip
    assert folder.python("program.py").stdout == "[]\n"


def test_spaces_that_stand_for_devices(folder):
    """Under EXECSPACE_CHECK=portable, whose kernels are others: of the layout "left"."""
    folder.write("program.py", """
        import execspace as es
        x = es.full((3, 4), 2.0)
        def double(i, j, x):
            x[i, j] *= 2.0
        es.parallel_for(es.MDRangePolicy((3, 4)), double, x)
        total = es.parallel_reduce(es.MDRangePolicy((3, 4)), lambda i, j, x: x[i, j], x)
        es.fence()
        print(total, x.to_numpy().sum())
    """)  # fmt: skip
    settings = {"EXECSPACE_CHECK": "portable", "EXECSPACE_DEFAULT": "openmp"}
    done = folder.precompile("program.py", **settings)
    assert (done.code, done.told) == (0, "0.0 24.0\n")
    assert [k["types"] for k in done.kernels] == ["float64[2,left]"] * 2
    assert folder.compiled("program.py", **settings)[0] == []
