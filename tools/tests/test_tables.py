"""Tables of reports: as wide as the terminal, with numbers that are never cut."""

import pytest

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
