"""Typing rules, in a module for each subject.

A module is imported when a kernel first has something of which it has the rule: most kernels need
few of them. Here is which module has which rules; importing it registers them. Those of functions
that kernels call are in calls.py.
"""

from __future__ import annotations

from ...frontend import hir
from ..context import CALLED, EXPRESSIONS, METHODS, STATEMENTS
from ..values import Chosen, FunctionValue, Method, Obj

EXPRESSIONS.homes = {
    hir.Attribute: "attributes",
    hir.Call: "calls",
    hir.Chain: "choices",
    hir.Conditional: "choices",
    hir.Constant: "expressions",
    hir.Lambda: "helper_calls",
    hir.Local: "variables",
    hir.Logical: "choices",
    hir.Named: "variables",
    hir.Operation: "expressions",
    hir.Outer: "captures",
    hir.Subscript: "views",
    hir.Tuple: "expressions",
    hir.Undefined: "expressions",
}
STATEMENTS.homes = {
    hir.Assert: "leaving",
    hir.Assign: "assignments",
    hir.Break: "control",
    hir.Cases: "control",
    hir.Continue: "control",
    hir.Evaluate: "control",
    hir.For: "control",
    hir.ForEach: "control",
    hir.If: "control",
    hir.Return: "leaving",
    hir.Update: "assignments",
    hir.While: "control",
}
CALLED.homes = {
    Chosen: "chosen",
    FunctionValue: "helper_calls",
    Method: "calls",
    Obj: "calls",
}
METHODS.homes = {
    **dict.fromkeys(("any", "all", "none", "count", "sum", "prod", "min", "max"), "simd"),
    **dict.fromkeys(("of", "generate", "iota", "first"), "simd"),
    **dict.fromkeys(("load", "gather", "store", "scatter"), "simd_memory"),
    "barrier": "teams",
    "bit_count": "bits",
    "bit_length": "bits",
    "broadcast": "teams",
    "conjugate": "calls",
    "extent": "calls",
    "reduce": "team_reductions",
    "scan": "team_reductions",
    "scratch": "teams",
    "static_extent": "calls",
    "thread_scratch": "teams",
    "view": "bits",
}
