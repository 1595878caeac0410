"""Options that are on or off take bools and nothing else, wherever there is one."""

import inspect

import numpy as np
import pytest

import execspace as es


def options():
    """Every parameter of the public interface for users that is on or off, by its signature."""
    for name in es.__all__:
        thing = getattr(es, name)
        if inspect.isfunction(thing) or thing is es.View:
            for p in inspect.signature(thing).parameters.values():
                if isinstance(p.default, bool):
                    yield name, p.name


CALLS = {
    "View": lambda **o: es.View(3, **o),
    "argsort": lambda **o: es.argsort(np.arange(3), **o),
    "create_mirror": lambda **o: es.create_mirror(np.arange(3), **o),
    "create_mirror_view": lambda **o: es.create_mirror_view(np.arange(3), **o),
    "function": lambda **o: es.function(**o)(lambda x: x),
    "kernel": lambda **o: es.kernel(**o)(lambda i: i),
    "linspace": lambda **o: es.linspace(0, 1, **o),
    "parallel_reduce": lambda **o: es.parallel_reduce(3, lambda i: i, **o),
    "parallel_scan": lambda **o: es.parallel_scan(3, lambda i, prefix, final: i, **o),
    "realloc": lambda **o: es.realloc(es.View(3), 4, **o),
    "sort": lambda **o: es.sort(np.arange(3), **o),
    "sort_by_key": lambda **o: es.sort_by_key(np.arange(3), np.arange(3), **o),
    "transpose_crs": lambda **o: es.transpose_crs(None, **o),
    "tune": lambda **o: es.tune(3, lambda i: None, **o),
}
WRONG = ["no", 2, None, [], np.arange(3.0)]


@pytest.mark.parametrize(("function", "option"), list(options()))
def test_what_is_no_bool_is_refused(function, option):
    for value in WRONG:
        with pytest.raises((es.LaunchError, es.ViewError), match=f"{option}=.*expected True or F"):
            CALLS[function](**{option: value})


def test_bools_of_numpy_are_bools():
    assert not es.kernel(fma=np.False_)(lambda i: i).fma
    assert es.View(3, initialize=np.True_).size == 3


def test_the_accuracy_of_a_sum_is_a_word():
    for value in (np.arange(3), None, "low", []):
        with pytest.raises(
            es.LaunchError, match=r"es\.Sum\(accuracy=.*expected 'normal' or 'high'"
        ):
            es.Sum(accuracy=value)


@pytest.mark.parametrize("pattern", ["for", "reduce", "scan"])
@pytest.mark.parametrize("call", ["explain", "tune"])
@pytest.mark.parametrize("count", [2**63, 2**70, -1])
def test_counts_that_no_kernel_has(call, pattern, count):
    with pytest.raises(es.PolicyError, match=rf"^parallel_{pattern} over .* indices"):
        getattr(es, call)(count, lambda i: None, pattern=pattern)
