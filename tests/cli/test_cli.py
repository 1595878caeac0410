"""The command line `execspace`: its commands, their JSON, and commands of other distributions."""

import io
import json
import os
import re
import subprocess
import sys
import textwrap
import time
from importlib import metadata
from pathlib import Path

import pytest

import execspace as es
from execspace import cli
from execspace.base import config, console
from execspace_compiler.cache import disk as cache

ROOT = Path(__file__).parents[2]


@pytest.fixture
def execspace():
    """Run the command line in a process of its own."""

    def run(*arguments, **settings):
        return subprocess.run(
            [sys.executable, "-m", "execspace", *arguments],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Install a distribution with a command, for the length of a test."""
    modules = []

    def install(name, source, distribution="greetings"):
        folder = tmp_path / distribution
        info = folder / f"{distribution}-1.2.dist-info"
        info.mkdir(parents=True)
        module = f"{distribution}_{name}"
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n"
        )
        (info / "entry_points.txt").write_text(f"[execspace.commands]\n{name} = {module}\n")
        (folder / f"{module}.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(folder)
        modules.append(module)

    yield install
    for module in modules:
        sys.modules.pop(module, None)


GREET = '''
HELP = """Say hello to a space.

And nothing else."""


def configure(parser):
    parser.add_argument("space")
    parser.add_argument("--code", type=int, default=0)


def run(arguments):
    print("Hello,", arguments.space)
    return arguments.code
'''


# -- finding commands -----------------------------------------------------------------------------


def test_help_lists_every_command(capsys):
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    for name in ("info", "plugins", "doctor", "run", "cache", "new-backend"):
        assert re.search(rf"^  {name} +\w", text, re.MULTILINE)


def test_without_a_command_the_help_is_shown_and_the_exit_code_is_2(capsys):
    assert cli.main([]) == 2
    assert "commands:\n  info" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["info", "plugins", "doctor", "cache"])
def test_every_command_has_help(capsys, name):
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: execspace {name} ")
    assert "--json" in text


def test_version(execspace):
    result = execspace("--version")
    assert (result.returncode, result.stdout) == (0, f"execspace {es.__version__}\n")


def test_the_script_is_installed():
    script = Path(sys.executable).with_name("execspace")
    result = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"execspace {es.__version__}\n"


def test_importing_execspace_loads_no_command_line(python):
    program = """
        import sys
        import execspace as es
        es.spaces()
        assert not {"execspace.cli", "rich"} & set(sys.modules)
    """
    python(program)


def test_a_word_that_is_no_command(capsys):
    assert cli.main(["docter"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("execspace: 'docter' is not a command; commands: cache, doctor, info,")
    assert error.endswith("Did you mean 'doctor'?\n")


def test_a_command_whose_distribution_is_missing_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setattr(cli, "_points", dict)
    assert cli.main(["new-backend", "mine"]) == 2
    assert capsys.readouterr().err == (
        "execspace: Command 'new-backend' is in the distribution execspace-testing, which is not "
        "installed; in a checkout of execspace, pip install -e tests/conformance.\n"
    )
    assert cli.main(["--help"]) == 0
    assert (
        "(of execspace-compiler; pip install -e compiler in a checkout)" in capsys.readouterr().out
    )


def test_commands_of_other_distributions(command, capsys):
    command("greet", GREET)
    assert cli.main(["greet", "openmp"]) == 0
    assert capsys.readouterr().out == "Hello, openmp\n"
    assert cli.main(["greet", "openmp", "--code", "5"]) == 5
    capsys.readouterr()
    assert cli.main(["--help"]) == 0
    assert re.search(r"^  greet +Say hello to a space\.$", capsys.readouterr().out, re.MULTILINE)
    with pytest.raises(SystemExit):
        cli.main(["greet", "--help"])
    assert "And nothing else." in capsys.readouterr().out


BROKEN = {
    "raises": ("raise RuntimeError('half done')", "RuntimeError: half done. Reinstall or"),
    "exits": ("import sys; sys.exit(0)", "SystemExit: 0. Reinstall or uninstall"),
    "has no parts": ("def run(arguments): return 0", "greetings_greet has no configure, HELP; exp"),
    "returns nothing": (
        GREET.replace("return arguments.code", "return None"), "'greet' returned None; expected an",
    ),
    "meets an expected error": (
        GREET.replace("print(", "raise OSError("), "Hello,",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_command_is_a_message_and_in_nobodys_way(command, capsys, case):
    source, reason = BROKEN[case]
    command("greet", source)
    assert cli.main(["greet", "openmp"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("execspace: ") and reason in error
    assert "Traceback" not in error
    assert cli.main(["--help"]) == 0
    assert "  doctor" in capsys.readouterr().out
    assert cli.main(["cache", "path"]) == 0


def test_strict_shows_the_traceback_of_a_failure(command, capsys, monkeypatch):
    monkeypatch.setenv("EXECSPACE_STRICT", "1")
    command("greet", "raise RuntimeError('half installed')")
    assert cli.main(["greet"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_two_distributions_with_one_command(command, capsys):
    command("greet", GREET)
    command("greet", GREET, distribution="salutations")
    assert cli.main(["greet", "openmp"]) == 1
    error = capsys.readouterr().err
    assert "'greet' comes from" in error
    assert "greetings 1.2" in error and "salutations 1.2" in error


# -- info and plugins -----------------------------------------------------------------------------


def test_info_as_json(execspace):
    tools = "gone,kernel-timer:sort=calls"
    result = execspace("info", "--json", EXECSPACE_DEFAULT="nosuch,serial", EXECSPACE_TOOLS=tools)
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert report["execspace"] == es.__version__
    assert tuple(report["api_version"]) == es.API_VERSION
    assert report["default_space"] == {
        "name": "serial",
        "why": "EXECSPACE_DEFAULT=nosuch,serial; not usable: nosuch",
    }
    spaces = {space["name"]: space for space in report["spaces"]}
    serial = spaces["serial"]
    assert serial["usable"] and serial["device"] == "host" and serial["priority"] == 0
    assert serial["distribution"] == "execspace-serial" and serial["plugin"] == "serial"
    assert [s["name"] for s in report["spaces"]] == [s.name for s in es.spaces()]
    settings = {setting["name"]: setting for setting in report["settings"]}
    assert set(settings) >= {f"EXECSPACE_{name}" for name in config.VARIABLES}
    assert settings["EXECSPACE_DEFAULT"]["value"] == "nosuch,serial"
    assert settings["EXECSPACE_DEFAULT"]["set"] and not settings["EXECSPACE_CACHE_SIZE"]["set"]
    assert any("EXECSPACE_TOOLS names 'gone'" in text for text in report["warnings"])
    assert not any("names 'kernel-timer" in text for text in report["warnings"])
    documented(report)


def documented(report):
    """Every key of a report stands in docs/cli.md."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`(\w+)`", text))

    def check(part):
        if isinstance(part, dict):
            for key, value in part.items():
                assert key in words or key in ("parallel_for", "parallel_reduce", "parallel_scan")
                check(value)
        elif isinstance(part, list):
            for value in part:
                check(value)

    check(report)


def test_info_as_text_tells_of_spelling_errors(execspace):
    result = execspace("info", EXECSPACE_DEFUALT="serial")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    api = console.version(es.API_VERSION)
    assert lines[0].startswith(f"execspace {es.__version__}, plugin API {api}, ")
    row = next(line for line in lines if line.startswith("serial "))
    version = metadata.version("execspace-serial")
    assert row.split() == ["serial", "yes", "host", "execspace-serial", version, "0.1", "0"]
    assert any(re.match("default space: openmp, because of the highest p", line) for line in lines)
    assert any(re.match("warning: .* EXECSPACE_DEFUALT is not read", line) for line in lines)


def test_info_and_doctor_tell_of_checks(execspace):
    result = execspace("info", EXECSPACE_CHECK="portable")
    row = next(line for line in result.stdout.splitlines() if line.startswith("EXECSPACE_CHECK"))
    assert row.split() == ["EXECSPACE_CHECK", "portable", "environment"]
    result = execspace("doctor", "serial", EXECSPACE_CHECK="portable")
    assert result.returncode == 0
    assert "serial: ok" in result.stdout
    for command in ("info", "doctor"):
        result = execspace(command, EXECSPACE_CHECK="portabel")
        assert result.returncode == 1
        assert "EXECSPACE_CHECK='portabel': there is no check 'portabel'" in result.stderr


def test_a_setting_that_is_wrong_is_a_message(execspace):
    result = execspace("info", EXECSPACE_PROBE_TIMEOUT="soon")
    assert result.returncode == 1
    assert result.stderr == (
        "execspace: EXECSPACE_PROBE_TIMEOUT='soon' is not a number of seconds above 0.\n"
    )


def test_plugins(execspace):
    result = execspace("plugins", "--json", EXECSPACE_PLUGINS="serial,ghost")
    report = json.loads(result.stdout)
    (plugin,) = report["plugins"]
    assert plugin == {
        "name": "serial",
        "distribution": "execspace-serial",
        "version": metadata.version("execspace-serial"),
        "module": "execspace_serial.plugin",
        "api_versions": [[0, 1]],
        "spaces": ["serial", "oracle"],
        "reducers": [],
        "tiles": [],
        "tools": [],
        "health_checks": [],
        "error": None,
    }
    assert any("'ghost', which is not installed" in text for text in report["warnings"])
    documented(report)
    text = execspace("plugins", EXECSPACE_PLUGINS="").stdout
    assert "No plugin is loaded" in text


# -- doctor ---------------------------------------------------------------------------------------


def test_doctor_on_the_spaces_of_this_repository(execspace):
    result = execspace("doctor", "--json", "serial", "oracle")
    assert result.returncode == 0, result.stdout
    report = json.loads(result.stdout)
    assert report["ok"]
    assert [space["name"] for space in report["spaces"]] == ["serial", "oracle"]
    for space in report["spaces"]:
        assert space["status"] == "ok" and space["memory"] == "host"
        assert space["select"] == f"EXECSPACE_DEFAULT={space['name']}"
        assert {p["status"] for p in space["patterns"].values()} == {"ok"}
    documented(report)


CHECKS = """
import os
import execspace as es

@es.hookimpl
def execspace_health_checks():
    yield es.HealthCheck("driver", lambda: es.Probe(True, "version 535"))
    yield es.HealthCheck("trace folder", lambda: es.Probe(False, "is full; empty it"))
    yield es.HealthCheck("licence", lambda: 1 / 0)
    yield es.HealthCheck("card", os.abort)
    yield es.HealthCheck("bus", lambda: "fine")
"""


def test_health_checks_are_rows_of_doctor(fake_plugin, tmp_path, execspace):
    fake_plugin("vendor", CHECKS)
    settings = {"EXECSPACE_PLUGINS": "vendor", "PYTHONPATH": str(tmp_path / "execspace-vendor")}
    result = execspace("doctor", **settings)
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert "driver (of plugin 'vendor'): ok: version 535" in lines
    assert "trace folder (of plugin 'vendor'): failed: is full; empty it" in lines
    assert "licence (of plugin 'vendor'): failed: ZeroDivisionError: division by zero" in lines
    assert any(re.match(r"card \(of plugin 'vendor'\): failed: died of SIGABRT", x) for x in lines)
    assert "bus (of plugin 'vendor'): failed: it returned 'fine', expected execspace.Probe" in lines
    assert lines[-1] == "failed: trace folder, licence, card, bus"


ABSENT = """
import execspace as es

@es.hookimpl
def execspace_register_spaces():
    yield es.SpaceEntry(
        "card", factory=lambda device: None, api_version=(0, 1), priority=9,
        probe=lambda: es.Probe(False, "there is no card"),
    )

@es.hookimpl
def execspace_health_checks():
    yield es.HealthCheck("compiler for cards", lambda: es.Probe(False, "is not installed"))
"""


def test_what_an_absent_device_would_need_is_a_note_unless_it_was_asked_for(
    fake_plugin, tmp_path, execspace
):
    fake_plugin("card", ABSENT)
    settings = {"EXECSPACE_PLUGINS": "card", "PYTHONPATH": str(tmp_path / "execspace-card")}
    result = execspace("doctor", **settings)
    assert result.returncode == 0, result.stdout
    note = "compiler for cards (of plugin 'card'): note, not needed here: is not installed"
    assert note in result.stdout.splitlines()
    report = json.loads(execspace("doctor", "--json", **settings).stdout)
    assert report["ok"]
    assert [(c["ok"], c["needed"]) for c in report["health_checks"]] == [(False, False)]
    documented(report)
    result = execspace("doctor", "card", **settings)
    assert result.returncode == 1
    assert "compiler for cards (of plugin 'card'): failed: is not installed" in result.stdout
    assert result.stdout.splitlines()[-1] == "failed: card, compiler for cards"


@pytest.mark.parametrize("value", ["0", "-3", "soon", "nan"])
def test_the_time_limit_is_checked(capsys, value):
    with pytest.raises(SystemExit) as end:
        cli.main(["doctor", f"--timeout={value}"])
    assert end.value.code == 2
    assert f"'{value}' is not a number of seconds above 0" in capsys.readouterr().err


# -- cache ----------------------------------------------------------------------------------------


FIRST, SECOND = cache.key("first") + ".bin", cache.key("second") + ".json"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache with entries of two kinds, and files and a folder that somebody else put there."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    for kind, age in (("host", 1000), ("opencl", 50)):
        folder = cache.folder(kind)
        (folder / "history").mkdir()
        for path in (folder / FIRST, folder / "history" / SECOND, folder / "diary.txt"):
            path.write_bytes(bytes(2048))
            os.utime(path, (1.5e9 - age, 1.5e9 - age))
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(bytes(100))
    return tmp_path


def test_cache_show(kept, capsys):
    assert cli.main(["cache", "show", "--json"]) == 0
    text = capsys.readouterr().out
    report = json.loads(text)
    assert report["folder"] == str(kept) and report["limit_bytes"] == 2**30
    assert [kind["kind"] for kind in report["kinds"]] == ["host", "opencl"]
    assert all(kind["files"] == 2 and kind["bytes"] == 4096 for kind in report["kinds"])
    assert report["kinds"][0]["oldest_use"] < report["kinds"][1]["oldest_use"]
    assert report["not_ours"] == ["photos"]
    documented(report)
    assert cli.main(["cache", "--json"]) == 0
    assert capsys.readouterr().out == text
    assert cli.main(["cache"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^host    2      4\.0 KiB  2017-", text, re.MULTILINE)
    assert "left alone: photos" in text


def test_cache_clear_deletes_one_kind_or_all_and_nothing_else(kept, capsys):
    assert cli.main(["cache", "clear", "--kind", "host"]) == 0
    assert capsys.readouterr().out == "host: 2 files deleted, 4.0 KiB\n"
    assert not (kept / "host" / FIRST).exists()
    assert (kept / "opencl" / FIRST).exists()
    assert cli.main(["cache", "clear", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [(row["kind"], row["files"]) for row in report["deleted"]] == [
        ("host", 0),
        ("opencl", 2),
    ]
    documented(report)
    assert (kept / "photos" / "cat.png").exists()
    left = {path.name for path in kept.rglob("*") if path.is_file()}
    assert left == {cache.TAG, "cat.png", "diary.txt"}


def test_cache_clear_leaves_what_is_being_written(kept, capsys):
    for name, age in ((".new.tmp", 0), (".old.tmp", 7200)):
        path = kept / "host" / name
        path.write_text("half")
        os.utime(path, (time.time() - age,) * 2)
    assert cli.main(["cache", "clear"]) == 0
    assert (kept / "host" / ".new.tmp").exists()
    assert not (kept / "host" / ".old.tmp").exists()


def test_cache_clear_of_a_kind_that_is_not_there(kept, capsys):
    assert cli.main(["cache", "clear", "--kind", "hots"]) == 1
    assert capsys.readouterr().err.endswith("no entries of kind 'hots'; kinds: host, opencl.\n")


def test_cache_misses_tells_why_kernels_were_compiled(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    assert cli.main(["cache", "misses"]) == 0
    assert capsys.readouterr().out == "none is known\n"
    for factor in (2.0, 3.0):
        es.parallel_reduce(es.RangePolicy(9, space="serial"), lambda i: factor * i + 0.123)
    assert cli.main(["cache", "misses"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert " host: " in first and first.endswith(": first time this kernel is seen")
    assert second.endswith(": constant 'factor' changed from 2.0 to 3.0")
    assert cli.main(["cache", "misses", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["misses"]
    assert [row["kind"] for row in rows] == ["host", "host"]
    assert set(rows[0]) == {"kind", "kernel", "key", "reason", "time"}


def test_cache_path_makes_no_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "new"))
    assert cli.main(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'new'}\n"
    assert cli.main(["cache", "show"]) == 0
    assert "(not there yet)" in capsys.readouterr().out
    assert cli.main(["cache", "clear"]) == 0
    assert not (tmp_path / "new").exists()


def test_a_program_goes_on_when_its_cache_is_cleared(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    policy = es.RangePolicy(5, space="serial")
    assert es.parallel_reduce(policy, lambda i: 3 * i) == 30
    assert cli.main(["cache", "clear"]) == 0
    assert es.parallel_reduce(policy, lambda i: 4 * i) == 40
    assert re.search(r"^host: [1-9]", capsys.readouterr().out, re.MULTILINE)


# -- printing -------------------------------------------------------------------------------------


def test_tables_leave_out_empty_columns_and_break_no_cell(capsys):
    console.table(["space", "device", "reason"], [["a", "", "one\ntwo"], ["longer", "", ""]])
    assert capsys.readouterr().out == "space   reason\na       one two\nlonger\n"


def test_tables_on_a_terminal_are_richs(monkeypatch):
    pytest.importorskip("rich", reason="rich is not installed")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    console.table(["space"], [["[bold]x"]])
    assert "[bold]x" in terminal.getvalue()
    assert "─" in terminal.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [(2e-6, "2 us"), (0.00123, "1.2 ms"), (0.25, "250 ms"), (3.04, "3 s"), (120.0, "120 s")],
)
def test_times(value, text):
    assert console.seconds(value) == text


# -- output that nobody reads ---------------------------------------------------------------------


def in_a_shell(line, **settings):
    command = f"{sys.executable} -m execspace"
    return subprocess.run(
        ["bash", "-c", line.replace("execspace", command, 1)], env={**os.environ, **settings},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["--help", "run --help", "run --list", "cache show"])
def test_a_reader_that_has_seen_enough_ends_a_command_without_a_traceback(command):
    found = in_a_shell(f"execspace {command} | true; echo ${{PIPESTATUS[0]}}")
    assert found.stderr == ""
    assert found.stdout in ("0\n", "1\n")


@pytest.mark.parametrize("command", ["--help", "--version", "run --list", "cache show"])
def test_a_command_whose_output_is_closed_prints_nothing(command):
    found = in_a_shell(f"execspace {command} >&-")
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_a_command_whose_errors_are_closed_still_fails():
    assert in_a_shell("execspace nonsense 2>&-").returncode == 2
    assert in_a_shell("execspace nonsense >&- 2>&-").returncode == 2
    unread = in_a_shell("execspace nonsense 2>&1 >/dev/null | true; exit ${PIPESTATUS[0]}")
    assert unread.returncode == 2


def test_the_doctor_works_without_any_standard_stream():
    """The processes in which it tries spaces get their pipes all the same."""
    found = in_a_shell("execspace doctor oracle <&- >&- 2>&-")
    assert found.returncode == 0
    found = in_a_shell("execspace doctor oracle <&- 2>&-")
    assert "parallel_scan: right" in found.stdout


def test_kernels_print_nowhere_where_the_output_is_closed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import execspace as es\n"
        "def k(i): es.printf('%d', i)\n"
        "for space in ('oracle', 'serial'):\n"
        "    es.parallel_for(es.RangePolicy(2, space=space), k)\n"
        "k(1)\n"
    )
    found = in_a_shell(f"execspace run {script} >&-")
    assert found.returncode == 0, found.stderr
    assert "k" in found.stderr  # the report of the tool
    assert in_a_shell(f"execspace run {script} >&- 2>&-").returncode == 0
