"""Plugins that misbehave: each is contained, and each report names it and says what it did.

In the program itself: imports that fail in odd ways, records that are wrong, probes that hang.
With `execspace doctor`, which uses processes of its own, also imports that hang and crashes.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings

import pytest

import execspace as es
from execspace.plugins import registry as plugins

# A space that runs kernels as plain Python, with places where it can misbehave.
SPACE = """
import ctypes, itertools, os, sys, time
import numpy as np
import execspace as es

def crash():
    ctypes.string_at(0)

class Plan(es.Plan):
    def __init__(self, space, fn, spec):
        self.space, self.fn, self.spec = space, fn, spec

    def launch(self, bounds, args):
        {launch}
        total = 0
        for i in range(*bounds[:2]):
            more = (total, True) if self.spec.pattern == "scan" else ()
            value = self.fn(i, *more, *args)
            total = total if value is None else total + value.item()
        return None if self.spec.pattern == "for" else total

class Vendor(es.ExecutionSpace):
    name = "{name}"
    memory_space = es.HOST

    def compile(self, kernel, spec):
        {compile}
        return Plan(self, kernel.fn, spec)

    def synchronize(self, label=""):
        pass

def start(device):
    {start}
    return Vendor()

def probe():
    {probe}
    return es.Probe(True, device="a card")

@es.hookimpl
def execspace_register_spaces():
    yield es.SpaceEntry("{name}", start, api_version=(0, 1), probe=probe, priority={priority})
"""


def vendor(name="vendor", **code):
    """Source of a plugin with a space; `launch`, `compile`, `start` and `probe` are statements."""
    parts = {
        "priority": 7,
        "launch": "pass",
        "compile": "pass",
        "start": "pass",
        "probe": "pass",
        **code,
    }
    return SPACE.format(name=name, **parts)


def row(name="vendor"):
    return next(s for s in es.spaces() if s.name == name)


# -- imports --------------------------------------------------------------------------------------

ODD = """
class Odd({base}):
    def __str__(self):
        {text}
raise Odd("driver")
"""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("raise GeneratorExit", "GeneratorExit"),
        (ODD.format(base="BaseException", text="return 'too old'"), "Odd: too old"),
        (ODD.format(base="Exception", text="raise ValueError"), "Odd: (its text cannot be had"),
        ("import asyncio; raise asyncio.CancelledError", "CancelledError"),
        ("def f(:", "SyntaxError: invalid syntax"),
    ],
)
def test_whatever_an_import_raises_the_program_goes_on(fake_plugin, source, reason):
    fake_plugin("vendor", source, version="2.5")
    with pytest.warns(es.PluginWarning, match=re.escape(reason)) as caught:
        assert es.default_space().name == "openmp"
    assert len(caught) == 1
    assert "'vendor' (execspace-vendor 2.5) failed to load" in str(caught[0].message)
    assert reason in row().reason and not row().usable
    with pytest.raises(es.UnknownSpaceError, match=re.escape(reason)):
        es.space("vendor")


def test_an_entry_point_that_names_no_module(fake_plugin, tmp_path):
    fake_plugin("vendor", "")
    info = tmp_path / "execspace-vendor" / "execspace_vendor-1.0.dist-info"
    (info / "entry_points.txt").write_text("[execspace]\nvendor = our plugin\n")
    with pytest.warns(es.PluginWarning, match="has the value 'our plugin'; expected a module such"):
        assert not row().usable


def test_the_users_ctrl_c_ends_the_program_also_while_a_plugin_is_imported(fake_plugin):
    fake_plugin("vendor", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        es.spaces()


# -- which plugins are loaded ---------------------------------------------------------------------

DIES = {
    "exits": "import os; os._exit(3)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "aborts": "import os; os.abort()",
    "leaves": "import sys; sys.exit('bye')",
    "hangs": "import time; time.sleep(600)",
}
NAMED = """
    import numpy as np
    import execspace as es

    policy = es.RangePolicy(4, space="serial")
    x, y = es.View(4, space="serial"), np.ones(4)

    @es.kernel
    def add(i, x, y):
        x[i] += y[i]

    es.parallel_for(policy, add, x, y)
    es.deep_copy(y, x)
    es.sort(x, space="serial")
    str(es.explain(policy, add, x, y))
    with es.use_space("serial"):
        es.parallel_for(es.MDRangePolicy((2, 2)), lambda i, j: None)
    es.fence()
    print(es.parallel_reduce(policy, lambda i: 2.0), es.View(3, space="serial").shape)
"""


def test_who_names_a_space_is_not_in_the_hands_of_other_plugins(fake_plugin, python, tmp_path):
    """Not even of those that no process survives."""
    for name, source in DIES.items():
        fake_plugin(f"a-{name}", source)
    folders = [str(folder) for folder in tmp_path.iterdir()]
    assert python(NAMED, PYTHONPATH=os.pathsep.join(folders)) == "8.0 (3,)\n"
    default = {"EXECSPACE_DEFAULT": "serial", "PYTHONPATH": os.pathsep.join(folders)}
    program = (
        "import execspace as es; print(es.parallel_reduce(4, lambda i: 2.0), es.View(3).shape)"
    )
    assert python(program, **default) == "8.0 (3,)\n"


EVERYTHING = """
import execspace as es

@es.hookimpl
def execspace_register_reducers():
    yield es.ReducerEntry("{name}", es.Sum(dtype=es.float32))
    yield es.ReducerEntry("{name}-too", es.Sum(dtype=es.float32))

@es.hookimpl
def execspace_register_tiles():
    yield es.TileTable("{name}", {{"stencil": {{2: (8, 4)}}}})

@es.hookimpl
def execspace_register_tools():
    yield es.ToolEntry("{name}", es.profiling.Tool)
"""
ASKED = {
    "a space": lambda name: es.space("serial"),
    "a reducer": lambda name: es.parallel_reduce(
        es.RangePolicy(3, space="serial"), lambda i: 1.0, reducer=name
    ),
    "a tile": lambda name: es.MDRangePolicy((9, 9), tile=name, iterate="right"),
    "a tool": lambda name: _profiled(name),
}


def _profiled(name):
    with es.profiling.profile(name):
        pass


@pytest.mark.parametrize("what", ASKED)
def test_a_plugin_is_loaded_for_its_own_name(fake_plugin, what):
    other = fake_plugin("aaa", "raise RuntimeError('not asked for')")
    mine = fake_plugin("mine", EVERYTHING.format(name="mine"))
    ASKED[what]("mine")
    assert other not in sys.modules
    assert (mine in sys.modules) == (what != "a space")


def test_for_a_name_that_no_entry_point_has_plugins_are_loaded_until_one_has_it(fake_plugin):
    first = fake_plugin("aaa", EVERYTHING.format(name="aaa"))
    last = fake_plugin("zzz", "raise RuntimeError('not asked for')")
    policy = es.RangePolicy(3, space="serial")
    assert es.parallel_reduce(policy, lambda i: 1.0, reducer="aaa-too") == 3
    assert first in sys.modules and last not in sys.modules
    with (
        pytest.warns(es.PluginWarning, match="'zzz' .* failed to load"),
        pytest.raises(es.LaunchError, match="registered: aaa, aaa-too"),
    ):
        es.parallel_reduce(policy, lambda i: 1.0, reducer="neither")


@pytest.mark.parametrize("ask", [lambda: es.space("zzz"), es.spaces, lambda: es.space("none")])
def test_a_space_belongs_to_the_plugin_of_its_name_whoever_is_loaded_first(fake_plugin, ask):
    fake_plugin("aaa", vendor("zzz", probe="return es.Probe(False, 'of aaa')"))
    fake_plugin("zzz", vendor("zzz"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(es.UnknownSpaceError):
            ask()
        assert es.space("zzz").name == "zzz"
        assert row("zzz").usable
    told = [str(w.message) for w in caught]
    assert len(told) == 1 and "plugin 'aaa' (execspace-aaa 1.0) failed to load" in told[0]
    assert (
        "registers the name 'zzz', which plugin 'zzz' (execspace-zzz 1.0) already holds" in told[0]
    )


def test_of_a_plugin_that_does_not_come_back_a_line_tells(fake_plugin, monkeypatch, capsys):
    monkeypatch.setattr(plugins, "_PATIENCE", 0.05)
    fake_plugin("slow", "import time; time.sleep(0.5)\n" + vendor("slow"), version="2.5")
    assert es.space("slow").name == "slow"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "execspace: plugin 'slow' (execspace-slow 2.5) has been loading for 0.05 s. If it hangs, "
        "leave it out: EXECSPACE_PLUGINS="
    )
    names = line.partition("EXECSPACE_PLUGINS=")[2].split(",")
    assert "serial" in names and "slow" not in names


def test_variables_of_plugins_that_are_not_loaded_are_not_called_unknown(fake_plugin, monkeypatch):
    monkeypatch.setenv("EXECSPACE_VENDOR_SPEED", "high")
    monkeypatch.setenv("EXECSPACE_DEFUALT", "serial")
    fake_plugin("vendor", vendor())
    with pytest.warns(UserWarning, match="EXECSPACE_DEFUALT is not read") as caught:
        es.space("serial")
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="EXECSPACE_VENDOR_SPEED is not read") as caught:
        es.spaces()
    assert len(caught) == 1


# -- records --------------------------------------------------------------------------------------

ENTRY = """
import execspace as es
@es.hookimpl
def {hook}():
    yield {record}
"""
SPACES = "execspace_register_spaces"
WRONG = {
    "a name that is not text": (
        SPACES, "es.SpaceEntry(7, print, (0, 1))",
        "plugin 'vendor' has a SpaceEntry with name 7; expected a string without blanks, colons",
    ),
    "a name with a colon": (
        SPACES, "es.SpaceEntry('gpu:0', print, (0, 1))",
        "plugin 'vendor' has a SpaceEntry with name 'gpu:0'; expected a string without",
    ),
    "an empty name": (
        "execspace_register_tools", "es.ToolEntry('', print)",
        "plugin 'vendor' has a ToolEntry with name ''; expected a string",
    ),
    "a factory that cannot be called": (
        SPACES, "es.SpaceEntry('x', None, (0, 1))",
        "SpaceEntry 'x' of plugin 'vendor' has factory None; expected a function of a device",
    ),
    "a priority of text": (
        SPACES, "es.SpaceEntry('x', print, (0, 1), priority='high')",
        "SpaceEntry 'x' of plugin 'vendor' has priority 'high'; expected an integer",
    ),
    "a Probe in place of a function": (
        SPACES, "es.SpaceEntry('x', print, (0, 1), probe=es.Probe(True))",
        "SpaceEntry 'x' of plugin 'vendor' has probe Probe(usable=True, reason='', device=''); "
        "expected a function that returns an execspace.Probe",
    ),
    "a class of reducers": (
        "execspace_register_reducers", "es.ReducerEntry('x', 3)",
        "ReducerEntry 'x' of plugin 'vendor' has reducer 3; expected an instance of an",
    ),
    "a check that cannot be called": (
        "execspace_health_checks", "es.HealthCheck('the driver', True)",
        "HealthCheck 'the driver' of plugin 'vendor' has check True; expected a function that",
    ),
    "one name twice": (
        "execspace_register_tools", "from (es.ToolEntry('x', print) for _ in range(2))",
        "plugin 'vendor' registers the name 'x' twice; give each of its tools a name of its own",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_record_is_refused_when_it_is_registered(fake_plugin, case):
    hook, record, reason = WRONG[case]
    fake_plugin("vendor", ENTRY.format(hook=hook, record=record))
    with pytest.warns(es.PluginWarning, match=re.escape(reason)):
        assert es.default_space().name == "openmp"
    assert reason in row().reason


def test_who_takes_a_name_is_told_who_holds_it(fake_plugin):
    fake_plugin("first", vendor("card"), distribution="one", version="1.5")
    fake_plugin("second", vendor("card"), distribution="two")
    with pytest.warns(es.PluginWarning) as caught:
        assert row("card").usable  # whoever came first has it
    assert "plugin 'second' (two 1.0) failed" in str(caught[0].message)
    assert "the name 'card', which plugin 'first' (one 1.5) already" in str(caught[0].message)


# -- probes ---------------------------------------------------------------------------------------


def test_a_probe_that_hangs_is_not_waited_for_long_and_only_once(fake_plugin, monkeypatch):
    monkeypatch.setenv("EXECSPACE_PROBE_TIMEOUT", "0.3")
    fake_plugin("vendor", vendor(probe="time.sleep(60)", priority=99))
    begun = time.monotonic()
    answer = row()
    assert 0.3 <= time.monotonic() - begun < 20
    assert not answer.usable
    assert answer.reason == (
        "its probe did not answer within 0.3 s; EXECSPACE_PROBE_TIMEOUT sets the limit"
    )
    entry = plugins.registry().spaces["vendor"]
    begun = time.monotonic()
    assert plugins.probe(entry).reason == answer.reason
    assert time.monotonic() - begun < 0.2  # it has had its time
    with pytest.warns(es.PluginWarning, match="'vendor' is passed over: its probe did not ans"):
        assert es.default_space().name == "openmp"
    with pytest.raises(es.SpaceUnavailableError, match=r"'vendor' is not usable: its probe did n"):
        es.space("vendor")


def test_a_default_does_not_wait_for_probes_of_worse_spaces(fake_plugin):
    fake_plugin("vendor", "asked = []\n" + vendor(probe="asked.append(1)"))
    assert es.default_space().name == "openmp"
    assert sys.modules["execspace_vendor_plugin"].asked == []
    assert row().usable


def test_a_probe_that_answers_late_is_believed_then(fake_plugin, monkeypatch):
    monkeypatch.setenv("EXECSPACE_PROBE_TIMEOUT", "0.05")
    fake_plugin("vendor", vendor(probe="time.sleep(0.4)"))
    assert not row().usable
    monkeypatch.setenv("EXECSPACE_PROBE_TIMEOUT", "30")
    assert row().usable
    assert es.space("vendor").name == "vendor"


@pytest.mark.parametrize(
    ("probe", "reason"),
    [
        ("sys.exit('no licence')", "its probe raised SystemExit: no licence"),
        ("raise KeyboardInterrupt", "its probe raised KeyboardInterrupt"),
    ],
)
def test_a_probe_cannot_end_the_program(fake_plugin, probe, reason):
    fake_plugin("vendor", vendor(probe=probe))
    assert row().reason == reason


def test_usable_is_remembered_and_not_usable_asked_again(fake_plugin):
    probe = "asked.append(1); return es.Probe(len(asked) > 1, 'plug it in')"
    fake_plugin("vendor", "asked = []\n" + vendor(probe=probe))
    assert row().reason == "plug it in"
    assert row().usable
    assert row().usable
    asked = sys.modules["execspace_vendor_plugin"].asked
    assert len(asked) == 2


@pytest.mark.parametrize("value", ["0", "-1", "soon", "", "nan", "inf"])
def test_the_limit_must_be_a_time(fresh_selection, monkeypatch, value):
    monkeypatch.setenv("EXECSPACE_PROBE_TIMEOUT", value)
    with pytest.raises(ValueError, match=f"EXECSPACE_PROBE_TIMEOUT='{value}' is not a number of"):
        es.spaces()


# -- the command line -----------------------------------------------------------------------------


@pytest.fixture
def execspace(fake_plugin, tmp_path, monkeypatch):
    """Install fake distributions and run the command line with all of them, and with no other."""
    installed = []

    def run(sources, *arguments, **settings):
        for name, source in sources.items():
            fake_plugin(name, source)
            installed.append(name)
        folders = [str(tmp_path / f"execspace-{name}") for name in installed]
        settings.setdefault("EXECSPACE_PLUGINS", ",".join(installed))
        return subprocess.run(
            [sys.executable, "-m", "execspace", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folders), **settings},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def test_plugins_that_take_their_process_down_are_listed_with_the_rest(execspace):
    sources = {
        "aborts": "import os; os.abort()",
        "good": vendor("good"),
        "hangs": "import time; time.sleep(600)",
        "raises": "raise RuntimeError('driver too old')",
    }
    result = execspace(sources, "plugins", "--json", "--timeout", "3")
    assert result.returncode == 0, result.stderr
    found = {plugin["name"]: plugin for plugin in json.loads(result.stdout)["plugins"]}
    where = r" in <module>, .*execspace_hangs_plugin\.py:1"
    assert re.fullmatch("its import did not end within 3 s" + where, found["hangs"]["error"])
    assert "its import died of SIGABRT in <module>, " in found["aborts"]["error"]
    assert found["raises"]["error"] == "RuntimeError: driver too old"
    assert found["good"]["error"] is None and found["good"]["spaces"] == ["good"]
    assert found["hangs"]["distribution"] == "execspace-hangs"


@pytest.mark.skipif(os.name != "posix", reason="no signals of this kind here")
@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL", "SIGINT", "SIGHUP"])
def test_a_command_that_is_killed_leaves_no_process_behind(fake_plugin, tmp_path, end):
    """Neither its workers, nor what a plugin that hangs in one of them has started."""
    pids = tmp_path / "pids"
    fake_plugin(
        "hangs",
        f"""
        import os, subprocess, time
        child = subprocess.Popen(["sleep", "600"])
        with open({str(pids) + ".new"!r}, "w") as file:
            file.write(f"{{os.getpid()}} {{child.pid}}")
        os.rename({str(pids) + ".new"!r}, {str(pids)!r})
        time.sleep(600)
        """,
    )
    chosen = {"PYTHONPATH": str(tmp_path / "execspace-hangs"), "EXECSPACE_PLUGINS": "hangs"}
    command = [sys.executable, "-m", "execspace", "plugins"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env={**os.environ, **chosen}, **quiet)
    try:
        assert _soon(pids.exists)
        process.send_signal(getattr(signal, end))
        process.wait(10)
        left = [int(pid) for pid in pids.read_text().split()]
        assert _soon(lambda: not any(map(_runs, left)))
    finally:
        process.kill()


def _soon(condition):
    begun = time.monotonic()
    while not condition() and time.monotonic() - begun < 20:
        time.sleep(0.02)
    return condition()


def _runs(pid):
    """Whether a process is there and no zombie, which waits for a parent that may never ask."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_probe_that_crashes_is_the_reason_why_its_space_is_not_usable(execspace):
    sources = {"card": vendor("card", probe="crash()"), "good": vendor("good")}
    result = execspace(sources, "info", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    found = {space["name"]: space for space in report["spaces"]}
    assert re.match(r"its probe died of SIGSEGV in string_at", found["card"]["reason"])
    assert not found["card"]["usable"]
    assert found["good"]["usable"] and found["good"]["device"] == "a card"
    assert report["default_space"]["name"] == "good"
    assert report["default_space"]["why"].endswith("not usable: card")


USED = {
    "segfaults": (vendor("segfaults", launch="crash()"), "parallel_for: died of SIGSEGV in"),
    "aborts": (vendor("aborts", compile="os.abort()"), "parallel_for: died of SIGABRT in compile"),
    "hangs": (
        vendor("hangs", launch="time.sleep(600)"),
        "parallel_for: did not end within 6 s in launch, ",
    ),
    "exits": (vendor("exits", start="os._exit(3)"), "start: ended with exit code 3"),
    "leaves": (
        vendor("leaves", start="sys.exit('bye')"),
        "start: Space 'leaves' failed to start: SystemExit: bye.",
    ),
    "raises": (
        vendor("raises", start="raise OSError('no licence')"),
        "start: Space 'raises' failed to start: OSError: no licence.",
    ),
    "miscounts": (
        vendor("miscounts", launch="args[-1][3:5] = 9; return 7"),
        "parallel_for: y[0] is 0.0, expected 1.0",
    ),
    "dies": (
        vendor("dies", start="import atexit; atexit.register(crash)"),
        "the exit of the process, after all patterns: died of SIGSEGV",
    ),
}


def test_doctor_contains_spaces_that_misbehave_when_they_are_used(execspace):
    sources = {name: source for name, (source, _) in USED.items()}
    sources["good"] = vendor("good")
    begun = time.monotonic()
    result = execspace(sources, "doctor", "--json", "--timeout", "6")
    assert time.monotonic() - begun < 100
    assert result.returncode == 1, result.stderr
    report = json.loads(result.stdout)
    assert not report["ok"]
    found = {space["name"]: space for space in report["spaces"]}
    for name, (_, reason) in USED.items():
        assert found[name]["status"] == "failed", name
        assert reason in found[name]["reason"]
    assert found["good"]["status"] == "ok"
    patterns = found["good"]["patterns"]
    assert {p: r["status"] for p, r in patterns.items()} == {
        "parallel_for": "ok",
        "parallel_reduce": "ok",
        "parallel_scan": "ok",
    }
    assert all(p["first_seconds"] > 0 and p["second_seconds"] > 0 for p in patterns.values())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals of this kind here")
def test_the_text_of_doctor_says_what_to_do(execspace):
    sources = {
        "broken": "raise RuntimeError('driver too old')",
        "forgetful": ENTRY.format(hook=SPACES, record="").replace("yield", "pass"),
        "vendor": vendor(launch="os.kill(os.getpid(), 9)"),
        "absent": vendor("absent", probe="return es.Probe(False, 'no card; buy one')"),
    }
    result = execspace(sources, "doctor")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert (
        "vendor: failed (execspace-vendor 1.0, API 0.1, a card): parallel_for: died of SIGKILL"
        in (result.stdout)
    )
    assert "report it to the authors of execspace-vendor 1.0; until then choose" in result.stdout
    assert "absent: not usable (execspace-absent 1.0, API 0.1): no card; buy one" in lines
    assert (
        "plugin 'broken' (execspace-broken 1.0) failed to load: RuntimeError: driver too old. "
        "Upgrade or uninstall execspace-broken." in lines
    )
    assert (
        "yield each of them, or return a list, which may be empty. Upgrade or uninstall "
        "execspace-forgetful." in result.stdout
    )
    assert lines[-1] == "failed: vendor"
    assert result.stderr == ""


def test_what_is_named_must_work(execspace):
    sources = {
        "broken": "raise RuntimeError('driver too old')",
        "absent": vendor("absent", probe="return es.Probe(False, 'no card; buy one')"),
    }
    result = execspace(sources, "doctor")
    assert result.returncode == 0, result.stdout  # nothing that could be used fails
    assert result.stdout.endswith("nothing failed, but there is no space that can be used\n")
    result = execspace({}, "doctor", "absent", "broken", "ghost:1")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert "absent: not usable (execspace-absent 1.0, API 0.1): no card; buy one" in lines
    assert "broken: unknown: its plugin failed to load: RuntimeError: driver too old" in lines
    assert "ghost:1: unknown: not installed; installed spaces: absent" in lines
    assert lines[-1] == "failed: absent, broken, ghost:1"
