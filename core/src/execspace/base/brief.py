"""Values in messages: on one line each, and Views without their values.

`repr` of a View shows its values. A message that names what it was given, which may be a View, a
tuple with one in it, or a NumPy array, is written with `brief`.
"""

from __future__ import annotations

from contextvars import ContextVar

_LONGEST = 400  # characters; arrays and lists may have many items
_BRIEF: ContextVar[bool] = ContextVar("execspace_brief", default=False)


def is_brief() -> bool:
    """Whether a `repr` that is being made is for a message."""
    return _BRIEF.get()


def brief(value: object) -> str:
    """`repr` of a value for a message: one line, not too long; of Views only what they are."""
    before = _BRIEF.set(True)
    try:
        text = repr(value)
    finally:
        _BRIEF.reset(before)
    text = text if "\n" not in text else " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 60]} ... {text[-50:]}"
