"""Kokkos' spaces, mirrors and copies, fences, graphs and settings."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading

import numpy as np

import execspace as es
from execspace.base.local_ranks import LocalRank
from execspace.plugins.rank_devices import choice_among
from parity.table import absent, raises, row

SPACES, COPIES = "2.1 Spaces", "2.2 Mirrors, copies"
FENCES, SETTINGS = "2.3 Fences, Graph", "2.4 initialize, settings"
OTHERS = "`Threads`, `HPX`, `OpenACC`, `OpenMPTarget`"


def output_of(program: str, **environment: str) -> list[str]:
    """The lines that a program prints in a process of its own, with these variables."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("EXECSPACE_", "OMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", "import execspace as es\n" + program],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def runs_on(name: str) -> bool:
    """Whether a space sums 0 to 99, if it can be used here."""
    (listed,) = (info for info in es.spaces() if info.name == name)
    if not listed.usable:
        assert listed.reason  # which says why
        return False
    assert es.parallel_reduce(es.RangePolicy(100, space=name), lambda i: i) == 4950
    return True


@row(SPACES, "Serial", 'policy = es.RangePolicy(100, space="serial")')
def serial(space: es.ExecutionSpace) -> None:
    policy = es.RangePolicy(100, space="serial")
    assert es.parallel_reduce(policy, lambda i: i) == 4950
    assert es.space("serial").concurrency == 1


@row(SPACES, "OpenMP", 'policy = es.RangePolicy(100, space="openmp")')
def openmp(space: es.ExecutionSpace) -> None:
    policy = es.RangePolicy(100, space="openmp")
    assert es.parallel_reduce(policy, lambda i: i) == 4950
    assert es.space("openmp").concurrency >= 1


absent(SPACES, "Threads", OTHERS)
absent(SPACES, "HPX", OTHERS)


@row(SPACES, "Cuda", 'policy = es.RangePolicy(100, space="cuda")', only="cuda")
def cuda(space: es.ExecutionSpace) -> None:
    policy = es.RangePolicy(100, space="cuda")
    assert es.parallel_reduce(policy, lambda i: i) == 4950


@row(
    SPACES,
    "HIP",
    'policy = es.RangePolicy(100, space="hip")',
    there="part",
    reason="`HIP` on an AMD GPU",
    only="hip",
)
def hip(space: es.ExecutionSpace) -> None:
    policy = es.RangePolicy(100, space="hip")
    assert es.parallel_reduce(policy, lambda i: i) == 4950


@row(
    SPACES, "SYCL (OpenCL plays it)", 'policy = es.RangePolicy(100, space="opencl")', only="opencl"
)
def opencl(space: es.ExecutionSpace) -> None:
    policy = es.RangePolicy(100, space="opencl")
    assert es.parallel_reduce(policy, lambda i: i) == 4950


absent(SPACES, "OpenACC/OpenMPTarget", OTHERS)


@row(SPACES, "Memory spaces", "on_host = es.View(3, memory=es.HOST)")
def memory_spaces(space: es.ExecutionSpace) -> None:
    x = es.View(3)
    assert x.memory_space is space.memory_space and x.memory_space in space.memory_spaces
    on_host = es.View(3, memory=es.HOST)
    on_host[0] = 2.0
    es.deep_copy(x, on_host)
    assert x.to_numpy().tolist() == [2.0, 0.0, 0.0]


@row(
    SPACES,
    "SharedSpace, SharedHostPinnedSpace",
    'x = es.View(10, memory="shared")',
)
def shared_space(space: es.ExecutionSpace) -> None:
    kinds = set().union(*(memory.kinds for memory in space.memory_spaces))
    if "shared" not in kinds:  # has_shared_space is false
        with raises(es.SpaceError):
            es.View(10, memory="shared")
        return
    x = es.View(10, memory="shared")
    for i in range(10):
        x[i] = i
    es.parallel_for(10, double, x)
    es.fence()
    assert [x[i] for i in range(10)] == [2 * i for i in range(10)]
    if "pinned" in kinds:
        pinned = es.View(2, memory="pinned")
        pinned[1] = 3.0
        es.deep_copy(x[:2], pinned)
        es.fence()
        assert x[1] == 3.0


def double(i, x):
    x[i] *= 2


@row(SPACES, "Accessibility", "if x.memory_space.reachable_from(host):")
def accessibility(space: es.ExecutionSpace) -> None:
    x, host = es.View(10), es.space("serial")
    assert x.memory_space.reachable_from(space)
    if x.memory_space.reachable_from(host):
        es.parallel_for(es.RangePolicy(10, space=host), double, x)
    else:
        with raises(es.SpaceAccessError, match="View"):
            es.parallel_for(es.RangePolicy(10, space=host), double, x)


@row(SPACES, "Device<Exec,Mem>", 'x = es.View(3, memory="device")')
def device(space: es.ExecutionSpace) -> None:
    x = es.View(3, memory="device")
    assert x.space is space and "device" in x.memory_space.kinds


@row(SPACES, "MemorySpace API", 'taken = memory.allocate(64, "scratch", True)')
def memory_space_members(space: es.ExecutionSpace) -> None:
    memory = space.memory_space
    taken = memory.allocate(64, "scratch", True)
    assert memory.name and taken.nbytes == 64 and taken.label == "scratch"
    assert memory.reachable_from(space) and memory.reaches(es.HOST)


@row(SPACES, "ExecutionSpace API", "es.print_configuration(file)")
def execution_space_members(space: es.ExecutionSpace) -> None:
    assert space.concurrency >= 1 and space.name == es.space(space.name).name
    space.fence("all is done")
    file = io.StringIO()
    es.print_configuration(file)
    assert space.name in file.getvalue()


@row(SPACES, "Concepts", "assert isinstance(space, es.ExecutionSpace)")
def concepts(space: es.ExecutionSpace) -> None:
    assert isinstance(space, es.ExecutionSpace)
    assert isinstance(space, es.SupportsTeams)
    assert isinstance(space.memory_space, es.MemorySpace)
    with raises(TypeError, match="abstract"):
        es.ExecutionSpace()


@row(SPACES, "Instances", "queue = space.instance()")
def instances(space: es.ExecutionSpace) -> None:
    queue = space.instance()
    x = es.View(10, space=queue)
    es.deep_copy(x, 1.0, instance=queue)
    es.parallel_for(es.RangePolicy(10, space=queue), double, x)
    queue.fence()
    assert x.to_numpy().tolist() == [2.0] * 10


@row(SPACES, "Multi-GPU", 'with es.use_space(f"opencl:{p}.1"):')
def multi_gpu(space: es.ExecutionSpace) -> None:
    """Two devices of a platform, here of PoCL, which other platforms may stand before."""
    if not runs_on("opencl"):
        return
    program = """
for p in range(8):
    try:
        es.space(f"opencl:{p}.1")
        break
    except es.SpaceError:
        pass
first = es.array([1.0, 2.0], space=f"opencl:{p}.0")
with es.use_space(f"opencl:{p}.1"):
    second = es.zeros(2)
    es.deep_copy(second, first)
    print(es.parallel_reduce(2, lambda i: second[i]))
"""
    assert output_of(program, POCL_DEVICES="basic basic") == ["3.0"]


@row(SPACES, "partition_space", "parts = es.partition_space(space, 2)")
def partition_space(space: es.ExecutionSpace) -> None:
    """Of Kokkos' exercise `instances`."""
    if space.concurrency == 1 and space.name == "openmp":
        with raises(es.SpaceError):
            es.partition_space(space, 2)
        return
    parts = es.partition_space(space, 2)
    sums = [0.0, 0.0]

    def work(k: int) -> None:
        x = es.View(1000, space=parts[k])
        es.deep_copy(x, float(k + 1), instance=parts[k])
        es.parallel_for(es.RangePolicy(1000, space=parts[k]), double, x)
        policy = es.RangePolicy(1000, space=parts[k])
        sums[k] = es.parallel_reduce(policy, lambda i, x: x[i], x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [2000.0, 4000.0]


@row(SPACES, "Native handles", "handle = space.queue.handle.int_ptr")
def native_handles(space: es.ExecutionSpace) -> None:
    x = es.View(4)
    assert x.data_ptr != 0
    if space.name.startswith("opencl"):
        handle = space.queue.handle.int_ptr  # a cl_command_queue
    elif space.name.startswith(("cuda", "hip")):
        handle = space.stream
    else:
        handle = threading.get_native_id()  # hosts have threads of the system
    assert isinstance(handle, int)


@row(COPIES, "create_mirror", "h = es.create_mirror(x)")
def create_mirror(space: es.ExecutionSpace) -> None:
    for rank in range(9):
        x = es.View((2,) * rank)
        h = es.create_mirror(x)
        assert h is not x and h.shape == x.shape and h.layout == x.layout
        assert h.memory_space.host_accessible


@row(COPIES, "create_mirror_view", "h = es.create_mirror_view(x)")
def create_mirror_view(space: es.ExecutionSpace) -> None:
    x = es.View((3, 4))
    h = es.create_mirror_view(x)
    assert (h is x) == x.memory_space.host_accessible
    h[1, 2] = 5.0
    es.deep_copy(x, h)
    assert x.to_numpy()[1, 2] == 5.0


@row(COPIES, "create_mirror_view_and_copy", "d = es.create_mirror_view_and_copy(space, a)")
def create_mirror_view_and_copy(space: es.ExecutionSpace) -> None:
    a = np.arange(12.0).reshape(3, 4)
    d = es.create_mirror_view_and_copy(space, a)
    assert d.memory_space.reachable_from(space)
    assert (np.asarray(es.create_mirror_view_and_copy(es.HOST, d)) == a).all()


@row(COPIES, "deep_copy views", "es.deep_copy(y, x)")
def deep_copy_views(space: es.ExecutionSpace) -> None:
    for rank in range(9):
        a = np.arange(2.0**rank).reshape((2,) * rank)
        x, y = es.array(a), es.View((2,) * rank)
        es.deep_copy(y, x)
        assert (y.to_numpy() == a).all()


@row(COPIES, "deep_copy scalar", "es.deep_copy(x, 1.5)")
def deep_copy_scalar(space: es.ExecutionSpace) -> None:
    x, n = es.View((3, 4)), es.View((), es.int64)
    es.deep_copy(x, 1.5)
    es.deep_copy(n, 7)
    assert (x.to_numpy() == 1.5).all() and n.item() == 7


@row(COPIES, "deep_copy on an instance", "es.deep_copy(x, 2.5, instance=queue)")
def deep_copy_on_an_instance(space: es.ExecutionSpace) -> None:
    queue = space.instance()
    x = es.View(100, space=queue)
    es.deep_copy(x, 2.5, instance=queue)
    es.parallel_for(es.RangePolicy(100, space=queue), double, x)
    queue.fence()
    assert (x.to_numpy() == 5.0).all()


@row(COPIES, "subviews / other layouts", "es.deep_copy(left[1:3, ::2], right[:2, 1:3])")
def deep_copy_of_parts(space: es.ExecutionSpace) -> None:
    a = np.arange(20.0).reshape(4, 5)
    right = es.array(a, layout="right")
    left = es.View((4, 4), layout="left")
    es.deep_copy(left[1:3, ::2], right[:2, 1:3])
    expected = np.zeros((4, 4))
    expected[1:3, ::2] = a[:2, 1:3]
    assert (left.to_numpy() == expected).all()


@row(COPIES, "same view no-op, overlap raises", "es.deep_copy(x, x)")
def deep_copy_of_overlapping_parts(space: es.ExecutionSpace) -> None:
    x = es.array(np.arange(5.0))
    es.deep_copy(x, x)
    with raises(es.ViewError, match="overlap"):
        es.deep_copy(x[1:], x[:-1])
    assert x.to_numpy().tolist() == [0, 1, 2, 3, 4]


@row(COPIES, "idiom", "es.deep_copy(h, d)")
def mirror_idiom(space: es.ExecutionSpace) -> None:
    d = es.View(100, label="d")
    h = es.create_mirror_view(d)
    for i in range(100):
        h[i] = i
    es.deep_copy(d, h)
    es.parallel_for(100, double, d)
    es.deep_copy(h, d)
    assert [h[i] for i in range(100)] == [2 * i for i in range(100)]


@row(COPIES, "value conversion", 'es.deep_copy(narrow, wide, casting="unsafe")')
def value_conversion(space: es.ExecutionSpace) -> None:
    """What loses the kind of a number is asked for."""
    narrow = es.array(np.array([1, -2, 3], np.int32))
    wide = es.View(3, es.float64)
    es.deep_copy(wide, narrow)
    assert wide.to_numpy().tolist() == [1.0, -2.0, 3.0]
    es.deep_copy(wide, 2.75)
    with raises(es.DTypeError, match="kind"):
        es.deep_copy(narrow, wide)
    es.deep_copy(narrow, wide, casting="unsafe")
    assert narrow.to_numpy().tolist() == [2, 2, 2]


@row(FENCES, "fence(label)", 'es.fence("after the step")')
def fence(space: es.ExecutionSpace) -> None:
    labels: list[str] = []

    class Fences(es.profiling.Tool):
        def on_fence_begin(self, label: str) -> None:
            labels.append(label)

    x = es.View(10)
    with es.profile(Fences()):
        es.parallel_for(10, double, x)
        es.fence("after the step")
    assert "after the step" in labels


@row(FENCES, "exec.fence(label)", 'space.fence("this space")')
def fence_of_a_space(space: es.ExecutionSpace) -> None:
    seen: list[tuple[str, str]] = []

    class Fences(es.profiling.Tool):
        def on_fence_begin(self, label: str, space: str) -> None:
            seen.append((label, space))

    with es.profile(Fences()):
        space.fence("this space")
    assert ("this space", space.name) in seen


@row(FENCES, "implicit fences documented", "h = x.to_numpy()  # waits")
def implicit_fences(space: es.ExecutionSpace) -> None:
    n = 100_000
    x = es.full(n, 1.0)
    for _ in range(5):
        es.parallel_for(n, double, x)
    h = x.to_numpy()  # waits
    assert (h == 32.0).all()
    assert es.parallel_reduce(n, lambda i, x: x[i], x) == 3_200_000.0  # waits


@row(FENCES, "Graph", "es.when_all(left, right).then(100, add, a, b, c)")
def graph(space: es.ExecutionSpace) -> None:
    """Kokkos' diamond: two nodes that depend on nothing of each other, and one after both."""

    def scale(i, s, x):
        x[i] *= s

    def add(i, a, b, c):
        c[i] = a[i] + b[i]

    a, b, c = (es.full(100, v) for v in (1.0, 2.0, 0.0))
    total = es.View(())
    graph = es.Graph(space)
    left, right = graph.then(100, scale, 2.0, a), graph.then(100, scale, 3.0, b)
    end = es.when_all(left, right).then(100, add, a, b, c)
    end.then_reduce(100, lambda i, c: c[i], c, out=total)
    ready = graph.instantiate()
    for expected in (8.0, 22.0, 62.0):
        ready.submit()
        assert total.item() == 100 * expected


@row(SETTINGS, "initialize/finalize/ScopeGuard", 'es.initialize(default="serial", num_threads=2)')
def initialize(space: es.ExecutionSpace) -> None:
    program = """
es.initialize(default="serial", num_threads=2)
print(es.default_space().name, es.space("openmp").concurrency)
"""
    assert output_of(program) == ["serial 2"]


@row(SETTINGS, "finalize hooks", "atexit.register(lambda: print(x.to_numpy()))")
def finalize_hooks(space: es.ExecutionSpace) -> None:
    """Of Kokkos push_finalize_hook; nothing has to be finalised before."""
    program = """
import atexit
x = es.ones(2, space="serial")
atexit.register(lambda: print(x.to_numpy()))
print("end of the program")
"""
    assert output_of(program) == ["end of the program", "[1. 1.]"]


@row(SETTINGS, "InitializationSettings", "es.initialize(settings)")
def initialization_settings(space: es.ExecutionSpace) -> None:
    """As Kokkos' unit test, each setting is unset until it is set."""
    empty = es.InitializationSettings()
    assert empty.num_threads is None and empty.environment() == {}
    settings = es.InitializationSettings(num_threads=255)
    assert settings.num_threads == 255
    assert settings.environment() == {"EXECSPACE_NUM_THREADS": "255"}
    es.parallel_for(1, lambda i: None)
    with raises(es.ConfigError, match="started already"):
        es.initialize(settings)


@row(
    SETTINGS,
    "precedence",
    'es.parallel_for(es.RangePolicy(3, space=space), lambda i: None, label="named")',
)
def precedence(space: es.ExecutionSpace) -> None:
    assert es.default_space() is space
    with es.use_space("oracle"), es.profile("kernel-timer") as found:
        assert es.default_space().name == "oracle"
        es.parallel_for(es.RangePolicy(3, space=space), lambda i: None, label="named")
    (launch,) = found["kernel-timer"].records()
    assert (launch.label, launch.space) == ("named", space.name)
    program = 'es.initialize(default="serial"); print(es.default_space().name)'
    assert output_of(program, EXECSPACE_DEFAULT="openmp") == ["openmp"]  # the user's word wins


@row(
    SETTINGS,
    "num_devices, device_id, num_threads",
    'output_of(program, EXECSPACE_NUM_THREADS="3", EXECSPACE_DEFAULT="openmp")',
)
def numbers(space: es.ExecutionSpace) -> None:
    program = "print(es.default_space().name, es.default_space().concurrency)"
    told = output_of(program, EXECSPACE_NUM_THREADS="3", EXECSPACE_DEFAULT="openmp")
    assert told == ["openmp 3"]
    assert es.space(space.name) is space  # "cuda:1" names device 1


absent(SETTINGS, "IF_ON_HOST/DEVICE", "`KOKKOS_IF_ON_HOST`")


@row(SETTINGS, "map_device_id_by mpi_rank", 'OMPI_COMM_WORLD_LOCAL_SIZE="2"')
def map_device_id_by(space: es.ExecutionSpace) -> None:
    """Ranks of a host take its devices in turn, and share its cores."""
    devices = ["0", "1", "2", "3"]
    taken = [choice_among("cuda", devices, LocalRank(k, 6)).name for k in range(6)]
    assert taken == ["cuda", "cuda:1", "cuda:2", "cuda:3", "cuda", "cuda:1"]
    program = "print(es.space('openmp').concurrency)"
    whole = output_of(program)
    half = output_of(program, OMPI_COMM_WORLD_LOCAL_RANK="0", OMPI_COMM_WORLD_LOCAL_SIZE="2")
    assert int(half[0]) == max(1, int(whole[0]) // 2)


@row(SETTINGS, "visible devices", 'EXECSPACE_DEFAULT="cuda:63,serial"')
def visible_devices(space: es.ExecutionSpace) -> None:
    """Drivers hide devices by CUDA_VISIBLE_DEVICES and POCL_DEVICES; a list takes the first."""
    program = "print(es.default_space().name)"
    assert output_of(program, EXECSPACE_DEFAULT="cuda:63,serial") == ["serial"]
    program = "print(*sorted(info.name for info in es.spaces()))"
    assert output_of(program, EXECSPACE_PLUGINS="serial") == ["oracle serial"]
