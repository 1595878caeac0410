"""What core does in another way where there is no GIL."""

import sysconfig
import threading

from execspace.base.free_threading import FREE_THREADED, drop_oldest, getter, numbers
from execspace.base.readonly import with_class


def test_it_is_known_whether_the_interpreter_has_a_gil():
    assert bool(sysconfig.get_config_var("Py_GIL_DISABLED")) == FREE_THREADED


def test_numbers_of_threads_differ():
    number, got = numbers(1), [[] for _ in range(8)]
    start = threading.Barrier(len(got))

    def take(mine):
        start.wait()
        mine += [number() for _ in range(5000)]

    threads = [threading.Thread(target=take, args=(mine,)) for mine in got]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(n for mine in got for n in mine) == list(range(1, 40001))


def test_a_getter_finds_what_is_added_later():
    table = {}
    get = getter(table)
    assert get((1, 2)) is None
    table[1, 2] = 3
    assert get((1, 2)) == 3


def test_an_object_of_another_class_has_all_attributes():
    class Parts:
        __slots__ = ("__weakref__", "a", "b")

    class Whole(Parts):
        __slots__ = ()

        def __setattr__(self, name, value):
            raise AssertionError(name)

    parts = Parts()
    parts.a, parts.b = 1, "two"
    made = with_class(parts, Whole)
    assert type(made) is Whole and (made.a, made.b) == (1, "two")


def test_the_oldest_goes_first_and_an_empty_table_stays_empty():
    table = {"a": 1, "b": 2}
    drop_oldest(table)
    assert table == {"b": 2}
    drop_oldest(table)
    drop_oldest(table)
    assert table == {}
