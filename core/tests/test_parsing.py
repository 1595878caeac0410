"""Threads that parse at once, while the garbage collector lets others in."""

import ast
import gc
import threading
import time

from execspace.base.parsing import parse

TEXT = "\n".join(f"a{n} = ((b + {n}) * (c - {n})) if d[{n}] else f({n}, g={n})" for n in range(60))


class Pause:
    """In a cycle, with a finalizer in which other threads run."""

    def __init__(self):
        self.me = self

    def __del__(self):
        time.sleep(0)


def test_threads_parse_at_once_whatever_finalizers_do():
    expected, failures = ast.dump(parse(TEXT)), []

    def work():
        try:
            for _ in range(15):
                for _ in range(20):
                    Pause()
                assert ast.dump(parse(TEXT)) == expected
        except BaseException as error:
            failures.append(error)

    before = gc.get_threshold()
    gc.set_threshold(50, 2, 2)
    try:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
    assert failures == []
