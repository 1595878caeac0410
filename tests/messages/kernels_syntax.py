"""Kernels with Python that has no meaning in a kernel."""

from __future__ import annotations

import execspace as es

from .cases import F64, I64, case


@case(F64)
def a_list(i, x):
    y = [1.0, 2.0]
    x[i] = y[0]


@case(F64)
def a_dict(i, x):
    y = {"a": 1.0}
    x[i] = y["a"]


@case(F64)
def a_set(i, x):
    x[i] = 1.0 if i in {1, 2} else 0.0


@case(F64)
def list_comprehension(i, x):
    x[i] = sum([x[k] for k in range(3)])


@case(F64)
def set_comprehension(i, x):
    x[i] = len({k for k in range(3)})


@case(F64)
def dict_comprehension(i, x):
    x[i] = len({k: 1 for k in range(3)})


@case(F64)
def generator_expression(i, x):
    x[i] = sum(x[k] for k in range(3))


@case(F64)
def try_except(i, x):
    try:
        x[i] = 1.0 / x[i]
    except ZeroDivisionError:
        x[i] = 0.0


@case(F64)
def try_star(i, x):
    try:
        x[i] = 1.0 / x[i]
    except* ZeroDivisionError:
        x[i] = 0.0


@case(F64)
def raises(i, x):
    if x[i] < 0:
        raise ValueError("negative")


@case(F64)
def with_block(i, x):
    with open("log.txt") as log:
        x[i] = 0.0


@case(F64)
def imports(i, x):
    import math

    x[i] = math.pi


@case(F64)
def imports_from(i, x):
    from math import sqrt

    x[i] = sqrt(x[i])


@case(F64)
def class_definition(i, x):
    class Point:
        pass

    x[i] = 0.0


@case(F64)
def async_inside(i, x):
    async def later():
        await x

    x[i] = 0.0


@case(F64)
async def async_kernel(i, x):
    x[i] = 0.0


@case(F64)
def yields(i, x):
    yield x[i]


@case(F64)
def yields_from(i, x):
    yield from x


total = 0.0


@case(F64)
def global_statement(i, x):
    global total
    total += x[i]


@case(F64)
def global_variable_changed(i, x):
    total += x[i]


@case(F64)
def nonlocal_statement(i, x):
    count = 0

    def step():
        nonlocal count
        count += 1

    step()
    x[i] = count


@case(F64)
def deletes(i, x):
    y = x[i]
    del y


@case(F64)
def f_string(i, x):
    text = f"{i}: {x[i]}"


@case(F64)
def star_in_call(i, x):
    pair = (1.0, 2.0)
    x[i] = max(*pair)


@case(F64)
def star_star_in_call(i, x):
    x[i] = max(x[i], **{"key": abs})


@case(F64)
def star_target(i, x):
    first, *rest = (1.0, 2.0, 3.0)
    x[i] = first


@case(F64)
def list_target(i, x):
    [a, b] = (1.0, 2.0)
    x[i] = a + b


@case(F64)
def match_statement(i, x):
    match i:
        case 0:
            x[i] = 1.0
        case _:
            x[i] = 0.0


@case(F64)
def matrix_product(i, x):
    x[i] = x @ x


@case(F64)
def matrix_product_in_place(i, x):
    x[i] @= 2.0


@case(F64)
def ellipsis(i, x):
    x[...] = 0.0


@case(F64)
def bytes_constant(i, x):
    x[i] = len(b"abc")


@case(F64)
def any_number_of_arguments(i, *x):
    pass


@case(F64)
def loop_over_a_view(i, x):
    for v in x:
        x[i] += v


@case(F64)
def loop_over_enumerate(i, x):
    for k, v in enumerate(x):
        x[i] += k * v


@case(F64)
def loop_with_two_variables(i, x):
    for a, b in range(4):
        x[i] += a + b


@case(F64)
def range_without_arguments(i, x):
    for k in range():
        x[i] += k


@case(F64)
def range_with_four_arguments(i, x):
    for k in range(0, 4, 1, 1):
        x[i] += k


@case(F64)
def range_of_floats(i, x):
    for k in range(x[i]):
        x[i] += k


@case(F64)
def range_with_step_zero(i, x):
    for k in range(0, 4, 0):
        x[i] += k


@case(F64)
def assert_with_computed_message(i, x):
    assert x[i] > 0, f"x is {x[i]}"


@case(F64)
def assign_to_a_call(i, x):
    x.extent(0).value = 3


@case(F64)
def slice_outside_of_a_subscript(i, x):
    x[i] = x[(0, slice(1, 2))]


@case(F64)
def is_with_numbers(i, x):
    if x[i] is i:
        x[i] = 0.0


@case(F64)
def in_a_view(i, x):
    if 1.0 in x:
        x[i] = 0.0


@case(I64)
def several_faults(i, n):
    names = ["a", "b"]
    try:
        n[i] = names
    except ValueError:
        n[i] = -1
    n[i] = unknown
    n[i] = n[i] + "text"


@case(F64)
def follow_on_faults_are_not_reported(i, x):
    rows = [1.0, 2.0]
    for k in range(2):
        x[i] += rows[k]


@case(F64)
def faults_in_one_statement(i, x):
    if i > 0:
        s = [1.0]
    x[i] = s + t


# fmt: off
@case(F64)
def columns_of_characters(i, x):
    größe = x[i] + 1.0; x[i] = größe + fälscht


@case(F64)
def a_fault_of_several_lines(i, x):
    x[i] = (
        x[i]
        + [
            1.0,
            2.0,
        ]
    )


@case(F64)
def tabs_are_expanded(i, x):
	x[i] = wrong_name


@case(F64)
def a_tower_of_many_powers(i, x):
    x[i] = (
        x[0]
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
        ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i ** i
    )
# fmt: on


case(F64, name="fault_in_a_lambda")(lambda i, x: es.printf("%s", x[i]))


# Two lambdas on one line are told apart.
case(F64, name="the_first_of_two_lambdas")((lambda i, x: x[i, i], lambda i, x: x[i])[0])


@case(F64, reduce=True)
def a_list_that_is_returned(i, x):
    return [x[i], 1.0]


@case(F64, reduce="scan")
def a_list_in_a_scan(i, prefix, final, x):
    s = 0.0
    for v in [1.0, 2.0]:
        s += v
    return s
