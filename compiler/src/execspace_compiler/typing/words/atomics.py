"""Atomic steps of any function, in the language of kernels: of numbers and of records.

A record is changed while its lock is held. Threads that wait for one try again in the same loop
in which others let go of it, for the threads of a GPU's warp may go on only together.
"""

from __future__ import annotations

from typing import Any

import execspace as es
from execspace.kernels.atomic_records import same_bits, set_record


def number(operation: Any, view: Any, index: Any, value: Any, new: es.static) -> Any:
    """Set a number to `operation` of it and a value, by compare-and-swap."""
    old = es.atomic_load(view, index)
    stored = operation(old, value)
    found = es.atomic_compare_exchange(view, index, old, stored)
    while not same_bits(found, old):
        old = found
        stored = operation(old, value)
        found = es.atomic_compare_exchange(view, index, old, stored)
    return stored if new else old


def record(operation: Any, element: Any, value: Any, locks: Any, lock: Any, new: es.static) -> Any:
    """Set a record to `operation` of it and a value, under a lock."""
    old = element.copy()
    stored = old
    waits = True
    while waits:
        if _is_taken(locks, lock):
            old = element.copy()
            stored = operation(old, value)
            set_record(element, stored)
            es.atomic_store(locks, lock, 0)
            waits = False
    return stored if new else old


def compared_record(
    operation: Any, element: Any, value: Any, locks: Any, lock: Any, new: es.static
) -> Any:
    """As `record`, with a function that may fail, or take a lock itself, and so is called without
    one: what it gives is stored if the record is as it was."""
    old = load(element, locks, lock)
    stored = operation(old, value)
    waits = True
    while waits:
        found = old
        taken = _is_taken(locks, lock)
        if taken:
            found = element.copy()
            if same_bits(found, old):
                set_record(element, stored)
                waits = False
            es.atomic_store(locks, lock, 0)
        if taken and waits:
            old = found
            stored = operation(old, value)
    return stored if new else old


def load(element: Any, locks: Any, lock: Any) -> Any:
    """A record, read under a lock."""
    found = element.copy()
    waits = True
    while waits:
        if _is_taken(locks, lock):
            found = element.copy()
            es.atomic_store(locks, lock, 0)
            waits = False
    return found


def store(element: Any, value: Any, locks: Any, lock: Any) -> None:
    """Set a record under a lock, without reading it."""
    waits = True
    while waits:
        if _is_taken(locks, lock):
            set_record(element, value)
            es.atomic_store(locks, lock, 0)
            waits = False


def _is_taken(locks: Any, lock: Any) -> Any:
    """Take a lock if it is free. Threads that wait read it only, which is twice as fast."""
    if es.atomic_load(locks, lock) != 0:
        return False
    return es.atomic_compare_exchange(locks, lock, 0, 1) == 0


def own_record(operation: Any, element: Any, value: Any, new: es.static) -> Any:
    """Set a record of an array that one thread has."""
    old = element.copy()
    stored = operation(old, value)
    set_record(element, stored)
    return stored if new else old


# -- what functions of atomics.py do with a record, where no operator says it ---------------------


def least(a: Any, b: Any) -> Any:
    """The lesser of two."""
    return b if b < a else a


def greatest(a: Any, b: Any) -> Any:
    """The greater of two."""
    return b if a < b else a


def nand(a: Any, b: Any) -> Any:
    """As of bits."""
    return ~(a & b)


def exchange(a: Any, b: Any) -> Any:
    """The new one."""
    return b


def compare_exchange(a: Any, expected_and_desired: Any) -> Any:
    """What is desired, if it is what is expected."""
    return expected_and_desired[1] if same_bits(a, expected_and_desired[0]) else a
