"""Source locations and the errors that point at them.

Every node of HIR and IR carries a Loc. A Reporter collects all faults of one kernel, so that
users see them together, each with file, line, column, the source line and carets.
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import field, replace

from execspace import KernelError, KernelSyntaxError, KernelTypeError
from execspace.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Loc:
    """A source range: 1-based lines, 0-based columns, end exclusive."""

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
        raw = linecache.getline(self.file, self.line).encode()[: self.column]
        column = len(raw.decode(errors="replace")) if raw else self.column
        return f"{self.file}:{self.line}:{column + 1}"

    def text(self) -> str:
        """The source in the range, its first line only."""
        raw = linecache.getline(self.file, self.line).rstrip("\n").encode()
        end = self.end_column if self.end_line == self.line else len(raw)
        return raw[self.column : end].decode(errors="replace")

    def name(self, otherwise: str) -> str:
        """The source in the range if it is a name, dotted or not, else `otherwise`.

        Names in the source may differ from those of variables in IR.
        """
        text = self.text()
        return text if all(part.isidentifier() for part in text.split(".")) else otherwise

    def excerpt(self) -> str:
        """The source line with carets under the range."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text or not self.end_line:
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
    """One fault: where, what is wrong, what to write instead, and the calls that lead to it.

    One that is found within a folder is that of the first call that stands outside of it.
    """

    loc: Loc
    message: str
    hint: str = ""
    kind: type[KernelError] = KernelTypeError
    calls: tuple[Loc, ...] = ()
    within: str = ""

    def called(self, loc: Loc) -> Diagnostic:
        """The same in a function that is called at `loc`."""
        if self.within and self.loc.file.startswith(self.within):
            return replace(self, loc=loc)
        return self if loc in self.calls else replace(self, calls=(*self.calls, loc))

    def __str__(self) -> str:
        parts = [f"{self.loc}: {self.message}", self.loc.excerpt()]
        if self.hint:
            parts.append(f"hint: {self.hint}")
        for loc in self.calls:
            parts += [f"called from {loc}", loc.excerpt()]
        return "\n".join(p for p in parts if p)


class Fault(Exception):
    """Raised inside the compiler to abandon a statement; carries the diagnostics to report."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n\n".join(map(str, diagnostics)))
        self.diagnostics = diagnostics

    def called(self, loc: Loc) -> Fault:
        """The same fault, in a function that is called at `loc`."""
        return Fault(*(d.called(loc) for d in self.diagnostics))


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
        """Record a fault once, whichever call leads to it."""
        known = {(d.loc, d.message) for d in self.diagnostics}
        self.diagnostics += [d for d in fault.diagnostics if (d.loc, d.message) not in known]

    def attempt(self) -> Reporter:
        """A Reporter for one attempt of several: it begins with the faults found so far.

        Faults that an attempt adds are dropped with it; earlier ones are kept.
        """
        return Reporter(self.kernel, list(self.diagnostics))

    def check(self) -> None:
        """Raise KernelSyntaxError or KernelTypeError if there is any fault."""
        found = self.diagnostics
        if not found:
            return
        folders = tuple({d.within for d in found if d.within})
        if folders:  # what fails there after a refusal is its consequence
            found = [d for d in found if d.within or not d.loc.file.startswith(folders)]
            found = list({(d.loc, d.message): d for d in found}.values())
        kind = KernelSyntaxError
        if all(d.kind is not KernelSyntaxError for d in found):
            kind = found[0].kind  # type: ignore[assignment]
        if len(found) == 1:
            head = f"in kernel '{self.kernel}'"
        else:
            head = f"{len(found)} errors in kernel '{self.kernel}'"
        raise kind("\n\n".join([head, *map(str, found)]))


def counted(n: int, what: str) -> str:
    """A number of things, for messages."""
    return f"{n} {what}{'' if n == 1 else 's'}"
