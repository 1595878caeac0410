"""Whether a kernel runs in lanes on a device that is a host, whose language has vectors."""

from __future__ import annotations

from execspace.base import config

from .. import ir
from ..ir.types import Scalar
from ..spmd.choice import Choice, Processor, chosen
from ..typing.lowered import Lowered


def device_choices(
    lowered: Lowered, fastest: int, features: frozenset[str]
) -> tuple[Choice, ...]:  # fmt: skip
    """How a kernel runs, or each part of a fused one, as it does alone; `features` are those of the
    processor, as LLVM names them."""
    policy, pattern = lowered.spec.policy, lowered.spec.pattern
    if policy.kind == "team":
        return (Choice(None, "teams run call by call here"),)
    if any(_is_float16(e) for f in lowered.functions for e in ir.walk_expressions(f.body)):
        return (Choice(None, "float16 has no vectors here"),)
    on = Processor(features, policy.lanes or config.lanes())
    bodies, found = lowered.parts or (lowered.body,), []
    for n, body in enumerate(bodies):
        if pattern != "for" and n == len(bodies) - 1:
            found.append(Choice(None, f"calls of a parallel_{pattern} run one by one here"))
            continue
        functions = (*lowered.functions[:-1], body)
        name = f"__lanes{n}_" if lowered.parts else "__lanes"
        # GCC takes vectors that are wider than registers apart, at twice the time.
        choice = chosen(functions, fastest, on, name, pairs=False)
        found.append(choice.without_asking())
    return tuple(found)


def _is_float16(e: ir.Expr) -> bool:
    return isinstance(e.type, Scalar) and e.type.name == "float16"
