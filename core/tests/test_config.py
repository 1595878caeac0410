"""EXECSPACE_* variables: read when needed, and bad values named."""

import pytest

import execspace as es
from execspace.base import config


def test_defaults(monkeypatch):
    for name in config.VARIABLES:
        monkeypatch.delenv(f"EXECSPACE_{name}", raising=False)
    assert config.get("DEFAULT") is None
    assert config.get_list("PLUGINS") is None
    assert config.get_bool("STRICT") is False
    assert config.get_list("TOOLS") == []
    assert config.get_int("NUM_THREADS") is None
    assert config.get_int("CACHE_SIZE") == 1024


def test_values_are_read_at_each_use(monkeypatch):
    monkeypatch.setenv("EXECSPACE_NUM_THREADS", "3")
    assert config.get_int("NUM_THREADS") == 3
    monkeypatch.setenv("EXECSPACE_NUM_THREADS", "5")
    assert config.get_int("NUM_THREADS") == 5


@pytest.mark.parametrize("text", ["1", "true", "YES", " on "])
def test_switches_on(monkeypatch, text):
    monkeypatch.setenv("EXECSPACE_STRICT", text)
    assert config.get_bool("STRICT") is True


@pytest.mark.parametrize("text", ["0", "False", "no", "off", ""])
def test_switches_off(monkeypatch, text):
    monkeypatch.setenv("EXECSPACE_STRICT", text)
    assert config.get_bool("STRICT") is False


def test_a_bad_switch(monkeypatch):
    monkeypatch.setenv("EXECSPACE_STRICT", "maybe")
    with pytest.raises(es.ConfigError, match="EXECSPACE_STRICT='maybe' is not a switch"):
        config.get_bool("STRICT")


@pytest.mark.parametrize("text", ["0", "-2", "two", "1.5", "1e3", "2,4"])
def test_a_bad_number(monkeypatch, text):
    monkeypatch.setenv("EXECSPACE_NUM_THREADS", text)
    with pytest.raises(es.ConfigError, match=f"EXECSPACE_NUM_THREADS='{text}' is not a whole"):
        config.get_int("NUM_THREADS")


def test_an_empty_number_is_unset(monkeypatch):
    monkeypatch.setenv("EXECSPACE_NUM_THREADS", " ")
    assert config.get_int("NUM_THREADS") is None


def test_lists_lose_blanks(monkeypatch):
    monkeypatch.setenv("EXECSPACE_DEFAULT", " cuda:1, ,openmp,")
    assert config.get_list("DEFAULT") == ["cuda:1", "openmp"]
    monkeypatch.setenv("EXECSPACE_PLUGINS", "")
    assert config.get_list("PLUGINS") == []


def test_a_variable_that_nothing_reads_is_a_spelling_error(monkeypatch):
    monkeypatch.setenv("EXECSPACE_DEFUALT", "serial")
    with pytest.warns(UserWarning, match="EXECSPACE_DEFUALT is not read by execspace; known: .*"):
        config.warn_unknown()


def test_known_variables_and_those_of_others_are_silent(monkeypatch):
    monkeypatch.setenv("EXECSPACE_DEFAULT", "serial")
    monkeypatch.setenv("MYEXECSPACE_X", "1")
    config.warn_unknown()  # warnings are errors here
    assert "DEFAULT" in config.VARIABLES


def test_errors_of_variables_are_errors_of_values_too(monkeypatch):
    """Whichever variable it is; so a program may catch them with all others of execspace."""
    monkeypatch.setenv("EXECSPACE_PROBE_TIMEOUT", "soon")
    monkeypatch.setenv("OMP_STACKSIZE", "4k")
    monkeypatch.setenv("EXECSPACE_NUM_THREADS", "100000")
    calls = [lambda: config.get_seconds("PROBE_TIMEOUT"), config.check_openmp_stack]
    for call in [*calls, config.thread_count]:
        with pytest.raises(es.ConfigError) as raised:
            call()
        assert isinstance(raised.value, es.ExecspaceError)
        assert isinstance(raised.value, ValueError)
