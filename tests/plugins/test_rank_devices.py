"""Each rank of a host takes a device of its own, where it has not named one."""

import json
import os
import subprocess
import sys
import warnings

import pytest

import execspace as es

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

    asked = []

    def start(device):
        if device == "broken":
            raise es.SpaceError("Space 'cards': card 'broken' is.")
        return Dummy("cards" if device in (None, "0") else f"cards:{{device}}")

    def devices():
        asked.append("cards")
        {devices}

    @es.hookimpl
    def execspace_register_spaces():
        yield es.SpaceEntry("cards", start, (0, 1), priority=100, devices=devices)
        yield es.SpaceEntry("plain", lambda d: Dummy("plain"), (0, 1), priority=90)
        yield es.SpaceEntry("absent", start, (0, 1), priority=200, devices=devices,
                            probe=lambda: es.Probe(False, "no such card; buy one"))
"""
THREE = "return ('0', '1', '2')"


@pytest.fixture
def cards(fake_plugin, monkeypatch):
    """``cards(body)`` installs a space whose `devices` has this body; returns its module's name."""
    for name in list(os.environ):
        if name.startswith(("OMPI_", "MV2_", "MPI_", "PALS_", "PMI_", "FLUX_", "SLURM_")):
            monkeypatch.delenv(name)
    monkeypatch.delenv("EXECSPACE_DEFAULT", raising=False)
    return lambda devices=THREE: fake_plugin("cards", SPACES.format(devices=devices))


@pytest.fixture
def rank(monkeypatch, fresh_selection):
    """``rank(number, size)``: this process is a rank that Open MPI has started."""

    def use(number, size=None):
        monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", str(number))
        if size is not None:
            monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", str(size))
        fresh_selection()

    return use


# -- which device ---------------------------------------------------------------------------------


@pytest.mark.parametrize("default", [None, "cards", "absent,cards"])
def test_each_rank_takes_a_device_of_its_own(cards, rank, monkeypatch, default):
    cards()
    if default is not None:
        monkeypatch.setenv("EXECSPACE_DEFAULT", default)
    found = []
    for number in range(3):
        rank(number, 3)
        found.append(es.default_space().name)
        assert es.View(1).space is es.default_space() is es.space(found[-1])
    assert found == ["cards", "cards:1", "cards:2"]  # without a warning: pytest would raise it


def test_what_is_named_is_taken_as_it_is(cards, rank, monkeypatch):
    module = cards()
    rank(1, 3)
    assert es.space("cards").name == "cards"
    with es.use_space("cards") as chosen:
        assert chosen.name == "cards"
    assert es.View(1, space="cards").space.name == "cards"
    for named in ("cards:0", "cards:2"):
        monkeypatch.setenv("EXECSPACE_DEFAULT", named)
        rank(1, 3)
        assert es.default_space() is es.space(named)
    assert not sys.modules[module].asked


@pytest.mark.parametrize("size", [None, 1])
def test_without_other_ranks_nobody_asks_for_devices(cards, rank, size):
    module = cards()
    assert es.default_space().name == "cards"
    rank(0, size)
    assert es.default_space().name == "cards"
    assert not sys.modules[module].asked


def test_a_space_that_has_no_devices_is_the_same_for_all(cards, rank, monkeypatch):
    cards("return ()")
    rank(2, 4)
    assert es.default_space().name == "cards"
    monkeypatch.setenv("EXECSPACE_DEFAULT", "plain")
    rank(2, 4)
    assert es.default_space().name == "plain"


def test_devices_are_named_as_the_space_names_them(cards, rank):
    cards("return ['1.0', '1.1']")
    rank(1, 2)
    assert es.default_space().name == "cards:1.1"
    rank(0, 2)
    assert es.default_space().name == "cards"


def test_a_rank_by_settings(cards, fresh_selection, monkeypatch):
    cards()
    monkeypatch.setenv("EXECSPACE_LOCAL_RANK", "2")
    assert es.default_space().name == "cards:2"
    monkeypatch.setenv("EXECSPACE_LOCAL_RANK", "second")
    fresh_selection()
    with pytest.raises(es.ConfigError, match="EXECSPACE_LOCAL_RANK='second' is not the number"):
        es.default_space()


# -- more ranks than devices ----------------------------------------------------------------------


def test_ranks_that_share_a_device_are_told_once(cards, rank):
    cards("return ('0',)")
    rank(3, 4)
    with pytest.warns(UserWarning, match="share") as caught:
        assert es.default_space().name == "cards"
    es.View(1)
    assert es.default_space().name == "cards"
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message) == (
        "4 ranks of this host share 1 device of space 'cards': local rank 3 takes 'cards:0', where "
        "its work waits for that of others. Start as many ranks on a host as it has devices, or "
        "run a service through which processes use a device at the same time, such as NVIDIA's MPS."
    )


@pytest.mark.parametrize(
    ("number", "size", "name", "told"),
    [
        (0, 4, "cards", "4 ranks of this host share 3 devices of space 'cards': local rank 0"),
        (3, 4, "cards", "local rank 3 takes 'cards:0'"),
        (7, 12, "cards:1", "local rank 7 takes 'cards:1'"),
        (5, None, "cards:2", "^At least 6 ranks of this host share 3 devices"),
    ],
)
def test_they_go_round(cards, rank, number, size, name, told):
    cards()
    rank(number, size)
    with pytest.warns(UserWarning, match=told):
        assert es.default_space().name == name


# -- plugins and devices that fail ----------------------------------------------------------------


def test_a_device_that_does_not_start_is_passed_over_with_its_reason(cards, rank, monkeypatch):
    cards("return ('0', 'broken')")
    rank(1, 2)
    with pytest.warns(es.PluginWarning, match="card 'broken' is. The next best space is taken"):
        assert es.default_space().name == "plain"
    (row,) = [s for s in es.spaces() if s.name == "cards"]
    assert not row.usable and "card 'broken' is" in row.reason
    monkeypatch.setenv("EXECSPACE_DEFAULT", "cards")
    rank(1, 2)
    with pytest.raises(es.SpaceError, match=r"^EXECSPACE_DEFAULT=cards: .* card 'broken' is"):
        es.default_space()


def test_a_plugin_that_cannot_say_which_devices_there_are(cards, rank, monkeypatch):
    cards("raise OSError('the driver is gone.')")
    rank(1, 2)
    reason = "Space 'cards' cannot say which devices it has: OSError: the driver is gone. Name the"
    with pytest.warns(es.PluginWarning, match=reason):
        assert es.default_space().name == "plain"
    monkeypatch.setenv("EXECSPACE_DEFAULT", "cards")
    rank(1, 2)
    with pytest.raises(es.SpaceUnavailableError, match=reason):
        es.default_space()
    monkeypatch.setenv("EXECSPACE_DEFAULT", "cards:0")
    rank(1, 2)
    assert es.default_space().name == "cards"


@pytest.mark.parametrize("value", ["3", "'012'", "[0, 1]", "['']", "None"])
def test_devices_that_are_no_names(cards, rank, monkeypatch, value):
    cards(f"return {value}")
    monkeypatch.setenv("EXECSPACE_DEFAULT", "cards")
    rank(1, 2)
    with pytest.raises(es.PluginError, match=r"its devices\(\) returned .*expected a sequence of"):
        es.default_space()


# -- the spaces that are here ---------------------------------------------------------------------


def test_ranks_on_hosts_are_told_nothing(cards, rank, monkeypatch):
    for name in ("serial", "openmp"):
        monkeypatch.setenv("EXECSPACE_DEFAULT", name)
        rank(5, 6)
        with warnings.catch_warnings(action="error"):
            assert es.default_space().name == name


# -- the command ----------------------------------------------------------------------------------


def info(tmp_path, **settings):
    """What `execspace info --json` says as rank 1 of 2."""
    ranked = {"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2", "EXECSPACE_PLUGINS": "cards"}
    folder = str(tmp_path / "execspace-cards")
    done = subprocess.run(
        [sys.executable, "-m", "execspace", "info", "--json"],
        env={**os.environ, **ranked, "PYTHONPATH": folder, **settings},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_info_says_which_device_a_rank_takes(cards, tmp_path):
    cards()
    found = info(tmp_path)
    assert found["default_space"] == {
        "name": "cards:1",
        "why": "the highest priority (100) of all usable spaces, for local rank 1 of 2; not "
        "usable: absent",
    }
    devices = {row["name"]: row["devices"] for row in found["spaces"]}
    assert devices == {"absent": [], "cards": ["0", "1", "2"], "plain": []}
    assert not found["warnings"]
    found = info(tmp_path, EXECSPACE_DEFAULT="cards")["default_space"]
    assert found == {"name": "cards:1", "why": "EXECSPACE_DEFAULT=cards, for local rank 1 of 2"}
    found = info(tmp_path, EXECSPACE_DEFAULT="cards:0")["default_space"]
    assert found == {"name": "cards:0", "why": "EXECSPACE_DEFAULT=cards:0"}


def test_info_warns_of_ranks_that_share_a_device(cards, tmp_path):
    cards("return ['0']")
    found = info(tmp_path)
    assert found["default_space"]["name"] == "cards"
    (warning,) = found["warnings"]
    assert warning.startswith("2 ranks of this host share 1 device of space 'cards'")


def test_info_without_ranks_asks_for_no_devices(cards, tmp_path):
    cards("raise OSError")
    found = info(tmp_path, MPI_LOCALRANKID="", MPI_LOCALNRANKS="")
    assert found["default_space"]["name"] == "cards"
    assert all(row["devices"] == [] for row in found["spaces"])
    rows = {row["name"]: row for row in info(tmp_path)["spaces"]}
    assert "cannot say which devices it has: OSError" in rows["cards"]["reason"]
