"""Versions of the plugin API, deprecation of hooks, and the record of the public API."""

import ast
import difflib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import execspace as es
from execspace.contract import hookspecs
from execspace.plugins import registry as plugins

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "docs" / "api-surface.txt"

ENTRY = """
import execspace as es
@es.hookimpl
def execspace_register_spaces():
    yield es.SpaceEntry("vendor", lambda device: None, api_version={version})
"""


# -- negotiation ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((0, 1), (0, 1)), ((1, 3), (1, 3)), ((1, 3), (1, 2)), ((1, 3), (1, 0)), ((2, 0), (2, 0))],
)
def test_the_same_and_older_minor_versions_work(fake_plugin, monkeypatch, ours, theirs):
    monkeypatch.setattr(plugins, "API_VERSION", ours)
    monkeypatch.setenv("EXECSPACE_PLUGINS", "vendor")
    fake_plugin("vendor", ENTRY.format(version=theirs))
    (row,) = es.spaces()  # without a warning: pytest would raise it
    assert row.usable


@pytest.mark.parametrize(
    ("ours", "theirs", "todo"),
    [
        ((1, 3), (1, 4), "upgrade execspace"),
        ((1, 3), (2, 0), "upgrade execspace"),
        ((1, 3), (0, 9), "upgrade the distribution of 'vendor'"),
        ((2, 0), (1, 9), "upgrade the distribution of 'vendor'"),
        ((0, 1), (1, 0), "upgrade execspace"),
    ],
)
def test_newer_minor_and_other_major_versions_are_refused(
    fake_plugin, monkeypatch, ours, theirs, todo
):
    monkeypatch.setattr(plugins, "API_VERSION", ours)
    monkeypatch.setenv("EXECSPACE_PLUGINS", "vendor")
    fake_plugin("vendor", ENTRY.format(version=theirs), version="7.1")
    expected = (
        f"space 'vendor' of plugin 'vendor' was written for plugin API {theirs[0]}.{theirs[1]}, "
        f"this execspace has {ours[0]}.{ours[1]}; {todo}."
    )
    with pytest.warns(es.PluginWarning, match=re.escape(expected)) as caught:
        (row,) = es.spaces()
    assert "'vendor' (execspace-vendor 7.1)" in str(caught[0].message)
    assert not row.usable and expected in row.reason
    with pytest.raises(es.UnknownSpaceError, match=re.escape(todo)):
        es.space("vendor")


def test_one_space_of_another_version_refuses_the_whole_plugin(fake_plugin, monkeypatch):
    monkeypatch.setattr(plugins, "API_VERSION", (1, 3))
    monkeypatch.setenv("EXECSPACE_PLUGINS", "vendor")
    both = ENTRY + "    yield es.SpaceEntry('second', print, api_version=(2, 0))"
    fake_plugin("vendor", both.format(version=(1, 3)))
    with pytest.warns(es.PluginWarning, match="space 'second' of plugin 'vendor' was written"):
        assert [row.usable for row in es.spaces()] == [False]


# -- deprecation ----------------------------------------------------------------------------------

OLD = """
import execspace as es

@es.hookimpl
def execspace_register_devices({parameter}):
    return []
"""
TEXT = "is deprecated since plugin API 1.2 and goes in 2.0; use something else."


@pytest.fixture
def deprecated_hook(monkeypatch):
    """A hook that is to go, and an argument of it that is to go sooner."""

    def warning(what):
        return hookspecs.deprecated(what, since="1.2", until="2.0", instead="use something else")

    def specify(warn_on_impl=True):
        def execspace_register_devices(config):
            pass

        options = {"warn_on_impl_args": {"config": warning("its argument 'config'")}}
        if warn_on_impl:
            options = {"warn_on_impl": warning("execspace_register_devices()")}
        marked = hookspecs.hookspec(**options)(execspace_register_devices)
        monkeypatch.setattr(hookspecs, "execspace_register_devices", marked, raising=False)
        monkeypatch.setitem(plugins._HOOKS, "execspace_register_devices", es.SpaceEntry)
        monkeypatch.setitem(plugins._OFFERED, "config", {})

    return specify


def test_a_deprecated_hook_works_with_one_warning_that_names_the_plugin(
    fake_plugin, deprecated_hook
):
    deprecated_hook()
    fake_plugin("vendor", OLD.format(parameter=""), version="2.5")
    with pytest.warns(DeprecationWarning, match="vendor") as caught:
        es.spaces()
    (warning,) = caught
    es.spaces()  # said once: pytest would raise it now
    assert str(warning.message) == (
        f"execspace plugin 'vendor' (execspace-vendor 2.5): execspace_register_devices() {TEXT}"
    )
    assert warning.filename.endswith("execspace_vendor_plugin.py")
    assert plugins.registry().plugins["vendor"].error is None


@pytest.mark.parametrize(("parameter", "number"), [("config", 1), ("", 0)])
def test_a_deprecated_argument_warns_those_who_take_it(
    fake_plugin, deprecated_hook, recwarn, parameter, number
):
    deprecated_hook(warn_on_impl=False)
    fake_plugin("vendor", OLD.format(parameter=parameter))
    es.spaces()
    texts = [str(warning.message) for warning in recwarn]
    assert len(texts) == number
    assert all(text.endswith(f": its argument 'config' {TEXT}") for text in texts)
    assert plugins.registry().plugins["vendor"].error is None


def test_python_shows_the_warning_unasked(fake_plugin, tmp_path):
    """As it does not show a DeprecationWarning of other modules than the program itself."""
    fake_plugin("vendor", OLD.format(parameter=""))
    program = tmp_path / "program.py"
    program.write_text(
        "import execspace as es\n"
        "from execspace.contract import hookspecs\n"
        "from execspace.plugins import registry as plugins\n"
        "def execspace_register_devices(): pass\n"
        "warning = hookspecs.deprecated('x', since='1.2', until='2.0', instead='use y')\n"
        "mark = hookspecs.hookspec(warn_on_impl=warning)\n"
        "hookspecs.execspace_register_devices = mark(execspace_register_devices)\n"
        "plugins._HOOKS['execspace_register_devices'] = es.SpaceEntry\n"
        "import library\n"
    )
    (tmp_path / "library.py").write_text("import execspace as es\nes.spaces()\n")
    result = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "execspace-vendor")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stderr.count("DeprecationWarning") == 1
    assert "execspace plugin 'vendor' (execspace-vendor 1.0): x is deprecated since" in (
        result.stderr
    )


def test_an_optional_hook_of_another_version_is_passed_over(fake_plugin, monkeypatch):
    source = ENTRY.format(version=(0, 1)) + (
        "@es.hookimpl(optionalhook=True)\n"
        "def execspace_register_planets(): raise RuntimeError('never called')\n"
    )
    monkeypatch.setenv("EXECSPACE_PLUGINS", "vendor")
    fake_plugin("vendor", source)
    assert [row.usable for row in es.spaces()] == [True]


# -- the public API -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def api():
    spec = importlib.util.spec_from_file_location(
        "api_surface", ROOT / "tests/support/api_surface.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_public_api_is_the_one_on_record(api):
    found = api.surface()
    if os.environ.get("UPDATE_API") == "1":
        RECORD.write_text(found, encoding="utf-8")
    recorded = RECORD.read_text(encoding="utf-8") if RECORD.exists() else ""
    lines = difflib.unified_diff(
        recorded.splitlines(), found.splitlines(), "docs/api-surface.txt", "the code", "", "", 1
    )
    difference = "\n".join(lines)
    assert not difference, (
        f"The public API changed:\n\n{difference}\n\nIf this is on purpose, run UPDATE_API=1 "
        f"python -m pytest tests/project/test_versioning.py. If the contract with plugins gained "
        f"something since the last release, raise the minor number of API_VERSION in "
        f"core/src/execspace/contract/entries.py; if it lost something, the major one. Say so in "
        f"CHANGELOG.md; docs/versioning.md has the rules."
    )


def test_the_record_covers_names_hooks_fields_and_methods():
    text = RECORD.read_text(encoding="utf-8")
    for line in (
        f"    API_VERSION = {es.API_VERSION}",
        "    record SpaceEntry()",
        "        priority: int = 0",
        "    execspace_register_spaces() -> Iterable[SpaceEntry]",
        "        abstract synchronize(self, label: str = '') -> None",
        "    host_capabilities(dynamic_schedules: bool = True) -> Capabilities",
    ):
        assert line in text.splitlines()


def test_a_change_of_the_api_is_seen(api, monkeypatch):
    before = api.surface()

    def space(name: str, device: int = 0) -> es.ExecutionSpace:
        """Another signature."""

    monkeypatch.setattr(es, "space", space)
    monkeypatch.setattr(es, "__all__", [name for name in es.__all__ if name != "sort"])
    after = api.surface()
    changed = set(before.splitlines()) ^ set(after.splitlines())
    assert any("device: int = 0" in line for line in changed)
    assert any(line.startswith("    sort(") for line in changed)


def imported():
    """Names that the plugins of this repository, and what those of GPUs share, import from the
    compiler, by module."""
    for path in (*ROOT.glob("plugins/*/src/**/*.py"), *ROOT.glob("gpu/src/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                package, _, module = (node.module or "").partition(".")
                if package == "execspace_compiler":
                    for alias in node.names:
                        yield path.name, module, alias.name


def test_plugins_use_no_more_of_the_compiler_than_is_on_record(api):
    names = list(imported())
    assert names
    for path, module, name in names:
        whole = f"{module}.{name}".lstrip(".") in api.COMPILER  # a module, all of whose names are
        assert whole or name in api.COMPILER.get(module, ()), (
            f"{path} imports {name} from execspace_compiler.{module}"
        )
