"""Which device a name means, and what is said where there is none that will do."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import execspace as es
from execspace.base import config

pytest.importorskip("pyopencl", reason="pyopencl is not installed")

import pyopencl as cl

from execspace_opencl import devices
from execspace_opencl.drivers import loader
from execspace_opencl.plugin import execspace_register_spaces, probe

CPU, GPU = cl.device_type.CPU, cl.device_type.GPU


class Platform:
    """A platform with devices that exist in this file only."""

    def __init__(self, name, *found):
        self.name, self.devices = name, list(found)
        for device in found:
            device.platform = self

    def get_devices(self):
        if not self.devices:
            raise cl.LogicError("clGetDeviceIDs failed", cl.status_code.DEVICE_NOT_FOUND)
        return self.devices


def device(name, type=CPU, float64=True):
    return SimpleNamespace(name=name, type=type, double_fp_config=63 if float64 else 0)


class OldDevice:
    """Its driver does not know what float64 is."""

    name, type = "old", CPU

    @property
    def double_fp_config(self):
        raise cl.LogicError("clGetDeviceInfo failed", cl.status_code.INVALID_VALUE)


@pytest.fixture
def machine(monkeypatch):
    """``machine(platform, ...)``: only these are there."""

    def use(*platforms):
        monkeypatch.setattr(cl, "get_platforms", lambda: list(platforms))

    return use


def test_a_gpu_goes_before_a_cpu_that_comes_first(machine):
    machine(
        Platform("A", device("cpu")), Platform("B", device("old", GPU, False), device("g", GPU))
    )
    assert devices.choose(None).place == "1.1"
    assert not devices.choose(None).is_cpu


def test_names_are_platform_dot_device(machine):
    machine(Platform("A", device("a0"), device("a1")), Platform("B", device("b0")))
    assert devices.choose("0.1").device.name == "a1"
    assert devices.choose("1").device.name == "b0"  # the first device of a platform
    assert devices.choose("0.0").is_cpu


@pytest.mark.parametrize("name", ["0.7", "5", "gpu", "0.0.0", "-1"])
def test_an_unknown_device_is_an_error_that_lists_those_there_are(machine, name):
    machine(Platform("A", device("a0")), Platform("B", device("b0")))
    with pytest.raises(es.SpaceError, match=r"no device '.*'; there are 0\.0 a0 \(A\), 1\.0 b0"):
        devices.choose(name)


def test_a_platform_without_devices_keeps_its_number(machine):
    machine(Platform("empty"), Platform("B", device("b0")))
    assert [f.place for f in devices.all_devices()] == ["1.0"]
    assert devices.choose(None).place == "1.0"


def test_a_loader_without_drivers_means_no_device(monkeypatch):
    def get_platforms():
        raise cl.LogicError("clGetPlatformIDs failed", cl.status_code.PLATFORM_NOT_FOUND_KHR)

    monkeypatch.setattr(cl, "get_platforms", get_platforms)
    assert devices.all_devices() == []
    with pytest.raises(es.SpaceUnavailableError, match="apt install pocl-opencl-icd"):
        devices.choose(None)
    assert "no OpenCL device was found" in probe().reason


def test_devices_without_float64_are_passed_over_or_refused(machine):
    machine(Platform("A", device("small", GPU, False), OldDevice()), Platform("B", device("b0")))
    assert devices.choose(None).place == "1.0" and probe().usable
    for name in ("0.0", "0.1"):
        with pytest.raises(es.SpaceUnavailableError, match=r"has no float64 .*choose another"):
            devices.choose(name)
    machine(Platform("A", device("small", GPU, False), OldDevice()))
    assert not probe().usable
    assert "no device has float64 (cl_khr_fp64): 0.0 small (A), 0.1 old (A)" in probe().reason


@pytest.fixture
def nothing_hidden(monkeypatch):
    for variable in devices._HIDING:
        monkeypatch.delenv(variable, raising=False)


def test_ranks_of_a_host_are_divided_among_gpus_of_one_platform(machine, nothing_hidden):
    """A GPU may be in several platforms, and a processor has room for all ranks."""
    default = GPU | cl.device_type.DEFAULT
    machine(
        Platform("A", device("cpu")),
        Platform("B", device("c", CPU), device("g0", default), device("old", GPU, False),
                 device("g1", GPU)),
        Platform("C", device("g0", GPU), device("g1", GPU)),
    )  # fmt: skip
    assert devices.peers() == ("1.1", "1.3")
    assert devices.choose(None).place == "1.1"
    (entry,) = execspace_register_spaces()
    assert entry.devices() == ("1.1", "1.3")


def test_of_accelerators_too(machine, nothing_hidden):
    kind = cl.device_type.ACCELERATOR
    machine(Platform("A", device("a0", kind), device("a1", kind), device("cpu")))
    assert devices.peers() == ("0.0", "0.1")


def test_ranks_of_a_host_are_not_divided_among_processors(machine):
    machine(Platform("A", device("socket 0"), device("socket 1")))
    assert devices.peers() == ()


def test_one_gpu_that_is_seen_because_others_are_hidden_may_be_the_rank_s_own(
    machine, nothing_hidden, monkeypatch
):
    machine(Platform("A", device("g", GPU)))
    assert devices.peers() == ("0.0",)
    for variable in devices._HIDING:
        with monkeypatch.context() as patch:
            patch.setenv(variable, "2")
            assert devices.peers() == ()


def test_out_of_memory_and_other_driver_errors_are_told_apart():
    found = devices.Found(0, 0, device("d"))
    found.device.platform = Platform("A", found.device)
    record = cl._cl._ErrorRecord("", cl.status_code.OUT_OF_RESOURCES, "clX")
    error = devices.driver_error("Kernel 'k'", found, cl.RuntimeError(record))
    assert isinstance(error, MemoryError) and "Kernel 'k': device 0.0 d (A)" in str(error)
    record = cl._cl._ErrorRecord("", cl.status_code.INVALID_COMMAND_QUEUE, "clX")
    error = devices.driver_error("Kernel 'k'", found, cl.LogicError(record))
    assert isinstance(error, es.SpaceError) and "INVALID_COMMAND_QUEUE" in str(error)


def test_spaces_of_one_name_are_one_object(opencl):
    assert es.space(opencl.name) is opencl
    place = es.space(f"opencl:{opencl.found.place}")
    assert place.found.place == opencl.found.place
    with pytest.raises(es.SpaceError, match=r"there is no device '99\.0'"):
        es.space("opencl:99.0")


def test_the_mapping_is_chosen_by_the_environment(opencl, monkeypatch):
    from execspace_opencl.space import space_of

    place = opencl.found.place
    for mapping, flat in (("flat", True), ("chunked", False)):
        monkeypatch.setenv("EXECSPACE_OPENCL_MAPPING", mapping)
        space = space_of(place)
        assert space.device.flat is flat
        assert space.default_layout == ("left" if flat else "right")
    monkeypatch.setenv("EXECSPACE_OPENCL_MAPPING", "tiled")
    with pytest.raises(es.SpaceError, match="OPENCL_MAPPING='tiled'; expected flat or chunked"):
        space_of(place)


def test_the_check_for_portable_programs_makes_a_processor_a_device(opencl, monkeypatch):
    """Memory of the host is out of reach, and the layout is that of GPUs."""
    from execspace_opencl.space import space_of

    if not opencl.found.is_cpu:
        pytest.skip("a GPU is one")
    monkeypatch.setenv("EXECSPACE_CHECK", "portable")
    config.forget_checks()
    try:
        space = space_of(opencl.found.place)
        assert space.memory_space is space.memory
        assert es.HOST not in space.memory_spaces
        assert (space.default_layout, space.device.flat) == ("left", opencl.device.flat)
        monkeypatch.setenv("EXECSPACE_OPENCL_MEMORY", "host")
        with pytest.raises(es.SpaceError, match="CHECK=portable forbids; unset one of them"):
            space_of(opencl.found.place)
    finally:
        config.forget_checks()


def test_memory_of_the_host_is_out_of_reach_if_the_environment_says_so(opencl, monkeypatch):
    from execspace_opencl.space import space_of

    if not opencl.found.is_cpu:
        pytest.skip("on a GPU it always is")
    monkeypatch.setenv("EXECSPACE_OPENCL_MEMORY", "device")
    space = space_of(opencl.found.place)
    assert space.capabilities.asynchronous
    assert not space.device.takes_addresses  # not even where the driver could
    assert space.instance().memory_space is space.memory_space
    x = es.View(4, space=space, label="x")
    assert x.memory_space is space.memory
    policy = es.RangePolicy(4, space=space)
    for there in (np.zeros(4), es.View(4, memory=es.HOST), es.View(4, space=space, memory="host")):
        with pytest.raises(es.SpaceAccessError, match=r"space 'host'.* space 'opencl"):
            es.parallel_for(policy, lambda i, y: None, there)
    monkeypatch.setenv("EXECSPACE_OPENCL_MEMORY", "host")
    assert space_of(opencl.found.place).memory_space is es.HOST
    monkeypatch.setenv("EXECSPACE_OPENCL_MEMORY", "texture")
    with pytest.raises(es.SpaceError, match="OPENCL_MEMORY='texture'; expected device or host"):
        space_of(opencl.found.place)


def test_a_gpu_cannot_take_memory_of_the_host(opencl, monkeypatch):
    from execspace_opencl.space import space_of

    monkeypatch.setenv("EXECSPACE_OPENCL_MEMORY", "host")
    monkeypatch.setattr(type(opencl.found), "is_cpu", False)
    with pytest.raises(es.SpaceError, match="does not run kernels on memory of the host"):
        space_of(opencl.found.place)


SPACES = """
import execspace as es
row, = [s for s in es.spaces() if s.name == "opencl"]
print(row.usable, row.reason)
"""


def test_without_drivers_the_space_says_what_to_install(python, tmp_path):
    if list(Path(cl.__file__).parent.glob(".libs/libpocl*")):
        pytest.skip("pocl-binary-distribution has put a driver into pyopencl itself")
    folder = tmp_path / "vendors"
    folder.mkdir()
    said = python(SPACES, OCL_ICD_VENDORS=str(folder))
    assert said.startswith("False no OpenCL device was found. Install a driver")


def test_without_pyopencl_the_space_says_so(python):
    hide = """
import sys
from importlib.machinery import PathFinder

class Hidden(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "pyopencl" else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Hidden
"""
    said = python(hide + SPACES)
    assert said == "False pyopencl is not installed; pip install pyopencl\n"


def test_looking_at_spaces_makes_no_context(python):
    said = python(
        """
        import execspace as es
        import sys
        assert "pyopencl" not in sys.modules
        es.spaces()
        print("execspace_opencl.space" in sys.modules, "llvmlite" in sys.modules)
        """
    )
    assert said == "False False\n"


def test_a_driver_from_pypi_is_named_beside_those_of_the_system(monkeypatch, tmp_path):
    system = tmp_path / "vendors"
    system.mkdir()
    (system / "pocl.icd").write_text("libpocl.so.2")
    seen = {}

    class Loader:
        """Stands for pyopencl when it is imported for the first time."""

        Error = cl.Error

        @staticmethod
        def get_platforms():
            folder = os.environ["OCL_ICD_VENDORS"]
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name)) as entry:
                    seen[name] = entry.read().strip()

    import builtins
    import sys

    real = builtins.__import__

    def load(name, *rest):
        return Loader if name == "pyopencl" else real(name, *rest)

    monkeypatch.delitem(sys.modules, "pyopencl")
    monkeypatch.setattr(builtins, "__import__", load)
    monkeypatch.setattr(loader, "_VENDORS", system)
    monkeypatch.setattr(loader, "intel_driver", lambda: "/lib/libintelocl.so")
    for name in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"):
        monkeypatch.delenv(name, raising=False)
    loader.prepare_loader()
    assert seen == {"pocl.icd": "libpocl.so.2", "zz-intel.icd": "/lib/libintelocl.so"}
    assert "OCL_ICD_VENDORS" not in os.environ
    seen.clear()
    monkeypatch.setenv("OCL_ICD_VENDORS", str(system))  # what the user chose stays
    loader.prepare_loader()
    assert not seen
