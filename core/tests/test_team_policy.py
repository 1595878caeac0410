"""Teams as core sees them: policies, what is checked, and kernels of teams in plain Python."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest

import execspace as es
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace.reducers.builtin import Locating
from execspace.reducers.python_joins import _JOINS

RANGES = (es.TeamThreadRange, es.ThreadVectorRange, es.TeamVectorRange)
MD_RANGES = (es.TeamThreadMDRange, es.ThreadVectorMDRange, es.TeamVectorMDRange)
LIMITS = es.TeamLimits(64, 8, 128, (1000, 20000))


@pytest.fixture
def team():
    """The handle for calling a kernel directly."""
    return es.TeamMember()


@pytest.fixture
def teams(plain):
    """A space that runs each team as one thread of plain Python."""

    class Plan(es.Plan):
        def __init__(self, space, fn, spec):
            self.space, self.fn, self.spec = space, fn, spec

        def launch(self, bounds, args):
            begin, size = bounds
            values = [self.fn(es.TeamMember(n, size), *args) for n in range(begin, size)]
            return sum(values) if self.spec.reducer else None

        def mapping(self, bounds):
            return (f"{bounds[1]} teams",)

        def team_sizes(self):
            asked = self.spec.policy
            lanes = asked.vector_length or 4
            most = 48 // lanes if self.spec.reducer else 64 // lanes
            return es.TeamSizes(asked.team_size or most // 2, lanes, asked.chunk_size or 1, most)

    class Space(type(plain)):
        def compile(self, kernel, spec):
            self.compiled.append((kernel, spec))
            return Plan(self, kernel.fn, spec)

        def team_limits(self):
            return LIMITS

    return Space("teams")


@es.kernel
def number(team, x, value):
    x[team.league_rank] = value * team.league_size


# -- the policy -----------------------------------------------------------------------------------


def test_a_policy_has_numbers_or_leaves_them_to_the_space():
    policy = es.TeamPolicy(10)
    assert (policy.league_size, policy.bounds) == (10, (0, 10))
    assert (policy.team_size, policy.vector_length, policy.chunk_size) == ("auto",) * 3
    assert (policy.launch_bounds, policy.space) == (None, None)
    policy = es.TeamPolicy(np.int8(3), np.int32(32), 4, chunk_size=2, launch_bounds=128)
    assert (policy.team_size, policy.vector_length, policy.chunk_size) == (32, 4, 2)
    assert (policy.league_size, policy.launch_bounds) == (3, 128)


def test_the_key_is_what_a_plan_depends_on():
    spec, space = es.TeamPolicy(3, 32, 4, chunk_size=2, launch_bounds=128).key
    assert (spec.kind, spec.rank, spec.launch_bounds, space) == ("team", 1, 128, None)
    assert (spec.team_size, spec.vector_length, spec.chunk_size) == (32, 4, 2)
    assert es.TeamPolicy(3, 32).key == es.TeamPolicy(5, 32).key
    keys = {
        es.TeamPolicy(3, *sizes, **options).key
        for sizes in [(), (32,), ("auto", 32), (32, 32)]
        for options in [{}, {"chunk_size": 2}, {"launch_bounds": 2048}]
    }
    assert len(keys) == 12


def test_specs_of_other_policies_have_no_teams():
    spec = policy_spec("mdrange", 2, "left", True, False, (2,), 64)
    assert (spec.iterate, spec.tiled, spec.nonnegative) == ("left", True, False)
    assert (spec.items_per_thread, spec.launch_bounds) == ((2,), 64)
    assert (spec.team_size, spec.vector_length, spec.chunk_size) == (0, 0, 0)
    assert spec is policy_spec("mdrange", 2, "left", True, False, (2,), 64)


def test_repr_shows_what_was_asked_for(plain):
    assert repr(es.TeamPolicy(5)) == "TeamPolicy(5)"
    assert repr(es.TeamPolicy(5, 32)) == "TeamPolicy(5, 32)"
    assert repr(es.TeamPolicy(5, vector_length=8)) == "TeamPolicy(5, 'auto', 8)"
    assert repr(es.TeamPolicy(5, 32, 4, chunk_size=2, launch_bounds=256, space=plain)) == (
        "TeamPolicy(5, 32, 4, chunk_size=2, launch_bounds=256, space='plain')"
    )


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((-1,), {}, "TeamPolicy: league_size=-1; expected 0 or more."),
        ((2.0,), {}, "TeamPolicy: league_size must be an integer, got 2.0."),
        (("auto",), {}, "TeamPolicy: league_size must be an integer, got 'auto'."),
        ((1, 0), {}, "TeamPolicy: team_size=0; expected at least 1, or 'auto'."),
        ((1, 8, -2), {}, "TeamPolicy: vector_length=-2; expected at least 1, or 'auto'."),
        ((1,), {"chunk_size": 0}, "TeamPolicy: chunk_size=0; expected at least 1, or 'auto'."),
        ((1, 2.5), {}, "TeamPolicy: team_size must be an integer or 'auto', got 2.5."),
        ((1, None), {}, "TeamPolicy: team_size must be an integer or 'auto', got None."),
        (
            (1,), {"chunk_size": None},
            "TeamPolicy: chunk_size must be an integer or 'auto', got None.",
        ),
        ((1, "most"), {}, "TeamPolicy: team_size='most'; expected an integer or 'auto'."),
        (
            (1, 8, 12), {},
            "TeamPolicy: vector_length=12; expected a power of two, such as 8 or 16.",
        ),
        (
            (1, 64, 4), {"launch_bounds": 128},
            "TeamPolicy: a team of 64 x 4 lanes has 256, and launch_bounds=128 allows 128; give a "
            "smaller team_size or vector_length.",
        ),
        (
            (1, 256), {"launch_bounds": 128},
            "TeamPolicy: a team of 256 x 1 lanes has 256, and launch_bounds=128 allows 128; give "
            "a smaller team_size or vector_length.",
        ),
        ((1,), {"launch_bounds": 0}, "TeamPolicy: launch_bounds=0; expected at least one thread."),
    ],
)  # fmt: skip
def test_what_a_policy_refuses(arguments, options, message):
    with pytest.raises(es.PolicyError) as error:
        es.TeamPolicy(*arguments, **options)
    assert str(error.value) == message


def test_a_team_may_fill_its_launch_bounds_and_a_league_be_empty(teams):
    assert es.TeamPolicy(1, 32, 4, launch_bounds=128).team_size == 32
    x = es.View(1)
    es.parallel_for(es.TeamPolicy(0, space=teams), number, x, 1.0)
    assert len(teams.compiled) == 1 and x[0] == 0


# -- launches -------------------------------------------------------------------------------------


def test_a_kernel_gets_the_handle_of_its_team(teams):
    x = es.View(4)
    es.parallel_for(es.TeamPolicy(3, space=teams), number, x, 2.0)
    assert list(x) == [6, 6, 6, 0]
    (_, spec) = teams.compiled[-1]
    assert (spec.policy.kind, spec.leading, len(spec.arguments)) == ("team", 1, 2)
    with es.use_space(teams):
        total = es.parallel_reduce(es.TeamPolicy(4), lambda team: team.league_rank)
    assert total == 6


def test_a_scan_has_the_handle_before_prefix_and_final(teams):
    def body(team, prefix, final, x):
        return 0

    es.explain(es.TeamPolicy(3, space=teams), body, es.View(1), pattern="scan")
    (_, spec) = teams.compiled[-1]
    assert (spec.pattern, spec.leading, len(spec.arguments), spec.bound) == ("scan", 3, 1, ())


def test_options_that_are_no_arguments_come_after_the_handle(teams):
    def body(team, x, how, sign: es.static):
        x[team.league_rank] = 1

    x = es.View(2)
    es.parallel_for(es.TeamPolicy(0, space=teams), body, x, "text", -1)
    (_, spec) = teams.compiled[-1]
    assert (len(spec.arguments), spec.bound) == (1, ("how", "sign"))


def test_sizes_choose_the_plan_and_the_size_of_the_league_does_not(teams):
    kernel = es.kernel(lambda team: None)
    for league in (2, 3):
        es.parallel_for(es.TeamPolicy(league, space=teams), kernel)
    assert len(teams.compiled) == 1
    for sizes in [(8,), ("auto", 8), (8, 8)]:
        es.parallel_for(es.TeamPolicy(2, *sizes, space=teams), kernel)
    assert len(teams.compiled) == 4


def test_explain_takes_it_as_a_launch_does(teams):
    policy = es.TeamPolicy(5, 8, space=teams)
    found = es.explain(policy, number, es.View(5, label="x"), 1.0)
    assert (found.kernel, found.space, found.pattern) == ("number", "teams", "for")
    assert found.arguments == ("float64[1,right]@host", "weak float64")
    assert found.mapping == ("5 teams",)
    assert number.explain(policy, es.View(5), 1.0).mapping == ("5 teams",)


def test_a_policy_of_a_class_of_ones_own_is_none(teams):
    class Mine(es.TeamPolicy):
        pass

    for launch in (es.parallel_for, es.parallel_reduce, es.parallel_scan, es.explain):
        with pytest.raises(es.PolicyError, match=r"TeamPolicy\(3, space='teams'\) is not a policy"):
            launch(Mine(3, space=teams), lambda team: None)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            (65,),
            "Kernel 'number': team_size=65, and a team on space 'teams' has at most 64 threads; "
            "give less, or 'auto'.",
        ),
        (
            (1, 16),
            "Kernel 'number': vector_length=16, and a thread on space 'teams' has at most 8 lanes; "
            "give less, or 'auto'.",
        ),
        (
            (33, 4),
            "Kernel 'number': team_size=33 and vector_length=4 make 132 lanes, and a team on space "
            "'teams' has at most 128; make one of them less, or 'auto'.",
        ),
    ],
)
def test_what_exceeds_the_limits_of_a_space_is_not_compiled(teams, sizes, message):
    with pytest.raises(es.PolicyError) as error:
        es.parallel_for(es.TeamPolicy(2, *sizes, space=teams), number, es.View(2), 1.0)
    assert str(error.value) == message
    assert teams.compiled == []


@pytest.mark.parametrize("sizes", [(64,), (64, 2), (16, 8), ("auto", 8)])
def test_what_just_fits_is_compiled(teams, sizes):
    es.parallel_for(es.TeamPolicy(2, *sizes, space=teams), number, es.View(2), 1.0)
    assert len(teams.compiled) == 1


def test_a_space_without_teams(plain):
    assert not isinstance(plain, es.SupportsTeams)
    with pytest.raises(es.PolicyError) as error:
        es.parallel_for(es.TeamPolicy(2, space=plain), number, es.View(2), 1.0)
    assert str(error.value) == (
        "Kernel 'number': space 'plain' has no teams, which a TeamPolicy needs; launch it on "
        "another space, with space=."
    )
    assert plain.compiled == []


# -- what a policy can be asked -------------------------------------------------------------------


def test_team_sizes_are_those_of_the_plan_that_a_launch_would_use(teams):
    policy = es.TeamPolicy(4, 7, 2, chunk_size=3, launch_bounds=96, space=teams)
    x = es.View(4)
    assert policy.team_size_max(number, x, 1.0) == 32
    assert policy.team_size_recommended(number, x, 1.0) == 16
    assert policy.team_size_max(lambda team: 1, reducer=es.Sum) == 24
    assert policy.team_size_recommended(lambda team: 1, pattern="reduce") == 12
    for _, spec in teams.compiled:
        asked = spec.policy
        assert (asked.team_size, asked.vector_length, asked.chunk_size) == (0, 2, 3)
        assert asked.launch_bounds == 96
    assert [spec.pattern for _, spec in teams.compiled] == ["for", "for", "reduce", "reduce"]
    assert list(x) == [0] * 4


def test_sizes_beyond_the_limits_may_be_asked_about(teams):
    assert es.TeamPolicy(4, 9999, space=teams).team_size_max(number, es.View(4), 1.0) == 16


def test_questions_about_a_launch_that_would_fail(teams, plain):
    with pytest.raises(es.PolicyError, match="space 'plain' has no teams"):
        es.TeamPolicy(4, space=plain).team_size_max(number, es.View(4), 1.0)
    with pytest.raises(es.LaunchError) as error:
        es.TeamPolicy(4, space=teams).team_size_max(number, es.View(4), 1.0, pattern="sum")
    assert str(error.value) == "pattern='sum'; expected 'for', 'reduce' or 'scan'."


def test_a_plan_that_does_not_say_its_sizes(plain):
    class Space(type(plain)):
        def team_limits(self):
            return LIMITS

    with pytest.raises(es.PluginError) as error:
        es.TeamPolicy(4, space=Space("silent")).team_size_max(number, es.View(4), 1.0)
    assert str(error.value) == (
        "Space 'silent' compiles kernels for teams, but its plans have no team_sizes(), which "
        "says what they chose; this is a defect of its plugin."
    )


def test_limits_are_those_of_the_space(teams, plain):
    policy = es.TeamPolicy(4, space=teams)
    assert policy.vector_length_max() == 8
    assert (policy.scratch_size_max(0), policy.scratch_size_max(1)) == (1000, 20000)
    with es.use_space(teams):
        assert es.TeamPolicy(4).vector_length_max() == 8
    with es.use_space(teams), pytest.raises(es.PolicyError) as error:
        es.TeamPolicy(4, space=plain).scratch_size_max(0)
    assert str(error.value) == "Space 'plain' has no teams; name another with space=."
    with pytest.raises(es.PolicyError) as error:
        policy.scratch_size_max(2)
    assert str(error.value) == "scratch_size_max: level=2; expected 0 or 1."


# -- words of kernels -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", RANGES)
def test_a_range_is_a_loop(kind, team):
    assert list(kind(team, 3)) == [0, 1, 2]
    assert list(kind(team, np.int8(2), 5)) == [2, 3, 4]
    assert list(kind(team, -2, 0)) == [-2, -1]
    assert list(kind(team, 5, 2)) == list(kind(team, 0)) == []
    assert repr(kind(team, 2, 5)) == f"{kind.__name__}(team, 2, 5)"
    found = kind(team, 2)
    assert list(found) == list(found)


@pytest.mark.parametrize("kind", MD_RANGES)
def test_a_range_of_several_dimensions_gives_tuples(kind, team):
    assert list(kind(team, 2, 2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert list(kind(team, 1, 1, 1, 1, 1, 2)) == [(0,) * 6, (0, 0, 0, 0, 0, 1)]
    assert len(list(kind(team, 1, 2, 1, 1, 3, 1, 2, 1))) == 12
    assert list(kind(team, 3, 0)) == []
    assert repr(kind(team, 3, 4)) == f"{kind.__name__}(team, 3, 4)"
    for extents in [(), (3,), (1,) * 9]:
        with pytest.raises(es.PolicyError) as error:
            kind(team, *extents)
        one = f" For one there is es.{kind.__name__.replace('MD', '')}."
        assert str(error.value) == (
            f"{kind.__name__}: got {len(extents)} extent{'' if len(extents) == 1 else 's'}; "
            f"expected 2 to 8.{one if len(extents) < 2 else ''}"
        )
    with pytest.raises(es.PolicyError, match=r"got \(3, 4\); expected 2 to 8 extents, each an"):
        kind(team, (3, 4))


@pytest.mark.parametrize("kind", RANGES)
def test_the_end_of_a_range_is_left_out_and_not_none(kind, team):
    with pytest.raises(es.PolicyError, match=f"^{kind.__name__}: end must be an integer, got None"):
        kind(team, 3, None)


@pytest.mark.parametrize("kind", [*RANGES, *MD_RANGES, es.PerTeam, es.PerThread])
def test_words_take_the_handle_first(kind):
    arguments = () if kind in (es.PerTeam, es.PerThread) else (2, 2)
    with pytest.raises(es.PolicyError) as error:
        kind(8, *arguments)
    assert str(error.value) == (
        f"{kind.__name__}: expected the handle of a team, got 8; kernels that are launched with "
        f"es.TeamPolicy have it as their first parameter."
    )


def test_bounds_of_nested_ranges_are_integers(team):
    with pytest.raises(es.PolicyError, match=r"^TeamThreadRange: end must be an integer, got 2.5"):
        es.TeamThreadRange(team, 2.5)
    with pytest.raises(es.PolicyError, match=r"^TeamThreadRange: begin must be an integer"):
        es.TeamThreadRange(team, "0", 2)
    with pytest.raises(es.PolicyError, match=r"^TeamVectorMDRange: an extent must be an integer"):
        es.TeamVectorMDRange(team, 2, 2.0)


def test_the_only_thread_is_the_one_that_does_things_once(team):
    assert es.single(es.PerTeam(team)) is True
    assert es.single(es.PerThread(team)) is True
    with pytest.raises(es.LaunchError) as error:
        es.single(3)
    assert str(error.value) == "single: got 3; expected es.PerTeam(team) or es.PerThread(team)."


def test_a_nested_range_is_nothing_to_explain(team):
    with pytest.raises(es.PolicyError, match=r"^TeamThreadRange\(team, 0, 3\) is not a policy"):
        es.explain(es.TeamThreadRange(team, 3), lambda i: None)


# -- the handle -----------------------------------------------------------------------------------


def test_a_handle_made_by_hand_is_a_team_of_one_thread():
    team = es.TeamMember()
    assert (team.league_rank, team.league_size, team.team_rank, team.team_size) == (0, 1, 0, 1)
    team = es.TeamMember(2, 5)
    assert (team.league_rank, team.league_size) == (2, 5)
    assert team.barrier() is None
    assert team.broadcast("anything", 0) == "anything"


@pytest.mark.parametrize("numbers", [(1, 1), (-1, 2), (0, 0)])
def test_a_team_is_one_of_its_league(numbers):
    with pytest.raises(es.LaunchError) as error:
        es.TeamMember(*numbers)
    assert str(error.value) == (
        f"TeamMember: league_rank={numbers[0]} and league_size={numbers[1]}; expected a rank of "
        f"at least 0 and less than the size."
    )
    with pytest.raises(es.LaunchError, match=r"league_size must be an integer, got 2\.0"):
        es.TeamMember(0, 2.0)


def test_only_threads_of_the_team_broadcast(team):
    with pytest.raises(es.LaunchError) as error:
        team.broadcast(1, 1)
    assert str(error.value) == (
        "team.broadcast: rank=1; expected 0: a kernel that is called directly has a team of one "
        "thread."
    )


def test_a_team_of_one_thread_joins_one_value(team):
    assert team.reduce(2.5) == 2.5
    assert team.reduce(np.float32(2.5), es.Max).dtype == np.float32
    assert team.reduce((3, 7), es.MinLoc) == es.ValLocScalar(3, 7)
    assert team.reduce((3, 7), (es.Sum, es.Max)) == (3, 7)
    assert team.scan(2.5) == 0 and team.scan(2.5, es.Prod) == 1
    least = team.scan(np.int8(3), es.Max)
    assert (least, least.dtype) == (-128, np.int8)
    with pytest.raises(es.LaunchError) as error:
        team.reduce(None)
    assert str(error.value) == "team.reduce: Sum joins numbers; got None."
    with pytest.raises(es.LaunchError, match=r"^team.scan: Sum\(shape=...\) is an array reduction"):
        team.scan(1, es.Sum(shape=3))


@pytest.mark.parametrize("name", ["scratch", "thread_scratch"])
def test_scratch_memory_is_an_array(team, name):
    scratch = getattr(team, name)
    found = scratch(3)
    assert (found.shape, found.dtype) == ((3,), np.float64)
    assert np.isnan(found).all()
    found = scratch((2, 3), es.int32, level=1)
    assert (found.shape, found.dtype) == ((2, 3), np.int32)
    assert scratch((2,)) is not scratch((2,))
    for arguments, message in [
        ((2.5,), "an extent must be an integer, got 2.5."),
        (((2, -1),), "shape (2, -1); expected 1 to 6 extents of at least 0."),
        (((),), "shape (); expected 1 to 6 extents of at least 0."),
        (((1,) * 7,), "shape (1, 1, 1, 1, 1, 1, 1); expected 1 to 6 extents of at least 0."),
        ((2, es.float64, 2), "level=2; expected 0 or 1."),
    ]:
        with pytest.raises(es.LaunchError) as error:
            scratch(*arguments)
        assert str(error.value) == f"team.{name}: {message}"


# -- kernels of teams in plain Python -------------------------------------------------------------


def test_a_kernel_of_teams_can_be_called_directly():
    @es.kernel
    def kernel(team, A, x, y):
        row = team.league_rank
        held = team.scratch(x.shape[0])
        for j in es.TeamThreadRange(team, x.shape[0]):
            held[j] = x[j]
        team.barrier()
        total = es.parallel_reduce(
            es.TeamVectorRange(team, A.shape[1]), lambda j: A[row, j] * held[j]
        )
        if es.single(es.PerTeam(team)):
            y[row] = total
        return total

    A, x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 4.0]), np.zeros(2)
    assert [kernel(es.TeamMember(r, 2), A, x, y) for r in range(2)] == [10, 31]
    assert list(y) == [10, 31]


def test_nested_launches_are_loops(team, events):
    x = np.zeros((2, 3))

    def store(i, j, value):
        x[i, j] = value

    assert es.parallel_for(es.TeamThreadMDRange(team, 2, 3), store, 4.0) is None
    assert (x == 4).all()
    seen = []
    es.parallel_for(es.ThreadVectorRange(team, 1, 4), es.kernel(lambda i: seen.append(i)))
    assert seen == [1, 2, 3]
    assert es.parallel_reduce(es.TeamThreadMDRange(team, 2, 3), lambda i, j, a: i + j + a, 1) == 15
    assert events == []


def test_a_nested_scan_calls_its_body_once_for_each_index(team):
    calls, x = [], np.array([3, 1, 4])

    def body(i, prefix, final, x):
        calls.append((i, int(prefix), final))
        return x[i]

    assert es.parallel_scan(es.TeamThreadRange(team, 3), body, x) == 8
    assert calls == [(0, 0, True), (1, 3, True), (2, 4, True)]
    calls.clear()
    assert es.parallel_scan(es.ThreadVectorRange(team, 1, 3), body, x, reducer=es.Prod) == 4
    assert calls == [(1, 1, True), (2, 1, True)]


def test_the_prefix_of_a_scan_has_the_names_that_the_result_has(team):
    places = []

    def body(i, prefix, final):
        places.append(prefix.loc)
        return (3, 1, 2)[i], i

    found = es.parallel_scan(es.TeamThreadRange(team, 3), body, reducer=es.MinLoc)
    assert (found.val, found.loc) == (1, 1)
    assert places == [np.iinfo("int64").max, 0, 1]


@pytest.mark.parametrize("launch", [es.parallel_reduce, es.parallel_scan])
def test_nested_launches_return_their_result(team, launch):
    nested = es.TeamThreadRange(team, 3)
    assert launch(nested, lambda *args: 1, label="inner") == 3
    with pytest.raises(es.LaunchError) as error:
        launch(nested, lambda *args: 1, out=es.View(()))
    assert str(error.value) == (
        f"{launch.__name__} over TeamThreadRange(team, 0, 3): out= is an option of launches; "
        f"take what is returned."
    )


@pytest.mark.parametrize("kind", MD_RANGES)
def test_nested_scans_go_over_one_index(team, kind):
    with pytest.raises(es.LaunchError) as error:
        es.parallel_scan(kind(team, 2, 3), lambda i, j, prefix, final: 1)
    assert str(error.value) == (
        f"parallel_scan over {kind.__name__}(team, 2, 3): expected a range of one dimension, such "
        f"as es.TeamThreadRange."
    )


# -- joins in plain Python ------------------------------------------------------------------------


def joined(team, values, reducer=es.Sum):
    return es.parallel_reduce(es.TeamThreadRange(team, len(values)), lambda i: values[i],
                              reducer=reducer)  # fmt: skip


NAN = math.nan
GREATEST = np.iinfo("int64").max


@pytest.mark.parametrize(
    ("reducer", "values", "result"),
    [
        (es.Sum, [1, 2, 4], 7),
        (es.Sum, [], 0),
        (es.Prod, [2, 3, 4], 24),
        (es.Prod, [], 1),
        (es.Min, [3.0, -1.0, 2.0], -1),
        (es.Min, [], math.inf),
        (es.Max, [3, 5, 2], 5),
        (es.Max, [], -math.inf),
        (es.LAnd, [1, 2.5, True], True),
        (es.LAnd, [1, 0], False),
        (es.LAnd, [], True),
        (es.LOr, [0, 0.5], True),
        (es.LOr, [0, 0], False),
        (es.BAnd, [7, 13], 5),
        (es.BAnd, [], -1),
        (es.BOr, [8, 1], 9),
        (es.BOr, [], 0),
        (es.MinMax, [2, 7, -1], es.MinMaxScalar(-1, 7)),
        (es.MinLoc, [(2, 0), (1, 1), (1, 2)], es.ValLocScalar(1, 1)),
        (es.MinLoc, [(1, 2), (1, 1)], es.ValLocScalar(1, 1)),
        (es.MinLoc, [(1, (1, 0)), (1, (0, 5)), (1, (0, 7))], es.ValLocScalar(1, (0, 5))),
        (es.MinLoc, [], es.ValLocScalar(math.inf, GREATEST)),
        (es.MaxLoc, [(1, 0), (3, 1), (3, 2)], es.ValLocScalar(3, 1)),
        (es.MaxFirstLoc, [(3, 1), (1, 0)], es.ValLocScalar(3, 1)),
        (es.MinMaxLoc, [(4, 0), (1, 1), (4, 2)], es.MinMaxLocScalar(1, 4, 1, 0)),
        (es.MinMaxFirstLastLoc, [(4, 0), (1, 1), (4, 2)], es.MinMaxLocScalar(1, 4, 1, 2)),
        (
            es.MinMaxFirstLastLoc, [],
            es.MinMaxLocScalar(math.inf, -math.inf, GREATEST, -GREATEST - 1),
        ),
        (es.FirstLoc, [(False, 0), (True, 1), (True, 2)], 1),
        (es.FirstLoc, [(False, 0)], GREATEST),
        (es.FirstLoc, [(0, np.int8(0))], 127),
        (es.FirstLoc, [(False, (0, 0))], (GREATEST, GREATEST)),
        (es.LastLoc, [(1, 0), (1, 1), (0, 2)], 1),
        (es.LastLoc, [], -GREATEST - 1),
        (es.StdIsPartitioned, [(True, 0), (True, 1), (False, 2)], es.StdIsPartScalar(1, 2)),
        (es.StdPartitionPoint, [(True, 0), (False, 1), (False, 2)], 1),
    ],
)  # fmt: skip
def test_joins_are_those_of_compiled_kernels(team, reducer, values, result):
    found = joined(team, values, reducer)
    assert found == result
    assert not isinstance(result, tuple) or type(found) is type(result)


@pytest.mark.parametrize("values", list(itertools.permutations([1.0, NAN, 3.0])))
def test_a_nan_wins(team, values):
    for reducer in (es.Min, es.Max, es.Sum):
        assert math.isnan(joined(team, values, reducer))
    place = values.index(NAN)
    located = list(zip(values, range(3), strict=True))
    for reducer in (es.MinLoc, es.MaxLoc):
        found = joined(team, located, reducer)
        assert math.isnan(found.val) and found.loc == place
    two = [*located, (NAN, 3)]
    assert joined(team, two, es.MinMaxFirstLastLoc)[2:] == (place, 3)


def test_every_built_in_reducer_is_joined():
    exported = [getattr(es, name) for name in es.__all__]
    reducers = [r for r in exported if isinstance(r, type) and issubclass(r, es.Reducer)]
    located = {r.kind for r in reducers if issubclass(r, Locating)}
    kinds = {r.kind for r in reducers} - {"custom"}
    assert kinds == {*_JOINS} | located
    assert len(located) == 8


@pytest.mark.parametrize(
    ("values", "reducer", "dtype"),
    [
        ([1, 2], es.Sum, "int64"),
        ([np.float32(1)], es.Sum, "float64"),
        ([np.float32(1)], es.Max, "float32"),
        ([np.float32(1), 2], es.Max, "float32"),
        ([2, np.float32(1), 0.5], es.Max, "float32"),
        ([np.float32(1), np.float64(2)], es.Max, "float64"),
        ([np.int8(1), np.int16(2)], es.Max, "int16"),
        ([np.int8(1), 2.5], es.Max, "float64"),
        ([0, np.uint64(3)], es.Sum, "uint64"),
        ([np.uint8(3)], es.Sum(dtype=es.int16), "int16"),
        ([1j, 2], es.Sum, "complex128"),
        ([np.bool_(True), True], es.Sum, "int64"),
        ([1.5], es.LOr, "bool"),
        ([], es.Sum(dtype=es.float32), "float32"),
    ],
)
def test_numbers_are_joined_in_the_type_of_the_reducer(team, values, reducer, dtype):
    assert joined(team, values, reducer).dtype == dtype


def test_integers_wrap_around_without_a_word(team):
    assert joined(team, [GREATEST, 1]) == -GREATEST - 1
    assert joined(team, [300], es.Sum(dtype=es.int8)) == 44
    assert joined(team, [np.float32(3e38)] * 2, es.Sum(dtype=es.float32)) == math.inf


def test_a_number_of_a_class_of_ones_own(team):
    class Mine(int):
        pass

    assert Mine not in SCALAR_TYPES
    assert joined(team, [Mine(3), Mine(4)]) == 7


def test_an_accurate_sum(team):
    values = [1e16, 1.0, -1e16, 1.0]
    assert joined(team, values) == 1
    assert joined(team, values, es.Sum(accuracy="high")) == 2
    assert joined(team, [math.inf, 1.0], es.Sum(accuracy="high")) == math.inf
    assert joined(team, [1, 2], es.Sum(accuracy="high")) == 3


@pytest.mark.parametrize(
    ("reducer", "value", "message"),
    [
        (es.Sum, None, "Sum joins numbers; got None."),
        (es.Max, (1, 2), "Max joins numbers; got (1, 2)."),
        (es.MinLoc, 3, "MinLoc joins pairs of a value and a location; got 3."),
        (es.MinLoc, (3, "x"), "MinLoc joins pairs of a value and a location; got (3, 'x')."),
        (es.LastLoc, (1,), "LastLoc joins pairs of a condition and a location; got (1,)."),
        (
            (es.Sum, es.Max), 3,
            "expected a tuple of 2 contributions, one for each reducer; got 3.",
        ),
        (
            es.Sum(shape=2), 3,
            "Sum(shape=...) is an array reduction, which teams do not have; give a tuple of "
            "reducers.",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_reducer(team, reducer, value, message):
    with pytest.raises(es.LaunchError) as error:
        joined(team, [value], reducer)
    assert str(error.value) == f"parallel_reduce over TeamThreadRange(team, 0, 1): {message}"


def test_complex_numbers_have_no_order(team):
    for reducer, value in [(es.Max, 1j), (es.MinLoc, (1j, 0))]:
        with pytest.raises(es.DTypeError, match="cannot order complex numbers"):
            joined(team, [value], reducer)
    with pytest.raises(es.DTypeError, match="Sum of complex contributions cannot give float64"):
        joined(team, [1j], es.Sum(dtype=es.float64))


def test_several_reducers(team):
    found = joined(team, [(1, (5.0, 0), 2), (2, (4.0, 1), 9)], (es.Sum, es.MinLoc, es.Max))
    assert found == (3, es.ValLocScalar(4.0, 1), 9)
    assert type(found[1]) is es.ValLocScalar
    assert joined(team, [], (es.Sum, es.Prod)) == (0, 1)


class Extent(NamedTuple):
    low: float
    high: float


class Extents(es.Reducer):
    identity = Extent(math.inf, -math.inf)

    def join(a, b):
        return min(a.low, b.low), max(a.high, b.high)


class Scaled(es.Reducer):
    identity = 0

    def __init__(self, factor, dtype=None):
        self.factor, self.dtype = factor, dtype

    def join(self, a, b):
        return a + b * self.factor

    def final(self, a):
        return a, self.factor


class Rows(es.Reducer):
    identity = np.zeros(2, np.float32)

    def join(a, b):
        return a[0] + b[0], a[1] + b[1]


class Records(es.Reducer):
    identity = np.zeros((), [("n", np.int32), ("x", np.float64)])[()]

    def join(a, b):
        return a.n + b.n, a.x + b.x


class OfTypes(es.Reducer):
    def identity(self, names):
        return 0.0 if names == "float64" else names

    def join(a, b):
        return a + b


def test_reducers_of_ones_own(team):
    found = joined(team, [(3.0, 3.0), (1.0, 1.0)], Extents)
    assert type(found) is Extent and found == (1, 3)
    assert joined(team, [], Extents) == Extents.identity
    assert joined(team, [1, 2], Scaled(10)) == (30, 10)
    assert joined(team, [1, 2], Scaled(10, es.float32))[0].dtype == np.float32
    assert joined(team, [], Scaled(10)) == (0, 10)
    found = joined(team, [(1, 2), (3, 4)], Rows)
    assert (list(found), found.dtype) == ([4, 6], np.float32)
    assert list(Rows.identity) == [0, 0]
    found = joined(team, [(1, 0.5), (2, 0.25)], Records)
    assert (found["n"], found["x"], found.dtype) == (3, 0.75, Records.identity.dtype)
    assert joined(team, [2.5, 1.0], OfTypes) == 3.5
    assert joined(team, [], OfTypes) == 0.0
    assert team.scan(1.5, Scaled(10)) == 0
    assert team.scan(np.int8(1), OfTypes) == "int8"


def test_a_prefix_is_not_final(team):
    prefixes = []

    def body(i, prefix, final):
        prefixes.append(prefix)
        return 1

    assert es.parallel_scan(es.TeamThreadRange(team, 2), body, reducer=Scaled(3)) == (6, 3)
    assert prefixes == [0, 3]


@pytest.mark.parametrize(
    ("reducer", "value", "message"),
    [
        (Scaled(1), "x", "Scaled joins numbers or tuples of them; got 'x'."),
        (
            Scaled(1), (1, 2),
            "Scaled joins what has the structure of its identity, 0; got (1, 2).",
        ),
        (
            Extents, (1.0, 2.0, 3.0),
            "Extents joins what has the structure of its identity, Extent(low=inf, high=-inf); "
            "got (1.0, 2.0, 3.0).",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_reducer_of_ones_own(team, reducer, value, message):
    with pytest.raises(es.LaunchError) as error:
        team.reduce(value, reducer)
    assert str(error.value) == f"team.reduce: {message}"
