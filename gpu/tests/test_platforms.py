"""What a platform tells of itself, and that nothing else is taken for granted.

The platform, its device and its driver are pretended; none of this needs a GPU.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import execspace as es
from execspace.base import config
from execspace.contract.launch_spec import policy_spec
from execspace_compiler.cache import disk as cache
from execspace_compiler.codegen.cfamily.cuda import CUDA
from execspace_gpu.claiming import Protocols, claimed_by, device_of, stream_of

pytest.importorskip("cupy", reason="CuPy is not installed")

from execspace_gpu import device, interop, launch, memory, program, queue
from execspace_gpu.compiling import CompileError, Compiler
from execspace_gpu.space import GpuExecutionSpace

OTHER = Protocols(device=10, managed=None, legacy=0, interface=False)


class Tensor:
    """Speaks DLPack, and has an interface that nobody shall look at."""

    def __init__(self, kind, number=0):
        self.device = (kind, number)
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("not on this platform")


# -- arrays of other libraries --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "number", "name"),
    [(10, 0, "other"), (10, 2, "other:2"), (2, 0, None), (13, 0, None), (11, 0, None)],
)
def test_arrays_are_claimed_by_the_kinds_of_the_platform(kind, number, name):
    assert claimed_by("other", Tensor(kind, number), OTHER) == name


def test_without_the_interface_dlpack_alone_counts():
    array = SimpleNamespace(__cuda_array_interface__={"data": (4096, False), "version": 3})
    assert device_of(array, OTHER) is None
    assert stream_of(array, 0, OTHER) is None
    assert stream_of(Tensor(10), 0, OTHER) is None


def test_a_library_is_asked_for_the_default_stream_as_the_platform_calls_it():
    tensor = Tensor(10)
    for stream in (0, 0x77):
        interop.ForeignArray(tensor, 0, OTHER).make_ready(stream)
    assert tensor.asked == [{"stream": 0}, {"stream": 0x77}]


class Imported:
    """What CuPy makes of an array of the platform; it has no interface."""

    shape, dtype = (3, 4), np.dtype("f4")
    size = 12
    data = SimpleNamespace(ptr=4096)

    def __init__(self, strides=(16, 4)):
        self.strides = strides
        self.flags = SimpleNamespace(c_contiguous=strides == (16, 4))


@pytest.mark.parametrize("strides", [(16, 4), (4, 12), (32, 8)])
def test_arrays_are_wrapped_by_what_cupy_says_of_them(other, monkeypatch, strides):
    given = []

    def from_dlpack(source):
        given.append(source)
        return Imported(strides)

    monkeypatch.setattr(interop.cupy, "from_dlpack", from_dlpack, raising=False)
    tensor = Tensor(10)
    view = other.view_of(tensor, "x")
    assert given == [tensor]
    assert (view.data_ptr, view.shape, view.dtype) == (4096, (3, 4), np.dtype("f4"))
    assert view.strides == tuple(s // 4 for s in strides)
    assert view.memory_space is other.foreign


# -- a platform -----------------------------------------------------------------------------------


class Echo(Compiler):
    """Makes the text itself its machine code."""

    title = "ECHO"

    def __init__(self):
        self.compiled = []

    def version(self):
        return "7.1"

    def options(self, text, arch):
        return [f"--for={arch}"]

    def compile(self, source, options):
        if "refuse_me" in source:
            raise CompileError("line 2: no")
        self.compiled.append((source, list(options)))
        return source.encode()

    def faults(self, log):
        return [(2, log)]


ATTRIBUTES = {
    "MultiProcessorCount": 3, "MaxThreadsPerMultiProcessor": 1024, "MaxThreadsPerBlock": 512,
    "MaxBlockDimX": 512, "MaxBlockDimY": 256, "MaxBlockDimZ": 64,
    "MaxGridDimX": 9000, "MaxGridDimY": 800, "MaxGridDimZ": 70,
    "MaxSharedMemoryPerBlockOptin": 64 * 1024,
}  # fmt: skip


class OtherSpace(GpuExecutionSpace):
    """Of the pretended platform: waves of 64 lanes, and no barrier for a part of a block."""

    short, title = "other", "OTHER"
    dialect = replace(CUDA, name="other", lanes=replace(CUDA.lanes, count=64, barrier=""))
    protocols = OTHER
    compiler = None  # of each test
    arch = "gfx0"


class Device:
    """CuPy's, with attributes."""

    attributes = ATTRIBUTES

    def __init__(self, number):
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class Stream(Device):
    """CuPy's; it can be made the current one."""

    def __init__(self, ptr=0x55, non_blocking=True):
        self.ptr = ptr


Stream.null = Stream(0)


class Module:
    """CuPy's: the kernels of a text have numbers."""

    def load(self, code):
        self.code = code

    def get_function(self, name):
        return SimpleNamespace(ptr=len(name))


@pytest.fixture
def driver(monkeypatch, tmp_path):
    """What the driver was asked for, and the runtime of a machine with one device."""
    asked = []
    monkeypatch.setattr(OtherSpace, "compiler", Echo())
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "cache"))
    variable = config.Variable("OTHER_BLOCKING", "0", "for this test")
    monkeypatch.setitem(config.VARIABLES, "OTHER_BLOCKING", variable)

    cuda = SimpleNamespace(
        Device=Device, Stream=Stream, Event=lambda disable_timing: SimpleNamespace(
            ptr=1, record=lambda stream: None
        ),
        function=SimpleNamespace(Module=Module),
    )  # fmt: skip
    pretended = SimpleNamespace(cuda=cuda)
    for module in (device, queue, memory, program, interop, launch):
        monkeypatch.setattr(module, "cupy", pretended)
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 1, getDevice=lambda: 0, setDevice=lambda number: None,
        CUDARuntimeError=ArithmeticError,
    )  # fmt: skip
    for module in (device, queue, memory, interop, launch):
        monkeypatch.setattr(module, "runtime", runtime)
    monkeypatch.setattr("execspace_gpu.devices.runtime", runtime)
    calls = SimpleNamespace(
        launchKernel=lambda *call: asked.append(call[:9]),
        funcSetAttribute=lambda *call: asked.append(call),
        funcGetAttribute=lambda number, function: 10 * number,
        occupancyMaxActiveBlocksPerMultiprocessor=lambda function, threads, shared: 6,
        CUDADriverError=ArithmeticError,
    )
    for module in (program, launch):
        monkeypatch.setattr(module, "driver", calls)
    return asked


@pytest.fixture
def other(driver):
    return OtherSpace(0)


def test_what_a_platform_must_give_is_abstract():
    assert GpuExecutionSpace.__abstractmethods__ == {"dialect", "compiler", "arch", "protocols"}
    with pytest.raises(TypeError, match="abstract method"):
        type("Half", (GpuExecutionSpace,), {"short": "half", "title": "HALF"})(0)
    must = {"version", "options", "compile", "faults"}
    assert Compiler.__abstractmethods__ == must


def test_names_are_those_of_the_platform(other):
    second = OtherSpace(1)
    assert (other.name, second.name) == ("other", "other:1")
    names = [m.name for m in second.memory_spaces]
    assert names == ["other:1", "other:1 managed", "other:1 pinned"]
    assert type(other.instance()) is OtherSpace
    assert other.instance().memory_space is other.memory_space


def test_settings_are_those_of_the_platform(other, monkeypatch):
    assert not other.blocking  # and no EXECSPACE_OTHER_POOL is read, which nobody declared
    monkeypatch.setenv("EXECSPACE_OTHER_BLOCKING", "1")
    assert OtherSpace(0).blocking


def test_errors_name_the_platform(other, monkeypatch):
    monkeypatch.setattr("execspace_gpu.devices.name_of", lambda number: "X1")
    found = other.fault("A fence", SimpleNamespace(status=1))
    assert str(found).startswith("A fence: OTHER reports an error on device other:0 (X1)")
    other.queue.recent.update({"'a'": None, "'b'": None})
    lost = other.fault("A fence", SimpleNamespace(status=700))
    assert isinstance(lost, es.ContextLostError)
    assert "EXECSPACE_OTHER_BLOCKING=1 reports" in str(lost)


def test_what_the_device_has(other):
    assert other.concurrency == 3 * 1024
    assert other.limits.threads == 512
    assert (other.limits.block, other.limits.grid) == ((512, 256, 64), (9000, 800, 70))
    limits = other.team_limits()
    assert (limits.vector_length_max, limits.threads_max) == (64, 512)
    assert limits.scratch[0] == 64 * 1024


def view_in(where):
    """A View over memory that nobody looks at."""
    block = es.Allocation(4096, 64, "x", where, None, managed=False)
    return es.View._over(
        block, 4096, np.dtype("f8"), (8,), (1,), "left", False, where.space, None
    )  # fmt: skip


def test_views_have_the_protocols_of_the_platform(other):
    view = view_in(other.memory)
    assert view.__dlpack_device__() == (10, 0)
    assert not hasattr(view, "__cuda_array_interface__")


# -- kernels --------------------------------------------------------------------------------------


def fill(i, x):
    x[i] = 1.0


def spec_of(policy):
    return es.LaunchSpec("for", policy, (es.ViewType("float64", 1, "left", 0, False, "other"),))


def test_kernels_go_through_the_compiler_of_the_platform(other, driver, tmp_path):
    compiler = other.compiler
    plan = other.compile(es.Kernel(fill), spec_of(policy_spec("range", 1)))
    ((source, options),) = compiler.compiled
    assert source == plan.source and options == ["--for=gfx0"]
    (stored,) = (tmp_path / "cache" / "other").glob("*.bin")
    assert cache.read(stored) == source.encode()
    plan.launch((0, 8), (view_in(other.memory),))
    (call,) = driver
    assert call == (len("es_for"), 1, 1, 1, 512, 1, 1, 0, 0)
    # Another instance shares what is loaded, and another process what is stored.
    other.instance().compile(es.Kernel(fill), spec_of(policy_spec("range", 1)))
    OtherSpace(0).compile(es.Kernel(fill), spec_of(policy_spec("range", 1)))
    assert len(compiler.compiled) == 1


def refused(i, x):
    refuse_me = i + 1
    x[i] = refuse_me


def test_what_it_refuses_names_it_and_its_options(other):
    with pytest.raises(es.BackendCompileError, match=r"ECHO 7\.1 with --for=gfx0 refused gener"):
        other.compile(es.Kernel(refused), spec_of(policy_spec("range", 1)))


def test_a_platform_may_tell_other_figures(other, monkeypatch):
    plan = other.compile(es.Kernel(in_a_loop), spec_of(policy_spec("range", 1)))
    usual = {"threads": 0, "shared": 10, "constant": 20, "local": 30, "registers": 40}
    # Six blocks of 128 threads on a unit that keeps 1024.
    assert plan.resource_usage == {"es_for": {**usual, "occupancy": 75}}
    monkeypatch.setattr(
        OtherSpace, "resource_usage", lambda self, program, group: {"f": {"block": group}}
    )
    assert plan.resource_usage == {"f": {"block": 128}}


def in_place(i, x):
    x[i] += 1.0


def of_neighbours(i, x):
    x[i] = x[i - 1] + x[i] + x[i + 1]


def in_a_loop(i, x):
    while x[i] > 1.0:
        x[i] *= 0.5


def much(i, x):
    x[i] = i % 7 + i % 11 + i % 13 + i % 17 + i % 19 + i % 23


@pytest.mark.parametrize(
    ("kernel", "threads"),
    [(fill, 512), (in_place, 256), (of_neighbours, 256), (in_a_loop, 128), (much, 128)],
)
def test_blocks_of_kernels_that_move_little_are_larger(other, driver, kernel, threads):
    """A device starts so many blocks in a time, each of which has to move enough."""
    plan = other.compile(es.Kernel(kernel), spec_of(policy_spec("range", 1)))
    plan.launch((1, 7), (view_in(other.memory),))
    assert driver[-1][4] == threads


def test_a_plan_tells_of_its_variables_and_where_its_code_came_from(other):
    def cache_of(space):
        return space.compile(es.Kernel(fill), spec_of(policy_spec("range", 1))).cache

    plan = other.compile(es.Kernel(fill), spec_of(policy_spec("range", 1)))
    assert plan.variables == {"i": "int64", "x": "float64[1,left]@other"}
    key, told = plan.cache
    assert told == "miss: first time this kernel is seen"
    assert cache_of(other) == (key, f"hit in this process; last {told}")
    assert cache_of(OtherSpace(0)) == (key, f"hit on disk; last {told}")
    other.arch = "gfx1"
    _, told = cache_of(other)
    assert told.startswith("miss: space, compiler, flags or device changed: ")
    assert "'device' changed from gfx0 to gfx1" in told


def over_lanes(team, x):
    for i in es.ThreadVectorRange(team, 8):
        x[i] = 1.0


def teams_of(space):
    policy = policy_spec("team", 1, team_size=4, vector_length=64)
    return space.compile(es.Kernel(over_lanes), spec_of(policy)).device_launch.teams


def test_teams_have_the_lanes_of_the_dialect_and_no_barrier_that_it_lacks(other, driver):
    shape = teams_of(other).device.shape
    assert (shape.lanes, shape.side_by_side) == (64, 1)
    # The kernel may have all that there is, less what it has of its own.
    assert driver == [(len("es_for"), 8, 64 * 1024 - 10)]


def test_shared_memory_that_is_always_there_is_not_asked_for(other, driver, monkeypatch):
    monkeypatch.setattr(OtherSpace, "shared_always", 64 * 1024)
    teams_of(other)
    assert driver == []


# -- occupancy ------------------------------------------------------------------------------------

ALL_SHARED = 100 * 1024


@pytest.fixture
def limited(other, driver, monkeypatch):
    """A driver that counts blocks by their shared memory, of which each takes 1 KiB more; a kernel
    has 10 bytes of its own, and 8 blocks of 128 threads fit anyhow."""
    monkeypatch.setitem(ATTRIBUTES, "MaxSharedMemoryPerMultiprocessor", ALL_SHARED)

    def at_once(function, threads, shared):
        return min(1024 // threads, ALL_SHARED // (10 + shared + 1024))

    calls = program.driver
    monkeypatch.setattr(calls, "occupancyMaxActiveBlocksPerMultiprocessor", at_once)
    return at_once


def occupied(space, percent, **options):
    policy = policy_spec("range", 1, occupancy=percent, **options)
    return space.compile(es.Kernel(fill), spec_of(policy))


@pytest.mark.parametrize(("percent", "blocks"), [(1, 1), (12, 1), (25, 2), (50, 4), (90, 7)])
def test_blocks_ask_for_memory_until_no_more_fit(other, limited, driver, percent, blocks):
    plan = occupied(other, percent, launch_bounds=128)
    x = view_in(other.memory)
    name = len("es_for")
    plan.launch((0, 8), (x,))
    *_, call = driver
    nbytes = call[7]
    assert call == (name, 1, 1, 1, 128, 1, 1, nbytes, 0)
    assert limited(name, 128, nbytes) == blocks < limited(name, 128, nbytes - 1)
    share = -(-100 * blocks * (nbytes + 10 + 1024) // ALL_SHARED)
    # A block may have more than without asking; what is for shared memory is not for the cache.
    assert driver[:-1] == [(name, 8, 64 * 1024 - 10), (name, 9, -1), (name, 9, share)]
    del driver[:]
    plan.launch((0, 8), (x,))
    assert driver == [call]  # nothing is asked again
    (line,) = (text for text in plan.mapping((0, 8)) if text.startswith("occupancy="))
    some = "1 block" if blocks == 1 else f"{blocks} blocks"
    assert line == (
        f"occupancy={percent}: blocks ask for {nbytes} bytes of shared memory that they do not "
        f"use, so that a multiprocessor runs {some} of 128 threads at once in place of 8, "
        f"{100 * blocks * 128 // 1024} % of the threads that it keeps"
    )
    assert plan.resource_usage["es_for"]["occupancy"] == 100 * blocks * 128 // 1024
    assert driver == [call]


def test_blocks_ask_for_nothing_where_no_more_fit_anyhow(other, limited, driver):
    plan = occupied(other, 100, launch_bounds=128)
    plan.launch((0, 8), (view_in(other.memory),))
    assert driver[-1][7] == 0
    (line,) = (text for text in plan.mapping((0, 8)) if text.startswith("occupancy="))
    assert line == (
        "occupancy=100: no effect, for a multiprocessor runs 8 blocks of 128 threads at once at "
        "most, 100 % of the threads that it keeps"
    )


def test_launches_without_an_occupancy_are_as_they_were(other, limited, driver):
    occupied(other, 25)
    plain = other.compile(es.Kernel(fill), spec_of(policy_spec("range", 1)))
    del driver[:]
    plain.launch((0, 8), (view_in(other.memory),))
    assert driver == [(len("es_for"), 1, 1, 1, plain.device_launch.group, 1, 1, 0, 0)]
    assert "limits_of_blocks" not in plain.device_launch.call_builder().source()
    assert not [text for text in plain.mapping((0, 8)) if text.startswith("occupancy=")]


def test_each_shape_of_blocks_has_its_own_limit(other, limited, driver):
    """Blocks of a tile are as large as it is."""
    policy = policy_spec("mdrange", 1, tiled=True, occupancy=50)
    plan = other.compile(es.Kernel(fill), spec_of(policy))
    for threads in (32, 128, 512):
        plan.launch((0, 8192, threads), (view_in(other.memory),))
        asked = driver[-1]
        assert asked[4:7] == (threads, 1, 1)
        assert limited(0, threads, asked[7]) == 512 // threads


def with_scratch(team, x, n):
    at = team.scratch(n)
    at[team.team_rank] = x[team.league_rank]


def test_scratch_memory_of_teams_counts(other, limited, driver):
    policy = policy_spec("team", 1, team_size=128, occupancy=50, chunk_size=1)
    types = (*spec_of(policy).arguments, es.ScalarType("int64", True))
    plan = other.compile(es.Kernel(with_scratch), es.LaunchSpec("for", policy, types))
    least = None
    for n in (1, 7000, 1):
        plan.launch((0, 4), (view_in(other.memory), n))
        asked = driver[-1][7]
        least = least or asked
        assert asked == max(8 * n + -8 * n % 16, least)
    assert limited(0, 128, least) == 4


# -- what calls cost ------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "threads"), [("light", 512), ("heavy", 64)])
def test_blocks_by_what_calls_cost(other, word, threads):
    """Whatever the kernel does by itself."""
    plan = other.compile(es.Kernel(fill), spec_of(policy_spec("range", 1, work_items=word)))
    assert plan.device_launch.group == threads
    told = [text for text in plan.mapping((0, 8)) if text.startswith("work_items=")]
    size = "larger" if word == "light" else "smaller"
    assert told == [f"work_items='{word}': asks for {size} blocks; they have {threads} threads"]


def around(i, j, x, y):
    x[i, j] = y[i, j] + y[i + 1, j] + y[i + 2, j]


@pytest.mark.parametrize(("word", "threads"), [("light", 512), ("", 256), ("heavy", 128)])
def test_blocks_of_several_dimensions(other, monkeypatch, word, threads):
    tiles = es.TileTable("other", {"stencil": {2: (64, 4)}})
    monkeypatch.setattr(OtherSpace, "tiles", tiles)
    view = es.ViewType("float64", 2, "right", 1, False, "other")
    policy = policy_spec("mdrange", 2, work_items=word)
    plan = other.compile(es.Kernel(around), es.LaunchSpec("for", policy, (view, view)))
    shapes = plan.device_launch.sources.shapes
    key = shapes.key_of((0, 0, 4096, 4096))
    assert shapes.block(key) == (threads // 64, 64)
    assert plan.device_launch.group == threads  # so that the usual text serves
