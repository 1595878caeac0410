"""A backend by somebody else: written by `execspace new-backend`, built, installed, used, removed.

The environment of these tests has wheels of this repository and third-party packages only. The
packages of the checkout, which are installed in place, are not visible in it.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from fresh_environment import ALONE, MEMBERS, ROOT, Environment, build, done, run

import execspace as es
from execspace_testing import new_backend as command
from execspace_testing.new_backend import new_backend

SPACES = {"threads": "mistral", "c": "sea_breeze"}
# Levels of the kit that a new backend shows here: random programs; MDRange and teams. The example
# below is the same code, and the tutorial goes the same way with the other variant.
LEVELS = [pytest.param(levels, marks=pytest.mark.exhaustive) for levels in ("12-12", "4,9")]


def parsed(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return parser.parse_args(argv)


def texts(folder: Path) -> dict[str, str]:
    """What is in the files of a folder, by their paths."""
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in folder.rglob("*")
        if file.is_file()
    }


# -- what the command writes ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["threads", "c"])
def test_the_command_says_what_it_made_and_what_to_do_next(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.run(parsed("sea_breeze", "--kind", kind)) == 0
    folder = tmp_path / "execspace-sea-breeze"
    printed = capsys.readouterr().out
    for file in texts(folder):
        assert f"  {file}\n" in printed
    assert 'pip install -e ".[test]"' in printed
    assert "EXECSPACE_DEFAULT=sea_breeze" in printed
    about = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert about["name"] == "execspace-sea-breeze"
    assert about["entry-points"]["execspace"] == {"sea_breeze": "execspace_sea_breeze.plugin"}
    space = (folder / "src/execspace_sea_breeze/space.py").read_text()
    assert "class SeaBreezeExecutionSpace(" in space
    assert {"LICENSE", "README.md", ".gitignore", ".github/workflows/ci.yml"} <= set(texts(folder))
    assert (folder / "src/execspace_sea_breeze/py.typed").exists()
    assert not [name for name in texts(folder) if "{" in name or name.endswith(".jinja")]


def test_answers_may_have_any_characters(tmp_path):
    folder = tmp_path / "made"
    text = 'Sums, "really" fast: 100 % of \\peak, für alle'
    new_backend(folder, name="foehn", description=text, author='A. "B" Ç', license="MIT")
    about = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert about["description"] == text
    assert about["license"] == "MIT"
    licence = (folder / "LICENSE").read_text(encoding="utf-8")
    assert licence.startswith("MIT License")
    assert 'A. "B" Ç' in licence


@pytest.mark.parametrize("name", ["Mistral", "3d", "my-gpu", "a__b", "_a", "a_", "a:1", "", "ä"])
def test_a_bad_name_is_refused_with_a_better_one(name, tmp_path):
    with pytest.raises(ValueError, match="cannot be the name of a space; expected lower-case"):
        new_backend(tmp_path / "made", name=name)
    assert not (tmp_path / "made").exists()
    assert command._NAME.fullmatch(command._proposed(name))


@pytest.mark.parametrize("answers", [{"distribution": "No Name"}, {"license": "other"}])
def test_a_bad_answer_is_refused(answers, tmp_path):
    with pytest.raises(ValueError, match="the template refused"):
        new_backend(tmp_path / "made", name="mistral", **answers)


def test_an_unknown_kind_is_refused(tmp_path):
    with pytest.raises(ValueError, match="kind 'fortran' is not known; expected threads or c"):
        new_backend(tmp_path / "made", name="mistral", kind="fortran")


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert command.run(parsed("mistral", "--output", str(tmp_path))) == 1
    assert "exists already, and nothing is overwritten" in capsys.readouterr().err
    assert texts(tmp_path) == {"notes.txt": "mine"}


def test_names_that_are_taken_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.run(parsed("serial")) == 1
    assert "there is a space 'serial' already" in capsys.readouterr().err
    assert command.run(parsed("testing")) == 1  # it would be called execspace-testing
    assert "a distribution execspace-testing 0" in capsys.readouterr().err
    assert not texts(tmp_path)
    assert command.run(parsed("testing", "--distribution", "mistral-testing")) == 0
    assert (tmp_path / "mistral-testing/src/mistral_testing/plugin.py").exists()


def test_without_copier_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "copier", None)
    assert command.run(parsed("mistral", "--output", str(tmp_path / "made"))) == 1
    assert "pip install copier" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["host"])
def test_the_class_of_a_space_hides_no_name_of_execspace(name, tmp_path):
    new_backend(tmp_path / "made", name=name)
    text = (tmp_path / f"made/src/execspace_{name}/space.py").read_text()
    assert "(HostExecutionSpace):" in text
    assert f"class {name.title()}ExecutionSpace" not in text


@pytest.mark.parametrize("kind", ["threads", "c"])
def test_what_is_written_is_formatted_and_without_faults(kind, tmp_path):
    folder = tmp_path / "made"
    new_backend(folder, name=SPACES[kind], kind=kind)
    for task in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *task, "--no-cache", "."]
        done = subprocess.run(ruff, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["threads", "c"])
def test_what_is_written_is_for_the_contract_of_today(kind, tmp_path):
    new_backend(tmp_path / "made", name="mistral", kind=kind)
    tree = ast.parse((tmp_path / "made/src/execspace_mistral/plugin.py").read_text())
    versions = [k.value for k in ast.walk(tree) if getattr(k, "arg", "") == "api_version"]
    assert [ast.literal_eval(v) for v in versions] == [es.API_VERSION]


def test_the_variant_in_c_is_the_example(tmp_path):
    spec = importlib.util.spec_from_file_location("sync", ROOT / "templates" / "from_example.py")
    sync = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sync)
    new_backend(tmp_path / "made", **sync.ANSWERS)
    made = texts(tmp_path / "made")
    compared = {f.as_posix() for f in sync.files()}
    code = {f for f in made if f.endswith((".py", ".toml"))}
    assert code == compared, "run python templates/from_example.py"
    for file in sorted(compared):
        example = (sync.EXAMPLE / file).read_text(encoding="utf-8")
        assert made[file] == example, f"{file}: run python templates/from_example.py"
    for name in sync.SHARED:
        first, second = (
            (sync.TEMPLATE / kind / name).read_text(encoding="utf-8") for kind in ("threads", "c")
        )
        assert first == second, f"{name}: run python templates/from_example.py"


# -- from wheels to a running program ---------------------------------------------------------


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Wheels of this repository."""
    folder = tmp_path_factory.mktemp("wheels")
    build(folder, *(ROOT / member for member in MEMBERS))
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory, wheels):
    """An environment in which the wheels of this repository are installed."""
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.pip("install", *ALONE, *wheels.glob("*.whl"))
    return made


def test_the_environment_has_the_wheels_only(environment, tmp_path):
    names = ["execspace", "execspace_compiler", "execspace_serial", "execspace_testing"]
    program = f"""
import importlib
from importlib import metadata
for name in {names}:
    print(importlib.import_module(name).__file__)
print(*sorted(d.name for d in metadata.distributions() if "execspace" in d.name))
"""
    *files, found = done(environment.python, "-c", program, cwd=tmp_path).splitlines()
    assert len(files) == 4
    assert all(Path(file).is_relative_to(environment.site) for file in files)
    assert found.split() == [name.replace("_", "-") for name in names]


def test_nothing_of_ours_names_the_third_parties(wheels):
    names = [*SPACES.values(), "sea-breeze", "SeaBreeze", "backend_c", "backend-c"]
    for wheel in wheels.glob("*.whl"):
        archive = zipfile.ZipFile(wheel)
        for file in archive.namelist():
            content = file.encode() + archive.read(file)
            assert not [name for name in names if name.encode() in content], file


PROGRAM = """
import numpy as np
import execspace as es


@es.kernel
def axpy(i, a, x, y):
    y[i] += a * x[i]


n = 1_000_000
x, y = es.View(n, es.float64, label="x"), np.ones(n)
es.deep_copy(x, np.arange(n))
es.parallel_for(n, axpy, 2.0, x, y)
es.fence()
print(es.default_space().name, y[3], es.parallel_reduce(n, lambda i: x[i]))
"""


def check_there(environment: Environment, name: str, program: Path) -> None:
    """A program uses the space, because one setting says so."""
    printed = done(environment.python, program, cwd=program.parent, EXECSPACE_DEFAULT=name)
    assert printed.split() == [name, "7.0", "499999500000.0"]


def check_gone(environment: Environment, name: str, program: Path) -> None:
    """Without the package there is no such space, and the message says where spaces come from."""
    distribution = f"execspace-{name.replace('_', '-')}"
    environment.pip("uninstall", "--yes", "--quiet", distribution)
    result = run(environment.python, program, cwd=program.parent, EXECSPACE_DEFAULT=name)
    assert result.returncode == 1
    assert f"EXECSPACE_DEFAULT={name}: Space '{name}' is not installed" in result.stderr
    assert "Spaces come from plugins" in result.stderr
    listed = "import execspace as es; print(*(s.name for s in es.spaces()))"
    found = done(environment.python, "-c", listed, cwd=program.parent)
    assert found.split() == ["serial", "oracle"]


@pytest.fixture
def program(tmp_path):
    """A program in a folder of its own."""
    path = tmp_path / "elsewhere" / "program.py"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    return path


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("levels", LEVELS)
def test_a_new_backend_in_c_from_its_making_to_its_end(environment, tmp_path, program, levels):
    execspace, name = environment.scripts / "execspace", "sea_breeze"
    folder = tmp_path / "execspace-sea-breeze"
    printed = done(execspace, "new-backend", name, "--kind", "c", cwd=tmp_path)
    assert f"Made execspace-sea-breeze with the space '{name}'" in printed
    build(tmp_path / "dist", folder)
    environment.pip("install", *ALONE, *(tmp_path / "dist").glob("*.whl"))

    check_there(environment, name, program)
    # Most of the time of the kit is that of the compiler. All levels, as it is: `make test-all`.
    quick = tmp_path / "quick-cc"
    quick.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
    quick.chmod(0o755)
    suite = ["--pyargs", "execspace_testing.suite", "--space", name, "-m", "not slow"]
    suite += ["-o", f"execspace_levels={name}={levels}"]
    pytest = [environment.python, "-m", "pytest", "-p", "no:cacheprovider"]
    printed = done(*pytest, "-n", "2", *suite, cwd=program.parent, CC=str(quick))
    passed = {int(n) for n in re.findall(r"^ +(\d+)  pass  ", printed, re.MULTILINE)}
    assert passed >= {int(level) for level in re.split("[,-]", levels)}
    assert int(re.search(r"(\d+) passed", printed.splitlines()[-1])[1]) > 30
    done(*pytest, "tests/test_space.py", cwd=folder)

    check_gone(environment, name, program)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_example_in_c_is_right(tmp_path):
    """Where it stands, as if it were installed: its own tests, and some of the kit."""
    example = ROOT / "examples" / "backend_c"
    info = tmp_path / "execspace_backend_c-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: execspace-backend-c\nVersion: 0.1\n"
    )
    (info / "entry_points.txt").write_text("[execspace]\nc = execspace_backend_c.plugin\n")
    quick = tmp_path / "quick-cc"
    quick.write_text('#!/bin/sh\nexec cc "$@" -O1\n')  # at -O0 GCC 12 fails on vectors
    quick.chmod(0o755)
    found = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(example / "src")])}
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    own = done(*pytest, "tests/test_space.py", cwd=example, **found)
    assert re.search(r"[1-9]\d* passed in", own)
    parts = ("scan", "teams.test_leagues", "differential.test_differential")
    parts += ("language.test_calls_in_lanes",)
    suite = ["--pyargs", *(f"execspace_testing.suite.{part}" for part in parts)]
    suite += ["--space", "c", "-m", "not slow"]
    printed = done(*pytest, *suite, cwd=tmp_path, CC=str(quick), **found)
    assert int(re.search(r"(\d+) passed", printed.splitlines()[-1])[1]) > 50


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_tutorial_as_it_is_written(environment, tmp_path, program):
    """All commands of docs/backend.md after the first block, which installs what is there here."""
    page = (ROOT / "docs" / "backend.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks[1:] for line in block.splitlines()]
    lines = [line for line in lines if "--xfail-file" not in line]  # takes minutes: all levels
    assert {line.split()[0] for line in lines} >= {"execspace", "cd", "pip", "pytest"}
    # pip and pytest are not installed in this environment, but it can use them.
    shims = tmp_path / "shims"
    shims.mkdir()
    python = environment.python
    for name, command_line in {
        "pip": f"{sys.executable} -m pip --disable-pip-version-check --python {python}",
        "pytest": f"{python} -m pytest",
    }.items():
        (shims / name).write_text(f'#!/bin/sh\nexec {command_line} "$@"\n')
        (shims / name).chmod(0o755)
    settings = {
        "PATH": os.pathsep.join([str(shims), str(environment.scripts), os.environ["PATH"]]),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads "0" of a no- option as yes
    }
    setup = f"cp {program} execspace-mistral/script.py"
    lines.insert(1 + next(n for n, line in enumerate(lines) if "new-backend" in line), setup)
    printed = done("bash", "-e", "-c", "\n".join(lines), cwd=tmp_path, **settings)
    assert "Made execspace-mistral with the space 'mistral'" in printed
    assert "'mistral' passes level 1 of" in printed
    assert printed.splitlines()[-1] == "mistral 7.0 499999500000.0"

    check_there(environment, "mistral", program)
    check_gone(environment, "mistral", program)
