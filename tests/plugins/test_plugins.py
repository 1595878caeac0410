"""Plugins: third parties extend execspace through entry points, and cannot break it."""

import re
import sys
import warnings

import numpy as np
import pytest

import execspace as es
from execspace import profiling
from execspace.plugins import registry as plugins

# A whole backend: what somebody writes who adds a space without touching execspace.
BACKEND = '''
import itertools
import execspace as es


class Plan(es.Plan):
    def __init__(self, space, fn, spec):
        self.space, self.fn, self.spec = space, fn, spec

    def launch(self, bounds, args):
        rank = self.spec.policy.rank
        indices = itertools.product(*map(range, bounds[:rank], bounds[rank : 2 * rank]))
        inputs = args[:-1] if self.spec.out else args
        results = [self.fn(*index, *inputs) for index in indices]
        if self.spec.pattern == "reduce":
            return {"sum": sum, "max": max, "min": min}[self.spec.reducer.kind](results)


class Interpreter(es.ExecutionSpace):
    """Runs kernels as the Python functions that they are."""

    name = "interpreter"
    memory_space = es.HOST

    def compile(self, kernel, spec):
        return Plan(self, kernel.fn, spec)

    def synchronize(self, label=""):
        pass


@es.hookimpl
def execspace_register_spaces():
    yield es.SpaceEntry(
        "interpreter", lambda device: Interpreter(), api_version=(0, 1), summary="plain Python"
    )
'''


def row(name):
    """The row of `es.spaces()` with that name."""
    return next(s for s in es.spaces() if s.name == name)


def entry(name="vendor", **fields):
    """Source of a plugin that announces one space."""
    fields = {"api_version": "es.API_VERSION", "factory": "lambda device: None", **fields}
    text = ", ".join(f"{key}={value}" for key, value in fields.items())
    return f"""
        import execspace as es

        @es.hookimpl
        def execspace_register_spaces():
            yield es.SpaceEntry("{name}", {text})
    """


# -- a third-party space ------------------------------------------------------------------------


@es.kernel
def axpy(i, a, x, y):
    y[i] += a * x[i]


def test_a_third_party_space_runs_every_pattern(fake_plugin):
    fake_plugin("interpreter", BACKEND)
    x, y = np.arange(4.0), np.ones(4)
    es.parallel_for(es.RangePolicy(1, 3, space="interpreter"), axpy, 2.0, x, y)
    assert y.tolist() == [1, 3, 5, 1]
    policy = es.MDRangePolicy((1, 1), (3, 4), space="interpreter")
    assert es.parallel_reduce(policy, lambda i, j: i * j) == 18
    assert es.parallel_reduce(policy, lambda i, j: i * j, reducer=es.Max) == 6


def test_a_third_party_space_is_listed_and_can_be_the_default(fake_plugin, monkeypatch):
    monkeypatch.setenv("EXECSPACE_DEFAULT", "interpreter")
    fake_plugin("interpreter", BACKEND)
    assert row("interpreter") == es.SpaceInfo("interpreter", True, "", 0, "plain Python")
    assert es.default_space().name == "interpreter"
    x, y = np.ones(3), np.zeros(3)
    es.parallel_for(3, axpy, 1.0, x, y)
    assert y.tolist() == [1, 1, 1]


# -- plugins that fail --------------------------------------------------------------------------

BROKEN = {
    "raises when imported": (
        "raise RuntimeError('driver too old')",
        "RuntimeError: driver too old",
    ),
    "exits when imported": ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
    "misses a module": ("import no_such_module", "No module named 'no_such_module'"),
    "implements no hook": ("x = 1", "implements no hook of execspace; expected a module with"),
    "misspells a hook": (
        "import execspace as es\n@es.hookimpl\ndef execspace_register_space(): return []",
        "unknown hook 'execspace_register_space'",
    ),
    "gives a hook parameters": (
        "import execspace as es\n@es.hookimpl\ndef execspace_register_spaces(config): return []",
        "execspace_register_spaces",
    ),
    "yields the wrong record": (
        "import execspace as es\n@es.hookimpl\ndef execspace_register_spaces(): yield 'gpu'",
        "execspace_register_spaces of plugin 'vendor' returned 'str'; expected execspace.Space",
    ),
    "returns one record, not several": (
        "import execspace as es\n@es.hookimpl\n"
        "def execspace_register_tools(): return es.ToolEntry('t', object)",
        "execspace_register_tools of plugin 'vendor' returned 'ToolEntry'; expected an iterable of "
        "execspace.ToolEntry records",
    ),
    "forgets to return": (
        "import execspace as es\n@es.hookimpl\n"
        "def execspace_register_spaces(): [es.SpaceEntry('lost', print, es.API_VERSION)]",
        "execspace_register_spaces of plugin 'vendor' returned None; expected an iterable of "
        "execspace.SpaceEntry records: yield each of them, or return a list, which may be empty",
    ),
    "misuses a record in a generator": (
        "import execspace as es\n@es.hookimpl\n"
        "def execspace_register_spaces(): yield es.SpaceEntry('lost', speed=3)",
        "TypeError: SpaceEntry.__init__() got an unexpected keyword argument 'speed'",
    ),
    "takes a name that is taken": (
        entry("serial"),
        "plugin 'vendor' registers the name 'serial', which plugin 'serial' (execspace-serial "
        "0.1.0) already holds; uninstall one of them or restrict EXECSPACE_PLUGINS",
    ),
    "was written for another major version": (
        entry(api_version=(9, 0)),
        "was written for plugin API 9.0, this execspace has 0.1; upgrade execspace",
    ),
    "was written for a newer minor version": (
        entry(api_version="(es.API_VERSION[0], es.API_VERSION[1] + 1)"),
        "was written for plugin API 0.2, this execspace has 0.1; upgrade execspace",
    ),
    "names no version": (
        entry(api_version="'0.1'"),
        "space 'vendor' of plugin 'vendor' has api_version '0.1'; expected a pair of integers",
    ),
    "names a version of text": (
        entry(api_version="('0', '1')"),
        "has api_version ('0', '1'); expected a pair of integers",
    ),
    "raises midway": (
        "import execspace as es\n@es.hookimpl\ndef execspace_register_spaces():\n"
        "    yield es.SpaceEntry('half', None, es.API_VERSION)\n    raise OSError('lost')",
        "OSError: lost",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_left_out_with_one_warning(fake_plugin, case):
    source, reason = BROKEN[case]
    fake_plugin("vendor", source, version="2.5")
    with pytest.warns(es.PluginWarning, match=re.escape(reason)) as caught:
        names = [s.name for s in es.spaces()]
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.startswith(
        "execspace plugin 'vendor' (execspace-vendor 2.5) failed to load and is "
    )
    assert text.endswith("Set EXECSPACE_STRICT=1 for the traceback.")
    assert {"serial", "openmp", "oracle"} <= set(names)
    assert "half" not in names
    broken = row("vendor")
    assert not broken.usable
    assert "plugin failed to load" in broken.reason
    assert es.parallel_reduce(3, lambda i: i) == 3  # the program goes on, silently


@pytest.mark.parametrize("case", BROKEN)
def test_strict_raises_for_a_broken_plugin(fake_plugin, monkeypatch, case):
    source, reason = BROKEN[case]
    monkeypatch.setenv("EXECSPACE_STRICT", "1")
    fake_plugin("vendor", source)
    expected = r"Plugin 'vendor' \(execspace-vendor 1.0\) failed to load: .*" + re.escape(reason)
    with pytest.raises(es.PluginError, match=re.compile(expected, re.DOTALL)) as error:
        es.spaces()
    assert error.value.__cause__ is not None


def test_a_type_error_of_a_generator_keeps_its_cause(fake_plugin, monkeypatch):
    monkeypatch.setenv("EXECSPACE_STRICT", "1")
    fake_plugin(
        "vendor",
        """
        import execspace as es

        @es.hookimpl
        def execspace_register_spaces():
            try:
                yield es.SpaceEntry(**{"name": 1 / 0})
            except ZeroDivisionError as error:
                raise TypeError("no speed") from error
        """,
    )
    with pytest.raises(es.PluginError, match=r"failed to load: TypeError: no speed$") as error:
        es.spaces()
    assert type(error.value.__cause__) is TypeError
    assert type(error.value.__cause__.__cause__) is ZeroDivisionError


def test_naming_the_space_of_a_broken_plugin_says_what_broke(fake_plugin):
    fake_plugin("vendor", "raise RuntimeError('driver too old')", version="2.5")
    with pytest.warns(es.PluginWarning), pytest.raises(es.UnknownSpaceError) as error:
        es.space("vendor")
    assert str(error.value) == (
        "Space 'vendor' is not available: its plugin (execspace-vendor 2.5) failed to load: "
        "RuntimeError: driver too old"
    )


def test_one_broken_plugin_does_not_touch_the_next(fake_plugin):
    fake_plugin("aaa", "raise ValueError")
    fake_plugin("vendor", entry())
    with pytest.warns(es.PluginWarning, match="'aaa'"):
        names = [s.name for s in es.spaces()]
    assert "vendor" in names


def test_two_distributions_with_one_entry_point_name(fake_plugin):
    fake_plugin("vendor", entry("first"), distribution="one")
    fake_plugin("vendor", entry("second"), distribution="two")
    message = "two plugins are named 'vendor'"
    with pytest.warns(es.PluginWarning, match=message) as caught:
        rows = {s.name: s for s in es.spaces()}
    assert len(caught) == 1
    assert ("first" in rows) != ("second" in rows)  # one of them works
    assert message in rows["vendor"].reason


def test_an_older_minor_version_is_accepted(fake_plugin, monkeypatch):
    monkeypatch.setattr(plugins, "API_VERSION", (0, 7))
    fake_plugin("vendor", entry(api_version=(0, 3)))
    assert row("vendor").usable


STARTED = "\n        started = []\n"

# -- probes and factories -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probe", "reason"),
    [
        ("lambda: es.Probe(False, 'no device; plug one in')", "no device; plug one in"),
        ("lambda: 1 / 0", "its probe raised ZeroDivisionError: division by zero"),
        ("lambda: True", "its probe returned True, expected execspace.Probe"),
    ],
)
def test_a_space_that_is_not_usable_says_why(fake_plugin, probe, reason):
    fake_plugin("vendor", entry(probe=probe, priority=99))
    assert row("vendor") == es.SpaceInfo("vendor", False, reason, 99, "")
    assert es.default_space().name != "vendor"
    with pytest.raises(es.SpaceUnavailableError, match=re.escape(reason)):
        es.space("vendor")


def test_a_factory_that_returns_no_space(fake_plugin):
    fake_plugin("vendor", entry(factory="lambda device: 'a space'"))
    with pytest.raises(es.SpaceUnavailableError, match="returned 'a space', expected an execspace"):
        es.space("vendor")


def test_the_factory_receives_the_device(fake_plugin):
    fake_plugin(
        "interpreter", BACKEND.replace("lambda device: I", "lambda device: print(device) or I")
    )
    assert es.space("interpreter") is es.space("interpreter")
    assert es.space("interpreter:1") is not es.space("interpreter")


# -- which plugins ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("serial", {"serial", "oracle"}),
        ("serial, vendor", {"serial", "oracle", "vendor"}),
        ("", set()),
    ],
)
def test_execspace_plugins_restricts(fake_plugin, monkeypatch, value, expected):
    monkeypatch.setenv("EXECSPACE_PLUGINS", value)
    fake_plugin("vendor", entry())
    assert {s.name for s in es.spaces()} == expected


def test_a_plugin_that_is_left_out_is_not_imported(fake_plugin, monkeypatch):
    monkeypatch.setenv("EXECSPACE_PLUGINS", "serial")
    module = fake_plugin("vendor", "raise RuntimeError")
    assert [s.name for s in es.spaces()] == ["serial", "oracle"]
    assert module not in sys.modules


def test_execspace_plugins_names_what_is_not_installed(fresh_selection, monkeypatch):
    monkeypatch.setenv("EXECSPACE_PLUGINS", "serial,opnemp")
    with pytest.warns(es.PluginWarning, match="EXECSPACE_PLUGINS names 'opnemp', which is not"):
        assert [s.name for s in es.spaces()] == ["serial", "oracle"]


# -- reducers and tools -------------------------------------------------------------------------

EXTRAS = """
    import execspace as es

    class Counter(es.profiling.Tool):
        launches = []
        def on_kernel_begin(self, pattern, space):
            self.launches.append((pattern, space))

    class Broken:
        def __init__(self):
            raise OSError("no trace file")

    @es.hookimpl
    def execspace_register_reducers():
        yield es.ReducerEntry("sum32", es.Sum(dtype=es.float32))

    @es.hookimpl
    def execspace_register_tools():
        yield es.ToolEntry("counter", Counter)
        yield es.ToolEntry("broken", Broken)
"""


def test_reducers_of_plugins_are_used_by_name(fake_plugin):
    fake_plugin("extras", EXTRAS)
    policy = es.RangePolicy(3, space="serial")
    assert es.parallel_reduce(policy, lambda i: 0.1, reducer="sum32") == np.float32(0.1) * 3
    with pytest.raises(es.LaunchError, match="named 'sum33'; registered: sum32"):
        es.parallel_reduce(policy, lambda i: 0.1, reducer="sum33")


TILES = """
    import execspace as es

    @es.hookimpl
    def execspace_register_tiles():
        yield es.TileTable("wide", {"stencil": {2: (128, 2)}}, {"stencil": {2: (1, 4)}})
        yield es.TileTable("ours", {"stencil": {2: (16, 0)}}, space="gpu")
"""


def test_tiles_of_plugins_have_names(fake_plugin):
    fake_plugin("tiles", TILES)
    assert es.default_tile(2, "left", table="wide") == (128, 2)
    policy = es.MDRangePolicy((9, 9), tile="wide", iterate="right")
    assert (policy.tile, policy.items_per_thread) == ((2, 128), (4, 1))
    chosen = es.MDRangePolicy((9, 9), tile="wide", iterate="right", items_per_thread=2)
    assert chosen.items_per_thread == (2,)


def test_tiles_of_plugins_replace_those_of_a_space(fake_plugin):
    class Gpu(type(es.space("serial"))):
        name = "gpu:1"
        tiles = es.TileTable("gpu", {"stencil": {2: (64, 4)}})

    gpu = Gpu.__new__(Gpu)
    assert es.default_tile(2, "right", space=gpu) == (4, 64)
    fake_plugin("tiles", TILES)
    assert es.default_tile(2, "right", (7, 9), space=gpu) == (7, 16)


@pytest.mark.parametrize("first", [es.spaces, lambda: es.space("serial")])
def test_a_table_for_a_space_that_takes_none(fake_plugin, first):
    fake_plugin("tiles", TILES.replace('space="gpu"', 'space="serial"'))
    with pytest.warns(es.PluginWarning, match="'ours' is for space 'serial', which tiles nothing"):
        assert first() and es.spaces() and es.space("serial")  # once both are known
    assert es.default_tile(2, space="serial") is None


def test_only_one_table_replaces_that_of_a_space(fake_plugin, monkeypatch):
    monkeypatch.setenv("EXECSPACE_STRICT", "1")
    fake_plugin("tiles", TILES)
    fake_plugin("tiles2", TILES.replace("wide", "wider").replace("ours", "others"))
    with pytest.raises(es.PluginError, match="tiles of space 'gpu' with table 'others', as table"):
        es.spaces()


def test_tables_of_kokkos_keep_their_names(fake_plugin, monkeypatch):
    monkeypatch.setenv("EXECSPACE_STRICT", "1")
    fake_plugin("tiles", TILES.replace("wide", "kokkos"))
    with pytest.raises(es.PluginError, match="the name 'kokkos', which those of Kokkos have"):
        es.spaces()


def test_tools_of_plugins_are_attached_by_name(fake_plugin, fresh_selection, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TOOLS", "counter")
    module = fake_plugin("extras", EXTRAS)
    es.parallel_reduce(es.RangePolicy(3, space="serial"), lambda i: i)
    counter = sys.modules[module].Counter
    assert counter.launches == [("parallel_reduce", "serial")]
    fresh_selection()
    es.parallel_reduce(es.RangePolicy(3, space="serial"), lambda i: i)
    assert len(counter.launches) == 2  # attached once, not twice


def test_no_tool_is_attached_unasked(fake_plugin):
    fake_plugin("extras", EXTRAS)
    before = profiling.TOOLS
    assert es.spaces()
    assert before == profiling.TOOLS


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("countre", "EXECSPACE_TOOLS: 'countre' is not a profiling tool; installed tools: broken"),
        ("broken", "EXECSPACE_TOOLS: Profiling tool 'broken' failed to start: OSError: no trace"),
    ],
)
def test_a_tool_that_was_asked_for_and_is_not_there_raises_each_time(
    fake_plugin, monkeypatch, name, reason
):
    monkeypatch.setenv("EXECSPACE_TOOLS", name)
    fake_plugin("extras", EXTRAS)
    for _ in range(2):
        with pytest.raises(es.PluginError) as error:
            es.spaces()
        assert str(error.value).startswith(reason)


def test_the_plugins_of_this_repository_load_without_a_warning(fresh_selection):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = plugins.registry()
    assert {"serial", "openmp"} <= set(found.plugins)
    assert [p.error for p in found.plugins.values()] == [None] * len(found.plugins)
