"""Tables of reports: as wide as the terminal, with numbers that are never cut."""

import html

import pytest

import execspace as es
from execspace_tools import tables

ROWS = [["advance_" * 12 + "end", "12", "1.23 ms"], ["[bold]b", "3", "4.50 s"]]
HEADERS = ["kernel", "calls", "total"]


def drawn(**options):
    return tables.table(HEADERS, ROWS, ("kernel",), **options)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_long_label_loses_its_middle_and_numbers_stay(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = drawn().splitlines()
    assert max(map(len, lines)) == width
    assert lines[2].startswith("advance_advance_") and "…" in lines[2]
    assert lines[2].endswith("end     12  1.23 ms")
    assert lines[3].startswith("[bold]b  ")


def test_a_label_that_fits_is_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert ROWS[0][0] in drawn()


def test_the_total_is_below_a_line():
    text = tables.table(HEADERS, [["a", "1", "2.00 s"]], ("kernel",), total=["all", "1", "2.00 s"])
    assert text == (
        "kernel  calls   total\n"
        "─────────────────────\n"
        "a           1  2.00 s\n"
        "─────────────────────\n"
        "all         1  2.00 s"
    )


def test_without_rich_the_table_is_plain_text(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    text = tables.table(HEADERS, [["a", "1", "2.00 s"]], ("kernel",), total=["all", "1", "2.00 s"])
    assert text == (
        "kernel  calls   total\n"
        "---------------------\n"
        "a           1  2.00 s\n"
        "---------------------\n"
        "all         1  2.00 s"
    )


def test_where_lines_cannot_be_printed_there_are_none(monkeypatch):
    monkeypatch.setattr(tables, "_unicode", lambda: False)
    monkeypatch.setenv("COLUMNS", "60")
    text = drawn(total=["all", "15", "4.50 s"])
    assert text.isascii()
    assert ".." in text.splitlines()[2]
    assert text.splitlines()[1] == "-" * 60


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (0.0, "0.00 us"), (9.996e-6, "10.0 us"), (0.0009996, "1.00 ms"),
        (0.09996, "100 ms"), (1.0, "1.00 s"), (86400.0, "86400 s"),
    ],
)  # fmt: skip
def test_times_have_three_digits(value, text):
    assert tables.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1 << 20, "1.00 MiB"),
        (1 << 41, "2048 GiB"),
    ],
)
def test_sizes(value, text):
    assert tables.nbytes(value) == text


# -- notebooks ------------------------------------------------------------------------------------


def test_a_table_has_the_same_cells_in_a_notebook(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    made = drawn(total=["all", "15", "5.73 ms"]).html()
    assert f"<td>{ROWS[0][0]}</td>" in made  # which is wide enough for the whole label
    assert '<td class="right">1.23 ms</td>' in made
    assert '<tr class="total"><td>all</td><td class="right">15</td>' in made


TOOLS = ("kernel-timer", "space-time-stack", "memory-high-water", "memory-events", "roofline")


@pytest.mark.parametrize("tool", TOOLS)
def test_reports_of_tools_are_tables_in_notebooks(tool):
    with es.profile(f"{tool}:peaks=0" if tool == "roofline" else tool) as found:
        x = es.View(100, label="x<1>", memory=es.HOST)
        es.parallel_for(es.RangePolicy(100, space="oracle"), scale, x, label="scale<1>")
    shown = found._repr_html_()
    text = found[tool].report()
    assert shown.count("<table") == text.count("\n─") - text.count("\nall ")
    assert "x&lt;1&gt;" in shown or "scale&lt;1&gt;" in shown
    assert "<1>" not in shown
    for line in text.splitlines():
        if line and "  " not in line and "─" not in line:  # sentences and titles
            assert html.escape(line.split()[0]) in shown


def scale(i, x):
    x[i] *= 2.0
