"""Which rank of its host a process is, and how ranks of a host share its cores."""

import os

import pytest

import execspace as es
from execspace.base import config
from execspace.base.local_ranks import LocalRank, from_launcher

SLURM = {"SLURM_LOCALID": "2", "SLURM_PROCID": "6", "SLURM_STEP_ID": "0"}
FLUX = {"FLUX_TASK_LOCAL_ID": "2", "FLUX_JOB_SIZE": "4"}
LAUNCHED = {
    "Open MPI": {"OMPI_COMM_WORLD_LOCAL_RANK": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"},
    "MVAPICH2": {"MV2_COMM_WORLD_LOCAL_RANK": "2", "MV2_COMM_WORLD_LOCAL_SIZE": "4"},
    "MPICH and Intel MPI": {"MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "4"},
    "PALS": {"PALS_LOCAL_RANKID": "2", "PALS_LOCAL_SIZE": "4"},
    "Cray's PMI": {"PMI_LOCAL_RANK": "2", "PMI_LOCAL_SIZE": "4"},
    "Flux on one host": {**FLUX, "FLUX_JOB_NNODES": "1"},
    "Slurm": {**SLURM, "SLURM_STEP_TASKS_PER_NODE": "4(x2)"},
    "Slurm on one host": {**SLURM, "SLURM_STEP_TASKS_PER_NODE": "4"},
    "Slurm by the job": {**SLURM, "SLURM_NTASKS_PER_NODE": "4"},
    "Slurm's older name": {
        "SLURM_LOCALID": "2", "SLURM_PROCID": "2", "SLURM_STEPID": "1",
        "SLURM_STEP_TASKS_PER_NODE": "4",
    },
    "mpirun within a step of Slurm": {
        "OMPI_COMM_WORLD_LOCAL_RANK": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
        "SLURM_LOCALID": "0", "SLURM_PROCID": "0", "SLURM_STEP_ID": "3",
        "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    },
    "Flux within a step of Slurm": {
        **FLUX, "FLUX_JOB_NNODES": "1",
        "SLURM_LOCALID": "0", "SLURM_PROCID": "0", "SLURM_STEP_ID": "3",
        "SLURM_STEP_TASKS_PER_NODE": "1",
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def started_by_nobody(monkeypatch):
    """These tests may themselves run under a launcher."""
    beginnings = ("OMPI_", "MV2_", "MPI_", "PALS_", "PMI_", "FLUX_", "SLURM_", "EXECSPACE_LOCAL_")
    for name in list(os.environ):
        if name.startswith(beginnings):
            monkeypatch.delenv(name)


def set_all(monkeypatch, settings):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


# -- launchers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_number_and_size_are_those_of_the_launcher(monkeypatch, launcher):
    assert from_launcher(LAUNCHED[launcher]) == LocalRank(2, 4)
    set_all(monkeypatch, LAUNCHED[launcher])
    assert config.local_rank() == LocalRank(2, 4)


def test_without_a_launcher_there_is_no_rank():
    assert config.local_rank() is None and from_launcher({}) is None


@pytest.mark.parametrize(
    "environment",
    [
        {"SLURM_LOCALID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS_PER_NODE": "4"},  # a batch script
        {"SLURM_LOCALID": "0", "SLURM_STEP_ID": "0"},
        {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0"},
    ],
)
def test_of_slurm_only_tasks_of_a_step_are_ranks(environment):
    assert from_launcher(environment) is None


@pytest.mark.parametrize(
    ("tasks", "node", "size"),
    [
        ("4(x2),3", "0", 4),
        ("4(x2),3", "1", 4),
        ("4(x2),3", "2", 3),
        ("4(x2),3", "3", None),
        ("4(x2),3", None, None),
        ("4(x2),4", None, 4),
        ("3,4(x2),8(x3)", "5", 8),
        ("2", None, None),  # fewer than the number says
        ("4(x2", "0", 4),
        ("4(xx)", "0", None),
        ("four", "0", None),
        ("4,", "0", None),
        ("", "0", None),
    ],
)
def test_tasks_of_a_node_by_slurm(tasks, node, size):
    environment = {**SLURM, "SLURM_STEP_TASKS_PER_NODE": tasks, "SLURM_NTASKS_PER_NODE": "64"}
    if node is not None:
        environment["SLURM_NODEID"] = node
    assert from_launcher(environment) == LocalRank(2, size)


def test_flux_on_several_hosts_does_not_say_how_many():
    assert from_launcher({**FLUX, "FLUX_JOB_NNODES": "2"}) == LocalRank(2)
    assert from_launcher(FLUX) == LocalRank(2)


@pytest.mark.parametrize("text", ["", "two", "-1", "1.5", "²", "9" * 30])
def test_what_is_no_number_counts_as_not_there(text):
    pair = ("MPI_LOCALRANKID", "MPI_LOCALNRANKS")
    assert from_launcher({pair[0]: text, pair[1]: "4"}) is None
    assert from_launcher({pair[0]: "2", pair[1]: text}) == LocalRank(2)
    later = {"PALS_LOCAL_RANKID": "3", "PALS_LOCAL_SIZE": "4"}
    assert from_launcher({pair[0]: text, pair[1]: "4", **later}) == LocalRank(3, 4)


def test_a_size_that_does_not_fit_is_not_known():
    assert from_launcher({"MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "2"}) == LocalRank(2)


def test_a_rank_in_words():
    assert str(LocalRank(2, 4)) == "local rank 2 of 4"
    assert str(LocalRank(2)) == "local rank 2"


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"RANK": "1", "SIZE": "8"}, LocalRank(1, 8)),
        ({"RANK": " 1 "}, LocalRank(1)),  # a size of the launcher may not belong to it
        ({"SIZE": "8"}, LocalRank(2, 8)),
        ({"RANK": "", "SIZE": ""}, LocalRank(2, 4)),
        ({"RANK": "0"}, LocalRank(0)),
    ],
)
def test_settings_beat_the_launcher(monkeypatch, settings, expected):
    set_all(monkeypatch, LAUNCHED["Open MPI"])
    set_all(monkeypatch, {f"EXECSPACE_LOCAL_{name}": text for name, text in settings.items()})
    assert config.local_rank() == expected


def test_a_size_without_a_number_is_no_rank(monkeypatch):
    monkeypatch.setenv("EXECSPACE_LOCAL_SIZE", "4")
    assert config.local_rank() is None


@pytest.mark.parametrize("text", ["one", "-1", "1.5", "²"])
def test_a_setting_that_is_no_number(monkeypatch, text):
    monkeypatch.setenv("EXECSPACE_LOCAL_RANK", text)
    with pytest.raises(es.ConfigError, match=f"EXECSPACE_LOCAL_RANK='{text}' is not the number"):
        config.local_rank()
    monkeypatch.setenv("EXECSPACE_LOCAL_RANK", "0")
    monkeypatch.setenv("EXECSPACE_LOCAL_SIZE", text)
    with pytest.raises(es.ConfigError, match=f"EXECSPACE_LOCAL_SIZE='{text}' is not a whole"):
        config.local_rank()


def test_fewer_ranks_than_the_number_says(monkeypatch):
    monkeypatch.setenv("EXECSPACE_LOCAL_SIZE", "2")
    monkeypatch.setenv("EXECSPACE_LOCAL_RANK", "2")
    with pytest.raises(es.ConfigError, match=r"SIZE=2 ranks .* too few: EXECSPACE_LOCAL_RANK says"):
        config.local_rank()
    monkeypatch.delenv("EXECSPACE_LOCAL_RANK")
    set_all(monkeypatch, LAUNCHED["Open MPI"])
    with pytest.raises(es.ConfigError, match=r"its launcher says that this process is number 2"):
        config.local_rank()


# -- threads --------------------------------------------------------------------------------------


@pytest.fixture
def cores(monkeypatch):
    """``cores(usable, all)``: the process may use so many of all cores."""
    for name in ("EXECSPACE_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)

    def use(usable, whole):
        affinity = set(range(usable))
        monkeypatch.setattr(config.os, "sched_getaffinity", lambda pid: affinity, raising=False)
        monkeypatch.setattr(config.os, "cpu_count", lambda: whole)

    return use


def threads_of_ranks(monkeypatch, size):
    found = []
    monkeypatch.setenv("EXECSPACE_LOCAL_SIZE", str(size))
    for number in range(size):
        monkeypatch.setenv("EXECSPACE_LOCAL_RANK", str(number))
        found.append(config.thread_count())
    return found


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, [10]), (2, [5, 5]), (4, [3, 3, 2, 2]), (10, [1] * 10), (12, [1] * 12)],
)
def test_ranks_that_nobody_has_bound_divide_the_cores(monkeypatch, cores, size, expected):
    cores(10, 10)
    assert threads_of_ranks(monkeypatch, size) == expected


def test_cores_of_a_rank_that_is_bound_are_all_its_own(monkeypatch, cores):
    cores(6, 12)
    assert threads_of_ranks(monkeypatch, 2) == [6, 6]


def test_where_there_is_no_affinity_all_cores_are_divided(monkeypatch, cores):
    cores(8, 8)
    monkeypatch.delattr(config.os, "sched_getaffinity")
    assert threads_of_ranks(monkeypatch, 2) == [4, 4]


def test_shares_of_a_large_host_have_the_limit_of_all_spaces(monkeypatch, cores):
    cores(4096, 4096)
    assert threads_of_ranks(monkeypatch, 2) == [config.MOST_THREADS] * 2


def test_where_nobody_says_how_many_ranks_there_are_nothing_is_divided(monkeypatch, cores):
    cores(8, 8)
    monkeypatch.setenv("EXECSPACE_LOCAL_RANK", "1")
    assert config.thread_count() == 8


@pytest.mark.parametrize("variable", ["EXECSPACE_NUM_THREADS", "OMP_NUM_THREADS"])
def test_a_number_of_threads_is_for_each_rank(monkeypatch, cores, variable):
    cores(8, 8)
    monkeypatch.setenv(variable, "6")
    assert threads_of_ranks(monkeypatch, 2) == [6, 6]
