"""What is below statements and expressions: instructions, blocks, declarations, metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .library import LIBRARY, NEEDS
from .spelling import c_string
from .vector_math import NO_VECTORS, VectorMath

if TYPE_CHECKING:
    from .uniform_calls import Uniform


class ModuleText:
    """What a module has besides its functions: declarations, constants, metadata.

    Each is written once, when it is first used.

    Attributes
    ----------
    targeted : VectorMath
        Vector versions of mathematical functions that there are.
    kept : dict
        Functions that LLVM must not drop before it has vectorised loops.
    linked : list of Uniform
        Functions whose definitions are linked afterwards.
    """

    def __init__(self, targeted: VectorMath = NO_VECTORS) -> None:
        self.targeted = targeted
        self.kept: dict[str, None] = {}
        self.linked: list[Uniform] = []
        self._groups: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.metadata: list[str] = []
        self._nodes: dict[str, str] = {}
        self._strings: dict[str, str] = {}

    def declare(self, name: str, result: str, parameters: str, attributes: str = "") -> str:
        """The symbol of a function that is defined elsewhere."""
        line = f"declare {result} @{name}({parameters}) {attributes}".rstrip()
        self.globals[name] = line
        return f"@{name}"

    def library(self, name: str) -> str:
        """The symbol of a function of `library.LIBRARY`."""
        if name not in self.functions:
            for other in NEEDS.get(name, ()):
                self.library(other)
            text, needs = LIBRARY[name]
            self.globals.update(needs)
            self.functions[name] = text
        return f"@{name}"

    def string(self, text: str) -> str:
        """The symbol of a constant string."""
        if text not in self._strings:
            name = f"text.{len(self._strings)}"
            kind, value = c_string(text)
            self.globals[name] = f"@{name} = private unnamed_addr constant {kind} {value}"
            self._strings[text] = f"@{name}"
        return self._strings[text]

    def group(self, attributes: str) -> str:
        """A group of attributes of calls."""
        return self._groups.setdefault(attributes, f"#{len(self._groups)}")

    def node(self, *operands: str) -> str:
        """A metadata node."""
        return self.named_node(f"!{{{', '.join(operands)}}}")

    def named_node(self, text: str) -> str:
        if text not in self._nodes:
            self._nodes[text] = self._add(text)
        return self._nodes[text]

    def distinct(self, *operands: str) -> str:
        """A node that is its own first operand, as loops need it."""
        name = f"!{len(self.metadata)}"
        return self._add(f"distinct !{{{', '.join((name, *operands))}}}")

    def _add(self, text: str) -> str:
        name = f"!{len(self.metadata)}"
        self.metadata.append(f"{name} = {text}")
        return name

    def lines(self) -> list[str]:
        """All of it."""
        groups = [f"attributes {name} = {{ {text} }}" for text, name in self._groups.items()]
        return [*self._kept(), *self.globals.values(), *self.functions.values(), *groups,
                *self.metadata]  # fmt: skip

    def _kept(self) -> list[str]:
        if not self.kept:
            return []
        held = ", ".join(f"ptr @{name}" for name in self.kept)
        kind = f"[{len(self.kept)} x ptr]"
        return [f'@llvm.compiler.used = appending global {kind} [{held}], section "llvm.metadata"']


class Emitter:
    """Writes the instructions of a function.

    Attributes
    ----------
    flags : str
        Fast-math flags of its arithmetic, with a space behind them, or nothing.
    block : str
        Label of the block that is being written; empty after its last instruction.
    """

    def __init__(self, module: ModuleText, flags: str = "") -> None:
        self.module = module
        self.flags = flags
        self.block = "entry"
        self.body: list[str] = []
        self.entry: list[str] = []  # stack slots, which belong at the start
        self._count = 0

    def name(self, hint: str = "") -> str:
        """A new name of a value."""
        self._count += 1
        return f"%{hint}{self._count}"

    def op(self, text: str) -> str:
        """Write an instruction; returns its value."""
        self._count += 1
        name = f"%t{self._count}"
        self.body.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction without a value."""
        self.body.append(f"  {text}")

    def slot(self, kind: str, align: int = 0, hint: str = "") -> str:
        """A place on the stack of the function."""
        name = hint or self.name("slot")
        aligned = f", align {align}" if align else ""
        self.entry.append(f"  {name} = alloca {kind}{aligned}")
        return name

    # -- control flow ---------------------------------------------------------------------------

    def label(self, hint: str) -> str:
        """A new label."""
        self._count += 1
        return f"{hint}{self._count}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.body.append(f"{label}:")
        self.block = label

    def jump(self, label: str, more: str = "") -> None:
        """End the block, unless it has ended."""
        if self.block:
            self.body.append(f"  br label %{label}{more}")
            self.block = ""

    def branch(self, test: str, then: str, orelse: str, more: str = "") -> None:
        """End the block with a choice."""
        self.body.append(f"  br i1 {test}, label %{then}, label %{orelse}{more}")
        self.block = ""

    def ret(self, what: str) -> None:
        """End the function."""
        self.body.append(f"  ret {what}")
        self.block = ""

    def phi(self, kind: str, *incoming: tuple[str, str]) -> str:
        """A value that depends on the block before."""
        return self.op(f"phi {kind} {', '.join(f'[ {v}, %{b} ]' for v, b in incoming)}")

    # -- calls ----------------------------------------------------------------------------------

    def struct(self, values: Sequence[str], kinds: Sequence[str]) -> str:
        """A structure of values."""
        kind = f"{{ {', '.join(kinds)} }}"
        made = "poison"
        for n, (v, k) in enumerate(zip(values, kinds, strict=True)):
            made = self.op(f"insertvalue {kind} {made}, {k} {v}, {n}")
        return made

    def fields(self, value: str, kinds: Sequence[str]) -> list[str]:
        """The values of a structure."""
        kind = f"{{ {', '.join(kinds)} }}"
        return [self.op(f"extractvalue {kind} {value}, {n}") for n in range(len(kinds))]
