"""Source locations and the errors that point at them.

Every node of HIR and IR carries a Loc. A Reporter collects all faults of one kernel, so that
a user sees them together, each with file, line, column, the source line and carets.
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass, field

from execspace import KernelError, KernelSyntaxError, KernelTypeError


@dataclass(frozen=True, slots=True)
class Loc:
    """A stretch of source: 1-based lines, 0-based columns, end exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def of(cls, node: ast.AST, file: str) -> Loc:
        """Location of a Python syntax node."""
        line = getattr(node, "lineno", 0)
        column = getattr(node, "col_offset", 0)
        return cls(
            file,
            line,
            column,
            getattr(node, "end_lineno", None) or line,
            getattr(node, "end_col_offset", None) or column + 1,
        )

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"

    def excerpt(self) -> str:
        """The source line with carets under the stretch."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text:
            return ""
        # Columns of the syntax tree count UTF-8 bytes; carets must count characters.
        raw = text.encode()
        start = len(raw[: self.column].decode(errors="replace"))
        if self.end_line > self.line:
            end = len(text)
        else:
            end = len(raw[: self.end_column].decode(errors="replace"))
        shown = text.expandtabs(4)
        start = len(text[:start].expandtabs(4))
        end = len(text[:end].expandtabs(4))
        number = f"{self.line:5d} | "
        blank = " " * (len(number) - 2) + "| "
        return f"{number}{shown}\n{blank}{' ' * start}{'^' * max(1, end - start)}"


NOWHERE = Loc("<generated>", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault: where, what is wrong, and what to write instead."""

    loc: Loc
    message: str
    hint: str = ""
    kind: type[KernelError] = KernelTypeError

    def __str__(self) -> str:
        parts = [f"{self.loc}: {self.message}", self.loc.excerpt()]
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(p for p in parts if p)


class Fault(Exception):
    """Raised inside the compiler to abandon a statement; carries its Diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


def syntax_fault(loc: Loc, message: str, hint: str = "") -> Fault:
    """A Fault for Python that has no meaning in a kernel."""
    return Fault(Diagnostic(loc, message, hint, KernelSyntaxError))


def type_fault(loc: Loc, message: str, hint: str = "") -> Fault:
    """A Fault for types that do not fit."""
    return Fault(Diagnostic(loc, message, hint, KernelTypeError))


@dataclass
class Reporter:
    """Collects the faults of one kernel and raises them as one exception."""

    kernel: str
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, fault: Fault) -> None:
        """Remember a fault once."""
        if fault.diagnostic not in self.diagnostics:
            self.diagnostics.append(fault.diagnostic)

    def check(self) -> None:
        """Raise KernelSyntaxError or KernelTypeError if there is any fault."""
        found = self.diagnostics
        if not found:
            return
        kind = KernelSyntaxError
        if all(d.kind is not KernelSyntaxError for d in found):
            kind = found[0].kind  # type: ignore[assignment]
        if len(found) == 1:
            head = f"in kernel '{self.kernel}'"
        else:
            head = f"{len(found)} errors in kernel '{self.kernel}'"
        raise kind("\n\n".join([head, *map(str, found)]))
