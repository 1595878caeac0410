"""Entry points are read as `importlib.metadata` reads them, mostly without importing it."""

import shutil
import sys
import zipfile
from importlib import metadata

import pytest

from execspace.plugins import entry_points as reading
from execspace.plugins.entry_points import EntryPoint, entry_points

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: a: b\n\nName: text\n"


@pytest.fixture
def never_asked(monkeypatch):
    """`importlib.metadata` may not be asked."""

    def asked(group):
        raise AssertionError("importlib.metadata was asked")

    monkeypatch.setattr(reading, "_asked", asked)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that is first on sys.path."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def install(place, name, entries, *, version="1.0", group="execspace", suffix="dist-info"):
    info = place / f"{name}-{version}.{suffix}"
    info.mkdir()
    file = "METADATA" if suffix == "dist-info" else "PKG-INFO"
    (info / file).write_text(METADATA.format(name=name, version=version))
    (info / "entry_points.txt").write_text(f"[other]\na = b\n\n[{group}]\n{entries}\n[more]\nc = d")
    return info


def by_the_library(group="execspace"):
    found = []
    for point in metadata.entry_points(group=group):
        name, version = point.dist.name or "unknown", point.dist.version or ""
        found.append(EntryPoint(point.name, point.value, name, version))
    return found


def named(name):
    return [point for point in entry_points("execspace") if point.name == name]


def test_what_is_installed_here_is_read_alike(never_asked):
    for group in ("execspace", "execspace.commands", "pytest11", "nobody has it"):
        assert entry_points(group) == by_the_library(group)
    assert {"serial", "openmp"} <= {point.name for point in entry_points("execspace")}


@pytest.mark.parametrize("suffix", ["dist-info", "egg-info"])
@pytest.mark.parametrize(
    "entries",
    [
        "mine = mine.plugin",
        "mine=mine.plugin:a.b [extra]",
        "# words\n\n  mine  =  mine = plugin  \nother = mine",
        "mine = our plugin",
        "",
    ],
)
def test_forms_of_entries(place, never_asked, suffix, entries):
    install(place, "Mine.of-us", entries, suffix=suffix)
    assert entry_points("execspace") == by_the_library()


def test_changes_are_noticed(place, never_asked):
    assert named("mine") == []
    info = install(place, "mine", "mine = mine.plugin")
    assert named("mine") == [EntryPoint("mine", "mine.plugin", "mine", "1.0")]
    (info / "entry_points.txt").write_text("[execspace]\nmine = mine.module\n")
    assert [point.value for point in named("mine")] == ["mine.module"]
    shutil.rmtree(info)
    assert named("mine") == []


def test_of_equal_distributions_the_first_on_the_path_counts(
    place, tmp_path, monkeypatch, never_asked
):
    install(place, "of_us", "mine = later")
    first = tmp_path / "first"
    first.mkdir()
    install(first, "Of.Us", "mine = first", version="2.0")
    monkeypatch.syspath_prepend(first)
    assert named("mine") == [EntryPoint("mine", "first", "Of.Us", "2.0")]
    assert entry_points("execspace") == by_the_library()


@pytest.mark.parametrize(
    "text", [None, "", "Version: 3\n", "\nName: mine\n", "no header\nName: x", "a b: c\nName: x"]
)
def test_a_distribution_without_a_name(place, never_asked, text):
    file = install(place, "mine", "mine = mine.plugin") / "METADATA"
    file.unlink()
    if text is not None:
        file.write_text(text)
    assert named("mine")[0].distribution == "unknown"
    assert entry_points("execspace") == by_the_library()


def test_headers_of_several_lines(place, never_asked):
    text = "Summary: a\n  b\n\tc: d\nNAME:  mine\nname: other\nVersion: 3\r\n\nVersion: 4\n"
    (install(place, "mine", "mine = mine.plugin") / "METADATA").write_text(text)
    assert named("mine") == [EntryPoint("mine", "mine.plugin", "mine", "3")]
    assert entry_points("execspace") == by_the_library()


@pytest.mark.parametrize("name", ["", "nowhere", "archive.zip/inner"])
def test_folders_without_distributions(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    if "/" in name:
        with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
            archive.writestr("inner/module.py", "")
    monkeypatch.setattr(sys, "path", [name, *sys.path])
    assert entry_points("execspace") == by_the_library()


# -- what importlib.metadata is asked for ------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """The groups that `importlib.metadata` was asked for."""
    groups, ask = [], reading._asked

    def noted(group):
        groups.append(group)
        return ask(group)

    monkeypatch.setattr(reading, "_asked", noted)
    return groups


def test_an_archive(tmp_path, monkeypatch, asked):
    archive = tmp_path / "mine.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("mine-1.0.dist-info/METADATA", METADATA.format(name="mine", version="1.0"))
        file.writestr("mine-1.0.dist-info/entry_points.txt", "[execspace]\nmine = mine.plugin\n")
    monkeypatch.syspath_prepend(archive)
    assert named("mine") == [EntryPoint("mine", "mine.plugin", "mine", "1.0")]
    assert asked == ["execspace"]


def test_an_egg(tmp_path, monkeypatch, asked):
    egg = tmp_path / "mine-1.0.egg"
    info = egg / "EGG-INFO"
    info.mkdir(parents=True)
    (info / "PKG-INFO").write_text(METADATA.format(name="mine", version="1.0"))
    (info / "entry_points.txt").write_text("[execspace]\nmine = mine.plugin\n")
    monkeypatch.syspath_prepend(egg)
    assert named("mine") == [EntryPoint("mine", "mine.plugin", "mine", "1.0")]
    assert asked == ["execspace"]


def test_a_finder_of_others(tmp_path, monkeypatch, asked):
    install(tmp_path, "mine", "mine = mine.plugin")

    class Finder(metadata.DistributionFinder):
        def find_spec(self, *args):
            return None

        def find_distributions(self, context=None):
            return metadata.MetadataPathFinder.find_distributions(
                metadata.DistributionFinder.Context(path=[str(tmp_path)])
            )

    assert named("mine") == [] and not asked
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert [point.distribution for point in named("mine")] == ["mine"]
    assert asked == ["execspace"]


@pytest.mark.parametrize("content", [b"[execspace]\nmine\n", b"[execspace]\nmine = \xff\n"])
def test_a_broken_file_is_refused_in_its_words(place, asked, content):
    (install(place, "mine", "") / "entry_points.txt").write_bytes(content)
    with pytest.raises((TypeError, UnicodeDecodeError)) as expected:
        metadata.entry_points(group="execspace")
    with pytest.raises(expected.type):
        entry_points("execspace")
    assert asked == ["execspace"]


# -- loading ------------------------------------------------------------------------------------


def test_loading():
    for value in ("os", "os:path.join", "os : path.join [a, b]"):
        ours, theirs = EntryPoint("a", value, "", ""), metadata.EntryPoint("a", value, "g")
        assert ours.is_valid and ours.load() is theirs.load()
    assert not EntryPoint("a", "our plugin", "", "").is_valid
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        EntryPoint("a", "os:nothing", "", "").load()
