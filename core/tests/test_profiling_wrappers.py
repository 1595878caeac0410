"""Tools around other tools: whatever these want to hear, they hear it of the launches they get."""

import re

import pytest

import execspace as es
from execspace import profiling
from execspace.base import ports
from execspace.profiling import facts


class Only(profiling.Wrapper):
    """Passes on launches of one label."""

    def __init__(self, tool="heard", label="told"):
        super().__init__(tool)
        self.label = label

    def wants_launch(self, pattern, name, label, space):
        return label == self.label

    def wants_compile(self, kernel, space):
        return kernel == self.label


class Everything(profiling.Tool):
    device_times = True

    def __init__(self, depth=3, path=""):
        self.seen, self.options = [], (depth, path)

    def on_any(self, event, arguments):
        self.seen.append((event, arguments))

    def report(self):
        return f"{len(self.seen)} events\n"

    def names(self):
        return [name for name, _ in self.seen]


@pytest.fixture
def tools(monkeypatch):
    entries = {"heard": es.ToolEntry("heard", Everything), "only": es.ToolEntry("only", Only)}
    monkeypatch.setattr(ports.tool_entries, "_function", lambda name: entries)


def nothing(i):
    pass


def launches(space, *labels):
    for label in labels:
        es.parallel_for(es.RangePolicy(1, space=space), nothing, label=label)


def test_a_launch_that_is_left_out_has_no_end_and_no_time_either(plain):
    inner = Everything()
    with es.profile(Only(inner)) as found:
        launches(plain, "told", "left out", "told")
    of_one = ["on_kernel_begin", "on_device_time", "on_kernel_end"]
    assert inner.names() == 2 * of_one
    assert {a["label"] for n, a in inner.seen if n == "on_kernel_begin"} == {"told"}
    ids = [a["id"] for _, a in inner.seen]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    wrapper = found["Only"]
    assert (wrapper.launches, wrapper.passed) == (3, 2)
    assert not wrapper._left_out and not wrapper._untimed  # nothing is kept for what has ended


def test_all_else_is_passed_on(plain, events):
    inner = Everything()
    with es.profile(Only(inner)):
        with profiling.region("step"), profiling.Section("part"):
            profiling.mark_event("now")
            x = es.View(2, label="x")
            es.deep_copy(x, 1.0)
            plain.fence("here")
            profiling.metadata("steps", 2)
            with profiling.paused():
                pass
        profiling.emit("on_compile", "told", "far", 0.1, True)
        profiling.emit("on_compile", "other", "far", 0.1, True)
        profiling.emit("on_staging", "far", 8)
    facts._declared.clear()
    expected = [name for name, _ in events]
    expected.remove("on_compile")
    assert inner.names() == expected
    assert len(expected) > 15


def test_graphs_are_launches(plain):
    inner = Everything()
    with es.profile(Only(inner, "step")):
        for label in ("step", "other"):
            with profiling.graph_events(label, plain, kernels=3):
                pass
    assert inner.names() == ["on_graph_begin", "on_device_time", "on_graph_end"]


def test_a_launch_that_raises_has_its_end(plain):
    def body(i):
        raise ZeroDivisionError

    inner = Everything()
    for label in ("told", "left out"):
        with es.profile(Only(inner)), pytest.raises(ZeroDivisionError):
            es.parallel_for(es.RangePolicy(1, space=plain), body, label=label)
    assert inner.names().count("on_kernel_begin") == inner.names().count("on_kernel_end") == 1


def test_a_tool_that_wants_little_gets_little(plain):
    class Labels:  # no base is needed
        def __init__(self):
            self.heard = []

        def on_kernel_begin(self, label, space):
            self.heard.append((label, space))

    inner = Labels()
    wrapper = Only(inner)
    assert not wrapper.device_times
    heard = {name for name in dir(wrapper) if name.startswith("on_")}
    assert "on_allocate" not in heard and "on_free" not in heard
    with es.profile(wrapper) as found:
        launches(plain, "left out", "told")
    assert inner.heard == [("told", plain.name)]
    assert str(found) == "1 of 2 launches were told to 'Labels'"


def test_wrappers_may_be_within_each_other(plain):
    class Odd(profiling.Wrapper):
        def wants_launch(self, pattern, name, label, space):
            return self.launches % 2 == 1

    inner = Everything()
    with es.profile(Odd(Only(inner))):
        launches(plain, "told", "told", "left out", "told", "told")
    assert inner.names().count("on_kernel_begin") == 2


def test_metadata_that_is_known_goes_to_who_asks_for_it():
    class Facts(profiling.Tool):
        keys = ()

        def on_metadata(self, key):
            self.keys += (key,)

    asks, hears = Facts(), Everything()
    with es.profile(Only(Only(asks)), es.profiling.Wrapper(hears)):
        pass
    assert asks.keys == tuple(profiling.known_metadata())
    assert hears.seen == []


def test_options_of_the_other_tool_follow_its_name(tools):
    with es.profile("only:label=x:tool=heard:depth=5:path=C:/a") as found:
        assert found["only"].label == "x"
        assert found["only"].tool.options == (5, "C:/a")
    with es.profile("only:tool=only:label=x:tool=heard:depth=5") as found:
        assert found["only"].label == "told"
        assert found["only"].tool.label == "x"
        assert found["only"].tool.tool.options == (5, "")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("only:tool=hears", "'hears' is not a profiling tool; installed tools: heard, only. Did"),
        ("only:tool=heard:label=x", "'heard' has no option 'label'; options: depth, path"),
        ("only:tool=heard:depth=deep", "'heard': option depth='deep'; expected a number"),
    ],
)
def test_mistakes_in_the_other_tool_are_its_own(tools, choice, message):
    with pytest.raises(es.ToolError, match=re.escape(message)), es.profile(choice):
        raise AssertionError("never reached")


def test_events_that_do_not_exist_are_refused_before_anything_runs():
    class Misspelt(profiling.Tool):
        def on_kernel_bgin(self):
            raise AssertionError("never called")

    with pytest.raises(es.ToolError, match="'Misspelt' has a method 'on_kernel_bgin'"):
        Only(Misspelt())


def test_the_other_tool_finishes_and_reports():
    class Ends(Everything):
        finished = False

        def finish(self):
            self.finished = True

    inner = Ends()
    with es.profile(Only(inner)) as found:
        profiling.mark_event("now")
    assert inner.finished
    assert str(found) == "1 events\n\n0 of 0 launches were told to 'Ends'"
    assert "1 events" in found._repr_html_()


def test_a_tool_with_a_notebook_view_keeps_it():
    class Pictures(profiling.Tool):
        def _repr_html_(self):
            return "<b>picture</b>"

    shown = Only(Pictures())._repr_html_()
    assert "<b>picture</b>" in shown
    assert "0 of 0 launches were told to" in shown


def test_a_tool_that_raises_takes_its_wrapper_along(plain):
    class Broken(profiling.Tool):
        def on_kernel_begin(self):
            raise ValueError("no disk left")

    wrapper = profiling.attach(Only(Broken()))
    with pytest.warns(UserWarning, match="'Only' raised in on_kernel_begin and was detached"):
        launches(plain, "told")
    assert wrapper not in profiling.TOOLS
