"""Tuning: the fastest choice is found by measurement, kept on disk, and used by later launches."""

import json
import multiprocessing
import os
import threading
import warnings

import numpy as np
import pytest

import execspace as es
from execspace import profiling
from execspace.base import config
from execspace.launch.prepare import planned
from execspace.tuning import (
    Choice,
    Record,
    block_candidates,
    row_candidates,
    store,
    team_candidates,
)
from execspace.tuning.choices import DEFAULT, policy_with
from execspace.tuning.identity import kernel_key, shape_class
from execspace.tuning.tuned import TunedPlan


@pytest.fixture(autouse=True)
def folder(tuning_folder):
    return tuning_folder


@pytest.fixture
def clocked(plain):
    """A space with a clock of its own: each launch takes as long as `cost` says of its tile."""

    class Clocked(type(plain)):
        capabilities = es.Capabilities(asynchronous=True)
        description = "a clock"
        now = 0.0

        def __init__(self):
            super().__init__("clocked")
            self.launched = []
            self.cost = lambda tile: 1.0

        def compile(self, kernel, spec):
            plan = super().compile(kernel, spec)
            inner, rank = plan.launch, spec.policy.rank

            def launch(bounds, args):
                tile = bounds[2 * rank :]
                self.launched.append(tile)
                self.now += self.cost(tile)
                return inner(bounds, args)

            plan.launch = launch
            return plan

        def mark(self):
            return self.now

        def time_of(self, mark):
            return mark

    return Clocked()


@es.kernel
def add_one(i, j, x):
    x[i, j] += 1.0


def square(space, n=20, **options):
    return es.MDRangePolicy((n, n), space=space, **options)


def prefers(best):
    """Launches with that tile take half as long as all others."""
    return lambda tile: 0.5 if tile == best else 1.0


# -- what is found --------------------------------------------------------------------------------


def test_the_fastest_tile_is_found_and_views_are_what_they_were(clocked):
    clocked.cost = prefers((16, 20))
    x = es.View((20, 20), label="x")
    es.deep_copy(x, 3.0)
    found = es.tune(square(clocked), add_one, x)
    assert found.choice == Choice(tile=(16, 20))
    assert found.policy.tile == (16, 20)
    assert (found.default_seconds, found.seconds, found.speedup) == (1.0, 0.5, 2.0)
    assert found.complete
    assert (np.asarray(x) == 3.0).all()
    assert str(found).startswith(
        "kernel 'add_one' on clocked on a clock, shapes 32x32: tile=(16, 20), 500 ms; default 1000 "
        "ms (2.00 times as fast)\n         500 ms  tile=(16, 20)\n"
    )


def test_every_launch_of_a_search_sees_the_same_numbers(clocked):
    seen = set()

    @es.kernel
    def look(i, j, x):
        seen.add(x[i, j])
        x[i, j] += 1.0

    es.tune(square(clocked), look, es.View((20, 20)), keep=False)
    assert seen == {0.0}


def test_in_doubt_the_default_stays(clocked):
    clocked.cost = lambda tile: 0.99 if tile else 1.0  # one percent is not a gain
    found = es.tune(square(clocked), add_one, es.View((20, 20)))
    assert found.choice == DEFAULT
    assert found.speedup == 1.0
    assert "the default stays" in str(found)
    assert len(found.candidates) > 2


def test_a_lucky_launch_does_not_win(clocked):
    """A tile that is fast only when it is measured first loses beside the default."""
    counts = {}

    def cost(tile):
        counts[tile] = counts.get(tile, 0) + 1
        return 0.1 if tile and counts[tile] < 5 else 1.0

    clocked.cost = cost
    found = es.tune(square(clocked), add_one, es.View((20, 20)))
    assert found.choice == DEFAULT


def test_choices_that_a_space_refuses_are_passed_over(clocked):
    def cost(tile):
        if tile and tile != (4, 20):
            raise es.PolicyError("too large")
        return 0.5 if tile else 1.0

    clocked.cost = cost
    found = es.tune(square(clocked), add_one, es.View((20, 20)))
    assert found.choice == Choice(tile=(4, 20))
    assert {c.refused for c in found.candidates} == {"", "too large"}
    assert "refused by the space" in str(found)


def test_notebooks_show_all_candidates_as_a_table(clocked):
    def cost(tile):
        if tile == (4, 20):
            raise es.PolicyError("too <large>")
        return 0.5 if tile == (16, 20) else 1.0

    clocked.cost = cost
    shown = es.tune(square(clocked), add_one, es.View((20, 20)), keep=False)._repr_html_()
    assert "Kernel &#x27;add_one&#x27; on clocked on a clock, shapes 32x32: tile=(16, 20)" in shown
    assert '<td>tile=(4, 20)</td><td class="wrap">too &lt;large&gt;</td>' in shown
    candidates = shown.partition("Candidates")[2].partition("</table>")[0]
    assert candidates.count("<tr>") == 1 + candidates.count("rgba") >= 3
    first = '<td class="right">500</td><td class="right" style="background:rgba(66,133,244,0.46)">'
    assert f"<tbody><tr>{first}1.00</td><td>tile=(16, 20)</td>" in candidates
    assert "The time limit" not in shown


def test_a_time_limit_ends_the_search(clocked):
    found = es.tune(square(clocked), add_one, es.View((20, 20)), seconds=1e-9)
    assert not found.complete
    assert found.choice == DEFAULT
    assert str(found).endswith("the time limit ended the search: seconds=...")
    assert "The time limit ended the search: seconds=..." in found._repr_html_()


def test_reductions_are_tuned_too(clocked):
    clocked.cost = prefers((4, 20))
    x = es.View((20, 20))
    found = es.tune(square(clocked), lambda i, j, x: x[i, j], x, reducer=es.Sum)
    assert found.choice == Choice(tile=(4, 20))


def test_tools_see_a_region_and_no_launches(clocked, events):
    es.tune(square(clocked), add_one, es.View((20, 20), label="x"), keep=False)
    names = [name for name, _ in events]
    assert ("on_region_push", ("tuning of add_one",)) in events
    assert "on_kernel_begin" not in names


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"tile": (4, 4)}, {"items_per_thread": 2}, {"launch_bounds": 64}]
)
def test_a_policy_that_leaves_nothing_open_is_refused(clocked, options):
    with pytest.raises(es.PolicyError, match="gives what could be chosen; leave out tile="):
        es.tune(square(clocked, **options), add_one, es.View((20, 20)))


def test_an_empty_range_is_refused(clocked):
    with pytest.raises(es.PolicyError, match="is empty; there is nothing to measure"):
        es.tune(square(clocked, 0), add_one, es.View((20, 20)))


@pytest.mark.parametrize("seconds", [0, -1.0, "long", True])
def test_a_time_limit_is_a_number_above_zero(clocked, seconds):
    with pytest.raises(es.LaunchError, match=r"seconds=.*; expected a number above 0"):
        es.tune(square(clocked), add_one, es.View((20, 20)), seconds=seconds)


# -- what later launches use ----------------------------------------------------------------------


def launch_again(space, n=20, **options):
    """A launch as another process would do it: nothing is remembered but what is on disk."""
    es.tuning.store.forget()
    add_one.forget()
    space.launched.clear()
    es.parallel_for(square(space, n, **options), add_one, es.View((n, n)))
    return space.launched


def test_later_launches_of_about_the_shape_use_what_was_found(clocked):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    assert launch_again(clocked) == [(16, 20)]
    assert launch_again(clocked, 32) == [(16, 20)]
    assert launch_again(clocked, 33) == [()]  # of another class of shapes
    assert launch_again(clocked, tile=(2, 2)) == [(2, 2)]  # the user's word is the last
    other = es.kernel(lambda i, j, x: None)
    clocked.launched.clear()
    es.parallel_for(square(clocked), other, es.View((20, 20)))
    assert clocked.launched == [()]


def test_a_kernel_that_was_launched_before_it_was_tuned_uses_it_too(clocked):
    clocked.cost = prefers((16, 20))
    x = es.View((20, 20))
    add_one.forget()
    es.parallel_for(square(clocked), add_one, x)
    es.tune(square(clocked), add_one, x)
    clocked.launched.clear()
    es.parallel_for(square(clocked), add_one, x)
    assert clocked.launched == [(16, 20)]
    assert es.tuning.clear() == 1
    es.parallel_for(square(clocked), add_one, x)
    assert clocked.launched == [(16, 20)] * 2  # what a process has begun with it goes on with


def test_a_changed_kernel_is_another_one(clocked):
    clocked.cost = prefers((16, 20))

    def body(factor):
        def scale(i, j, x):
            x[i, j] *= factor

        return es.kernel(scale)

    x = es.View((20, 20))
    es.tune(square(clocked), body(2), x)
    for factor, expected in ((2, (16, 20)), (3, ())):
        clocked.launched.clear()
        es.parallel_for(square(clocked), body(factor), x)
        assert clocked.launched == [expected]


def test_a_captured_float_that_changes_makes_no_other_kernel(clocked):
    clocked.cost = prefers((16, 20))

    def body(dt):
        def step(i, j, x):
            x[i, j] += dt

        return es.kernel(step)

    x = es.View((20, 20))
    es.tune(square(clocked), body(0.5), x)
    clocked.launched.clear()
    es.parallel_for(square(clocked), body(0.25), x)
    assert clocked.launched == [(16, 20)]


def test_tuned_choices_can_be_left_out(clocked, monkeypatch):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    monkeypatch.setenv("EXECSPACE_TUNE", "0")
    assert launch_again(clocked) == [()]


def test_what_is_not_kept_is_not_used(clocked, folder):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)), keep=False)
    assert not folder.exists()
    assert launch_again(clocked) == [()]


def test_the_environment_tunes_at_the_first_launch(clocked, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TUNE", "1")
    clocked.cost = prefers((16, 20))
    add_one.forget()
    x = es.View((20, 20))
    es.parallel_for(square(clocked), add_one, x)
    assert len(clocked.launched) > 10
    assert (np.asarray(x) == 1.0).all()  # it ran once, as far as the program can tell
    clocked.launched.clear()
    for _ in range(3):
        es.parallel_for(square(clocked), add_one, x, label="step")
    assert clocked.launched == [(16, 20)] * 3
    monkeypatch.delenv("EXECSPACE_TUNE")
    assert launch_again(clocked) == [(16, 20)]


def test_an_empty_launch_is_not_tuned(clocked, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TUNE", "1")
    add_one.forget()
    es.parallel_for(square(clocked, 0), add_one, es.View((20, 20)))
    assert clocked.launched == [()]


def test_a_choice_that_cannot_be_used_any_more_is_named(clocked, folder):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    compile_ = clocked.compile

    def refuse(kernel, spec):
        if spec.policy.tiled:
            raise es.PolicyError("no tiles today")
        return compile_(kernel, spec)

    clocked.compile = refuse
    with pytest.warns(UserWarning, match=r"tuned choice tile=\(16, 20\) cannot be used.*no tiles"):
        assert launch_again(clocked) == [()]


def test_explain_says_what_was_tuned(clocked):
    clocked.cost = prefers((16, 20))
    x = es.View((20, 20))
    found = es.tune(square(clocked), add_one, x)
    (line,) = es.explain(square(clocked), add_one, x).mapping
    assert line == (
        f"tuned for 32x32 on {found.record.date}: tile=(16, 20), 2.00 times as fast as the default"
    )


# -- programs that only run -----------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_costs_a_warning(clocked, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXECSPACE_TUNING_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("EXECSPACE_TUNE", "1")
    clocked.cost = prefers((16, 20))
    add_one.forget()
    x = es.View((20, 20))
    with pytest.warns(
        UserWarning, match="what was tuned cannot be kept.*EXECSPACE_TUNING_DIR"
    ) as w:
        es.parallel_for(square(clocked), add_one, x)
    assert [found.filename for found in w] == [__file__]
    clocked.launched.clear()
    es.parallel_for(square(clocked), add_one, x)
    assert clocked.launched == [(16, 20)]  # this process uses it all the same
    assert (np.asarray(x) == 2.0).all()


def test_kernels_that_copy_views_for_a_search_are_not_tuned_in_it(clocked, monkeypatch):
    """As where a device copies Views of odd strides with kernels."""
    monkeypatch.setenv("EXECSPACE_TUNE", "1")
    move = es.kernel(lambda i, j, x, y: x.__setitem__((i, j), y[i, j]))
    copies = []

    def copy(dst, src):
        copies.append(len(clocked.launched))
        es.parallel_for(square(clocked), move, dst, src)

    monkeypatch.setattr("execspace.tuning.launches.deep_copy", copy)
    clocked.cost = prefers((16, 20))
    add_one.forget()
    x = es.View((20, 20))
    es.parallel_for(square(clocked), add_one, x)
    assert len(copies) > 10
    assert (np.asarray(x) == 1.0).all()
    (record,) = next(iter(es.tuning.everything().values())).values()
    assert record.kernel == "add_one"


def test_want_of_memory_for_copies_costs_a_warning(clocked, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TUNE", "1")

    def nothing_left(launch):
        raise MemoryError("View 'x before tuning': cannot allocate")

    monkeypatch.setattr("execspace.tuning.tuner.Saved", nothing_left)
    add_one.forget()
    x = es.View((20, 20))
    with pytest.warns(UserWarning, match="not tuned, for want of memory for copies"):
        es.parallel_for(square(clocked), add_one, x)
    assert clocked.launched == [()]


def test_nothing_is_tuned_while_other_threads_run(clocked, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TUNE", "1")
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    add_one.forget()
    try:
        with pytest.warns(UserWarning, match="not tuned, because other threads run"):
            es.parallel_for(square(clocked), add_one, es.View((20, 20)))
    finally:
        done.set()
        other.join()
    assert clocked.launched == [()]


def test_where_there_is_nothing_to_choose_nothing_is_tried(clocked, monkeypatch, folder):
    monkeypatch.setenv("EXECSPACE_TUNE", "1")
    es.parallel_for(es.RangePolicy(9, space=clocked), lambda i: None)
    assert clocked.launched == [()]
    assert not folder.exists()


def test_tools_see_the_launch_and_not_the_search_before_it(clocked, monkeypatch):
    monkeypatch.setenv("EXECSPACE_TUNE", "1")
    add_one.forget()
    lengths = []

    class Times(profiling.Tool):
        device_times = True
        kernel = None

        def on_kernel_begin(self, id):
            self.kernel = id

        def on_device_time(self, id, start, end):
            if id == self.kernel:  # the search copies Views, too
                lengths.append(end - start)

    x = es.View((20, 20))
    with es.profile(Times()):
        es.parallel_for(square(clocked), add_one, x)
    assert lengths == [1.0]


def test_a_choice_that_is_refused_at_a_launch_is_given_up(clocked):
    clocked.cost = prefers((16, 20))
    x = es.View((20, 20))
    es.tune(square(clocked), add_one, x)
    es.tuning.store.forget()
    add_one.forget()

    def cost(tile):
        if tile:
            raise es.LaunchError("needs more scratch memory")
        return 1.0

    clocked.cost = cost
    with pytest.warns(
        UserWarning, match="tuned choice cannot be used here.*needs more scratch"
    ) as w:
        es.parallel_for(square(clocked), add_one, x)
    assert [found.filename for found in w] == [__file__]
    es.parallel_for(square(clocked), add_one, x)  # and no further warning
    assert (np.asarray(x) == 2.0).all()


def test_where_the_default_is_the_best_plans_are_plain(clocked):
    es.tune(square(clocked), add_one, es.View((20, 20)))
    launch_again(clocked)
    (plan,) = add_one.plans.values()
    assert not isinstance(plan, TunedPlan)
    (line,) = es.explain(square(clocked), add_one, es.View((20, 20))).mapping
    assert line.endswith("the default is the best")


def test_a_slow_kernel_is_not_launched_again_and_again(clocked, monkeypatch):
    monkeypatch.setattr("execspace.tuning.search.time.perf_counter", lambda: clocked.now)
    found = es.tune(square(clocked), add_one, es.View((20, 20)), seconds=6.0)
    assert clocked.now < 9.0
    assert not found.complete


def test_two_reducers_of_a_class_are_the_same_to_tuning(clocked):
    class Total(es.Reducer):
        identity = 0.0

        def join(a, b):
            return a + b

    keys = set()
    for _ in range(2):
        spec = planned(square(clocked), lambda i, j: 1.0, (), "reduce", Total()).spec
        keys.add(kernel_key(es.kernel(test_two_reducers_of_a_class_are_the_same_to_tuning), spec))
    assert len(keys) == 1


# -- on disk --------------------------------------------------------------------------------------


def test_one_file_for_a_device_with_what_people_want_to_know(clocked, folder):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    (path,) = folder.glob("*.json")
    document = json.loads(path.read_text())
    assert document["device"] == "clocked on a clock"
    (record,) = document["records"].values()
    assert record["kernel"] == "add_one"
    assert record["choice"] == {"tile": [16, 20]}


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"format": 1, "records": 3}', "", "[" * 100_000, '{"a":' * 100_000, "\udcff"],
)
def test_a_file_that_cannot_be_read_is_named_and_left_out(clocked, folder, text):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    (path,) = folder.glob("*.json")
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.warns(UserWarning, match="cannot be read and are not used.*execspace tune clear"):
        assert launch_again(clocked) == [()]
    with pytest.warns(UserWarning, match="cannot be read"):
        es.tuning.clear()
    assert list(folder.glob("*.json")) == []


def pipe(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def folder_with_something(path):
    (path / "within").mkdir(parents=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("make", [pipe, endless, folder_with_something])
@pytest.mark.parametrize("name", ["device", ".lock"])
def test_what_lies_in_the_place_of_a_file_is_moved_aside(clocked, folder, name, make):
    """Nobody waits for one who writes to a pipe, or for the end of what has none."""
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    path = folder / ".lock" if name == ".lock" else next(folder.glob("*.json"))
    path.unlink()
    make(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store.forget()
        es.tune(square(clocked), add_one, es.View((20, 20)))
    assert launch_again(clocked) == [(16, 20)]
    (aside,) = folder.glob("set-aside-*/*")
    assert aside.name == path.name and not aside.is_file()


def test_a_copy_under_another_name_is_not_taken_for_that_of_a_device(clocked, folder):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    (path,) = folder.glob("*.json")
    path.rename(path.with_name("another-0123456789ab.json"))
    assert es.tuning.everything() == {}
    assert es.tuning.clear(kernel="add_one") == 0


@pytest.mark.parametrize("field", ["kernel", "shapes", "types", "date", "seconds"])
def test_a_record_of_other_types_is_not_used(clocked, folder, field):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    (path,) = folder.glob("*.json")
    document = json.loads(path.read_text())
    for record in document["records"].values():
        record[field] = {"a": []}
    path.write_text(json.dumps(document))
    assert launch_again(clocked) == [()]


@pytest.mark.parametrize(
    "choice",
    [
        [1], {"tile": [3, 3, 3]}, {"tile": [0, 3]}, {"tile": "wide"}, {"colour": 3},
        {"tile": [2**64, 1]}, {"tile": [2**41, 1]}, {"tile": [10**400, 1]}, {"tile": [True, 1]},
        {"tile": [1.0, 2.0]}, {"tile": {"a": 1}}, {"items_per_thread": [4, 5]},
        {"items_per_thread": [2**64]},
        {"launch_bounds": 2**64}, {"team_size": -1}, {"chunk_size": [1]},
    ],
)  # fmt: skip
def test_a_choice_that_makes_no_sense_is_not_used(clocked, folder, choice):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    (path,) = folder.glob("*.json")
    document = json.loads(path.read_text())
    for record in document["records"].values():
        record["choice"] = choice
    path.write_text(json.dumps(document))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert launch_again(clocked) == [()]


def test_files_of_others_in_the_folder_stay(clocked, folder):
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    es.tune(square(clocked), add_one, es.View((20, 20)))
    assert es.tuning.clear() == 1
    assert [path.name for path in folder.glob("*.json")] == ["package.json"]


def test_processes_lose_no_records_of_each_other(folder):
    def keep(n):
        for k in range(20):
            record = Record("k", "1", "", DEFAULT, 1.0, 1.0, "now")
            es.tuning.store.keep("device", f"{n} {k}", record)

    workers = [multiprocessing.get_context("fork").Process(target=keep, args=(n,)) for n in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    es.tuning.store.forget()
    assert len(es.tuning.everything()["device"]) == 40


def test_choices_of_another_version_are_not_used(clocked, folder, monkeypatch):
    clocked.cost = prefers((16, 20))
    es.tune(square(clocked), add_one, es.View((20, 20)))
    monkeypatch.setattr(store, "__version__", "99.0")
    assert launch_again(clocked) == [()]


def test_records_can_be_forgotten_one_by_one(clocked):
    clocked.cost = prefers((16, 20))
    x = es.View((20, 20))
    other = es.kernel(lambda i, j, x: None)
    es.tune(square(clocked), add_one, x)
    es.tune(square(clocked), other, x)
    (records,) = es.tuning.everything().values()
    assert sorted(r.kernel for r in records.values()) == ["<lambda>", "add_one"]
    assert es.tuning.clear(kernel="add_one") == 1
    (records,) = es.tuning.everything().values()
    assert [r.kernel for r in records.values()] == ["<lambda>"]
    assert es.tuning.clear(device="another") == 0
    assert es.tuning.clear() == 1
    assert es.tuning.everything() == {}


def test_nothing_is_loaded_where_nothing_is_tuned(folder):
    assert not config.is_tuned()


# -- what is tried --------------------------------------------------------------------------------


def first_candidates(stages):
    return list(stages[0](DEFAULT))


def spec_of(policy):
    return policy.key[0]


def test_classes_of_shapes_are_powers_of_two():
    assert shape_class((0, 1, 2, 3, 64, 65)) == "0x1x2x4x64x128"


def test_hosts_try_tiles_of_whole_and_partial_rows():
    spec = spec_of(es.MDRangePolicy((1000, 1000)))
    tiles = [c.tile for c in first_candidates(row_candidates("for", spec, (1000, 1000), "right"))]
    assert (16, 1000) in tiles
    assert (16, 64) in tiles
    turned = [c.tile for c in first_candidates(row_candidates("for", spec, (1000, 1000), "left"))]
    assert sorted(t[::-1] for t in turned) == sorted(tiles)
    assert row_candidates("for", spec_of(es.RangePolicy(9)), (9,), "right") == []
    assert row_candidates("scan", spec, (9, 9), "right") == []


def test_devices_try_blocks_then_calls_of_a_thread_then_registers():
    spec = spec_of(es.MDRangePolicy((1000, 1000)))
    blocks, calls, registers = block_candidates("for", spec, (1000, 1000), "right", 1024)
    tiles = [c.tile for c in blocks(DEFAULT)]
    assert (4, 64) in tiles
    assert all(64 <= a * b <= 512 for a, b in tiles)
    best = Choice(tile=(4, 64))
    assert Choice(tile=(4, 64), items_per_thread=(2, 1)) in list(calls(best))
    assert list(registers(best)) == [Choice(tile=(4, 64), launch_bounds=256)]
    assert list(registers(DEFAULT)) == []


def test_devices_try_no_block_that_reaches_far_beyond_the_range():
    spec = spec_of(es.MDRangePolicy((4, 1000)))
    tiles = [
        c.tile for c in first_candidates(block_candidates("for", spec, (4, 1000), "right", 1024))
    ]
    assert tiles
    assert max(a for a, _ in tiles) <= 4


def test_devices_try_sizes_of_groups_for_reductions():
    spec = spec_of(es.RangePolicy(1000))
    stages = block_candidates("reduce", spec, (1000,), "right", 128)
    assert [c.launch_bounds for c in first_candidates(stages)] == [64, 128]


def test_teams_are_tried_within_their_limits_and_what_is_given_stays():
    limits = es.TeamLimits(8, 4, 16, (0, 0))
    pairs = first_candidates(team_candidates(limits, spec_of(es.TeamPolicy(10)), 4))
    sizes = {(c.team_size, c.vector_length) for c in pairs}
    assert sizes == {(1, 1), (2, 1), (4, 1), (8, 1), (1, 4), (2, 4), (4, 4)}
    given = spec_of(es.TeamPolicy(10, team_size=4))
    stages = team_candidates(limits, given, 4)
    assert {(c.team_size, c.vector_length) for c in first_candidates(stages)} == {(0, 1), (0, 4)}
    assert [c.chunk_size for c in stages[1](DEFAULT)] == [2, 4]


@pytest.mark.parametrize(
    ("policy", "choice", "expected"),
    [
        (100, Choice(tile=(64,)), "MDRangePolicy((0,), (100,), tile=(64,))"),
        (es.RangePolicy(2, 9), Choice(launch_bounds=64), "RangePolicy(2, 9, launch_bounds=64)"),
        (es.RangePolicy(2, 9), DEFAULT, "RangePolicy(2, 9)"),
        (
            es.MDRangePolicy((4, 5), iterate="left"),
            Choice(tile=(2, 2), items_per_thread=(1, 2)),
            "MDRangePolicy((0, 0), (4, 5), tile=(2, 2), iterate='left', items_per_thread=(1, 2))",
        ),
        (
            es.TeamPolicy(7, vector_length=4),
            Choice(team_size=8),
            "TeamPolicy(7, 8, 4)",
        ),
    ],
)
def test_a_choice_can_be_written_into_a_policy(policy, choice, expected):
    assert repr(policy_with(policy, choice)) == expected
