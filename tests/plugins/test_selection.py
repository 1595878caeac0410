"""Which space runs: argument > use_space > EXECSPACE_DEFAULT > priority."""

import contextlib
import sys
import threading
import warnings

import pytest

import execspace as es
from execspace.plugins import registry

SPACES = """
    import execspace as es

    class Dummy(es.ExecutionSpace):
        memory_space = es.HOST
        def __init__(self, name):
            self.name = name
        def compile(self, kernel, spec):
            raise NotImplementedError
        def synchronize(self, label=""):
            pass

    def start(device):
        {start}

    @es.hookimpl
    def execspace_register_spaces():
        yield es.SpaceEntry("best", start, es.API_VERSION, priority=100)
        yield es.SpaceEntry("hidden", lambda d: Dummy("hidden"), es.API_VERSION, priority=-5)
        yield es.SpaceEntry("absent", lambda d: Dummy("absent"), es.API_VERSION, priority=200,
                            probe=lambda: es.Probe(False, "no such card; buy one"))
"""


@pytest.fixture
def dummy_spaces(fake_plugin):
    """A space that beats all others, one that is never chosen unasked, and one not usable."""
    fake_plugin("dummies", SPACES.format(start="return Dummy('best')"))


@pytest.fixture
def default(monkeypatch, fresh_selection):
    """Set EXECSPACE_DEFAULT."""
    return lambda value: monkeypatch.setenv("EXECSPACE_DEFAULT", value)


def where():
    """Name of the space that a View without a space belongs to."""
    return es.View(1).space.name


# -- precedence ---------------------------------------------------------------------------------


def test_priority_decides_where_nothing_is_said(dummy_spaces):
    assert es.default_space().name == where() == "best"


def test_spaces_are_listed_by_priority(dummy_spaces):
    machine = ("cuda", "hip", "opencl")  # usable or not, as the machine is
    names = [s.name for s in es.spaces() if s.name not in machine]
    assert names == ["absent", "best", "openmp", "serial", "oracle", "hidden"]


def test_the_environment_beats_priority(dummy_spaces, default):
    default("hidden")
    assert es.default_space().name == where() == "hidden"


def test_use_space_beats_the_environment(dummy_spaces, default):
    default("hidden")
    with es.use_space("serial") as chosen:
        assert chosen is es.default_space() is es.space("serial")
        assert where() == "serial"
    assert where() == "hidden"


def test_an_argument_beats_use_space(dummy_spaces, default):
    default("hidden")
    with es.use_space("best"):
        assert es.View(1, space="serial").space.name == "serial"
        policy = es.RangePolicy(3, space="serial")
        assert es.parallel_reduce(policy, lambda i: i) == 3  # "best" would raise


def test_the_default_is_settled_at_the_first_use(dummy_spaces, default):
    assert es.default_space().name == "best"
    default("hidden")
    assert es.default_space().name == "best"


def test_a_launch_runs_where_use_space_says(fresh_selection):
    kernel = es.kernel(lambda i: i)
    launches = []

    class Tool(es.profiling.Tool):
        def on_kernel_begin(self, space):
            launches.append(space)

    tool = es.profiling.attach(Tool())
    try:
        for name in ("serial", "oracle", "serial"):
            with es.use_space(name):
                assert es.parallel_reduce(4, kernel) == 6
    finally:
        es.profiling.detach(tool)
    assert launches == ["serial", "oracle", "serial"]


# -- EXECSPACE_DEFAULT --------------------------------------------------------------------------


def test_a_list_is_tried_in_order(dummy_spaces, default):
    default("nosuch, absent ,hidden,serial")
    assert es.default_space().name == "hidden"


@pytest.mark.parametrize("value", ["", " , "])
def test_an_empty_list_is_no_choice(dummy_spaces, default, value):
    default(value)
    assert es.default_space().name == "best"


def test_a_space_that_is_not_installed(default):
    default("serail")
    with pytest.raises(es.UnknownSpaceError) as error:
        es.default_space()
    assert str(error.value) == (
        "EXECSPACE_DEFAULT=serail: Space 'serail' is not installed; installed spaces: 'cuda', "
        "'hip', 'opencl', 'openmp', 'oracle', 'serial'. Did you mean 'serial'?"
    )


def test_a_list_of_which_nothing_works_gives_every_reason(dummy_spaces, default):
    default("absent,nosuch")
    with pytest.raises(es.SpaceUnavailableError) as error:
        es.View(1)
    for part in ("EXECSPACE_DEFAULT=absent,nosuch:", "no such card; buy one", "'nosuch' is not"):
        assert part in str(error.value)


def test_a_named_space_never_falls_back(dummy_spaces, default):
    default("absent")
    for use in (es.default_space, lambda: es.View(1), lambda: es.parallel_for(1, lambda i: None)):
        with pytest.raises(es.SpaceUnavailableError, match="no such card; buy one"):
            use()


# -- spaces that cannot be used -----------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda name: es.space(name),
        lambda name: es.View(1, space=name),
        lambda name: es.RangePolicy(1, space=name),
        lambda name: es.MDRangePolicy((1,), space=name),
        lambda name: es.use_space(name).__enter__(),
    ],
    ids=["space", "View", "RangePolicy", "MDRangePolicy", "use_space"],
)
def test_naming_a_space_that_is_not_usable_raises_with_the_reason(dummy_spaces, use):
    with pytest.raises(es.SpaceUnavailableError) as error:
        use("absent")
    assert str(error.value) == "Space 'absent' is not usable: no such card; buy one"
    with pytest.raises(es.UnknownSpaceError, match="Space 'nosuch' is not installed"):
        use("nosuch")


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ("raise OSError('out of licences')", "OSError: out of licences"),
        ("raise es.SpaceError('threads already started')", "threads already started"),
    ],
)
def test_automatic_choice_passes_over_a_space_that_fails_to_start_and_says_so(
    fake_plugin, start, reason
):
    fake_plugin("dummies", SPACES.format(start=start))
    with pytest.warns(es.PluginWarning, match=reason):
        assert es.default_space().name == "openmp"
    best = next(s for s in es.spaces() if s.name == "best")
    assert not best.usable
    assert reason in best.reason
    with pytest.raises(es.SpaceError, match=reason):
        es.space("best")


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ("'bset'", "the name 'bset'"),
        ("'serial'", "the name 'serial'"),
        ("'bset:1'", "the name 'bset:1'"),
        ("'best:'", "the name 'best:'"),
        ("7", "the name 7"),
        ("None", "no name"),
    ],
)
def test_a_space_that_has_not_the_name_of_its_entry(fake_plugin, default, given, got):
    fake_plugin("dummies", SPACES.format(start=f"return Dummy({given})"))
    for name in ("best", "best:1"):
        with pytest.raises(es.PluginError) as error:
            es.space(name)
        assert str(error.value) == (
            f"Space '{name}' failed to start: its factory made a space with {got}; expected "
            f"'best', or 'best:device' of another device. This is a defect of its plugin."
        )
    best = next(s for s in es.spaces() if s.name == "best")
    assert not best.usable
    assert best.reason == f"it failed to start: its factory made a space with {got}"
    default("best,serial")
    with pytest.raises(es.PluginError, match=got):
        es.default_space()


def test_automatic_choice_passes_over_a_space_of_a_wrong_name(fake_plugin):
    fake_plugin("dummies", SPACES.format(start="return Dummy('bset')"))
    with pytest.warns(es.PluginWarning, match="a space with the name 'bset'; .* is taken"):
        assert es.default_space().name == "openmp"


def test_a_space_may_have_a_device_in_its_name(fake_plugin):
    start = "return Dummy({'0': 'best', '1': 'best:1', None: 'best:0.0'}[device])"
    fake_plugin("dummies", SPACES.format(start=start))
    names = [es.space(name).name for name in ("best", "best:0", "best:1")]
    assert names == ["best:0.0", "best", "best:1"]


def test_no_space_at_all(monkeypatch, fresh_selection):
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    with pytest.raises(es.SpaceUnavailableError, match=r"\(no plugin is installed\)\. Install one"):
        es.default_space()
    assert es.View(2).memory_space is es.HOST  # Views need no space


@pytest.mark.parametrize("names", ["", ",", "nobody", "execspace-serial"])
def test_a_choice_of_plugins_that_leaves_no_space(monkeypatch, fresh_selection, names):
    monkeypatch.setenv("EXECSPACE_PLUGINS", names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", es.PluginWarning)
        with pytest.raises(es.SpaceUnavailableError, match=f"EXECSPACE_PLUGINS='{names}' takes no"):
            es.default_space()


def test_a_plugin_that_is_not_installed_is_an_error_where_errors_are_wanted(
    monkeypatch, fresh_selection
):
    monkeypatch.setenv("EXECSPACE_PLUGINS", "serial,nobody")
    with pytest.warns(es.PluginWarning, match="names 'nobody', which is not installed"):
        assert es.default_space().name == "serial"
    monkeypatch.setenv("EXECSPACE_STRICT", "1")
    fresh_selection()
    with pytest.raises(es.PluginError, match="names 'nobody', which is not installed"):
        es.default_space()


@pytest.mark.parametrize("name", ["serial", "openmp", "oracle"])
def test_host_spaces_have_no_devices(name):
    with pytest.raises(
        es.SpaceError, match=f"'{name}' has no devices to choose from, got '{name}:1"
    ):
        es.space(f"{name}:1")


# -- use_space ----------------------------------------------------------------------------------


def test_use_space_nests_and_survives_errors():
    outside = es.default_space()
    with es.use_space("serial"):
        with contextlib.suppress(ZeroDivisionError), es.use_space("oracle"):
            assert es.default_space().name == "oracle"
            1 / 0
        assert es.default_space().name == "serial"
    assert es.default_space() is outside


def test_use_space_takes_a_space_object():
    with es.use_space(es.space("oracle")):
        assert where() == "oracle"


def test_use_space_counts_for_its_thread_only():
    outside, seen = es.default_space(), {}
    inside, checked = threading.Event(), threading.Event()

    def work():
        with es.use_space("oracle"):
            inside.set()
            checked.wait(10)
            seen["thread"] = es.default_space().name

    with es.use_space("serial"):
        thread = threading.Thread(target=work)
        thread.start()
        assert inside.wait(10)
        seen["main"] = es.default_space().name
        checked.set()
        thread.join()
        other = threading.Thread(target=lambda: seen.update(other=es.default_space()))
        other.start()
        other.join()
    if getattr(sys.flags, "thread_inherit_context", False):  # so it is by default without the GIL
        outside = es.space("serial")  # since 3.14: threads begin with the context they are made in
    assert seen == {"thread": "oracle", "main": "serial", "other": outside}


def test_a_space_is_started_once():
    assert es.space("serial") is es.space("serial")
    found = []
    threads = [threading.Thread(target=lambda: found.append(es.space("oracle"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
