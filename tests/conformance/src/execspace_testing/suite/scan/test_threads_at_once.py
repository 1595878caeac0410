"""Many threads of a program launch at once: each gets its own results, whatever the others do.

What a launch reads and keeps (plans, tests of launches, memory of Views, frames, parts) belongs to
one thread at a time. On an interpreter without the GIL these tests are the ones that would notice.
"""

import numpy as np

import execspace as es
from execspace_testing import staged
from execspace_testing.at_once import THREADS, at_once
from execspace_testing.sizes import fitting, interpreted, needs_host_arrays


def rounds(space, number=30):
    """How often each thread launches."""
    return 3 if interpreted(space) else number


def add(i, x, s):
    x[i] += s


def product(i, x, y):
    return x[i] * y[i]


@es.kernel
def prefixes(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


def numbers_on(space, k, n):
    """Other numbers for each thread."""
    array = np.arange(n) * (k + 1) - k
    return array, staged.view_on(space, array, dtype=np.int64)


def test_first_launches_of_one_kernel(space):
    """All threads find no plan, and none launches half of one."""

    def kernel(i, x, s):
        x[i] = x[i] * 2 + s

    n = fitting(space, 1000, 100)

    def work(k):
        array, x = numbers_on(space, k, n)
        policy = es.RangePolicy(n, space=space)
        for _ in range(rounds(space)):
            es.parallel_for(policy, kernel, x, k)
            array = array * 2 + k & (1 << 20) - 1
            es.parallel_for(policy, low_bits, x)
        return (staged.fetch(x) == array).all()

    assert all(at_once(work))


def low_bits(i, x):
    x[i] &= 1048575


def test_kernels_that_capture_what_differs(space):
    """Threads share code and have plans of their own, for constants are part of a plan."""
    n = fitting(space, 200, 50)

    def made(k):
        def kernel(i, x):
            x[i] += k

        return kernel

    def work(k):
        array, x = numbers_on(space, k, n)
        kernel, policy = made(k), es.RangePolicy(n, space=space)
        for _ in range(rounds(space)):
            es.parallel_for(policy, kernel, x)
        return (staged.fetch(x) == array + k * rounds(space)).all()

    assert all(at_once(work))


def test_all_patterns(space):
    """Neighbours do something else at each moment, on ranges of one part and of several."""
    sizes = [fitting(space, size, 60) for size in (10, 3000, 70000)]

    def work(k):
        wrong = []
        for r in range(rounds(space)):
            n = sizes[(k + r) % 3]
            array, x = numbers_on(space, k, n)
            policy = es.RangePolicy(n, space=space)
            match (k + r) % 4:
                case 0:
                    es.parallel_for(policy, add, x, r)
                    right = (staged.fetch(x) == array + r).all()
                case 1:
                    right = es.parallel_reduce(policy, product, x, x) == (array * array).sum()
                case 2:
                    low, high = es.parallel_reduce(policy, itself, x, reducer=es.MinMax)
                    right = low == array.min() and high == array.max()
                case _:
                    y = es.View(n, np.int64, space=space)
                    total = es.parallel_scan(policy, prefixes, x, y)
                    before = array.cumsum() - array
                    right = total == array.sum() and (staged.fetch(y) == before).all()
            if not right:
                wrong.append((k, r))
        return wrong

    assert at_once(work) == [[]] * THREADS


def itself(i, x):
    return x[i]


def test_views_come_and_go(space):
    """Memory is given back and taken again by other threads, and parts of Views keep it alive."""
    n = fitting(space, 500, 40)

    def work(k):
        wrong = 0
        for r in range(rounds(space, 60)):
            x = es.View(n + r % 3, np.int64, space=space, label=f"{k}")
            es.deep_copy(x, k * 1000 + r)
            part = x[1 : n - 1]
            y = es.View(part.shape, np.int64, space=space)
            es.deep_copy(y, part)
            del x
            es.parallel_for(es.RangePolicy(n - 2, space=space), add, y, 1)
            wrong += not (staged.fetch(part) == k * 1000 + r).all()
            wrong += not (staged.fetch(y) == k * 1000 + r + 1).all()
        return wrong

    assert at_once(work) == [0] * THREADS


def test_arrays(space):
    needs_host_arrays(space)
    n = fitting(space, 500, 40)

    def work(k):
        x, y = np.full(n, k), np.arange(float(n + k))
        policy = es.RangePolicy(n, space=space)
        for _ in range(rounds(space)):
            es.parallel_for(policy, add, x, 1)
            es.parallel_for(policy, add, y[k:], 0.5)
        space.fence()
        more = rounds(space)
        shifted = np.arange(float(n + k)) + 0.5 * more * (np.arange(n + k) >= k)
        return (x == k + more).all() and (y == shifted).all()

    assert all(at_once(work))


def test_bound_launches_that_others_exchange(space):
    """A call has all of an exchange or nothing of it: the two sums belong together."""
    n = fitting(space, 100, 20)
    ones = np.ones(n, np.int64)
    pairs = [(staged.view_on(space, ones * k), staged.view_on(space, ones * -k)) for k in range(5)]

    def both(i, x, y):
        return x[i] + y[i]

    step = es.bind(es.RangePolicy(n, space=space), both, *pairs[0], reducer=es.Sum)

    def work(k):
        if k % 2:
            for r in range(rounds(space, 200)):
                x, y = pairs[(k + r) % 5]
                step.exchange(x=x, y=y)
            return set()
        return {step() for _ in range(rounds(space, 200))}

    assert set().union(*at_once(work)) == {0}
