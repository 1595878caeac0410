"""Pairs: the host, or another instance, uses elements while a launch may still be under way.

Hosts are done when a launch returns. A device goes on with whatever is there, so that only
the check can tell.
"""

import numpy as np
from twins import N, Pair, counted, double, element, seen, unfenced, unordered

import execspace as es


class ReadsSharedMemory(Pair):
    answer = 2.0
    races = True
    raises = unfenced("kernel 'double'")

    def portable(self):
        x = counted(memory="shared")
        es.parallel_for(N, double, x)
        es.fence()
        return float(x[1])

    def unportable(self):
        x = counted(memory="shared")
        es.parallel_for(N, double, x)
        return float(x[1])


class WritesSharedMemory(Pair):
    answer = (9.0, 2.0, 4.0, 6.0)
    races = True
    raises = unfenced("kernel 'step 1'")

    def portable(self):
        x = counted(memory="shared")
        es.parallel_for(N, double, x, label="step 1")
        es.fence()
        x[0] = 9.0
        return seen(x)

    def unportable(self):
        x = counted(memory="shared")
        es.parallel_for(N, double, x, label="step 1")
        x[0] = 9.0
        return seen(x)


class SumsSharedMemory(Pair):
    answer = 12.0
    races = True
    raises = unfenced("kernel 'double'")

    def portable(self):
        x = counted(memory="shared")
        es.parallel_for(N, double, x)
        es.default_space().fence()
        return float(np.sum(x))

    def unportable(self):
        x = counted(memory="shared")
        es.parallel_for(N, double, x)
        return float(np.sum(x))


class ReadsACapturedViewOfSharedMemory(Pair):
    answer = (5.0, 5.0, 5.0, 5.0)
    races = True
    raises = unfenced("kernel 'fill'")

    def portable(self):
        x = counted(memory="shared")

        def fill(i):
            x[i] = 5.0

        es.parallel_for(N, fill)
        es.fence()
        return [float(e) for e in x]

    def unportable(self):
        x = counted(memory="shared")

        def fill(i):
            x[i] = 5.0

        es.parallel_for(N, fill)
        return [float(e) for e in x]


class ReadsAResultInSharedMemory(Pair):
    answer = 6.0
    races = True
    raises = unfenced("kernel 'element'", "total")

    def portable(self):
        total = es.View((), label="total", memory="shared")
        es.parallel_reduce(N, element, counted(), out=total)
        es.fence()
        return float(total[()])

    def unportable(self):
        total = es.View((), label="total", memory="shared")
        es.parallel_reduce(N, element, counted(), out=total)
        return float(total[()])


class WritesWhatAReductionReads(Pair):
    """One that returns its value has waited for it."""

    answer = (9.0, 1.0, 2.0, 3.0)
    races = True
    raises = unfenced("kernel 'element'", does="read")

    def portable(self):
        x = counted(memory="shared")
        es.parallel_reduce(N, element, x)
        x[0] = 9.0
        return seen(x)

    def unportable(self):
        x = counted(memory="shared")
        es.parallel_reduce(N, element, x, out=es.View((), label="total"))
        x[0] = 9.0
        return seen(x)


class ReadsAMirrorOfACopyInOrder(Pair):
    answer = 3.0
    races = True
    raises = unfenced("deep_copy")

    def portable(self):
        x = counted()
        h = es.create_mirror(x)
        es.deep_copy(h, x, instance=es.default_space())
        es.default_space().fence()
        return float(h[3])

    def unportable(self):
        x = counted()
        h = es.create_mirror(x)
        es.deep_copy(h, x, instance=es.default_space())
        return float(h[3])


class StoresIntoAMirrorThatIsBeingCopied(Pair):
    answer = (0.0, 1.0, 2.0, 3.0)
    races = True
    raises = unfenced("deep_copy", does="read")

    def portable(self):
        x = es.View(N, label="x")
        h = es.create_mirror(x)
        es.deep_copy(h, np.arange(float(N)))
        es.deep_copy(x, h, instance=es.default_space())
        es.fence()
        h[0] = 9.0
        return seen(x)

    def unportable(self):
        x = es.View(N, label="x")
        h = es.create_mirror(x)
        es.deep_copy(h, np.arange(float(N)))
        es.deep_copy(x, h, instance=es.default_space())
        h[0] = 9.0
        return seen(x)


class LaunchesOnTwoInstances(Pair):
    answer = (0.0, 4.0, 8.0, 12.0)
    races = True
    raises = unordered("Kernel 'double': argument 0, View", "kernel 'double'")

    def portable(self):
        x, queue = counted(), es.default_space().instance()
        es.parallel_for(N, double, x)
        es.fence()
        es.parallel_for(es.RangePolicy(N, space=queue), double, x)
        return seen(x)

    def unportable(self):
        x, queue = counted(), es.default_space().instance()
        es.parallel_for(N, double, x)
        es.parallel_for(es.RangePolicy(N, space=queue), double, x)
        return seen(x)


class CopiesOnAnotherInstance(Pair):
    answer = (0.0, 2.0, 4.0, 6.0)
    races = True
    raises = unordered("deep_copy: source View", "kernel 'double'", comma="")

    def portable(self):
        x, y = counted(), es.View(N, label="y")
        es.parallel_for(N, double, x)
        es.deep_copy(y, x, instance=es.default_space())
        return seen(y)

    def unportable(self):
        x, y = counted(), es.View(N, label="y")
        es.parallel_for(N, double, x)
        es.deep_copy(y, x, instance=es.default_space().instance())
        return seen(y)


class SortsAndReadsSharedMemory(Pair):
    answer = 3.0
    races = True
    raises = unfenced("kernel 'sort'")

    def portable(self):
        x = counted(memory="shared")
        es.sort(x, descending=True)
        es.fence()
        return float(x[0])

    def unportable(self):
        x = counted(memory="shared")
        es.sort(x, descending=True)
        return float(x[0])
