"""Fields in files: HDF5, Zarr and checkpoints, with any number of ranks and back with any other."""

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import execspace as es
import execspace_comm as escomm
from execspace_comm import boxes, checkpoint

RECORD = np.dtype([("x", "f8"), ("v", "f4", (3,)), ("cell", [("i", "i4"), ("hot", "?")])])
FLAT = np.dtype([("x", "f8"), ("z", "c8"), ("h", "f2"), ("hot", "?")])


@pytest.fixture
def folder(comm):
    """A folder that all ranks see; gone when all are done with it."""
    found = comm.mpi.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
    yield Path(found)
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(found)


def numbers(shape, dtype):
    """An array of all ranks, in which elements differ."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.names is not None:
        found = np.zeros(shape, dtype)
        for n, name in enumerate(dtype.names):
            part = dtype[name]
            found[name] = numbers((*shape, *part.shape), part.base) if n else found[name]
        found[dtype.names[0]] = np.arange(count).reshape(shape)
        return found
    found = np.arange(1, count + 1) % (2 if dtype.kind == "b" else 1000)
    found = found * (1 - 2j) if dtype.kind == "c" else found
    return found.astype(dtype).reshape(shape)


def part_of(array, field):
    d = field.decomposition
    return np.ascontiguousarray(
        array[tuple(slice(a, b) for a, b in zip(d.lower, d.upper, strict=True))]
    )


def filled(field, array):
    es.deep_copy(field.own, part_of(array, field))
    return field


def same(field, array):
    found, expected = field.own.to_numpy(), part_of(array, field)
    if expected.dtype.names is None:
        return found.tobytes() == expected.tobytes()
    return bool((found == expected).all())  # bytes between fields may differ


def once(comm, do):
    """Have rank 0 do something to files while others wait."""
    comm.barrier()
    found = do() if comm.rank == 0 else None
    return comm.mpi.bcast(found)


def refused(comm, pattern, do):
    """What is raised has the same message on all ranks."""
    with pytest.raises(escomm.CommError, match=pattern) as found:
        do()
    assert len(set(comm.mpi.allgather(str(found.value)))) == 1
    return str(found.value)


# -- pieces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 5), (1, 1), (0, 3), (4, 1, 6)])
@pytest.mark.parametrize("limit", [1, 8, 24, 40, 100, 10**6])
def test_pieces_are_a_shape_in_its_order(shape, limit):
    at = 0
    flat = np.arange(np.prod(shape)).reshape(shape)
    for box in boxes.pieces(shape, 8, limit):
        part = flat[boxes.slices_of(box)]
        assert (part.ravel() == np.arange(at, at + part.size)).all()
        assert part.nbytes <= max(limit, 8)
        at += part.size
    assert at == flat.size


def test_pieces_divide_no_unit():
    seen = np.zeros((7, 10), int)
    for lower, upper in boxes.pieces((7, 10), 8, 8 * 30, unit=(3, 4)):
        assert lower[0] % 3 == lower[1] % 4 == 0
        assert all(b == n or b % u == 0 for b, n, u in zip(upper, (7, 10), (3, 4), strict=True))
        seen[boxes.slices_of((lower, upper))] += 1
    assert (seen == 1).all()


# -- HDF5 ------------------------------------------------------------------------------------------


def test_hdf5_files_have_global_arrays(comm, space_name, folder, monkeypatch):
    h5py = pytest.importorskip("h5py")
    monkeypatch.setattr(boxes.pieces, "__defaults__", (64, ()))  # many pieces
    d = escomm.Decomposition((7, 5), comm)
    arrays = {
        "a": numbers((7, 5), "f2"), "deep/b": numbers((7, 5, 2), "c8"), "c": numbers((7, 5), bool),
        "r": numbers((7, 5), RECORD),
    }  # fmt: skip
    fields = {
        key: filled(
            d.field(array.dtype, components=array.shape[2:], halo=1, space=space_name), array
        )
        for key, array in arrays.items()
    }
    path, done = folder / "flow.h5", []
    attrs = {"time": 0.5, "name": "flow", "n": [1, 2]}
    escomm.write_hdf5(path, fields, attrs=attrs, progress=lambda *at: done.append(at))
    total = sum(field.own.nbytes for field in fields.values())
    assert done == sorted(done) and (done[-1:] == [(total, total)] or not total)
    with h5py.File(path) as file:
        for key, array in arrays.items():
            assert file[key].dtype == array.dtype
            assert (file[key][()] == array).all()
    assert not path.with_name("flow.h5.part").exists()
    other = escomm.Decomposition((7, 5), comm, ranks=(1, 0))
    again = {
        key: other.field(f.dtype, components=f.components, layout="left", space="serial")
        for key, f in fields.items()
    }
    found = escomm.read_hdf5(path, again)
    assert found["time"] == 0.5 and found["name"] == "flow" and list(found["n"]) == [1, 2]
    assert all(same(again[key], arrays[key]) for key in arrays)


def test_hdf5_files_of_others(comm, space_name, folder):
    h5py = pytest.importorskip("h5py")
    whole = numbers((6, 4), "f8")

    def write():
        with h5py.File(folder / "big.h5", "w") as file:
            file.create_dataset("u", data=whole.astype(">f8"), chunks=(4, 3), compression="gzip")

    once(comm, write)
    u = escomm.Decomposition((6, 4), comm).field(space=space_name)
    assert escomm.read_hdf5(folder / "big.h5", {"u": u}) == {}
    assert same(u, whole)
    escomm.write_hdf5(folder / "z.h5", {"u": u}, compression="gzip", chunks=(5, 3))
    u.own.fill(0)
    escomm.read_hdf5(folder / "z.h5", {"u": u})
    assert same(u, whole)


def test_hdf5_errors_are_those_of_all_ranks(comm, space_name, folder):
    pytest.importorskip("h5py")
    d = escomm.Decomposition((6, 4), comm)
    u = d.field(space=space_name, label="u")
    u.own.fill(1)
    path = folder / "flow.h5"
    escomm.write_hdf5(path, {"u": u})
    for given, pattern in (
        ({"v": u}, "there is no dataset 'v'; the file has u"),
        ({"u": d.field("f4")}, "dtype float64; expected shape .6, 4. and dtype float32"),
        ({"u": d.field(components=1)}, "has shape .6, 4. .* expected shape .6, 4, 1."),
    ):
        refused(comm, pattern, lambda given=given: escomm.read_hdf5(path, given))
    refused(comm, "no such file", lambda: escomm.read_hdf5(folder / "no.h5", {"u": u}))
    once(comm, lambda: (folder / "bad.h5").write_bytes(b"no file of HDF5"))
    refused(comm, "OSError", lambda: escomm.read_hdf5(folder / "bad.h5", {"u": u}))
    refused(comm, "expected names with fields", lambda: escomm.write_hdf5(path, u))
    refused(comm, "name '' ", lambda: escomm.write_hdf5(path, {"": u}))
    refused(comm, "'a/../b'", lambda: escomm.write_hdf5(path, {"a/../b": u}))
    refused(comm, "bfloat16.*save_checkpoint", lambda: escomm.write_hdf5(
        path, {"u": d.field("bfloat16")}
    ))  # fmt: skip

    # An error of one rank, while it writes: what was there before stays.
    def fail(done, total):
        if comm.rank == comm.size - 1:
            raise OSError(28, "No space left on device")

    u.own.fill(2)
    if all(a < b for a, b in zip(*d.box(comm.size - 1), strict=True)):
        refused(comm, "No space left", lambda: escomm.write_hdf5(path, {"u": u}, progress=fail))
        escomm.read_hdf5(path, {"u": u})
        assert (u.own.to_numpy() == 1).all()
        assert sorted(os.listdir(folder)) == ["bad.h5", "flow.h5"]


# -- Zarr ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [None, (3, 2), (7, 5), (1, 4)])
def test_zarr_stores_have_global_arrays(comm, space_name, folder, monkeypatch, chunks):
    zarr = pytest.importorskip("zarr", minversion="3")
    monkeypatch.setattr(boxes.pieces, "__defaults__", (64, ()))  # many pieces
    d = escomm.Decomposition((7, 5), comm)
    arrays = {
        "a": -numbers((7, 5), "f2"),
        "deep/b": numbers((7, 5, 2), "c8"),
        "c": numbers((7, 5), bool),
    }
    arrays["a"][0] = -0.0
    fields = {
        key: filled(
            d.field(array.dtype, components=array.shape[2:], halo=1, space=space_name), array
        )
        for key, array in arrays.items()
    }
    path = folder / "flow.zarr"
    for attrs in ({"old": 1}, {"time": 0.5})[chunks is not None :]:  # the second one replaces
        escomm.write_zarr(path, fields, attrs=attrs, chunks=chunks)
    assert once(comm, lambda: sorted(os.listdir(folder))) == ["flow.zarr"]
    group = zarr.open_group(path, mode="r")
    for key, array in arrays.items():
        assert group[key][...].tobytes() == array.tobytes()
    other = escomm.Decomposition((7, 5), comm, ranks=(1, 0))
    again = {
        key: other.field(f.dtype, components=f.components, layout="left", space="serial")
        for key, f in fields.items()
    }
    assert escomm.read_zarr(path, again) == {"time": 0.5}
    assert all(same(again[key], arrays[key]) for key in arrays)


def test_zarr_shards_and_records(comm, space_name, folder):
    zarr = pytest.importorskip("zarr", minversion="3")
    d = escomm.Decomposition((9, 6), comm)
    whole, records = numbers((9, 6), "f4"), numbers((9, 6), FLAT)
    u = filled(d.field("f4", space=space_name), whole)
    path = folder / "s.zarr"
    escomm.write_zarr(path, {"u": u}, chunks=(2, 3), shards=(4, 6), compressors=None)
    assert (zarr.open_array(path / "u", mode="r")[...] == whole).all()
    r = filled(d.field(FLAT, space=space_name), records)
    escomm.write_zarr(path, {"r": r}, chunks=(4, 5), zarr_format=2)
    r.own.fill(np.zeros((), FLAT)[()])
    escomm.read_zarr(path, {"r": r})
    assert same(r, records)


def test_zarr_errors_are_those_of_all_ranks(comm, space_name, folder):
    pytest.importorskip("zarr", minversion="3")
    d = escomm.Decomposition((6, 4), comm)
    u = d.field(space=space_name, label="u")
    u.own.fill(1)
    path = folder / "flow.zarr"
    escomm.write_zarr(path, {"u": u})

    def write(name=path, fields=None, **options):
        return lambda: escomm.write_zarr(name, fields or {"u": u}, **options)

    refused(comm, r"chunks=\(0, 3\).*expected 2 positive", write(chunks=(0, 3)))
    refused(comm, r"chunks=3 ", write(chunks=3))
    refused(comm, r"shards=\(4, 4\).*multiples", write(chunks=(3, 4), shards=(4, 4)))
    refused(
        comm,
        "zarr refuses field.*save_checkpoint",
        write(fields={"r": d.field(RECORD)}, zarr_format=2),
    )
    refused(comm, "no type.*save_checkpoint", write(fields={"r": d.field("bfloat16")}))
    refused(comm, "something else", write(folder))
    assert folder.exists()
    for given, pattern in (
        ({"v": u}, "there is no array 'v'; the store has u"),
        ({"u": d.field("f4")}, "dtype float64; expected shape .6, 4. and dtype float32"),
    ):
        refused(comm, pattern, lambda given=given: escomm.read_zarr(path, given))
    refused(comm, "no Zarr group", lambda: escomm.read_zarr(folder / "no", {"u": u}))
    u.own.fill(0)
    escomm.read_zarr(path, {"u": u})
    assert (u.own.to_numpy() == 1).all()


# -- checkpoints -----------------------------------------------------------------------------------

STATE = {
    "step": 12, "time": 0.1 + 0.2, "tiny": 5e-324, "minus": -0.0, "inf": float("-inf"),
    "nan": float("nan"), "big": 3**200, "negative": -(2**63), "z": complex(-0.0, float("nan")),
    "name": "Rücklauf \ud800", "none": None, "flag": True, "raw": b"\0\xff", "t": (1, (2.5, [])),
    "$odd": {1: "one", (2, 3): {"$int": "no"}}, "scalar": np.float32(0.1), "s": np.str_(""),
    "long": np.uint64(2**64 - 1), "record": np.ones((), FLAT)[()],
    "random": np.random.default_rng(3).bit_generator.state,
    "legacy": np.random.MT19937(1).state,
    "arrays": [np.arange(6.0).reshape(2, 3).T, np.zeros((0, 3), "f2"), np.array("ab")],
}  # fmt: skip


def alike(a, b):
    """Whether two values have the same types and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float | complex):
        return np.array(a).tobytes() == np.array(b).tobytes()
    return a == b


def test_a_state_keeps_its_types_and_bits(comm, space_name, folder):
    u = escomm.Decomposition(3, comm).field(space=space_name)
    escomm.save_checkpoint(folder / "c", {"u": u}, STATE)
    found = escomm.load_checkpoint(folder / "c", {"u": u})
    assert [key for key in STATE if not alike(found[key], STATE[key])] == []
    assert alike(found, STATE)
    assert alike(escomm.load_checkpoint(folder / "c", comm=comm), STATE)
    found["arrays"][0][...] = 0  # one's own


def test_a_checkpoint_goes_on_with_other_grids_and_other_ranks(
    comm, space_name, folder, monkeypatch
):
    monkeypatch.setattr(checkpoint, "_BLOCK", 40)  # many blocks
    d = escomm.Decomposition((7, 5), comm)
    arrays = {
        "a": numbers((7, 5), pytest.importorskip("ml_dtypes").bfloat16),
        "b/../c": numbers((7, 5, 2), "c8"),
        "c": numbers((7, 5), bool), "r": numbers((7, 5), RECORD),
    }  # fmt: skip
    fields = {
        key: filled(
            d.field(array.dtype, components=array.shape[2:], halo=1, space=space_name), array
        )
        for key, array in arrays.items()
    }
    path = folder / "c"
    for step in range(2):
        escomm.save_checkpoint(path, fields, {"step": step})
    assert once(comm, lambda: sorted(os.listdir(path))) == ["checkpoint.json", "data-000002"]
    half = comm.mpi.Split(comm.rank % 2, comm.rank)  # other numbers of ranks, at the same time
    for other in (
        escomm.Decomposition((7, 5), comm, ranks=(1, 0), periodic=True),
        escomm.Decomposition((7, 5), half),
    ):
        again = {
            key: other.field(f.dtype, components=f.components, layout="left", space="serial")
            for key, f in fields.items()
        }
        for field in again.values():
            field.view.fill(np.zeros((), field.dtype)[()])
        assert escomm.load_checkpoint(path, again) == {"step": 1}
        assert all(same(again[key], arrays[key]) for key in arrays)
    comm.barrier()


def test_parts_are_files_of_numpy(comm, space_name, folder):
    d = escomm.Decomposition((5, 4), comm)
    whole = numbers((5, 4), "f4")
    escomm.save_checkpoint(folder, {"u": filled(d.field("f4", space=space_name), whole)})
    index = json.loads((folder / "checkpoint.json").read_text())["index"]
    for part in index["fields"][0]["parts"]:
        box = tuple(slice(a, b) for a, b in zip(part["lower"], part["upper"], strict=True))
        assert (np.load(folder / index["data"] / part["file"]) == whole[box]).all()


def test_damage_is_told_on_all_ranks(comm, space_name, folder):
    d = escomm.Decomposition((6, 4), comm)
    u = d.field("i8", space=space_name, label="u")
    u.own.fill(3)
    path = folder / "c"

    def load(fields=None, name=path):
        return lambda: escomm.load_checkpoint(name, fields or {"u": u})

    def save():
        escomm.save_checkpoint(path, {"u": u}, {"a": np.arange(3)})
        index = json.loads((path / "checkpoint.json").read_text())["index"]
        return path / index["data"]

    def change(file, at):
        data = bytearray(file.read_bytes())
        data[at] ^= 4
        file.write_bytes(data)

    refused(comm, "no checkpoint.json", load())
    part = save() / "0.0.npy"
    once(comm, lambda: change(part, -1))
    refused(comm, r"field 'u': file 'data-000001/0.0.npy' is damaged: the checksum of", load())
    part = save() / "0.0.npy"
    once(comm, lambda: part.write_bytes(part.read_bytes()[:-8]))
    refused(comm, r"field 'u': file 'data-000002/0.0.npy' is damaged: it has .* expected", load())
    once(comm, part.unlink)
    refused(comm, "field 'u': file 'data-000002/0.0.npy' is missing", load())
    array = save() / "state.0.npy"
    once(comm, lambda: change(array, -1))
    refused(comm, "state: file 'data-000003/state.0.npy' is damaged", load())
    index = save().parent / "checkpoint.json"
    text = index.read_text()
    comm.barrier()
    for bad, pattern in (
        (text.replace('"block": 8388608', '"block": 4194304'), "is damaged: its checksum is"),
        (text[:-9], "is damaged, or none"),
        ("[]", "is damaged, or none"),
        ("\xff", "is damaged, or none"),
        (text.replace('"version": 1', '"version": 2'), "version 2; expected .* and 1"),
    ):
        once(comm, lambda bad=bad: index.write_text(bad, "latin-1"))
        refused(comm, pattern, load())
    once(comm, lambda: index.write_text(text))
    for fields, pattern in (
        ({"v": u}, "there is no field 'v'; the checkpoint has 'u'"),
        ({"u": d.field("f8")}, r"dtype int64; expected shape \(6, 4\) and dtype float64"),
        ({"u": escomm.Decomposition((4, 6), comm).field("i8")}, r"global shape \(6, 4\)"),
    ):
        refused(comm, pattern, load(fields))
    u.own.fill(0)
    load()()
    assert (u.own.to_numpy() == 3).all()


def test_a_save_that_fails_leaves_the_old_checkpoint(comm, space_name, folder, monkeypatch):
    u = escomm.Decomposition((6, 4), comm).field(space=space_name)
    path = folder / "c"
    u.own.fill(1)
    escomm.save_checkpoint(path, {"u": u}, {"step": 1})
    u.own.fill(2)

    def fail(*_):
        raise OSError(28, "No space left on device")

    last = comm.rank == comm.size - 1
    with monkeypatch.context() as broken:
        if last:
            broken.setattr(checkpoint, "_write_part", fail)
        refused(
            comm, f"{'' if comm.size == 1 else f'rank {comm.size - 1}: '}OSError.*No space left",
            lambda: escomm.save_checkpoint(path, {"u": u}, {"step": 2}),
        )  # fmt: skip
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", fail)  # all is written but the index
        refused(comm, "No space", lambda: escomm.save_checkpoint(path, {"u": u}, {"step": 2}))
    # A job that is killed leaves what it has written so far.
    once(comm, lambda: ((path / "data-000007").mkdir(), (path / "checkpoint.json.part").touch()))
    assert escomm.load_checkpoint(path, {"u": u}) == {"step": 1}
    assert (u.own.to_numpy() == 1).all()
    escomm.save_checkpoint(path, {"u": u}, {"step": 3})
    assert once(comm, lambda: sorted(os.listdir(path))) == ["checkpoint.json", "data-000008"]


def test_what_cannot_be_saved(comm, space_name, folder):
    u = escomm.Decomposition(4, comm).field(space=space_name)

    def save(state=None, name=folder / "c", fields=None):
        return lambda: escomm.save_checkpoint(name, fields or {"u": u}, state)

    for state, pattern in (
        ({"a": [1, {"b": u.view}]}, r"state\['a'\]\[1\]\['b'\] is of type .*View.*to_numpy"),
        ({"f": len}, r"state\['f'\] is of type builtin_function_or_method"),
        ({"o": np.array([None])}, r"state\['o'\]"),
        ({frozenset(): 1}, "a key of state"),
    ):
        refused(comm, pattern, save(state))
    if comm.size > 1:
        refused(comm, "ranks do not agree.*state", save({"rank": comm.rank}))
    once(comm, lambda: (folder / "file").write_text("x"))
    refused(comm, "there is a file", save(name=folder / "file"))
    refused(comm, "has file, and no checkpoint.json", save(name=folder))
    refused(comm, "expected a field", save(fields={"u": u, "v": 3}))
    with pytest.raises(escomm.CommError, match=re.escape("expected names with fields")):
        escomm.save_checkpoint(folder, [u])
