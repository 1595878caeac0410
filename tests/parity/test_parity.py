"""The table of Kokkos' features is true: programs run, lines are theirs, reasons are told."""

import re
from collections import Counter
from pathlib import Path

import pytest

import execspace as es
from parity import page
from parity.table import BESIDES, programs, programs_for, rows, run, source_of

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_table_passes(name, space, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # or tables of tools shorten what they say
    if name not in programs_for(space.name):
        pytest.skip("it is about another space")
    run(PROGRAMS[name], space)


def test_lines_are_those_of_programs():
    """However they are broken."""
    for row in rows():
        assert bool(row.line) == (row.program is not None), row.feature
        if row.program is not None:
            source = re.sub(r"\s", "", source_of(row.program))
            assert re.sub(r"\s", "", row.line) in source, f"{row.feature}: {row.line}"


def test_a_feature_has_one_row():
    found = Counter((row.section, row.feature) for row in rows())
    assert [feature for feature, number in found.items() if number > 1] == []


def test_reasons_are_told_in_the_docs():
    text = (DOCS / "kokkos.md").read_text(encoding="utf-8")
    told = re.findall(r"\*\*(.+?)\*\*", text.partition("## What is deliberately not there")[2])
    assert len(told) > 5
    for row in rows():
        assert bool(row.reason) == (row.there != "yes"), row.feature
        assert not row.reason or row.reason in told, f"{row.feature}: {row.reason}"


def test_most_features_are_there():
    assert sum(row.there == "yes" for row in rows() if row.section not in BESIDES) >= 225


def test_the_page_is_up_to_date():
    assert page.main(["--check"]) == 0
    assert "](parity.md)" in (DOCS / "kokkos.md").read_text(encoding="utf-8")


def test_what_fails_is_told_and_recorded(monkeypatch):
    """In its process, with the line that failed; others run."""
    name, program = next(iter(PROGRAMS.items()))

    def fails(space):
        assert space.concurrency < 0

    with pytest.raises(AssertionError) as error:
        run(fails, es.space("serial"))
    assert page.fault(error.value).endswith(" in `assert space.concurrency < 0`")
    made = page.record(["serial"], f"^{re.escape(name)}$")
    assert list(made["programs"]) == [name]
    assert made["programs"][name]["serial"] == "passed"
    monkeypatch.setattr(page, "records", lambda: {"here": made})
    row = next(row for row in rows() if row.program is program)
    assert page.table_row(row, page.records()).endswith("| serial |")
    made["programs"][name]["serial"] = "ValueError: no | yes"
    assert r"fails on serial: ValueError: no \| yes" in page.table_row(row, page.records())
    made["programs"][name]["of"] = "another version"
    assert page.table_row(row, page.records()).endswith("|  |")
