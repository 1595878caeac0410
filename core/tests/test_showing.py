"""What consoles and notebooks show of Views: their values, where the host can read them."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import execspace as es
from execspace.base.brief import brief

RECORD = np.dtype([("x", np.float64), ("cell", np.int32, (2,))])


@dataclass(frozen=True)
class Backwards(es.Layout):
    """The last element first."""

    limit: int = 2**62

    def span(self, n, m):
        return n * m

    def offset(self, i, j, n, m):
        if i >= self.limit:
            raise ValueError("beyond the limit")
        return n * m - 1 - (i * m + j)


class Far(es.MemorySpace):
    """Memory that the host cannot read; that it is asked for would be an error."""

    name = "far"
    kinds = frozenset(("device",))

    def allocate(self, nbytes, label, initialize):
        block = es.HOST.allocate(nbytes, label, initialize)
        return es.Allocation(block.pointer, nbytes, label, self, block.owner)

    def reaches(self, other):
        return False

    def copy(self, dst, src, instance):
        raise AssertionError("a hidden copy")

    def fill(self, dst, value, instance):
        raise AssertionError("a hidden copy")


def view_of(array, label="A"):
    view = es.View(array.shape, array.dtype, label=label)
    np.asarray(view)[...] = array
    return view


def numbers(*shape, dtype=np.float64):
    """Numbers that all look different."""
    return (np.arange(np.prod(shape, dtype=int)) * 7 % 101).astype(dtype).reshape(shape)


# -- repr -----------------------------------------------------------------------------------------


def test_repr_has_the_values_below_what_the_view_is():
    A = view_of(numbers(2, 3, dtype=np.float32))
    assert repr(A) == (
        "<View 'A' float32 (2, 3) layout=right memory=host>\n[[ 0.  7. 14.]\n [21. 28. 35.]]"
    )
    assert f"{A}" == str(A) == repr(A)


@pytest.mark.parametrize(
    "array",
    [
        numbers(), numbers(5), numbers(2, 3, 4), numbers(0), numbers(3, 0, 2), numbers(2000),
        numbers(30, 60), numbers(7, 7, 7, 7), numbers(1, 3000), np.array([np.nan, np.inf, 1e-9]),
        numbers(4, dtype=np.int8), numbers(4, dtype=np.complex64), numbers(4, dtype=np.bool_),
        numbers(3, dtype=np.float16), np.zeros(3, RECORD), np.zeros((), RECORD),
        np.zeros(2000, RECORD),
    ],
    ids=lambda a: f"{a.dtype.name}{a.shape}",
)  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"precision": 2, "edgeitems": 1, "threshold": 4}])
def test_values_are_those_that_numpy_prints(array, options):
    with np.printoptions(**options):
        head, _, values = repr(view_of(array)).partition("\n")
        assert values == np.array2string(array)
    assert head.startswith("<View 'A' ") and head.endswith(" layout=right memory=host>")


@pytest.mark.parametrize("layout", ["left", (1, 90)])
def test_strides_do_not_matter(layout):
    array = numbers(40, 50)
    view = es.View(array.shape, layout=layout)
    np.asarray(view)[...] = array
    assert repr(view).partition("\n")[2] == np.array2string(array)


@pytest.mark.parametrize("shape", [(2, 3), (50, 60), (2, 900), (0, 4)])
@pytest.mark.parametrize("options", [{}, {"edgeitems": 1, "threshold": 4}])
def test_layouts_of_ones_own_are_printed_in_the_order_of_the_indices(shape, options):
    array = numbers(*shape)
    view = es.View(shape, layout=Backwards(), label="back")
    np.asarray(es.HOST.host_array(view))[...] = array.ravel()[::-1]
    with np.printoptions(**options):
        assert repr(view).partition("\n")[2] == np.array2string(array)
    assert view._repr_html_().count("<td") >= min(array.size, 1)


def test_repr_never_raises():
    view = es.View((3, 4), layout=Backwards(limit=2), label="broken")
    for shown in (repr(view).partition("\n")[2], view._repr_html_()):
        assert "values cannot be shown: ValueError: beyond the limit" in shown


def test_of_memory_that_the_host_cannot_read_there_is_one_line():
    view = es.View((2, 3), label="x", memory=Far(), initialize=False)
    assert repr(view) == "<View 'x' float64 (2, 3) layout=right memory=far>"
    shown = view._repr_html_()
    assert "<td" not in shown
    assert "The host cannot read this memory; x.to_numpy() copies the values." in shown


def test_nothing_is_fenced_or_copied(plain):
    fences = []

    class Listener(es.profiling.Tool):
        def on_any(self, event):
            fences.append(event)

    with es.use_space(plain), es.profile(Listener()):
        view = es.View(3, label="x")
        before = list(fences)
        repr(view), view._repr_html_()
        assert fences == before
    count = view.use_count
    repr(view), view._repr_html_()
    assert view.use_count == count


EDGES_ONLY = """
import ctypes, mmap
import numpy as np, execspace as es

size = 64 * mmap.PAGESIZE
block = mmap.mmap(-1, size)
rows = np.frombuffer(block, np.float64).reshape({shape})
rows[...] = 1.5
middle = rows.ctypes.data + mmap.PAGESIZE
view = es.view_of(rows)
libc = ctypes.CDLL(None)
assert libc.mprotect(ctypes.c_void_p(middle), ctypes.c_size_t(size - 2 * mmap.PAGESIZE), 0) == 0
assert "1.5 ... 1.5" in repr(view), repr(view)
assert view._repr_html_().count(">1.5<") == {cells}
print("the edges were enough")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="takes pages of memory away, with mprotect")
@pytest.mark.parametrize(("shape", "cells"), [((-1,), 10), ((-1, 16), 100)])
def test_of_a_large_view_the_edges_are_read_only(shape, cells):
    """Whoever touches a page between the first and the last is killed."""
    program = EDGES_ONLY.format(shape=shape, cells=cells)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "the edges were enough\n", (done.returncode, done.stderr)


def test_of_a_large_layout_of_ones_own_the_edges_are_asked_for_only():
    asked = []

    class Asked(Backwards):
        def offset(self, i, j, n, m):
            asked.append((i, j))
            return super().offset(i, j, n, m)

    view = es.View((4000, 500), np.int8, layout=Asked())
    repr(view), view._repr_html_()
    assert 36 <= len(asked) <= 200


# -- messages -------------------------------------------------------------------------------------


def kernel(i, x):
    x[i] = 1.0


ONE_LINE = {
    "out": lambda x: es.parallel_reduce(3, lambda i: 1.0, out=x.readonly()),
    "outs": lambda x: es.parallel_reduce(3, lambda i: 1.0, out=(x, x.readonly())),
    "out of parallel_for": lambda x: es.explain(3, kernel, x, pattern="for", out=x),
    "policy": lambda x: es.parallel_for(x, kernel, x),
    "policies": lambda x: es.parallel_for((x,), kernel, x),
    "kernel": lambda x: es.parallel_for(3, x, kernel),
    "helper": lambda x: es.function(x),
    "reducer": lambda x: es.parallel_reduce(3, lambda i: 1.0, reducer=x),
    "reducers": lambda x: es.parallel_reduce(3, lambda i: 1.0, reducer=(x, (x,))),
    "shape": lambda x: es.View(x),
    "extent": lambda x: es.View((x, 2)),
    "static": lambda x: es.static(x),
    "space": lambda x: es.View(3, space=x),
    "memory": lambda x: es.View(3, memory=x),
    "layout": lambda x: es.View(3, layout=x),
    "strides": lambda x: es.View(3, layout=(x,)),
    "flag": lambda x: es.View(3, initialize=x),
    "range": lambda x: es.RangePolicy(x),
    "ranges": lambda x: es.MDRangePolicy((x, x)),
    "iterate": lambda x: es.MDRangePolicy((3, 3), iterate=x),
    "league": lambda x: es.TeamPolicy(x, 2),
    "team": lambda x: es.TeamPolicy(2, x),
    "instance": lambda x: es.deep_copy(x, 1.0, instance=x),
    "low": lambda x: es.fill_random(x, low=x, seed=1),
    "seed": lambda x: es.fill_random(x, seed=x),
    "histogram": lambda x: es.histogram(x, bins=3, range=x),
    "side": lambda x: es.searchsorted(x, x, side=x),
    "begin": lambda x: es.sort(x, begin=x),
    "resize": lambda x: es.resize(x, x),
    "op": lambda x: es.ScatterView(x, op=x),
    "sync": lambda x: es.DualView(3).sync(x),
    "es.space": lambda x: es.space(x),
    "region": lambda x: es.profiling.push_region(x),
    "profile": lambda x: es.profile(x).__enter__(),
    "seconds": lambda x: es.tune(3, kernel, x, seconds=x),
    "printf": lambda x: es.printf(x),
    "local": lambda x: es.local(x),
    "nested range": lambda x: es.TeamThreadRange(x, 3),
    "rank": lambda x: es.default_tile(x, "left", (1, 2)),
    "pattern": lambda x: es.explain(3, kernel, x, pattern=x),
    "target": lambda x: es.explain(3, kernel, x, target=x),
    "table": lambda x: es.TileTable("x", x),
    "dimension": lambda x: x.extent(x),
    "trait": lambda x: x.with_traits(x),
    "index": lambda x: es.View((2, 3))[x, 0],
    "pair": lambda x: es.subview(x, (x, 2)),
    "too few": lambda x: es.View((2, 3, 4))[x, 0],
    "accuracy": lambda x: es.Sum(accuracy=x),
}


@pytest.mark.parametrize("wrong", ONE_LINE)
def test_messages_have_a_view_on_one_line_and_no_values(plain, wrong):
    with es.use_space(plain), pytest.raises(es.ExecspaceError) as found:
        ONE_LINE[wrong](es.View(3, label="velocity"))
    text = str(found.value)
    assert "\n" not in text and "[0." not in text
    assert "<View 'velocity' float64 (3,) layout=right memory=host>" in text


def test_brief_is_for_one_value_only():
    view = es.View(2, label="v")
    assert brief([view, {"a": view}]).count("<View 'v'") == 2
    assert "\n" not in brief(np.zeros((3, 3)))
    assert "\n" in repr(view)
    with pytest.raises(ZeroDivisionError):
        brief(Raises())
    assert "\n" in repr(view)


class Raises:
    def __repr__(self):
        raise ZeroDivisionError


# -- HTML -----------------------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Cells of tables, and whether all that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.text, self.tags = [], [], "", set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data


def read(value):
    text = value._repr_html_()
    assert "http" not in re.sub(r"https?://github\.com/\S*", "", text)
    return Reader(text)


def test_html_of_a_matrix():
    found = read(view_of(numbers(2, 3, dtype=np.float32)))
    assert found.text.startswith("View 'A' float32 (2, 3), layout right, memory host, 24 bytes")
    assert found.rows == [["", "0", "1", "2"], ["0", "0.", "7.", "14."], ["1", "21.", "28.", "35."]]


def test_html_of_a_vector_and_of_a_number():
    assert read(view_of(np.array([1, 2], np.int16))).rows == [["0", "1"], ["1", "2"]]
    assert read(view_of(np.array(2.5))).rows == [["2.5"]]


def test_html_of_a_large_matrix_has_its_edges():
    rows = read(view_of(numbers(100, 40))).rows
    assert {len(row) for row in rows} == {12}
    assert [row[0] for row in rows] == ["", *"01234", "…", "95", "96", "97", "98", "99"]
    assert rows[0] == ["", *"01234", "…", "35", "36", "37", "38", "39"]
    assert rows[6][1:] == ["…"] * 11
    assert [float(n) for n in rows[-1][-5:]] == numbers(100, 40)[-1, -5:].tolist()


def test_html_of_records_has_a_column_for_each_field():
    array = np.zeros(20, RECORD)
    array[19] = (2.5, (3, 4))
    rows = read(view_of(array)).rows
    assert rows[0] == ["", "x", "cell"]
    assert rows[1] == ["0", "0.", "[0 0]"] and rows[-1] == ["19", "2.5", "[3 4]"]
    assert rows[6] == ["…"] * 3
    assert read(view_of(np.zeros((2, 2), RECORD))).rows[1][1] == "(0., [0, 0])"


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, 3, 4), (1, 1, 1, 1, 1, 1, 1, 1)])
def test_html_of_other_ranks_has_the_text_of_numpy(shape):
    array = numbers(*shape)
    found = read(view_of(array))
    assert not found.rows
    assert (np.array2string(array) in found.text) == bool(array.size)


def tints(view):
    """How opaque each cell is."""
    return [float(a) for a in re.findall(r"rgba\(66,133,244,([\d.]+)\)", view._repr_html_())]


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint64])
def test_cells_are_tinted_by_their_size(dtype):
    assert tints(view_of(np.array([1, 3, 2], dtype))) == [0.04, 0.46, 0.25]


def test_what_has_no_size_is_not_tinted():
    assert tints(view_of(np.array([2.0, np.nan, np.inf, 4.0]))) == [0.04, 0.46]
    assert tints(view_of(np.array([-1.7e308, 1.7e308]))) == [0.04, 0.46]
    for array in (np.ones(3), np.full(2, np.nan), np.zeros(3, np.complex64), np.zeros(3, bool)):
        assert tints(view_of(array)) == []


HOSTILE = "<script>alert('x')</script>&\"'"


def test_all_text_is_escaped():
    record = np.dtype([(HOSTILE, np.float64)])
    tool = type("Hostile", (es.profiling.Tool,), {"report": lambda self: HOSTILE})()
    with es.profile(tool) as profile:
        pass
    shown = [
        es.View(3, label=HOSTILE), es.View((2, 2), label=HOSTILE, memory=Far()),
        es.View(2, record), profile,
        es.TileTable(HOSTILE, {"stream": {1: (4,)}}, summary=HOSTILE, space=HOSTILE),
        es.Explanation(
            HOSTILE, HOSTILE, "for", (HOSTILE,), (HOSTILE,), HOSTILE, {HOSTILE: {HOSTILE: 1}},
            {HOSTILE: HOSTILE}, (HOSTILE,), HOSTILE, HOSTILE,
        ),
    ]  # fmt: skip
    for value in shown:
        found = read(value)
        assert HOSTILE in found.text
        assert "script" not in found.tags


# -- what else is shown as tables -----------------------------------------------------------------


def test_html_of_an_explanation():
    found = read(
        es.Explanation(
            "axpy", "cuda", "for", ("float64",), ("a block a row",), "line 1\n  line 2",
            {"axpy": {"registers": 32}, "axpy_small": {"shared": 64}}, {"i": "int64"},
        )
    )  # fmt: skip
    assert found.text.startswith("Kernel 'axpy', parallel_for on space 'cuda'")
    for row in (["0", "float64"], ["i", "int64"], ["a block a row"], ["axpy_small", "", "64"]):
        assert row in found.rows
    assert "details" in found.tags and "line 1\n  line 2" in found.text
    assert "details" not in read(es.Explanation("k", "s", "for", (), (), "")).tags


def test_html_of_tiles():
    table = es.TileTable(
        "mine", {"stream": {2: (32, 4)}, "stencil": {2: (32, 8), 3: (8, 8, 1)}},
        {"stencil": {2: (1, 2)}},
    )  # fmt: skip
    assert read(table).rows == [
        ["", "rank 2", "rank 3"],
        ["stream", "32 x 4", ""],
        ["stencil", "32 x 8, 1 x 2 a thread", "8 x 8 x 1"],
    ]
    assert not read(es.TileTable("none", {}, summary="nothing is tiled")).rows


def test_a_profile_shows_the_html_of_tools_that_have_some():
    class Text(es.profiling.Tool):
        def report(self):
            return "a < b\n"

    class Html(Text):
        def _repr_html_(self):
            return "<p>a table</p>"

    class Silent(es.profiling.Tool):
        pass

    with es.profile(Text(), Html(), Silent()) as profile:
        pass
    found = profile._repr_html_()
    assert found.count("<pre>a &lt; b</pre>") == found.count("<p>a table</p>") == 1


def test_a_list_of_spaces_is_a_table(fake_spaces):
    found = es.spaces()
    assert isinstance(found, list) and found == list(found)
    assert repr(found).splitlines()[0].split() == [
        "space",
        "usable",
        "priority",
        "summary",
        "reason",
    ]
    lines = repr(found).splitlines()[1:]
    assert [line.split()[:3] for line in lines] == [["near", "yes", "5"], ["gone", "no", "1"]]
    assert str(found) == repr(found)
    assert read(found).rows[1:] == [
        ["near", "yes", "5", "is <here>", ""], ["gone", "no", "1", "is not", "there is none"]
    ]  # fmt: skip


def test_an_empty_list_of_spaces_says_so():
    assert es.spaces() == []
    assert repr(es.spaces()) == "no execution spaces: no plugin is installed that has one"
    assert repr(es.spaces()) in read(es.spaces()).text


@pytest.fixture
def fake_spaces(monkeypatch):
    from execspace.plugins import selection

    rows = [
        es.SpaceInfo("near", True, "", 5, "is <here>"),
        es.SpaceInfo("gone", False, "there is none", 1, "is not"),
    ]
    monkeypatch.setattr(selection, "_rows", lambda: iter(rows))


def test_nothing_of_it_is_loaded_before_it_is_shown():
    program = """
import sys
import execspace as es
view = es.View(3, memory=es.HOST)
late = ["base.html", "views.showing", "base.tracebacks", "profiling.timer"]
assert not {f"execspace.{name}" for name in late} & {*sys.modules}
assert "html" not in sys.modules and "rich" not in sys.modules and "IPython" not in sys.modules
repr(view), view._repr_html_()
assert "execspace.views.showing" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
