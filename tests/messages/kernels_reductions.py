"""Reductions and scans that do not fit: contributions, identities, joins, shapes, and `out=`."""

from __future__ import annotations

import numpy as np

import execspace as es

from .cases import C128, F64, I32, U8, Made, case


class Total(es.Reducer):
    identity = 0.0

    def join(a, b):
        return a + b


class Pair(es.Reducer):
    identity = (0.0, 0)

    def join(a, b):
        return a[0] + b[0], a[1] + b[1]


def value(i, x):
    return x[i]


def pair(i, x):
    return x[i], i


def add_two(i, a, x):
    a[0] += 1
    a[1] += x[i]


def prefix_sum(i, prefix, final, x):
    if final:
        x[i] = prefix
    return 1.0


# -- contributions that do not fit the reducer ----------------------------------------------------

case(F64, reduce=True, reducer=es.MinLoc, name="location_reducer_of_a_number")(value)
case(F64, reduce=True, reducer=es.MinLoc, name="location_reducer_of_three")(
    lambda i, x: (x[i], i, i)
)
case(F64, reduce=True, reducer=es.MinLoc, name="location_in_nested_tuples")(
    lambda i, x: (x[i], ((i, i), i))
)
case(F64, reduce=True, reducer=es.FirstLoc, name="condition_reducer_of_a_number")(value)
case(C128, reduce=True, reducer=es.MinLoc, name="least_complex_number_with_its_location")(pair)
case(C128, reduce=True, reducer=es.MinLoc, name="complex_location")(lambda i, z: (i, z[i]))
case(C128, reduce=True, reducer=es.MinMax, name="complex_extremes")(value)
case(F64, reduce=True, reducer=es.BAnd, name="bits_of_float_contributions")(value)
case(F64, reduce=True, reducer=es.BOr(dtype=es.int32), name="bits_of_floats_as_integers")(value)
case(F64, reduce=True, reducer=(es.Sum, es.Max), name="one_contribution_for_two_reducers")(value)
case(F64, reduce=True, reducer=(es.Sum,), name="two_contributions_for_one_reducer")(pair)
case(F64, reduce=True, reducer=Pair, name="number_for_a_join_of_pairs")(value)
case(F64, reduce=True, reducer=Total, name="pair_for_a_join_of_numbers")(pair)


# -- identities -----------------------------------------------------------------------------------


class NoIdentity(es.Reducer):
    def join(a, b):
        return a + b


class TextIdentity(es.Reducer):
    identity = "0"

    def join(a, b):
        return a


class EmptyIdentity(es.Reducer):
    identity = np.zeros(0)

    def join(a, b):
        return a


class RecordsIdentity(es.Reducer):
    identity = np.zeros(2, [("a", "f8")])

    def join(a, b):
        return a


class MinusOne(es.Reducer):
    identity = -1

    def join(a, b):
        return max(a, b)


class IntegerArray(es.Reducer):
    identity = np.zeros(2, np.int32)

    def join(a, b):
        return a[0] + b[0], a[1] + b[1]


class Unsigned(es.Reducer):
    identity = np.int64(0)

    def join(a, b):
        return a | b


case(F64, reduce=True, reducer=NoIdentity, name="reducer_without_identity")(value)
case(F64, reduce=True, reducer=TextIdentity, name="identity_that_is_a_string")(value)
case(F64, reduce=True, reducer=EmptyIdentity, name="identity_that_is_an_empty_array")(value)
case(F64, reduce=True, reducer=RecordsIdentity, name="identity_that_is_an_array_of_records")(value)
case(U8, reduce=True, reducer=MinusOne, name="identity_that_the_contribution_cannot_hold")(value)
case(F64, reduce=True, reducer=IntegerArray, name="floats_for_an_identity_of_integers")(
    lambda i, x: (x[i], x[i])
)
case(Made(lambda: np.zeros(4, np.uint64)), reduce=True, reducer=Unsigned,
     name="identity_of_no_common_type")(value)  # fmt: skip


# -- joins and final ------------------------------------------------------------------------------


class Mutates(es.Reducer):
    """As in Kokkos, where join changes its first argument."""

    identity = 0.0

    def join(a, b):
        a += b


class MutatesItems(es.Reducer):
    identity = np.zeros(2)

    def join(a, b):
        a[0] += b[0]
        a[1] += b[1]
        return a


class ReturnsPair(es.Reducer):
    identity = 0.0

    def join(a, b):
        return a, b


class ThreeArguments(es.Reducer):
    identity = 0.0

    def join(self, a, b, c):
        return a + b + c


class NoJoin(es.Reducer):
    identity = 0.0


class ClassJoin(es.Reducer):
    identity = 0.0

    @classmethod
    def join(cls, a, b):
        return a + b


class Asserts(es.Reducer):
    identity = 0.0

    def join(a, b):
        assert a >= 0
        return a + b


class Prints(es.Reducer):
    identity = 0.0

    def join(a, b):
        es.printf("%f\n", a)
        return a + b


class Misspelled(es.Reducer):
    identity = 0.0

    def join(a, b):
        return a + c


class NoResult(Total):
    def final(a):
        a / 2


class FinalOfTwo(Total):
    def final(a, b, c):
        return a


class NewSum(es.Sum):
    def join(a, b):
        return a + b


class Needs(Total):
    def __init__(self, limit):
        self.limit = limit


weights = np.zeros(4)


class CapturesView(es.Reducer):
    identity = 0.0

    def join(a, b):
        return a + b * weights[0]


class DtypeOfPair(Pair):
    dtype = np.float32


class RealDtype(Total):
    dtype = np.float64


case(F64, reduce=True, reducer=Mutates, name="join_that_returns_nothing")(value)
case(F64, reduce=True, reducer=MutatesItems, name="join_that_changes_its_argument")(
    lambda i, x: (x[i], x[i])
)
case(F64, reduce=True, reducer=ReturnsPair, name="join_that_returns_a_pair")(value)
case(F64, reduce=True, reducer=ThreeArguments(), name="join_of_three")(value)
case(F64, reduce=True, reducer=NoJoin, name="reducer_without_join")(value)
case(F64, reduce=True, reducer=ClassJoin, name="join_that_is_a_class_method")(value)
case(F64, reduce=True, reducer=Asserts, name="join_with_an_assert")(value)
case(F64, reduce=True, reducer=Prints, name="join_that_prints")(value)
case(F64, reduce=True, reducer=Misspelled, name="fault_in_a_join")(value)
case(F64, reduce=True, reducer=NoResult, name="final_that_returns_nothing")(value)
case(F64, reduce=True, reducer=FinalOfTwo, name="final_of_three")(value)
case(F64, reduce=True, reducer=NewSum, name="join_of_a_built_in_reducer")(value)
case(F64, reduce=True, reducer=Needs, name="reducer_class_that_needs_arguments")(value)
case(F64, reduce=True, reducer=CapturesView, name="join_that_captures_a_view")(value)
case(F64, reduce=True, reducer=DtypeOfPair, name="dtype_of_a_join_of_pairs")(pair)
case(C128, reduce=True, reducer=RealDtype, name="real_dtype_of_complex_contributions")(value)


# -- arrays and tuples of reducers ----------------------------------------------------------------


class ShapeOfPairs(Pair):
    shape = 4


class ShapeOfNothing(Total):
    shape = 0


class Widens(es.Reducer):
    identity = 0
    shape = 2

    def join(a, b):
        return a + 0.5 * b


case(F64, reduce=True, reducer=ShapeOfPairs, name="shape_with_an_identity_that_is_a_tuple")(value)
case(F64, reduce=True, reducer=ShapeOfNothing, name="shape_of_nothing")(add_two)
case(F64, reduce=True, reducer=Widens, name="elements_that_a_join_widens")(lambda i, a, x: None)
case(F64, reduce=True, reducer=es.Sum(shape=2), name="array_reduction_without_the_array")(value)


@case(F64, reduce=True, reducer=es.Sum(shape=2))
def array_reduction_that_returns(i, a, x):
    a[0] += x[i]
    return x[i]


@case(F64, reduce=True, reducer=es.Sum(shape=2, dtype=es.int32))
def array_reduction_of_another_type(i, a, x):
    a[0, 0] += x[i]


case(F64, reduce=True, reducer=(es.Sum(shape=2), es.Max), name="array_reduction_in_a_tuple")(pair)
case(F64, reduce=True, reducer=(es.Sum, (es.Min, es.Max)), name="tuple_of_tuples_of_reducers")(pair)
case(F64, reduce=True, reducer=(), name="no_reducers")(value)
case(F64, reduce=True, reducer=(es.Sum, "median"), name="unknown_reducer_in_a_tuple")(pair)


# -- scans ----------------------------------------------------------------------------------------

case(F64, reduce="scan", policy=es.MDRangePolicy((4,), tile=(2,)), name="scan_with_a_tile")(
    prefix_sum
)
case(F64, reduce="scan", reducer=es.Sum(shape=2), name="scan_of_arrays")(prefix_sum)
case(F64, reduce="scan", name="scan_without_prefix_and_final")(value)
case(F64, reduce="scan", policy=-1, name="scan_of_a_negative_number_of_indices")(prefix_sum)


@case(F64, reduce="scan")
def scan_that_returns_nothing(i, prefix, final, x):
    if final:
        x[i] = prefix


@case(F64, reduce="scan", reducer=es.MinMax)
def scan_with_a_field_that_the_prefix_has_not(i, prefix, final, x):
    if final:
        x[i] = prefix.least
    return x[i]


@case(F64, reduce="scan", reducer=(es.Sum, es.Max))
def scan_with_one_contribution_for_two(i, prefix, final, x):
    if final:
        x[i] = prefix[0]
    return x[i]


# -- out= -----------------------------------------------------------------------------------------


def read_only():
    array = np.zeros(())
    array.flags.writeable = False
    return es.view_of(array, label="constants")


def out(shape=(), dtype=es.float64):
    return Made(lambda: es.View(shape, dtype, label="result"))


def two():
    return es.View(()), es.View(())


case(F64, reduce=True, out=out(dtype=es.int32), name="out_of_a_narrower_kind")(value)
case(F64, reduce=True, out=out(4), name="out_of_rank_1")(value)
case(F64, reduce=True, out=Made(read_only), name="out_that_is_read_only")(value)
case(F64, reduce=True, out=(), name="out_of_no_views")(value)
case(F64, reduce=True, reducer=es.MinMax, out=out(), name="out_for_one_of_two_numbers")(value)
case(F64, reduce=True, out=Made(two), name="out_for_two_of_one_number")(value)
case(F64, reduce=True, reducer=es.Sum(shape=2), out=out(3), name="out_of_another_extent")(add_two)
case(F64, reduce=True, reducer=es.Sum(shape=2), out=out(2, es.int32),
     name="out_of_an_array_of_a_narrower_kind")(add_two)  # fmt: skip
case(I32, reduce="scan", reducer=es.MinLoc, out=out(dtype=[("a", "f8")]),
     name="scan_into_a_record_of_few_fields")(lambda i, prefix, final, n: (n[i], i))  # fmt: skip


# -- schedules ------------------------------------------------------------------------------------

case(F64, reduce="scan", policy=es.RangePolicy(4, schedule="dynamic", chunk_size=2),
     name="scan_of_a_dynamic_range")(prefix_sum)  # fmt: skip
