"""Kernels that the host's methods of `UnorderedMap` launch: over keys, or over slots."""

from __future__ import annotations

from typing import Any


def is_valid(slot: int, table: Any) -> Any:
    """Whether there is a key in a slot."""
    return table.valid_at(slot)


def move(slot: int, old: Any, new: Any) -> None:
    """Have the key of a slot in another table, with its value."""
    if old.valid_at(slot):
        index, _ = new._claimed(new._word(old.key_at(slot)))
        if old.slot_values is not None and index >= 0:
            new.slot_values[index] = old.slot_values[slot]


def gather_keys(slot: int, place: Any, final: Any, table: Any, keys: Any) -> Any:
    """Bring the keys side by side."""
    if final and table.valid_at(slot):
        keys[place] = table.key_at(slot)
    return 1 if table.valid_at(slot) else 0


def gather(slot: int, place: Any, final: Any, table: Any, keys: Any, values: Any) -> Any:
    """Bring keys and values side by side."""
    if final and table.valid_at(slot):
        keys[place] = table.key_at(slot)
        values[place] = table.slot_values[slot]
    return 1 if table.valid_at(slot) else 0


def is_foreign(i: int, table: Any, keys: Any) -> Any:
    """Whether a key is none that the table can have."""
    return 0 if table._has(keys[i]) else 1


def insert_key(i: int, table: Any, keys: Any) -> None:
    """Insert a key of a set."""
    table.insert(keys[i])


def insert(i: int, table: Any, keys: Any, values: Any) -> None:
    """Insert a key, with its value if it is new."""
    index, existing = table._entered(keys[i])
    if index >= 0 and not existing:
        table.slot_values[index] = values[i]


def insert_and_add(i: int, table: Any, keys: Any, values: Any, done: Any) -> None:
    """Add to the value of a key, unless that is done."""
    if not done[i]:
        done[i] = not table.insert(keys[i], values[i], "add").failed


def find(i: int, table: Any, keys: Any, out: Any) -> None:
    """The slot of a key."""
    out[i] = table.find(keys[i])


def get(i: int, table: Any, keys: Any, out: Any) -> None:
    """The value of a key that is there."""
    slot = table.find(keys[i])
    if slot >= 0:
        out[i] = table.slot_values[slot]
