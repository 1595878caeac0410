"""Times of queues: work goes to another queue while a tool wants them, and stays in order."""

import threading

import numpy as np

import execspace as es


class Times(es.profiling.Tool):
    device_times = True

    def __init__(self):
        self.count = 0

    def on_device_time(self, start, end):
        assert start <= end
        self.count += 1


@es.kernel
def step(i, x, factor, shift):
    x[i] = factor * x[i] + shift


def expected(rounds):
    value = 0.0
    for _ in range(rounds):
        value = 2.0 * (0.25 * value + 1.0) + 3.0
    return value


def test_tools_that_come_and_go_do_not_change_the_order_of_work(opencl):
    n, rounds = 20_000, 30
    x = es.View(n, memory="device", space=opencl)
    policy = es.RangePolicy(n, space=opencl)
    done = threading.Event()

    def fences():
        while not done.is_set():
            opencl.fence()

    other = threading.Thread(target=fences)
    other.start()
    try:
        for _ in range(rounds):
            with es.profile(Times()) as found:
                es.parallel_for(policy, step, x, 0.25, 1.0)
            assert found["Times"].count == 1
            es.parallel_for(policy, step, x, 2.0, 3.0)
    finally:
        done.set()
        other.join()
    values = np.asarray(es.create_mirror_view_and_copy(es.HOST, x))
    assert (values == expected(rounds)).all()


def test_without_a_tool_the_queue_keeps_no_times(opencl):
    policy = es.RangePolicy(8, space=opencl)
    opencl.fence()
    plain = opencl.queue.handle
    with es.profile(Times()):
        es.parallel_for(policy, lambda i: None)
        assert opencl.queue.handle is not plain
    opencl.fence()
    assert opencl.queue.handle is plain
