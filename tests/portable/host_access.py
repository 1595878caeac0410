"""Pairs: the host touches elements of Views that it did not mirror, or forgets to copy a mirror."""

import numpy as np
from twins import N, Pair, counted, double, seen, unreadable, unwritable

import execspace as es


class ReadsAnElement(Pair):
    answer = 2.0
    raises = unreadable()

    def portable(self):
        x = counted()
        es.parallel_for(N, double, x)
        return float(x.to(es.HOST)[1])

    def unportable(self):
        x = counted()
        es.parallel_for(N, double, x)
        return float(x[1])


class StoresAnElement(Pair):
    answer = (10.0, 2.0, 4.0, 6.0)
    raises = unwritable()

    def portable(self):
        x = counted()
        h = x.to(es.HOST)
        h[0] = 5.0
        es.deep_copy(x, h)
        es.parallel_for(N, double, x)
        return seen(x)

    def unportable(self):
        x = counted()
        x[0] = 5.0
        es.parallel_for(N, double, x)
        return seen(x)


class StoresAnElementOfASlice(Pair):
    answer = (0.0, 1.0, 7.0, 3.0)
    raises = unwritable()

    def portable(self):
        x = counted()
        es.deep_copy(x[1:][1:2], 7.0)
        return seen(x)

    def unportable(self):
        x = counted()
        x[1:][1] = 7.0
        return seen(x)


class MakesAnArrayOfAView(Pair):
    answer = 3.0
    raises = unreadable()

    def portable(self):
        x = counted()
        return float(np.asarray(x.to(es.HOST)).max())

    def unportable(self):
        x = counted()
        return float(np.asarray(x).max())


class SumsWithNumPy(Pair):
    answer = 6.0
    raises = unreadable()

    def portable(self):
        x = counted()
        return float(np.sum(x.to(es.HOST)))

    def unportable(self):
        x = counted()
        return float(np.sum(x))


class Iterates(Pair):
    answer = (0.0, 1.0, 2.0, 3.0)
    raises = unreadable()

    def portable(self):
        x = counted()
        return [float(e) for e in x.to(es.HOST)]

    def unportable(self):
        x = counted()
        return [float(e) for e in x]


class ReadsAnElementOfARow(Pair):
    answer = (5.0, 5.0)
    raises = unreadable("A")

    def portable(self):
        A = es.View((2, N), label="A")
        es.deep_copy(A, 5.0)
        return [float(row[1]) for row in A.to(es.HOST)]

    def unportable(self):
        A = es.View((2, N), label="A")
        es.deep_copy(A, 5.0)
        return [float(row[1]) for row in A]


class HandsOutWithDLPack(Pair):
    answer = 6.0
    raises = BufferError, "memory space '{memory}' does not export DLPack"

    def portable(self):
        x = counted()
        return float(np.from_dlpack(x.to(es.HOST)).sum())

    def unportable(self):
        x = counted()
        return float(np.from_dlpack(x).sum())


class ReadsAField(Pair):
    answer = 1.5
    raises = unreadable("p")

    def portable(self):
        p = es.View(2, [("x", "f8"), ("n", "i4")], label="p")
        es.deep_copy(p, np.array([(1.5, 2), (2.5, 3)], p.dtype))
        return float(p.to(es.HOST)[0].x)

    def unportable(self):
        p = es.View(2, [("x", "f8"), ("n", "i4")], label="p")
        es.deep_copy(p, np.array([(1.5, 2), (2.5, 3)], p.dtype))
        return float(p[0].x)


class ReadsAResultOfRankZero(Pair):
    answer = 6.0
    raises = unreadable("total")

    def portable(self):
        x, total = counted(), es.View((), label="total")
        es.parallel_reduce(N, lambda i, x: x[i], x, out=total)
        return float(total.to(es.HOST)[()])

    def unportable(self):
        x, total = counted(), es.View((), label="total")
        es.parallel_reduce(N, lambda i, x: x[i], x, out=total)
        return float(total[()])


class ReadsWhatAnAlgorithmReturns(Pair):
    answer = (3, 2, 1, 0)
    raises = unreadable("argsort")

    def portable(self):
        return seen(es.argsort(counted(), descending=True))

    def unportable(self):
        return np.asarray(es.argsort(counted(), descending=True)).tolist()


class ReadsWhatAScatterViewContributed(Pair):
    answer = (1.0, 1.0, 1.0, 1.0)
    raises = unreadable("forces")

    def portable(self):
        forces = es.View(N, label="forces")
        scatter = es.ScatterView(forces)
        es.parallel_for(N, add_one, scatter.access())
        scatter.contribute(forces)
        return [float(f) for f in forces.to(es.HOST)]

    def unportable(self):
        forces = es.View(N, label="forces")
        scatter = es.ScatterView(forces)
        es.parallel_for(N, add_one, scatter.access())
        scatter.contribute(forces)
        return [float(f) for f in forces]


@es.kernel
def add_one(i, f):
    f[i] += 1.0


class UsesTheDeviceSideOfADualView(Pair):
    answer = 2.0
    raises = unreadable("dual")

    def portable(self):
        dual = es.DualView(N, label="dual")
        es.deep_copy(dual.d_view, 1.0)
        es.parallel_for(N, double, dual.d_view)
        dual.modify("device")
        dual.sync("host")
        return float(dual.h_view[0])

    def unportable(self):
        dual = es.DualView(N, label="dual")
        es.deep_copy(dual.d_view, 1.0)
        es.parallel_for(N, double, dual.d_view)
        dual.modify("device")
        dual.sync("host")
        return float(dual.d_view[0])


class ForgetsToSyncADualView(Pair):
    answer = 2.0
    wrong = 0.0  # and nothing can tell

    def portable(self):
        dual = es.DualView(N, label="dual")
        es.deep_copy(dual.d_view, 1.0)
        es.parallel_for(N, double, dual.d_view)
        dual.modify("device")
        dual.sync("host")
        return float(dual.h_view[0])

    def unportable(self):
        dual = es.DualView(N, label="dual")
        es.deep_copy(dual.d_view, 1.0)
        es.parallel_for(N, double, dual.d_view)
        dual.modify("device")
        return float(dual.h_view[0])


class ForgetsToCopyAMirrorBack(Pair):
    answer = 2.0
    wrong = 0.0

    def portable(self):
        x = counted()
        h = es.create_mirror_view(x)
        es.parallel_for(N, double, x)
        es.deep_copy(h, x)
        return float(h[1])

    def unportable(self):
        x = counted()
        h = es.create_mirror_view(x)
        es.parallel_for(N, double, x)
        es.fence()
        return float(h[1])


class ForgetsToCopyAMirrorThere(Pair):
    answer = 10.0
    wrong = 0.0

    def portable(self):
        x = es.View(N, label="x")
        h = es.create_mirror_view(x)
        h[0] = 5.0
        es.deep_copy(x, h)
        es.parallel_for(N, double, x)
        return seen(x)[0]

    def unportable(self):
        x = es.View(N, label="x")
        h = es.create_mirror_view(x)
        h[0] = 5.0
        es.parallel_for(N, double, x)
        return seen(x)[0]
