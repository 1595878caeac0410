"""Sections, which may overlap, and metadata, which tools may have missed."""

import re
import threading

import pytest

import execspace as es
from execspace import profiling
from execspace.events import launches
from execspace.profiling import facts


@pytest.fixture(autouse=True)
def undeclared():
    """What tests declare is forgotten."""
    before = facts._declared.copy()
    yield
    facts._declared.clear()
    facts._declared.update(before)


# -- sections -------------------------------------------------------------------------------------


def test_sections_overlap_regions_and_each_other(events):
    read, compute = profiling.Section("read"), profiling.Section("compute")
    read.start()
    with profiling.region("step"):
        compute.start()
        read.stop()
    compute.stop()
    assert events == [
        ("on_section_start", ("read",)),
        ("on_region_push", ("step",)),
        ("on_section_start", ("compute",)),
        ("on_section_stop", ("read",)),
        ("on_region_pop", ("step",)),
        ("on_section_stop", ("compute",)),
    ]


class Numbers(profiling.Tool):
    def __init__(self):
        self.seen = []

    def on_section_start(self, name, id):
        self.seen.append(("start", name, id))

    def on_section_stop(self, name, id):
        self.seen.append(("stop", name, id))


def test_a_section_has_one_number_and_those_of_one_name_have_several():
    first, second = profiling.Section("read"), profiling.Section("read")
    with es.profile(Numbers()) as found:
        for _ in range(2):
            with first, second:
                assert first.running and second.running
    a, b = first.id, second.id
    assert a != b
    once = [("start", "read", a), ("start", "read", b), ("stop", "read", b), ("stop", "read", a)]
    assert found["Numbers"].seen == 2 * once


def test_a_section_ends_with_its_block_whatever_happens(events):
    section = profiling.Section("read")
    with pytest.raises(ZeroDivisionError), section:
        raise ZeroDivisionError
    assert not section.running
    assert [name for name, _ in events] == ["on_section_start", "on_section_stop"]


def test_another_thread_may_stop_it(events):
    section = profiling.Section("read")
    section.start()
    other = threading.Thread(target=section.stop)
    other.start()
    other.join()
    assert not section.running
    assert [name for name, _ in events] == ["on_section_start", "on_section_stop"]


def test_a_tool_that_came_later_is_not_told_of_the_stop_alone():
    section = profiling.Section("read")
    section.start()
    with es.profile(Numbers()) as found:
        section.stop()
    assert found["Numbers"].seen == []


def test_misuse_of_sections_is_refused():
    section = profiling.Section("read")
    with pytest.raises(es.ToolError, match=r"'read' is stopped but does not run; call start\(\)"):
        section.stop()
    with (
        section,
        pytest.raises(es.ToolError, match="'read' is started and runs already; call stop"),
    ):
        section.start()
    with pytest.raises(es.ToolError, match=r"Section\(3\); expected the name of the section"):
        profiling.Section(3)


def test_a_section_shows_itself():
    section = profiling.Section("read")
    assert repr(section) == "<Section 'read'>"
    with section:
        assert repr(section) == "<Section 'read', running>"


# -- metadata -------------------------------------------------------------------------------------


class Facts(profiling.Tool):
    def __init__(self):
        self.told = []

    def on_metadata(self, key, value):
        self.told.append((key, value))


def test_a_tool_is_told_what_is_known_and_then_what_is_declared(monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_SIZE", "77")
    profiling.metadata("mesh", "coarse")
    with es.profile(Facts()) as found:
        known = dict(found["Facts"].told)
        assert len(known) == len(found["Facts"].told)
        profiling.metadata("steps", 20)
        profiling.metadata("dt", 0.5)
    assert known["execspace"] == es.__version__
    assert known["EXECSPACE_CACHE_SIZE"] == "77"
    assert known["mesh"] == "coarse"
    assert {"python", "numpy", "platform", "spaces"} <= set(known)
    assert found["Facts"].told[len(known) :] == [("steps", 20), ("dt", 0.5)]


def test_settings_that_are_not_made_are_not_declared(monkeypatch):
    monkeypatch.delenv("EXECSPACE_CACHE_SIZE", raising=False)
    assert "EXECSPACE_CACHE_SIZE" not in profiling.known_metadata()


def test_spaces_that_were_started_are_known(monkeypatch, plain):
    monkeypatch.setattr(facts, "MADE", {"second": plain, "first": plain})
    assert facts.MADE is not launches.MADE
    assert profiling.known_metadata()["spaces"] == "first, second"


def test_what_is_declared_anew_has_its_new_value():
    profiling.metadata("steps", 20)
    profiling.metadata("steps", 30)
    assert profiling.known_metadata()["steps"] == 30


def test_a_tool_for_any_event_hears_what_is_declared_from_then_on(events):
    assert events == []
    profiling.metadata("steps", 20)
    assert events == [("on_metadata", ("steps", 20))]


def test_a_tool_may_want_keys_only():
    class Keys(profiling.Tool):
        seen = ()

        def on_metadata(self, key):
            self.seen += (key,)

    with es.profile(Keys()) as found:
        pass
    assert found["Keys"].seen == tuple(profiling.known_metadata())


def test_a_tool_that_raises_when_it_is_told_is_dropped():
    class Broken(profiling.Tool):
        def on_metadata(self, key, value):
            raise ValueError("no disk left")

    with pytest.warns(UserWarning, match="'Broken' raised in on_metadata and was detached: Value"):
        broken = profiling.attach(Broken())
    assert broken not in profiling.TOOLS


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (3, "x", "metadata(3, ...); expected a key, which is a text"),
        ("", "x", "metadata('', ...); expected a key, which is a text"),
        ("mesh", None, "metadata('mesh', None); expected a str, int, float or bool, got NoneType"),
        ("mesh", [1], "metadata('mesh', [1]); expected a str, int, float or bool, got list"),
    ],
)
def test_facts_that_no_file_can_keep_are_refused(key, value, message):
    with pytest.raises(es.ToolError, match=re.escape(message)):
        profiling.metadata(key, value)
    assert key not in profiling.known_metadata()


def test_nothing_is_looked_up_without_a_tool_that_asks(monkeypatch):
    def looked():
        raise AssertionError("never called")

    monkeypatch.setattr(facts, "known_metadata", looked)
    with es.profile(profiling.Tool()):
        profiling.metadata("steps", 20)
