"""Files of gauge configurations: other programs' rules, followed here by slow and plain code."""

import importlib.util
import itertools
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SCRIPT = Path(__file__).parents[2] / "examples" / "lattice_qcd" / "files.py"
SHAPE = (5, 4, 3, 2)  # t, z, y, x
MASK = 0xFFFFFFFF


def load_script():
    spec = importlib.util.spec_from_file_location("lattice_qcd_files", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


files = load_script()


def random_links(shape, dtype=np.complex128, seed=0):
    rng = np.random.default_rng(seed)
    matrices = rng.normal(size=(*shape, 4, 3, 3, 2)) @ [1, 1j]
    unitary, _ = np.linalg.qr(matrices)
    links = unitary / np.linalg.det(unitary)[..., None, None] ** (1 / 3)
    return links.astype(dtype)


def counted_links(shape):
    """Numbers that say where they belong; in no group, but files of three rows keep any."""
    indices = np.indices((*shape, 4, 3, 3))
    value = sum(n * 10**k for k, n in enumerate(indices[::-1]))
    return value + 1j * (value + 0.5)


def split_nersc(content):
    head, _, data = content.partition(b"END_HEADER\n")
    entries = dict(line.split(" = ", 1) for line in head.decode("ascii").splitlines()[1:])
    return entries, data


def split_lime(content):
    """Records as (flags, type, data), with the padding looked at."""
    records = []
    while content:
        magic, version, flags, length = struct.unpack(">IHHQ", content[:16])
        assert (magic, version) == (0x456789AB, 1)
        kind = content[16:144].rstrip(b"\0").decode("ascii")
        padded = (length + 7) // 8 * 8
        assert content[144 + length : 144 + padded] == bytes(padded - length)
        records.append((flags, kind, content[144 : 144 + length]))
        content = content[144 + padded :]
    return records


def join_lime(records):
    made = b""
    for flags, kind, data in records:
        head = struct.pack(">IHHQ128s", 0x456789AB, 1, flags, len(data), kind.encode())
        made += head + data + bytes(-len(data) % 8)
    return made


def change(path, old, new):
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def refused(read, path, *words):
    with pytest.raises(files.FileError) as caught:
        read(path)
    message = str(caught.value)
    assert [word for word in (str(path), "expected", "got", *words) if word not in message] == []


# Round trips


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("two_rows", [False, True])
def test_nersc_round_trip(tmp_path, two_rows, precision, dtype):
    links = random_links(SHAPE, dtype)
    files.write_nersc(
        tmp_path / "l", links, two_rows=two_rows, precision=precision, ensemble_id="a = b"
    )
    read, header = files.read_nersc(tmp_path / "l")
    kept = np.complex128 if precision == "double" else np.complex64
    assert read.dtype == kept and read.dtype.isnative and read.flags.writeable
    assert np.array_equal(read[..., :2, :], links[..., :2, :].astype(kept))
    near = 1e-14 if precision == "double" and dtype == np.complex128 else 1e-6
    assert np.abs(read - links).max() < near
    if not two_rows:
        assert np.array_equal(read, links.astype(kept))
    assert [header[f"DIMENSION_{i}"] for i in (1, 2, 3, 4)] == ["2", "3", "4", "5"]
    assert header["ENSEMBLE_ID"] == "a = b" and header["BOUNDARY_4"] == "PERIODIC"


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("precision", [64, 32])
def test_ildg_round_trip(tmp_path, precision, dtype):
    links = random_links(SHAPE, dtype)
    files.write_ildg(tmp_path / "l", links, precision=precision, lfn="lfn://a/b")
    read, metadata = files.read_ildg(tmp_path / "l")
    assert read.dtype == (np.complex128 if precision == 64 else np.complex64)
    assert np.array_equal(read, links.astype(read.dtype)) and read.flags.writeable
    assert metadata.pop("checksum") is not None
    sizes = {"lx": 2, "ly": 3, "lz": 4, "lt": 5}
    told = {"version": "1.0", "field": "su3gauge", "precision": precision, "lfn": "lfn://a/b"}
    assert metadata == told | sizes


EXTENTS = st.tuples(*[st.integers(1, 3)] * 4)


@given(shape=EXTENTS, seed=st.integers(0, 99), double=st.booleans(), two_rows=st.booleans())
@settings(max_examples=25, deadline=None)
def test_lattices_of_any_extents(tmp_path_factory, shape, seed, double, two_rows):
    path = tmp_path_factory.getbasetemp() / "any"
    links = random_links(shape, np.complex128 if double else np.complex64, seed)
    # Not contiguous, as links of another layout would be.
    links = np.asfortranarray(links)
    files.write_nersc(path, links, two_rows=two_rows, precision="double" if double else "single")
    assert np.abs(files.read_nersc(path)[0] - links).max() < (1e-14 if double else 1e-6)
    files.write_ildg(path, links, precision=64 if double else 32)
    assert np.array_equal(files.read_ildg(path)[0], links)


# The numbers that check a file


def test_link_trace_and_plaquette():
    links = random_links((2, 3, 4, 2))
    shape = links.shape[:4]
    traces, plaquettes = [], []
    for site in np.ndindex(shape):
        for mu in range(4):
            traces.append(np.trace(links[site][mu]).real / 3)
            for nu in range(mu):
                beside, above = list(site), list(site)
                beside[3 - mu] = (site[3 - mu] + 1) % shape[3 - mu]
                above[3 - nu] = (site[3 - nu] + 1) % shape[3 - nu]
                there = links[site][mu] @ links[*beside, nu]
                around = there @ links[*above, mu].conj().T @ links[site][nu].conj().T
                plaquettes.append(np.trace(around).real / 3)
    assert len(plaquettes) == 6 * 48
    assert abs(files.link_trace(links) - np.mean(traces)) < 1e-15
    assert abs(files.plaquette(links) - np.mean(plaquettes)) < 1e-15


def test_a_plaquette_does_not_depend_on_the_gauge():
    unit = np.broadcast_to(np.eye(3, dtype=complex), (*SHAPE, 4, 3, 3))
    g = random_links(SHAPE)[..., 0, :, :]
    ahead = np.stack([np.roll(g, -1, axis=3 - mu) for mu in range(4)], axis=4)
    links = g[..., None, :, :] @ unit @ ahead.conj().swapaxes(-1, -2)
    assert abs(files.plaquette(unit) - 1) < 1e-15 and files.link_trace(unit) == 1
    assert abs(files.plaquette(links) - 1) < 1e-14 and abs(files.link_trace(links)) < 0.2


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("two_rows", [False, True])
def test_nersc_checksum(tmp_path, two_rows, precision):
    links = random_links(SHAPE)
    files.write_nersc(tmp_path / "l", links, two_rows=two_rows, precision=precision)
    entries, data = split_nersc((tmp_path / "l").read_bytes())
    total = 0
    code = "d" if precision == "double" else "f"
    for (number,) in struct.iter_unpack(">" + code, data):
        own = struct.pack("=" + code, number)  # as this processor has it
        total += sum(word for (word,) in struct.iter_unpack("=I", own))
    assert int(entries["CHECKSUM"], 16) == total % 2**32
    read, _ = files.read_nersc(tmp_path / "l")
    for key, value in (
        ("PLAQUETTE", files.plaquette(read)),
        ("LINK_TRACE", files.link_trace(read)),
    ):
        assert abs(float(entries[key]) - value) < 1e-14


def test_the_nersc_checksum_of_unit_links(tmp_path):
    unit = np.broadcast_to(np.eye(3, dtype=complex), (2, 2, 2, 2, 4, 3, 3))
    files.write_nersc(tmp_path / "l", unit)
    entries, _ = split_nersc((tmp_path / "l").read_bytes())
    assert int(entries["CHECKSUM"], 16) == 16 * 4 * 3 * 0x3FF00000 % 2**32
    assert float(entries["LINK_TRACE"]) == 1 == float(entries["PLAQUETTE"])


@pytest.mark.parametrize("precision", [64, 32])
def test_scidac_checksum(tmp_path, precision):
    files.write_ildg(tmp_path / "l", random_links(SHAPE), precision=precision)
    records = split_lime((tmp_path / "l").read_bytes())
    data = records[-2][2]
    size = len(data) // 120
    suma = sumb = 0
    for rank in range(120):
        crc = zlib.crc32(data[rank * size : (rank + 1) * size])
        a, b = rank % 29, rank % 31
        suma ^= ((crc << a) | (crc >> (32 - a))) & MASK
        sumb ^= ((crc << b) | (crc >> (32 - b))) & MASK
    assert size == 4 * 18 * precision // 8
    assert f"<suma>{suma:08x}</suma><sumb>{sumb:08x}</sumb>".encode() in records[-1][2]
    assert files.read_ildg(tmp_path / "l")[1]["checksum"] == (suma, sumb)


def test_the_checksum_that_tmlqcd_has_for_unit_links(tmp_path):
    unit = np.broadcast_to(np.eye(3, dtype=complex), (4, 4, 4, 4, 4, 3, 3))
    files.write_ildg(tmp_path / "l", unit)
    # From a file that tmLQCD wrote of this lattice.
    assert files.read_ildg(tmp_path / "l")[1]["checksum"] == (0x35B49A1B, 0xB49A1B35)


# Bytes


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("two_rows", [False, True])
def test_bytes_of_nersc(tmp_path, precision, two_rows):
    links = random_links((2, 2, 2, 2)) if two_rows else counted_links((2, 2, 2, 2))
    files.write_nersc(tmp_path / "l", links, two_rows=two_rows, precision=precision)
    content = (tmp_path / "l").read_bytes()
    assert content.startswith(b"BEGIN_HEADER\nHDR_VERSION = 1.0\nDATATYPE = 4D_SU3_GAUGE")
    entries, data = split_nersc(content)
    assert entries["DATATYPE"] == ("4D_SU3_GAUGE" if two_rows else "4D_SU3_GAUGE_3x3")
    assert entries["FLOATING_POINT"] == ("IEEE64BIG" if precision == "double" else "IEEE32BIG")
    check_bytes(data, links, 2 if two_rows else 3, ">dd" if precision == "double" else ">ff")


@pytest.mark.parametrize("precision", [64, 32])
def test_bytes_of_ildg(tmp_path, precision):
    links = counted_links((2, 2, 2, 2))
    files.write_ildg(tmp_path / "l", links, precision=precision, lfn="lfn://x")
    records = split_lime((tmp_path / "l").read_bytes())
    kinds = ["ildg-format", "ildg-data-lfn", "ildg-binary-data", "scidac-checksum"]
    assert [kind for _, kind, _ in records] == kinds
    assert [flags for flags, _, _ in records] == [0x8000, 0, 0, 0x4000]
    assert records[1][2] == b"lfn://x"
    check_bytes(records[2][2], links, 3, ">dd" if precision == 64 else ">ff")


def check_bytes(data, links, rows, layout):
    at = 0
    extents = (2, 2, 2, 2, 4, rows, 3)  # t slowest, the column fastest
    for t, z, y, x, mu, row, column in itertools.product(*map(range, extents)):
        expected = links[t, z, y, x, mu, row, column]
        if layout == ">ff":
            expected = np.complex64(expected)
        assert struct.unpack_from(layout, data, at) == (expected.real, expected.imag)
        at += struct.calcsize(layout)
    assert at == len(data)


# Files of others


@pytest.mark.parametrize("name", ["BIG", "LITTLE", "", "as little"])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("rows", [2, 3])
def test_every_format_of_numbers(tmp_path, rows, bits, name):
    links = random_links(SHAPE)
    precision = "double" if bits == 64 else "single"
    files.write_nersc(tmp_path / "l", links, two_rows=rows == 2, precision=precision)
    content = (tmp_path / "l").read_bytes()
    if name in ("LITTLE", "as little"):
        _, data = split_nersc(content)
        swapped = np.frombuffer(data, f">f{bits // 8}").astype(f"<f{bits // 8}").tobytes()
        content = content[: -len(data)] + swapped
    name = "" if name == "as little" else name
    content = content.replace(f"IEEE{bits}BIG".encode(), f"IEEE{bits}{name}".encode())
    (tmp_path / "l").write_bytes(content)
    assert np.abs(files.read_nersc(tmp_path / "l")[0] - links).max() < (
        1e-14 if bits == 64 else 1e-6
    )


def test_a_header_as_others_write_it(tmp_path):
    links = random_links(SHAPE)
    files.write_nersc(tmp_path / "l", links)
    entries, data = split_nersc((tmp_path / "l").read_bytes())
    entries["CHECKSUM"] = entries["CHECKSUM"].lstrip("0").rjust(10).upper()
    entries["PLAQUETTE"] = f"{float(entries['PLAQUETTE']):.6g}"
    lines = ["BEGIN_HEADER", *(f"{key}  =  {entries[key]} " for key in reversed(entries))]
    (tmp_path / "l").write_bytes("\n".join([*lines, "END_HEADER\n"]).encode() + data)
    assert np.array_equal(files.read_nersc(tmp_path / "l")[0], links)


def test_records_as_others_write_them(tmp_path):
    links = random_links(SHAPE)
    files.write_ildg(tmp_path / "l", links, lfn="lfn://x")
    form, _, data, checksum = split_lime((tmp_path / "l").read_bytes())
    sums = files.read_ildg(tmp_path / "l")[1]["checksum"]
    plain = form[2].replace(b'xmlns="http://www.lqcd.org/ildg" ', b"").replace(b"><", b">\n <")
    prefixed = b"<scidacChecksum><suma>0x%x</suma>\n<sumb>0x%x</sumb></scidacChecksum>\n" % sums
    other = b"<scidacChecksum><suma>1</suma><sumb>2</sumb></scidacChecksum>"
    records = [
        (0x8000, "scidac-private-file-xml", b"<scidacFile/>\0"),
        (0x4000, "", b""),
        (0x8000, "another-binary-data", b"other"),
        (0x4000, "scidac-checksum", other),  # of the other data
        (0xFFFF, "ildg-format", plain + b"\0"),
        (0xFFFF, "ildg-data-lfn", b"lfn://x\0"),
        (0xFFFF, "ildg-binary-data", data[2]),
        (0xFFFF, "xlf-info", b"plaquette = 1\n"),
        (0xFFFF, "scidac-checksum", prefixed + b"\0"),
        (0xFFFF, "scidac-checksum", other),
    ]
    (tmp_path / "l").write_bytes(join_lime(records) + b"\n")
    read, metadata = files.read_ildg(tmp_path / "l")
    assert np.array_equal(read, links)
    assert metadata["lfn"] == "lfn://x" and metadata["checksum"] == sums
    # Without padding at the end, and with the checksum before its data.
    (tmp_path / "l").write_bytes(join_lime([checksum, form, (0, "ildg-binary-data", data[2])]))
    assert files.read_ildg(tmp_path / "l")[1]["checksum"] == sums
    (tmp_path / "l").write_bytes(join_lime([form, data, checksum])[:-1])
    assert files.read_ildg(tmp_path / "l")[1]["lfn"] is None
    (tmp_path / "l").write_bytes(join_lime([form, data]))
    assert files.read_ildg(tmp_path / "l")[1]["checksum"] is None


# Damage


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A path to damage, and contents: of NERSC in two and three rows, and of ILDG."""
    path = tmp_path_factory.mktemp("small") / "l"
    links = random_links((2, 2, 1, 2))
    contents = []
    for two_rows in (True, False):
        files.write_nersc(path, links, two_rows=two_rows, creation_date="", archive_date="")
        contents.append((files.read_nersc, path.read_bytes(), files.read_nersc(path)[0]))
    files.write_ildg(path, links)
    contents.append((files.read_ildg, path.read_bytes(), links))
    return path, contents


@given(which=st.integers(0, 2), where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
@settings(max_examples=200, deadline=None)
def test_one_wrong_byte(small, which, where, flip):
    path, contents = small
    read, content, links = contents[which]
    damaged = bytearray(content)
    at = int(where * len(content))
    damaged[at] ^= flip
    path.write_bytes(damaged)
    try:
        got, _ = read(path)
    except files.FileError:
        return
    # Headers have room for what does not matter; data has none.
    assert np.array_equal(got, links)
    begin = content.index(b"END_HEADER") if which < 2 else content.index(b"ildg-binary-data") + 128
    assert at < begin or at >= begin + 16 + links.nbytes


@given(which=st.integers(0, 2), where=st.floats(0, 1, exclude_max=True))
@settings(max_examples=100, deadline=None)
def test_a_file_cut_off(small, which, where):
    path, contents = small
    read, content, links = contents[which]
    length = int(where * len(content))
    path.write_bytes(content[:length])
    try:
        got, _ = read(path)
    except files.FileError:
        return
    # Only the end of ILDG's can be missing: padding, or the record of the checksum.
    assert which == 2 and np.array_equal(got, links)
    assert length >= content.index(b"ildg-binary-data") + 128 + links.nbytes


@pytest.mark.parametrize("part", ["data", "header"])
def test_messages_of_files_cut_off(tmp_path, part):
    path = tmp_path / "l"
    files.write_nersc(path, random_links(SHAPE))
    content = path.read_bytes()
    path.write_bytes(content[:-8] if part == "data" else content[:300])
    words = ["69120 bytes for 2 x 3 x 4 x 5", "69112 bytes (cut off?)", "3 rows of 64 bits"]
    refused(files.read_nersc, path, *(words if part == "data" else ["END_HEADER"]))
    files.write_ildg(path, random_links(SHAPE))
    content = path.read_bytes()
    path.write_bytes(content[:5000] if part == "data" else content[:100])
    words = ["LIME record ildg-binary-data", "69120 bytes"]
    refused(files.read_ildg, path, "cut off?", *(words if part == "data" else ["144 bytes"]))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"DIMENSION_2 = 3", b"DIMENSION_2 = 4", ["data", "92160 bytes", "69120 bytes"]),
        (b"DIMENSION_2 = 3", b"DIMENSION_2 = 2", ["data", "46080 bytes", "69120 bytes"]),
        (b"DIMENSION_2 = 3", b"DIMENSION_2 = x", ["DIMENSION_2", "whole number above 0", "'x'"]),
        (b"DIMENSION_2 = 3", b"DIMENSION_2 = 0", ["DIMENSION_2", "whole number above 0", "'0'"]),
        (b"DIMENSION_1 = 2\nDIMENSION_2 = 3", b"DIMENSION_1 = 3\nDIMENSION_2 = 2", ["PLAQUETTE"]),
        (b"GAUGE_3x3", b"GAUGE_4x4", ["DATATYPE", "4D_SU3_GAUGE_3x3", "4D_SU3_GAUGE_4x4"]),
        (b"GAUGE_3x3", b"GAUGE", ["46080 bytes", "2 rows", "69120 bytes"]),
        (b"IEEE64BIG", b"TIDSP32", ["FLOATING_POINT", "IEEE32", "TIDSP32"]),
        (b"IEEE64BIG", b"IEEE64LITTLE", ["CHECKSUM"]),
        (b"IEEE64BIG", b"IEEE32BIG", ["34560 bytes"]),
        (b"CHECKSUM = ", b"CHECKSUM = 7", ["CHECKSUM"]),
        (b"CHECKSUM = ", b"CHECKSUM = xyz", ["CHECKSUM", "hexadecimal number"]),
        (b"PLAQUETTE = ", b"PLAQUETTE = 1", ["PLAQUETTE", "within 1e-06"]),
        (b"PLAQUETTE = ", b"PLAQUETTE = x", ["PLAQUETTE", "decimal number"]),
        (b"LINK_TRACE = ", b"LINK_TRACE = 1e1", ["LINK_TRACE"]),
        (b"LINK_TRACE = ", b"LINK_TRACE = nan\nX = ", ["LINK_TRACE", "nan"]),
        (b"PLAQUETTE = ", b"X = ", ["entries PLAQUETTE"]),
        (b"\nFLOATING_POINT", b"\nX", ["entries FLOATING_POINT"]),
        (b"BEGIN_HEADER", b"\x89HDF", ["BEGIN_HEADER"]),
    ],
)
def test_wrong_headers_of_nersc(tmp_path, old, new, words):
    files.write_nersc(tmp_path / "l", random_links(SHAPE))
    change(tmp_path / "l", old, new)
    refused(files.read_nersc, tmp_path / "l", *words)


@pytest.mark.parametrize("precision", ["double", "single"])
def test_two_words_that_changed_places(tmp_path, precision):
    """A sum does not see it: the plaquette and the link trace do."""
    files.write_nersc(tmp_path / "l", random_links(SHAPE), precision=precision)
    content = bytearray((tmp_path / "l").read_bytes())
    size = 144 if precision == "double" else 72
    content[-size:], content[-5 * size : -4 * size] = (
        content[-5 * size : -4 * size],
        content[-size:],
    )
    (tmp_path / "l").write_bytes(content)
    refused(files.read_nersc, tmp_path / "l", "PLAQUETTE")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"<lx>2", b"<lx>4", ["138240 bytes", "4 x 3 x 4 x 5", "69120 bytes"]),
        (b"<lx>2", b"<lx>0", ["ildg-format, lx", "whole number above 0"]),
        (b"<precision>64", b"<precision>32", ["34560 bytes", "69120 bytes"]),
        (b"<precision>64", b"<precision>16", ["ildg-format, precision", "32 or 64", "16"]),
        (b"su3gauge", b"su2gauge", ["ildg-format, field", "su3gauge", "su2gauge"]),
        (b"<lz>4</lz>", b"          ", ["ildg-format", "elements lz"]),
        (b"</ildgFormat>", b"</ildgformat>", ["ildg-format", "XML"]),
        (b'UTF-8"?><ildg', b'UTF-7"?><ildg', ["ildg-format", "XML"]),
        (b'UTF-8"?><ildg', b'UTG-8"?><ildg', ["ildg-format", "XML"]),
        (b"ildg-format\0", b"ILDG-format\0", ["one of ildg-format", "ildg-binary-data"]),
        (b"ildg-binary", b"qldg-binary", ["one of ildg-binary-data"]),
        (b"<suma>", b"<suma>z", ["scidac-checksum, suma", "hexadecimal number"]),
    ],
)
def test_wrong_records_of_ildg(tmp_path, old, new, words):
    files.write_ildg(tmp_path / "l", random_links(SHAPE))
    records = split_lime((tmp_path / "l").read_bytes())
    changed = [
        (
            flags,
            f"{kind}\0".encode().replace(old, new).decode().rstrip("\0"),
            data.replace(old, new),
        )
        for flags, kind, data in records
    ]
    assert changed != records
    (tmp_path / "l").write_bytes(join_lime(changed))
    refused(files.read_ildg, tmp_path / "l", *words)


def test_sites_that_changed_places(tmp_path):
    files.write_ildg(tmp_path / "l", random_links(SHAPE))
    form, data, checksum = split_lime((tmp_path / "l").read_bytes())
    swapped = data[2][576:1152] + data[2][:576] + data[2][1152:]
    (tmp_path / "l").write_bytes(join_lime([form, (0, data[1], swapped), checksum]))
    refused(files.read_ildg, tmp_path / "l", "scidac-checksum")


ENDLESS = struct.pack(">IHHQ128s", 0x456789AB, 1, 0xC000, 2**63, b"ildg-format")


@pytest.mark.parametrize("content", [b"", b"not a LIME file at all" * 9, bytes(300), ENDLESS])
def test_no_configuration_at_all(tmp_path, content):
    (tmp_path / "l").write_bytes(content)
    refused(files.read_nersc, tmp_path / "l", "BEGIN_HEADER")
    refused(files.read_ildg, tmp_path / "l")


# What writers refuse


def test_two_rows_need_links_in_the_group(tmp_path):
    links = random_links(SHAPE)
    links[0, 0, 0, 0, 0, 2] *= -1
    with pytest.raises(ValueError, match="two_rows: expected links in SU"):
        files.write_nersc(tmp_path / "l", links, two_rows=True)
    files.write_nersc(tmp_path / "l", links)
    assert np.array_equal(files.read_nersc(tmp_path / "l")[0], links)


@pytest.mark.parametrize("write", [files.write_nersc, files.write_ildg])
def test_links_of_another_shape_or_type(tmp_path, write):
    links = random_links(SHAPE)
    for wrong, word in (
        (links[0], "shape"),
        (links[..., :2, :], "shape"),
        (links[:0], "shape"),
        (links.real, "float64"),
    ):
        with pytest.raises(ValueError, match=word):
            write(tmp_path / "l", wrong)
    with pytest.raises(ValueError, match="precision"):
        write(tmp_path / "l", links, precision="half")
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize(
    "header",
    [{"checksum": "0"}, {"a": "b\nc"}, {"a b": 1}, {"a": "\N{EURO SIGN}"}, {"a": "x" * 124}],
)
def test_headers_that_are_refused(tmp_path, header):
    with pytest.raises(ValueError, match="header"):
        files.write_nersc(tmp_path / "l", random_links((1, 1, 1, 1)), **header)
    assert not (tmp_path / "l").exists()
