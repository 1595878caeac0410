"""A compilation has room for its frames: Python maps no memory for each call in a recursion."""

import resource
import sys

import pytest
from execspace_compiler.host.frames import with_room


def test_a_function_with_room_is_called_as_it_is():
    @with_room
    def told(first, second=2, *more, third=3, **rest):
        """What it says."""
        return first, second, more, third, rest

    assert told(1) == (1, 2, (), 3, {})
    assert told(1, 5, 6, third=7, fourth=8) == (1, 5, (6,), 7, {"fourth": 8})
    assert (told.__name__, told.__doc__) == ("told", "What it says.")
    with pytest.raises(ZeroDivisionError):
        with_room(lambda: 1 // 0)()


def deep(levels, work):
    return work() if levels == 0 else deep(levels - 1, work)


def calls(times=1000):
    """Faults of pages in so many calls of functions with large frames."""

    def large():
        a = b = c = d = e = f = g = h = 0
        return a, b, c, d, e, f, g, h

    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(times):
        large()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or not hasattr(resource, "RUSAGE_THREAD"),
    reason="it is about CPython's frames, and about faults of a thread, which Linux counts",
)
def test_no_depth_maps_memory_for_each_call():
    faults = [deep(levels, calls) for levels in range(200)]
    assert max(with_room(deep)(levels, calls) for levels in range(200)) < 100
    if sys.version_info[:2] == (3, 11):  # so it would be found if the room were of no use
        assert max(faults) >= 1000
