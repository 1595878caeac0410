"""Records with operators, methods and properties: `es.Record`. CPython says what is right."""

import numpy as np
import pytest

import execspace as es


class Dual(es.Record):
    """A number and its derivative."""

    value: es.float64
    slope: es.float64 = 0.0

    def __add__(self, other):
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    def __radd__(self, number):
        return self + number

    def __mul__(self, other):
        if isinstance(other, Dual):
            slope = self.value * other.slope + self.slope * other.value
            return Dual(self.value * other.value, slope)
        return Dual(self.value * other, self.slope * other)

    def __rmul__(self, number):
        return self * number

    def __neg__(self):
        return type(self)(-self.value, -self.slope)

    def __abs__(self):
        return -self if self.value < 0 else Dual(self.value, self.slope)

    def __lt__(self, other):
        return self.value < other.value

    def power(self, n, scale=1.0):
        result = Dual(scale)
        for _ in range(n):
            result = result * self
        return result

    @property
    def is_constant(self):
        return self.slope == 0.0

    @staticmethod
    def variable(x):
        return Dual(x, 1.0)

    @classmethod
    def zero(cls):
        return cls(0.0)

    half = 0.5

    @classmethod
    def eight(cls):
        return cls.variable(4.0) + type(cls.zero())(4.0)


class Narrow(es.Record):
    """Fields of other types: what is stored in them is converted as in Views."""

    x: es.float32
    n: es.int16 = 2
    yes: es.bool_ = 3  # which is True

    def __add__(self, other):
        return Narrow(self.x + other.x, self.n + other.n, not self.yes)


class Pair(es.Record):
    """Records within records, and an equality of its own."""

    left: Narrow
    right: Narrow = (1.5, -1, 1)

    def __add__(self, other):
        return Pair(self.left + other.left, right=other.right + self.right)

    def __eq__(self, other):
        return self.left.n == other.left.n

    @property
    def total(self):
        return self.left.x + self.right.x


TWO = Dual(2.0, 0.5)


def duals(n):
    made = np.zeros(n, Dual.dtype)
    made["value"] = np.arange(n) / 4 - 1  # whose products are exact, fused or not
    made["slope"] = np.arange(n) % 3
    return made


def agree(space, kernel, *arrays):
    """The kernel on a space does what it does in plain Python."""
    expected = [a.copy() for a in arrays]
    for i in range(len(arrays[0])):
        kernel(i, *expected)
    every = es.RangePolicy(len(arrays[0]), space=space)
    es.parallel_for(every, kernel, *map(es.InOut, arrays))
    for found, wanted in zip(arrays, expected, strict=True):
        for name in wanted.dtype.names or [...]:
            np.testing.assert_array_equal(found[name], wanted[name])


def test_operators_on_elements_values_and_numbers(space):
    def kernel(i, x, y, w):
        y[i] = x[i] * x[i] + TWO * w[i] + 2 * x[0]
        y[i] = 1.0 + -y[i] + abs(x[i]) + 3
        if x[i] < y[i]:
            y[i] = y[i] * TWO
        if x[i] == y[i] or x[i] != x[i]:
            y[i] = TWO

    agree(space, kernel, duals(7), duals(7), np.arange(7) / 4)


def test_augmented_assignments_to_variables_and_elements(space):
    def kernel(i, x, y):
        total = Dual.zero()
        for k in range(len(x)):
            total += x[k] * x[i]
        y[i] += total
        y[i] *= 0.5

    agree(space, kernel, duals(5), duals(5))


def test_methods_properties_and_functions_of_the_class(space):
    def twice(d):
        return d + d

    def kernel(i, x, y, n):
        y[i] = twice(x[i].power(3)) + x[i].power(2, scale=w) + Dual.variable(1.5)
        if x[i].is_constant:
            y[i] = y[i].zero() + y[i].eight() * x[i].half
        if isinstance(x[i], (int, float)) or not isinstance(x[i], (Dual, Narrow)):
            y[i] = "never" + 1
        n[i] = y[i].power(n=1).is_constant

    w = 0.25
    agree(space, kernel, duals(5), duals(5), np.zeros(5, np.int32))


def test_a_name_refers_to_an_element_and_a_copy_does_not(space):
    def kernel(i, x, y):
        q, held = x[i], x[i].copy()
        x[i].value = 7.0
        held = held * held if held < TWO else held + q
        y[i] = q * held

    agree(space, kernel, duals(6), duals(6))


def test_choices_and_results_of_helpers(space):
    def larger(a, b):
        if a < b:
            return b.copy()
        return a.copy()

    def kernel(i, x, y):
        y[i] = larger(x[i], TWO) if i % 2 else Dual(1.0)
        best = Dual(-100.0)
        for k in range(i + 1):
            best = larger(best, x[k])
        y[i] = y[i] + best

    agree(space, kernel, duals(6), duals(6))


def test_fields_are_converted_as_when_stored(space):
    def kernel(i, x, z):
        x[i] = x[i] + Narrow(0.1, 32767, yes=False)
        x[i] = x[i] + Narrow(z[i], z[i])
        z[i] = Narrow(z[i]).x

    x = np.zeros(4, Narrow.dtype)
    x["x"] = [1e-3, 2, 3e7, -4]
    with np.errstate(over="ignore"):
        agree(space, kernel, x, np.array([0.1, 2.9, -3.7, 1e3]))


def test_records_within_records(space):
    def kernel(i, p, q, t):
        p[i] = p[i] + Pair(q[0].right)
        p[i].left += p[i].right
        t[i] = p[i].total + Pair(Narrow(1.0, i)).right.n
        if p[i] != Pair(Narrow(0.0, 3)):
            t[i] = -t[i]

    p = np.zeros(4, Pair.dtype)
    p["right"]["x"] = 2.5
    p["left"]["n"] = [0, 1, 2, 3]
    agree(space, kernel, p, p.copy(), np.zeros(4, np.float32))


def test_views_local_arrays_and_parts_hold_them(space):
    A = es.full((4, 3), Dual(1.0, 2.0), space=space)
    out = es.View(4, Dual, space=space)

    def kernel(i, A, out):
        t = es.local(2, Dual)
        row = A[i, :]
        for k in range(3):
            t[k % 2] += row[k] * (k + 1)
        out[i] = t[0] + t[1] + TWO

    es.parallel_for(es.RangePolicy(4, space=space), kernel, A, out)
    found = out.to_numpy()
    assert type(found[1]) is Dual
    assert found[3] == Dual(8.0, 12.5)


def test_reductions_join_them(space):
    class Product(es.Reducer):
        identity = Dual(1.0)

        @staticmethod
        def join(a, b):
            return a * b

    numbers = duals(6)
    x = es.array(numbers, space=space)
    found = es.parallel_reduce(es.RangePolicy(6, space=space), lambda i: x[i], reducer=Product)
    expected = Dual(1.0)
    for number in numbers:
        expected = expected * number
    assert type(found) is Dual
    np.testing.assert_allclose([found.value, found.slope], [expected.value, expected.slope])


def test_teams_join_them(space):
    if not isinstance(space, es.SupportsTeams):
        pytest.skip(f"space '{space.name}' has no teams")

    class Total(es.Reducer):
        identity = Dual(0.0)

        @staticmethod
        def join(a, b):
            return a + b

    def kernel(team, x, y):
        row = team.league_rank
        total = es.parallel_reduce(
            es.TeamThreadRange(team, 8), lambda k: x[row, k] * x[row, k], reducer=Total
        )
        if es.single(es.PerTeam(team)):
            y[row] = total + y[row]

    x = es.full((3, 8), Dual(1.0, 2.0), space=space)
    y = es.full(3, Dual(0.5), space=space)
    es.parallel_for(es.TeamPolicy(3, space=space), kernel, x, y)
    assert (y.to_numpy() == np.array(Dual(8.5, 32.0), Dual.dtype)).all()


def test_one_source_for_several_precisions(space):
    class Complexlike(es.Record):
        def __mul__(self, other):
            kind = type(self)
            return kind(self.a * other.a - self.b * other.b, self.a * other.b + self.b * other.a)

    class Single(Complexlike):
        a: es.float32
        b: es.float32

    class Double(Complexlike):
        a: es.float64
        b: es.float64

    def kernel(i, x):
        x[i] = x[i] * x[i]

    for kind in (Single, Double):
        x = np.array([(0.1, 3.0), (2.0, -1.0)], kind.dtype)
        agree(space, kernel, x)


def test_a_class_of_the_same_name_is_another_one(space):
    def made(factor):
        class Scaled(es.Record):
            x: es.float64

            def __mul__(self, k):
                return Scaled(self.x * k * factor)

        return Scaled

    def kernel(i, x):
        x[i] = x[i] * 2.0

    for factor in (1.0, 10.0):
        x = np.ones(2, [("x", es.float64)]).astype(made(factor).dtype)
        es.parallel_for(es.RangePolicy(2, space=space), kernel, es.InOut(x))
        assert x[1].x == 2.0 * factor


def test_a_class_that_is_made_anew_takes_what_is_read_from_elsewhere(space, tmp_path):
    """As in a notebook: arrays that there are keep the class that made them."""

    def made(more):
        class Counter(es.Record):
            n: es.int64

            def __add__(self, other):
                return Counter(self.n + other.n + more)

        return Counter

    def kernel(i, x):
        x[i] = x[i] + x[i]

    old = np.ones(2, made(0).dtype)
    np.save(tmp_path / "old.npy", old)
    made(100)
    read = np.load(tmp_path / "old.npy")
    for array, expected in ((old, 2), (read, 102)):
        es.parallel_for(es.RangePolicy(2, space=space), kernel, es.InOut(array))
        assert array["n"].tolist() == [expected] * 2


def test_records_within_tuples_are_joined(space):
    class Both(es.Reducer):
        identity = (Dual(0.0), 0)

        @staticmethod
        def join(a, b):
            return a[0] + b[0], max(a[1], b[1])

    x = es.array(duals(5), space=space)
    found = es.parallel_reduce(es.RangePolicy(5, space=space), lambda i: (x[i], i), reducer=Both)
    assert type(found[0]) is Dual and found == (Dual(-2.5, 4.0), 4)


def subtract(i, x):
    x[i] = x[i] - x[i]


def negate(i, n):
    n[i] = -n[i]


def store_number(i, x):
    x[i] = 1.0


def store_another(i, x, n):
    x[i] = n[i]


def lacks_a_value(i, n):
    n[i] = Narrow()


def alias_and_value(i, x):
    q = x[0]
    q = q + x[i]
    x[i] = q


def field_of_a_value(i, x):
    q = x[i] + x[i]
    q.value = 1.0


def unknown_attribute(i, x):
    x[i] = x[i].inverse()


def as_truth(i, x):
    if x[i]:
        x[i] = TWO


def element_of_a_choice(i, x):
    q = x[i] if i else x[0]
    x[i] = q


def classes_on_two_paths(i, x):
    def chosen(i):
        if i:
            return Dual(1.0)
        return Other(1.0)

    x[i].value = chosen(i).value


def classes_of_a_variable(i, x):
    q = Dual(1.0)
    if i:
        q = Other(1.0)
    x[i].value = q.value


def classes_of_a_choice(i, x):
    x[i].value = (Dual(1.0) if i else Other(1.0)).value


class Other(es.Record):
    value: es.float64
    slope: es.float64 = 0.0


REFUSED = {
    classes_on_two_paths: "this path returns record Other, another returns record Dual",
    classes_of_a_variable: "'q' is record Dual in one place and record Other in another",
    classes_of_a_choice: "cannot choose between record Dual and record Other",
    subtract: "'-' is not defined for record Dual and record Dual",
    negate: "'-' is not defined for record Narrow",
    store_number: "cannot store Python float into record Dual",
    store_another: "cannot store record Narrow in View 'n' into record Dual",
    lacks_a_value: "record Narrow gets no value for 'x'",
    alias_and_value: "its value is .copy() of it",
    field_of_a_value: "cannot assign to the attribute 'value'",
    unknown_attribute: "record Dual has no attribute 'inverse'",
    as_truth: "expected a number, got record Dual in View 'x'",
    element_of_a_choice: "choose between values, which are .copy() of elements",
}


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda k: k.__name__)
def test_what_is_refused(space, kernel):
    given = {"x": duals(2), "n": np.zeros(2, Narrow.dtype)}
    names = kernel.__code__.co_varnames[1 : kernel.__code__.co_argcount]
    args = [es.InOut(given[n]) for n in names]
    with pytest.raises(es.KernelError) as caught:
        es.parallel_for(es.RangePolicy(2, space=space), kernel, *args)
    assert REFUSED[kernel] in str(caught.value)


@pytest.mark.parametrize("kind", [Dual, np.float32, np.int16, np.complex64])
def test_the_class_of_elements_makes_values(space, kind):
    """`x.dtype.type(1)` is a number or a record, whatever `x` has."""

    def kernel(i, x):
        total = x.dtype.type(1)
        total = total + x[i]
        x[i] = total

    x = duals(3) if kind is Dual else np.arange(3).astype(kind)
    agree(space, kernel, x)
