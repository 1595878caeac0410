"""Wrong kernels: how containers, special functions and team algorithms are called."""

from __future__ import annotations

import execspace as es

from .cases import F64, F64_2, I64, Made, case

ON = {"space": "oracle"}
COUNTS = Made(lambda: es.UnorderedMap(4, es.int64, es.int32, **ON))
KEYS = Made(lambda: es.UnorderedMap(4, es.int32, **ON))
BITS = Made(lambda: es.Bitset(40, **ON))


@case(COUNTS)
def op_of_an_insertion(i, m):
    m.insert(i, 1, "max")


@case(KEYS)
def value_for_a_set(i, m):
    m.insert(i, 1)


@case(F64, COUNTS)
def key_of_another_kind(i, x, m):
    m.insert(x[i], 1)


@case(COUNTS)
def method_of_a_container_for_the_host(i, m):
    m.clear()


@case(COUNTS)
def method_that_a_container_lacks(i, m):
    m.contains(i)


def has(bits, i):
    return bits.test(i)


@case(F64, BITS)
def index_that_is_no_integer_within_a_helper(i, x, bits):
    x[i] = has(bits, x[i])


@case(F64, BITS)
def container_that_is_indexed(i, x, bits):
    x[i] = bits[i]


@case(F64)
def special_function_of_a_view(i, x):
    x[i] = es.special.j0(x)


@case(F64)
def special_function_of_a_complex_number(i, x):
    x[i] = es.special.ndtr(1j * x[i])


@case(F64)
def order_of_a_hankel_function(i, x):
    x[i] = es.special.hankel1(2, x[i]).real


@case(F64_2, policy=es.TeamPolicy(2))
def reducer_for_a_team_algorithm(team, x):
    total = es.algorithms.team.reduce(team, x[0, :], 0.0, es.Max)
    if es.single(es.PerTeam(team)):
        x[1, 0] = total


@case(I64, policy=es.TeamPolicy(2))
def number_for_a_predicate(team, x):
    es.algorithms.team.count_if(team, x, 3)


@case(Made(lambda: es.OffsetView((-1, 0), (3, 4), **ON)))
def too_few_indices_of_an_offset_view(i, a):
    a[i] = 1.0


shown = print


@case(F64)
def function_by_another_name(i, x):
    shown(x[i])
