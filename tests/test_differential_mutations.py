"""The differential test notices a wrong compiler: printers are broken on purpose."""

from __future__ import annotations

import pytest

from execspace_compiler.printers.numba import NumbaPrinter
from execspace_testing.suite.differential.compare import examine, run


def division_that_rounds_up(monkeypatch):
    right = NumbaPrinter.operation

    def operation(self, e, args):
        if e.op == "floordiv" and e.type.kind == "i":
            a, b = (f"np.int64({text})" for text in args)
            return self._narrowed(f"(-_r.int_floordiv(-{a}, {b}))", e.type)
        return right(self, e, args)

    monkeypatch.setattr(NumbaPrinter, "operation", operation)


def integers_that_do_not_wrap(monkeypatch):
    """What Numba does by itself: int8 + int8 is an int64."""
    right = NumbaPrinter._narrowed

    def narrowed(self, text, t):
        return f"np.int64({text})" if t.name in ("int8", "int16", "int32") else right(self, text, t)

    monkeypatch.setattr(NumbaPrinter, "_narrowed", narrowed)


@pytest.mark.parametrize("break_it", [division_that_rounds_up, integers_that_do_not_wrap])
def test_a_wrong_compiler_is_noticed(monkeypatch, tmp_path, break_it):
    """With as many programs as are run by default; a cache of its own, so that all is compiled."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path))
    break_it(monkeypatch)
    with pytest.raises(AssertionError, match="differ\ninputs at"):
        examine("serial", lambda program: run(program, "serial"))
