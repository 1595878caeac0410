"""Kernels in pickles: by name and by value, before and after launches, with their source."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
import subprocess
import sys
import textwrap
from functools import partial

import cloudpickle
import numpy as np
import pytest

import execspace as es
from execspace.kernels import exec_source

FOUR = es.RangePolicy(4, space="oracle")


def ran(kernel, *args):
    """What a kernel stores."""
    out = np.zeros(4)
    es.parallel_for(FOUR, kernel, out, *args)
    return out.tolist()


def twice(x):
    return 2 * x


@es.kernel(fma=False)
def doubled(i, out):
    out[i] = twice(i)


def stored(i, out):
    out[i] = i


of_stored = es.kernel(fastmath=True)(stored)


class Scaled:
    """A functor."""

    def __init__(self, factor):
        self.factor = factor

    def scaled(self, x):
        return self.factor * x

    @es.kernel
    def step(self, i, out):
        out[i] = self.scaled(i)

    @es.kernel
    def __call__(self, i, out):
        out[i] = self.scaled(i) + 1


class Longest(es.Reducer):
    """A reducer."""

    identity = 0.0

    def join(a, b):
        return max(a, b)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("module", [pickle, cloudpickle])
def test_a_kernel_with_a_name_is_pickled_by_it(module, protocol):
    assert module.loads(module.dumps(doubled, protocol)) is doubled
    assert ran(doubled) == [0, 2, 4, 6]
    data = module.dumps({"a": doubled, "b": [doubled]}, protocol)
    assert len(data) < 400
    assert module.loads(data)["b"] == [doubled]


def test_a_kernel_of_a_function_that_keeps_its_name_is_made_again():
    there = pickle.loads(pickle.dumps(of_stored))
    assert there is not of_stored
    assert (there.fn, there.fma, there.fastmath, there.name) == (stored, True, True, "stored")


def test_methods_functors_and_partial_objects_travel():
    functor = Scaled(3.0)
    for module in (pickle, cloudpickle):
        assert ran(module.loads(module.dumps(functor.step))) == [0, 3, 6, 9]
        assert ran(module.loads(module.dumps(functor))) == [1, 4, 7, 10]
        assert ran(module.loads(module.dumps(partial(doubled)))) == [0, 2, 4, 6]


def test_a_kernel_by_value_takes_along_what_it_captures_and_its_options():
    offset, helpers = 0.5, (twice, lambda x: x * x)

    @es.kernel(fma=False, fastmath=True)
    def kernel(i, out, n: es.static = 2):
        out[i] = offset + n
        for f in helpers:
            out[i] += f(i)

    for _ in range(2):  # before a launch, and after one
        there = cloudpickle.loads(cloudpickle.dumps(kernel))
        assert there is not kernel
        assert (there.fma, there.fastmath, there.name) == (False, True, "kernel")
        assert ran(there) == ran(kernel) == [2.5, 5.5, 10.5, 17.5]
        assert ran(copy.deepcopy(kernel)) == ran(kernel)


def test_a_plan_serves_the_next_pickle_of_the_same_kernel():
    def made(factor):
        return es.kernel(lambda i, out: None if factor else out[i])

    data = cloudpickle.dumps(made(1.0))
    first, second = cloudpickle.loads(data), cloudpickle.loads(data)
    assert first is not second
    ran(first)
    plans = dict(first.plans)
    ran(second)
    assert second.plans == plans
    assert ran(cloudpickle.loads(cloudpickle.dumps(made(0.0)))) == [0] * 4
    assert len(second.plans) == 2


def test_a_view_that_a_kernel_captures_is_named():
    view = es.View(4, label="field")

    @es.kernel
    def kernel(i, out):
        out[i] = view[i]

    with pytest.raises(TypeError, match=r"View 'field' cannot be pickled.* np.asarray"):
        cloudpickle.dumps(kernel)


@pytest.mark.parametrize(
    "make",
    [
        lambda: es.RangePolicy(4, space="oracle"),
        lambda: es.RangePolicy(2, 7, launch_bounds=64),
        lambda: es.RangePolicy(2, 7, schedule="dynamic", chunk_size=3, space="oracle"),
        lambda: es.MDRangePolicy((3, 4), schedule="dynamic"),
        lambda: es.MDRangePolicy((1, 2), (3, 4), tile=(1, 2), iterate="left", items_per_thread=2),
        lambda: es.MDRangePolicy((3, 4), items_per_thread=(2, 1), space="serial"),
        lambda: es.TeamPolicy(3, 4, 2, chunk_size=2, space="serial"),
        lambda: es.TeamPolicy(3),
    ],
)
def test_policies_are_pickled(make):
    value = make()
    there = pickle.loads(pickle.dumps(value))
    assert repr(there) == repr(value)
    assert there.key == value.key  # the same compiled plans


def test_what_there_is_once_stays_so():
    for one in (es.space("serial"), es.HOST, es.ALL, es.Max, Longest, es.static, es.float32):
        assert pickle.loads(pickle.dumps(one)) is one
    assert pickle.loads(pickle.dumps(es.Sum(dtype="float32"))) == es.Sum(dtype="float32")
    there = pickle.loads(pickle.dumps(Longest()))
    assert es.parallel_reduce(FOUR, lambda i: 1.0 + i, reducer=there) == 4.0


def test_a_queue_cannot_be_pickled():
    class Queue(type(es.space("oracle"))):
        pass

    queue = Queue()
    with pytest.raises(TypeError, match=r"'oracle'.* cannot be pickled.* es.space"):
        pickle.dumps(queue)


# -- other processes ----------------------------------------------------------------------------

DEFINITIONS = """
import math

import numpy as np

import execspace as es

WEIGHT = 3.0


@es.function
def weighted(x):
    return WEIGHT * plus_one(x)


def plus_one(x):
    return x + 1


HELPERS = (weighted, lambda x: -x)


@es.kernel
def by_name(i, out):
    for f in HELPERS:
        out[i] += f(i)


def made(factor):
    @es.kernel
    def nested(i, out):
        square = lambda x: x * x
        out[i] = factor * weighted(square(i))

    return nested


class Functor:
    def __init__(self):
        self.x = np.arange(4.0)

    def at(self, i):
        return self.x[i]

    @es.kernel
    def __call__(self, i, out):
        out[i] = self.at(i) + plus_one(0.0)


class Root(es.Reducer):
    identity = 0.0

    def join(a, b):
        return plus_one(a + b) - 1

    def final(a):
        return math.sqrt(a)


lines = (lambda x: x, lambda x: x + 2.0)


@es.kernel
def several_lambdas(i, out, f: es.static = lines[1]):
    out[i] = lines[0](i) + f(i)


KERNELS = {"by_name": by_name, "nested": made(2.0), "functor": Functor()}
KERNELS["lambdas"] = several_lambdas
"""
EXPECTED = {
    "by_name": [3, 5, 7, 9], "nested": [6, 12, 30, 60], "functor": [1, 2, 3, 4],
    "lambdas": [2, 4, 6, 8], "root": 2.0,
}  # fmt: skip
RAN = """
def ran(kernel):
    out = np.zeros(4)
    es.parallel_for(es.RangePolicy(4, space="oracle"), kernel, out)
    return out.tolist()
"""
# Pickles everything before and after launches; the file that defines it is gone when they arrive.
PICKLED = """
import pickle, sys
import cloudpickle

pickled = [{n: cloudpickle.dumps(k) for n, k in KERNELS.items()} for again in (0, 1)
           if not again or [ran(k) for k in KERNELS.values()]]
for one in pickled:
    one["root"] = cloudpickle.dumps(Root)
with open(WHERE, "wb") as file:
    pickle.dump(pickled, file)
"""
ARRIVED = """
import json, pickle, sys
import numpy as np
import execspace as es

with open(sys.argv[1], "rb") as file:
    pickled = pickle.load(file)
found = []
for one in pickled:
    root = pickle.loads(one.pop("root"))
    there = {n: pickle.loads(k) for n, k in one.items()}
    found.append({n: ran(k) for n, k in there.items()})
    found[-1]["root"] = es.parallel_reduce(
        es.RangePolicy(4, space="oracle"), lambda i: 1.0, reducer=root)
print(json.dumps(found))
"""


def run(*command, text=None):
    """What a Python process prints."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(how, where):
    """A program that defines kernels one way and pickles them."""
    text = f"{DEFINITIONS}\n{RAN}\n"
    end = f"WHERE = {str(where)!r}\n{PICKLED}"
    if how == "script":
        return text + end
    if how == "exec":
        return f"text = {text!r}\nexec(text)\n{end}"
    return (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        f"shell = InteractiveShell.instance()\n"
        f"for cell in ({text!r}, {end!r}):\n    shell.run_cell(cell).raise_error()\n"
    )


@pytest.mark.parametrize("how", ["script", "exec", "cell"])
def test_kernels_by_value_are_compiled_where_their_source_is_not(how, tmp_path):
    script, arrives = tmp_path / "makes.py", tmp_path / "arrives.py"
    script.write_text(program(how, tmp_path / "pickles"))
    arrives.write_text(f"{ARRIVED.replace('with open', RAN + chr(10) + 'with open', 1)}")
    run(script)
    script.unlink()
    assert json.loads(run(arrives, tmp_path / "pickles")) == [EXPECTED, EXPECTED]


# Only names that can be imported; of others the text travels anyway.
LIBRARY = """
import execspace as es


@es.function
def weighted(x):
    return 3.0 * x


@es.kernel
def kernel(i, out):
    out[i] = weighted(i)
"""
REGISTERED = """
import importlib, sys
import library

pickler = importlib.import_module(sys.argv[1])
pickler.register_pickle_by_value(library)
with open(sys.argv[2], "wb") as file:
    file.write(pickler.dumps(library.kernel))
"""
ONE_ARRIVED = """
import pickle, sys
import numpy as np
import execspace as es

with open(sys.argv[1], "rb") as file:
    print(ran(pickle.load(file)))
"""


@pytest.mark.parametrize("name", ["cloudpickle", "ray.cloudpickle", "joblib.externals.cloudpickle"])
def test_a_module_that_is_registered_goes_by_value(name, tmp_path):
    library, makes, arrives = (tmp_path / f"{n}.py" for n in ("library", "makes", "arrives"))
    library.write_text(LIBRARY)
    makes.write_text(REGISTERED)
    arrives.write_text(RAN + ONE_ARRIVED)
    if "." in name:  # Ray and joblib have copies of cloudpickle, each with a registry of its own
        there = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        there.parent.mkdir(parents=True)
        shutil.copy(cloudpickle.cloudpickle.__file__, there)
    run(makes, name, tmp_path / "pickles")
    library.unlink()
    assert json.loads(run(arrives, tmp_path / "pickles")) == [0, 3, 6, 9]


def test_processes_of_multiprocessing_import_the_script(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        f"{DEFINITIONS}\n{RAN}\n"
        + textwrap.dedent("""
        if __name__ == "__main__":
            import json, multiprocessing

            here = ran(by_name), ran(Functor())
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                there = pool.map(ran, [by_name, Functor()])
            print(json.dumps([here, there]))
        """)
    )
    here, there = json.loads(run(script))
    assert here == there == [EXPECTED["by_name"], EXPECTED["functor"]]


def test_a_text_that_is_not_of_the_function_is_not_taken():
    names = {"es": es}
    text = "@es.kernel\ndef kernel(i, out):\n    out[i] = {}\n"
    first, other = text.format(1), text.format(2)
    exec(first, names)
    kernel = names["kernel"]
    exec_source.keep("<string>", other)
    assert exec_source.arrived(kernel.fn) is None
    assert ran(kernel) == [1, 1, 1, 1]
