"""Kernels of E3SM's tracers: an Euler step with its limiter, and what needs scans over levels.

An element has 4 x 4 points of Gauss and Lobatto. `dvv` has the derivatives of its polynomials, so
derivatives at a point are sums over the points of its row and column.
"""

from __future__ import annotations

import execspace as es

POINTS = 16  # of an element
ITERATIONS = 15  # of the limiter, at most
TOLERANCE = 5e-14  # of the limiter, relative to the mass


@es.kernel
def tracer_phase(
    team, q, dp, v0, v1, metdet, rmetdet, mp, dvv, least, most, dt, tracers, blocks, out
):
    """An Euler step of the mass of a tracer in some levels of an element, and its limiter.

    A team has one of `blocks` parts of the levels, which its threads share; lanes share the points.
    """
    tracer, block, levels = team.league_rank // blocks, team.league_rank % blocks, q.extent(1)
    e = tracer // tracers
    flux0 = team.thread_scratch(POINTS)
    flux1 = team.thread_scratch(POINTS)
    weight = team.thread_scratch(POINTS)
    x = team.thread_scratch(POINTS)
    for k in es.TeamThreadRange(team, block * levels // blocks, (block + 1) * levels // blocks):

        def flux(p):
            mass = metdet[e, p] * q[tracer, k, p]
            flux0[p] = mass * v0[e, k, p]
            flux1[p] = mass * v1[e, k, p]
            w = mp[e, p] * dp[e, k, p]
            weight[p] = w
            return w

        def advance(row, column):
            p = 4 * row + column
            divergence = 0.0
            for m in range(4):
                divergence += dvv[column, m] * flux0[4 * row + m]
                divergence += dvv[row, m] * flux1[4 * m + column]
            ratio = (q[tracer, k, p] - dt * rmetdet[e, p] * divergence) / dp[e, k, p]
            x[p] = ratio
            return weight[p] * ratio

        # After each reduction the lanes see what the others stored.
        air = es.parallel_reduce(es.ThreadVectorRange(team, POINTS), flux)
        mass = es.parallel_reduce(es.ThreadVectorMDRange(team, 4, 4), advance)
        low, high = min(least[tracer, k], mass / air), max(most[tracer, k], mass / air)

        def clip(p):
            before = x[p]
            after = min(max(before, low), high)
            x[p] = after
            return (before - after) * weight[p]

        for _ in range(ITERATIONS):
            excess = es.parallel_reduce(es.ThreadVectorRange(team, POINTS), clip)
            if abs(excess) <= TOLERANCE * abs(mass):
                break
            room = es.parallel_reduce(
                es.ThreadVectorRange(team, POINTS),
                lambda p: weight[p] if (x[p] < high if excess > 0 else x[p] > low) else 0.0,
            )
            share = excess / room
            for p in es.ThreadVectorRange(team, POINTS):
                x[p] += share if (x[p] < high if excess > 0 else x[p] > low) else 0.0
        for p in es.ThreadVectorRange(team, POINTS):
            out[tracer, k, p] = x[p] * dp[e, k, p]


@es.kernel
def tracer_flat(
    tracer, k, q, dp, v0, v1, metdet, rmetdet, mp, dvv, least, most, dt, tracers, out
):  # fmt: skip
    """The same as a range over tracers and levels, each of which has all points of an element."""
    e = tracer // tracers
    flux0 = es.local(POINTS)
    flux1 = es.local(POINTS)
    weight = es.local(POINTS)
    x = es.local(POINTS)
    air = 0.0
    for p in range(POINTS):
        here = metdet[e, p] * q[tracer, k, p]
        flux0[p] = here * v0[e, k, p]
        flux1[p] = here * v1[e, k, p]
        weight[p] = mp[e, p] * dp[e, k, p]
        air += weight[p]
    mass = 0.0
    for p in range(POINTS):
        row, column = p // 4, p % 4
        divergence = 0.0
        for m in range(4):
            divergence += dvv[column, m] * flux0[4 * row + m]
            divergence += dvv[row, m] * flux1[4 * m + column]
        x[p] = (q[tracer, k, p] - dt * rmetdet[e, p] * divergence) / dp[e, k, p]
        mass += weight[p] * x[p]
    low, high = min(least[tracer, k], mass / air), max(most[tracer, k], mass / air)
    for _ in range(ITERATIONS):
        excess = 0.0
        for p in range(POINTS):
            after = min(max(x[p], low), high)
            excess += (x[p] - after) * weight[p]
            x[p] = after
        if abs(excess) <= TOLERANCE * abs(mass):
            break
        room = 0.0
        for p in range(POINTS):
            if x[p] < high if excess > 0 else x[p] > low:
                room += weight[p]
        for p in range(POINTS):
            if x[p] < high if excess > 0 else x[p] > low:
                x[p] += excess / room
    for p in range(POINTS):
        out[tracer, k, p] = x[p] * dp[e, k, p]


@es.kernel
def omega(team, dp, v0, v1, metdet, rmetdet, dvv, top, out):
    """Vertical velocity by two scans over levels: of pressure, and of the divergence of mass.

    Threads share the points of an element, lanes share the levels.
    """
    e, levels = team.league_rank, dp.extent(2)
    pressure = team.scratch((POINTS, levels))
    divergence = team.thread_scratch(levels)
    for p in es.TeamThreadRange(team, POINTS):

        def down(k, above, final):
            if final:
                pressure[p, k] = top + above + 0.5 * dp[e, p, k]
            return dp[e, p, k]

        es.parallel_scan(es.ThreadVectorRange(team, levels), down)
    team.barrier()
    for p in es.TeamThreadRange(team, POINTS):
        row, column = p // 4, p % 4
        for k in es.ThreadVectorRange(team, levels):
            d = 0.0
            for m in range(4):
                a, b = 4 * row + m, 4 * m + column
                d += dvv[column, m] * metdet[e, a] * dp[e, a, k] * v0[e, a, k]
                d += dvv[row, m] * metdet[e, b] * dp[e, b, k] * v1[e, b, k]
            divergence[k] = rmetdet[e, p] * d

        def carried(k, above, final):
            if final:
                slope0 = 0.0
                slope1 = 0.0
                for m in range(4):
                    slope0 += dvv[column, m] * pressure[4 * row + m, k]
                    slope1 += dvv[row, m] * pressure[4 * m + column, k]
                wind = v0[e, p, k] * slope0 + v1[e, p, k] * slope1
                out[e, p, k] = (wind - above - 0.5 * divergence[k]) / pressure[p, k]
            return divergence[k]

        es.parallel_scan(es.ThreadVectorRange(team, levels), carried)


@es.kernel
def running_pressure(e, p, dp, top, pressure):
    """The first of two launches of the flat form: a column for each index."""
    above = top
    for k in range(dp.extent(2)):
        pressure[e, p, k] = above + 0.5 * dp[e, p, k]
        above += dp[e, p, k]


@es.kernel
def omega_flat(e, p, dp, v0, v1, metdet, rmetdet, dvv, pressure, out):
    """The second one, after which `out` is as that of `omega`."""
    row, column = p // 4, p % 4
    above = 0.0
    for k in range(dp.extent(2)):
        d, slope0, slope1 = 0.0, 0.0, 0.0
        for m in range(4):
            a, b = 4 * row + m, 4 * m + column
            d += dvv[column, m] * metdet[e, a] * dp[e, a, k] * v0[e, a, k]
            d += dvv[row, m] * metdet[e, b] * dp[e, b, k] * v1[e, b, k]
            slope0 += dvv[column, m] * pressure[e, a, k]
            slope1 += dvv[row, m] * pressure[e, b, k]
        d = rmetdet[e, p] * d
        wind = v0[e, p, k] * slope0 + v1[e, p, k] * slope1
        out[e, p, k] = (wind - above - 0.5 * d) / pressure[e, p, k]
        above += d
