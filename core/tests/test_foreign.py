"""Arrays of other libraries that are in a device's memory: which space they reach, and how.

The device is pretended: its arrays speak DLPack, keep their numbers on the host and refuse to show
them there.
"""

import gc
import weakref

import numpy as np
import pytest

import execspace as es
from execspace.contract import layout
from execspace.plugins import registry as plugins

GPU = 2  # as DLPack counts kinds of devices


class Array:
    """An array of another library, in memory of a GPU."""

    def __init__(self, values, number=0):
        self.values = np.asarray(values, float)
        self.number = number

    def __dlpack_device__(self):
        return GPU, self.number

    def __dlpack__(self, **options):
        raise BufferError("the array is on a GPU")


class Memory(es.MemorySpace):
    """Memory of a device, of which this test sees what copies do."""

    def __init__(self, name):
        self.name = name

    def allocate(self, nbytes, label, initialize):
        raise AssertionError("nothing is allocated here: no hidden copy is made")

    def copy(self, dst, src, instance):
        owner = src.allocation.owner
        np.asarray(dst)[...] = owner.values

    def fill(self, dst, value, instance):
        dst.allocation.owner.values[...] = value


class Plan(es.Plan):
    """Notes how it is launched, and stores into its first View as a kernel would."""

    def __init__(self, space, spec):
        self.space, self.spec = space, spec

    def launch(self, bounds, args):
        space = self.space
        space.launches.append((self.spec.pattern, [getattr(a, "label", a) for a in args]))
        for a in args:
            if isinstance(a, es.View):
                a.allocation.owner.values += 1
        return 0


class LabelledPlan(Plan):
    """As a space does whose kernels may fault later."""

    def launch_as(self, label, bounds, args):
        self.space.labels.append(label)
        return self.launch(bounds, args)


class Device(es.ExecutionSpace):
    """A space that wraps arrays of other libraries."""

    plan = Plan

    memory_space = None

    def __init__(self, name, device=None):
        self.name = name if device is None else f"{name}:{device}"
        self.memory_space = Memory(self.name)
        self.launches, self.labels = [], []

    def view_of(self, source, label):
        values = source.values
        allocation = es.Allocation(
            values.ctypes.data, values.nbytes, label, self.memory_space, source, managed=False
        )
        strides = tuple(s // 8 for s in values.strides)
        made = allocation, allocation.pointer, values.dtype, values.shape, strides
        return es.View._over(*made, layout.classify(values.shape, strides), False, self, None)

    def compile(self, kernel, spec):
        return self.plan(self, spec)

    def synchronize(self, label=""):
        pass


class Labelled(Device):
    plan = LabelledPlan


def claimed_by(name):
    """What a space `name` claims: all GPU arrays, those of device 0 as `name` itself."""

    def claims(source):
        kind, number = source.__dlpack_device__()
        return None if kind != GPU else name if number == 0 else f"{name}:{number}"

    return claims


@pytest.fixture
def announce():
    """``announce(name, priority=0, ...)`` registers a space as a plugin does."""

    def register(name, make=Device, **fields):
        fields = {"claims": claimed_by(name), **fields}
        entry = es.SpaceEntry(name, lambda device: make(name, device), es.API_VERSION, **fields)
        plugins.registry().add(plugins.PluginInfo(name, f"execspace-{name}", "1.0"), [entry])

    return register


@pytest.fixture
def gpu(announce):
    announce("gpu")
    return es.space("gpu")


@es.kernel
def fill(i, x, value):
    x[i] = value


# -- where arrays get to --------------------------------------------------------------------------


def test_view_of_gives_the_array_to_the_space_that_claims_it(gpu):
    array = Array([1, 2, 3])
    A = es.view_of(array, label="A")
    assert (A.label, A.shape, A.space) == ("A", (3,), gpu)
    assert A.memory_space is gpu.memory_space
    assert A.data_ptr == array.values.ctypes.data
    gone = weakref.ref(array)
    del array
    gc.collect()
    assert gone() is not None  # the View keeps it alive
    del A
    gc.collect()
    assert gone() is None


def test_an_array_is_an_argument(gpu):
    array = Array([1, 2, 3])
    es.parallel_for(es.RangePolicy(3, space="gpu"), fill, array, 2.0)
    assert gpu.launches == [("for", ["argument 0 of fill", 2.0])]
    assert array.values.tolist() == [2, 3, 4]


def test_an_array_is_a_captured_variable(gpu):
    array = Array([1, 2, 3])
    es.parallel_reduce(es.RangePolicy(3, space=gpu), lambda i: array[i])
    assert gpu.launches == [("reduce", ["array"])]
    assert array.values.tolist() == [2, 3, 4]
    array = Array([5])  # read again at each launch
    es.parallel_reduce(es.RangePolicy(1, space=gpu), lambda i: array[i])
    assert array.values.tolist() == [6]


def test_a_launch_that_names_no_space_runs_where_its_arrays_are(announce, gpu):
    announce("host", claims=lambda source: None, priority=10)
    assert es.default_space().name == "host"
    es.parallel_for(1, fill, Array([0]), 1.0)
    assert len(gpu.launches) == 1
    with es.use_space("host"), pytest.raises(es.SpaceAccessError, match="'host' cannot reach"):
        es.parallel_for(1, fill, Array([0]), 1.0)


def test_an_array_is_copied_only_where_deep_copy_is_asked_to(gpu):
    result = np.zeros(2)
    es.deep_copy(result, Array([4, 5]))
    assert result.tolist() == [4, 5]


def test_another_device_of_the_same_entry(gpu):
    A = es.view_of(Array([1], number=3))
    assert A.space is es.space("gpu:3")
    assert A.memory_space.name == "gpu:3"


def test_arrays_of_the_host_are_claimed_by_no_one(gpu):
    class OnHost(Array):
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

    assert es.view_of(OnHost([1, 2])).memory_space is es.HOST


def test_numpy_arrays_and_views_are_not_asked_about(announce):
    def claims(source):
        raise AssertionError("asked")

    announce("gpu", claims=claims)
    A = es.view_of(np.zeros(2))
    assert es.view_of(A) is A
    assert es.view_of(b"abc").is_readonly  # nor is what has no protocol of arrays


def test_a_space_is_started_when_an_array_of_it_comes(announce):
    started = []

    def make(name, device):
        started.append((name, device))
        return Device(name, device)

    announce("gpu", make)
    announce("idle", make, claims=lambda source: None)
    assert started == []
    arrays = [Array([1]), Array([2])]
    assert es.view_of(arrays[0]).space is es.view_of(arrays[1]).space
    assert started == [("gpu", None)]


# -- several spaces on one device -----------------------------------------------------------------


def test_of_two_spaces_the_one_of_higher_priority_gets_an_array(announce):
    announce("low", priority=5)
    announce("high", priority=7)
    announce("middle", priority=6)
    assert es.view_of(Array([1])).space.name == "high"


def test_of_two_spaces_the_one_in_use_gets_an_array(announce):
    announce("low", priority=5)
    announce("high", priority=7)
    with es.use_space("low") as low:
        assert es.view_of(Array([1])).space is low
        es.parallel_for(1, fill, Array([1]), 1.0)
        assert len(low.launches) == 1
    with es.use_space(Device("elsewhere")):  # which claims nothing
        assert es.view_of(Array([1])).space.name == "high"


# -- what cannot be -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda array: es.view_of(array),
        lambda array: es.parallel_for(1, fill, array, 1.0),
        lambda array: es.parallel_for(es.RangePolicy(1, space=Device("other")), fill, array, 1.0),
        lambda array: es.parallel_reduce(1, lambda i: array[i]),
    ],
    ids=["view_of", "argument", "argument elsewhere", "captured"],
)
def test_a_space_that_cannot_be_used_says_why(announce, use):
    announce("gpu", probe=lambda: es.Probe(False, "the driver is too old; upgrade it"))
    expected = "Space 'gpu' is not usable: the driver is too old; upgrade it"
    with pytest.raises(es.SpaceUnavailableError, match=expected):
        use(Array([1]))


def test_an_array_that_no_space_claims_needs_a_plugin(announce):
    announce("gpu", claims=lambda source: None)
    with pytest.raises(TypeError, match="arrays of a device need the plugin of a space that runs"):
        es.view_of(Array([1]))


def test_claims_must_be_a_function(announce):
    with pytest.raises(es.PluginError, match="a function of an array that returns a name of the"):
        announce("gpu", claims="gpu")


# -- labels ---------------------------------------------------------------------------------------


def everything(space, **options):
    """A launch of each pattern."""
    policy = es.RangePolicy(1, space=space)
    es.parallel_for(policy, fill, Array([1]), 1.0, **options)
    es.parallel_reduce(policy, lambda i, x: x[i], Array([1]), **options)
    es.parallel_scan(policy, lambda i, prefix, final, x: x[i], Array([1]), **options)


def test_plans_that_take_labels_get_those_of_launches(announce):
    announce("gpu", Labelled)
    space = es.space("gpu")
    everything(space)  # without a label `launch` is called
    assert space.labels == []
    everything(space, label="step 1")
    assert space.labels == ["step 1"] * 3
    assert [pattern for pattern, _ in space.launches] == ["for", "reduce", "scan"] * 2


def test_other_plans_are_launched_all_the_same(gpu):
    everything(gpu, label="step 1")
    assert [pattern for pattern, _ in gpu.launches] == ["for", "reduce", "scan"]


def test_tools_see_the_label_that_the_plan_gets(announce, events):
    announce("gpu", Labelled)
    space = es.space("gpu")
    everything(space, label="step 1")
    everything(space)
    begun = [args[2] for name, args in events if name == "on_kernel_begin"]
    assert begun == space.labels
    assert begun[:4] == ["step 1", "step 1", "step 1", "fill"]


def test_only_spaces_that_wrap_arrays_are_wraps_arrays(gpu, plain):
    assert isinstance(gpu, es.WrapsArrays)
    assert not isinstance(plain, es.WrapsArrays)
