"""A smaller program that shows the same difference: statements are left out while it does."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from .cases import Case


def reduced(case: Case, differs: Callable[[Case], bool], attempts: int = 150) -> Case:
    """A case with fewer statements, of which `differs` is true.

    Parameters
    ----------
    case : Case
    differs : callable
        Whether a case still shows what is looked for; it must be true of `case`.
    attempts : int
        How often it may be called.
    """
    smaller = True
    while smaller and attempts > 0:
        smaller = False
        for text in _without_a_statement(case.source):
            attempts -= 1
            if attempts < 0:
                break
            found = replace(case, source=text)
            if differs(found):
                case, smaller = found, True
                break
    return case


def _without_a_statement(source: str) -> Iterator[str]:
    """The source without each statement of its functions in turn, the largest first."""
    tree = ast.parse(source)
    places = [
        (body, n)
        for node in ast.walk(tree)
        if not isinstance(node, ast.Module | ast.ClassDef)
        for body in (getattr(node, name, None) for name in ("body", "orelse"))
        if isinstance(body, list)
        for n, statement in enumerate(body)
        if not isinstance(statement, ast.Pass)
    ]
    places.sort(key=lambda place: len(ast.dump(place[0][place[1]])), reverse=True)
    for body, n in places:
        statement = body[n]
        body[n] = ast.copy_location(ast.Pass(), statement)
        yield ast.unparse(tree) + "\n"
        if isinstance(statement, ast.If | ast.For | ast.While):  # or what stands in it alone
            body[n : n + 1] = statement.body
            yield ast.unparse(tree) + "\n"
            body[n : n + len(statement.body)] = [statement]
        body[n] = statement
