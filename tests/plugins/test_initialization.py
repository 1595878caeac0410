"""Settings of a program, and what is in force."""

import io
import os
import subprocess
import sys

import pytest

import execspace as es


def run(code, **environment):
    """What a program in a process of its own prints."""
    kept = {n: v for n, v in os.environ.items() if n != "EXECSPACE_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


THREADS = """
import execspace as es
es.initialize(es.InitializationSettings(num_threads=3))
print(es.space("openmp").concurrency)
try:
    es.initialize(num_threads=2)
except es.ConfigError as error:
    print(str(error).split(" ")[1])
"""


def test_a_setting_is_in_force():
    assert run(THREADS) == ["3", "openmp"]


def test_the_environment_wins():
    assert run(THREADS, EXECSPACE_NUM_THREADS="2") == ["2", "openmp"]


def test_settings_as_variables():
    settings = es.InitializationSettings(
        default=("cuda", "openmp"), pools=False, lanes=4, cache_dir="/tmp/x", probe_timeout=2.5
    )
    assert settings.environment() == {
        "EXECSPACE_DEFAULT": "cuda,openmp", "EXECSPACE_POOLS": "0", "EXECSPACE_LANES": "4",
        "EXECSPACE_CACHE_DIR": "/tmp/x", "EXECSPACE_PROBE_TIMEOUT": "2.5",
    }  # fmt: skip


def test_every_variable_of_core_has_a_setting():
    from execspace.base.config import VARIABLES

    names = {n.upper() for n in es.InitializationSettings.__dataclass_fields__}
    own = {n for n in VARIABLES if not n.startswith(("OPENMP", "CUDA", "HIP", "OPENCL", "COMM"))}
    assert names == own


def test_refused():
    with pytest.raises(
        es.ConfigError, match="there is no setting 'threads'; expected some of: def"
    ):
        es.initialize(threads=3)
    with pytest.raises(es.ConfigError, match="default=3j; expected text, a number"):
        es.InitializationSettings(default=3j)
    with pytest.raises(TypeError, match="expected one of the two"):
        es.initialize(es.InitializationSettings(), num_threads=2)


def test_print_configuration(monkeypatch):
    monkeypatch.setenv("EXECSPACE_CACHE_SIZE", "77")
    es.space("serial").fence()
    text = io.StringIO()
    es.print_configuration(text)
    lines = text.getvalue().splitlines()
    assert lines[0].startswith(f"execspace {es.__version__}, ")
    assert "EXECSPACE_CACHE_SIZE=77" in lines
    (row,) = (line for line in lines if line.startswith("serial "))
    assert "started, concurrency 1" in row
