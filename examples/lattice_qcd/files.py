"""Gauge configurations in files: the NERSC archive, and ILDG's binary format in LIME records.

What is written is what other programs read, and what is read is checked against the checksums,
plaquette and link trace in the file. Sources: the NERSC archive format (Gauge Connection) as
QDP++, CPS and Grid read and write it; "ILDG Binary File Format", rev. 1.1; LIME by SciDAC (c-lime,
version 1 of its format); and for scidac-checksum QIO by SciDAC.
"""

from __future__ import annotations

import math
import os
import platform
import re
import struct
import time
import xml.etree.ElementTree as ElementTree
import zlib
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

Links = npt.NDArray[np.complex128] | npt.NDArray[np.complex64]
FilePath = str | os.PathLike[str]

DATATYPES = {"4D_SU3_GAUGE": 2, "4D_SU3_GAUGE_3x3": 3}  # and how many rows they keep
DIMENSIONS = ("DIMENSION_1", "DIMENSION_2", "DIMENSION_3", "DIMENSION_4")  # x, y, z, t
NEEDED = ("DATATYPE", *DIMENSIONS, "LINK_TRACE", "PLAQUETTE", "CHECKSUM", "FLOATING_POINT")
# Headers of QDP++ have six digits, and some programs sum in the precision of the links.
TOLERANCES = {32: 1e-5, 64: 1e-6}

LIME_HEADER = struct.Struct(">IHHQ128s")  # magic number, version, flags, length, type
LIME_MAGIC, LIME_VERSION = 0x456789AB, 1
MESSAGE_BEGIN, MESSAGE_END = 0x8000, 0x4000
FORMAT_ENTRIES = {"version": "text", "field": "text", "precision": "whole"}
FORMAT_ENTRIES |= dict.fromkeys(("lx", "ly", "lz", "lt"), "whole")
CHECKSUM_ENTRIES = {"suma": "hexadecimal", "sumb": "hexadecimal"}
XML = '<?xml version="1.0" encoding="UTF-8"?>'  # readers that look for fixed strings want it so
ILDG_SCHEMA = (
    'xmlns="http://www.lqcd.org/ildg" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://www.lqcd.org/ildg filefmt.xsd"'
)


class FileError(ValueError):
    """A file is not in the format it should have, is damaged, or has been cut off."""


def link_trace(links: Links) -> float:
    """Average of Re tr U / 3 over links.

    Parameters
    ----------
    links : ndarray of shape (T, Z, Y, X, 4, 3, 3), complex
    """
    return float(np.trace(links, axis1=-2, axis2=-1).real.mean(dtype=np.float64)) / 3


def plaquette(links: Links) -> float:
    """Average of Re tr P / 3 over plaquettes, with a periodic lattice: 1 where all links are 1.

    Parameters
    ----------
    links : ndarray of shape (T, Z, Y, X, 4, 3, 3), complex
    """
    total = 0.0
    for mu in range(4):
        for nu in range(mu):
            u_mu = links[..., mu, :, :].astype(np.complex128)
            u_nu = links[..., nu, :, :].astype(np.complex128)
            # Both ways from a site to the opposite corner; the axis of x is the last of four.
            one = u_mu @ np.roll(u_nu, -1, axis=3 - mu)
            other = u_nu @ np.roll(u_mu, -1, axis=3 - nu)
            total += float(np.vdot(other, one).real)
    return total / (6 * 3 * (links.size // 36))


def write_nersc(
    path: FilePath,
    links: Links,
    *,
    two_rows: bool = False,
    precision: Literal["double", "single"] = "double",
    **header: object,
) -> None:
    """Write a NERSC archive, big-endian.

    Parameters
    ----------
    path : str or path-like
    links : ndarray of shape (T, Z, Y, X, 4, 3, 3), complex128 or complex64
        Matrices (row, column) of each site in directions x, y, z, t.
    two_rows : bool
        Leave out the third row (4D_SU3_GAUGE), which readers rebuild.
    precision : {"double", "single"}
    **header
        More of the header, such as ensemble_id="..." or boundary_4="ANTIPERIODIC". Keys are
        written in capitals.

    Raises
    ------
    ValueError
        `links` has another shape or type; with `two_rows` some link is not in SU(3); or an entry
        of the header would not fit in a line of ASCII, or is one that follows from `links`.
    """
    _check_links(links)
    if precision not in ("double", "single"):
        raise ValueError(f'precision: expected "double" or "single", got {precision!r}')
    bits = 64 if precision == "double" else 32
    rows = 2 if two_rows else 3
    if two_rows:
        off = np.abs(_third_row(links) - links[..., 2, :]).max()
        if not off <= TOLERANCES[32]:
            raise ValueError(f"two_rows: expected links in SU(3), but a third row is off by {off}")
    data = np.ascontiguousarray(links[..., :rows, :], dtype=f">c{bits // 4}")
    seen = _whole(data)  # as readers will have it, who compare with the numbers of the header
    date = time.strftime("%a %b %d %H:%M:%S %Y UTC", time.gmtime())
    entries: dict[str, object] = {
        "HDR_VERSION": "1.0",
        "DATATYPE": "4D_SU3_GAUGE" if two_rows else "4D_SU3_GAUGE_3x3",
        "STORAGE_FORMAT": "1.0",
        **dict(zip(DIMENSIONS, reversed(links.shape[:4]), strict=True)),
        # Fixed-point, as GPT counts the digits after the point; and PyQUDA compares nine digits.
        "LINK_TRACE": f"{link_trace(seen):.15f}",
        "PLAQUETTE": f"{plaquette(seen):.15f}",
        **{f"BOUNDARY_{i}": "PERIODIC" for i in range(1, 5)},
        "CHECKSUM": f"{_nersc_checksum(data):08x}",
        # Not optional everywhere: Grid wants a number here.
        "ENSEMBLE_ID": "unknown",
        "ENSEMBLE_LABEL": "unknown",
        "SEQUENCE_NUMBER": 0,
        "CREATOR": "execspace",
        "CREATOR_HARDWARE": platform.machine(),
        "CREATION_DATE": date,
        "ARCHIVE_DATE": date,
        "FLOATING_POINT": f"IEEE{bits}BIG",
    }
    for name, value in header.items():
        key = name.upper()
        if key in NEEDED:
            raise ValueError(f"header {name!r}: expected no such entry: it follows from the links")
        entries[key] = value
    lines = ["BEGIN_HEADER", *(f"{key} = {value}" for key, value in entries.items()), "END_HEADER"]
    for line in lines[1:-1]:
        # QDP++ reads lines of up to 128 characters.
        if len(line) > 127 or not re.fullmatch(r"[A-Z][A-Z0-9_]* = [ -~]*", line):
            raise ValueError(f"header: expected KEY = value in a line of ASCII, got {line!r}")
    with open(path, "wb") as stream:
        stream.write("\n".join([*lines, ""]).encode("ascii"))
        stream.write(_bytes(data))


def read_nersc(path: FilePath) -> tuple[Links, dict[str, str]]:
    """Read a NERSC archive, and check it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    links : ndarray of shape (T, Z, Y, X, 4, 3, 3), complex128 or complex64
        In the file's precision, with the third row rebuilt where the file has two.
    header : dict of str to str
        As in the file.

    Raises
    ------
    FileError
        The header is not that of a NERSC archive or lacks an entry; the data has another size
        than the header says; or its checksum, plaquette or link trace is another.
    """
    with open(path, "rb") as stream:
        header = _read_nersc_header(path, stream)
        raw = stream.read()
    rows = DATATYPES.get(header["DATATYPE"])
    if rows is None:
        raise _wrong(path, "DATATYPE", " or ".join(DATATYPES), header["DATATYPE"])
    number_format = re.fullmatch(r"IEEE(32|64)(BIG|LITTLE)?", header["FLOATING_POINT"])
    if number_format is None:
        what = "IEEE32 or IEEE64, then BIG, LITTLE or nothing"
        raise _wrong(path, "FLOATING_POINT", what, header["FLOATING_POINT"])
    bits = int(number_format[1])
    shape = tuple(_value(path, key, header[key], "whole") for key in reversed(DIMENSIONS))
    _check_size(path, shape, rows, bits, len(raw))

    checksum = _value(path, "CHECKSUM", header["CHECKSUM"], "hexadecimal")
    # Bare IEEE32 is big-endian in QDP++ and little-endian in Grid: the checksum tells which.
    orders = {"BIG": ">", "LITTLE": "<", None: "><"}[number_format[2]]
    sums = {}
    for order in orders:
        data = np.frombuffer(raw, f"{order}c{bits // 4}").reshape(*shape, 4, rows, 3)
        sums[order] = _nersc_checksum(data)
        if sums[order] == checksum:
            break
    else:
        raise _wrong(path, "CHECKSUM", f"{checksum:08x}", f"{sums[orders[0]]:08x}")

    links = _whole(data)
    for key, got in (("PLAQUETTE", plaquette(links)), ("LINK_TRACE", link_trace(links))):
        if not abs(got - _value(path, key, header[key], "decimal")) <= TOLERANCES[bits]:
            raise _wrong(path, key, f"{header[key]} within {TOLERANCES[bits]}", f"{got:.12f}")
    return links, header


def write_ildg(
    path: FilePath, links: Links, *, precision: Literal[64, 32] = 64, lfn: str | None = None
) -> None:
    """Write a file of ILDG's format, with a scidac-checksum.

    Parameters
    ----------
    path : str or path-like
    links : ndarray of shape (T, Z, Y, X, 4, 3, 3), complex128 or complex64
        Matrices (row, column) of each site in directions x, y, z, t.
    precision : {64, 32}
        Bits of a number.
    lfn : str, optional
        The logical file name, such as "lfn://...". Grid reads no file without one.

    Raises
    ------
    ValueError
        `links` has another shape or type, or `precision` another value.
    """
    _check_links(links)
    if precision not in (64, 32):
        raise ValueError(f"precision: expected 64 or 32, got {precision!r}")
    data = np.ascontiguousarray(links, dtype=f">c{precision // 4}")
    t, z, y, x = links.shape[:4]
    form = (
        f"{XML}<ildgFormat {ILDG_SCHEMA}><version>1.0</version><field>su3gauge</field>"
        f"<precision>{precision}</precision>"
        f"<lx>{x}</lx><ly>{y}</ly><lz>{z}</lz><lt>{t}</lt></ildgFormat>"
    )
    suma, sumb = _scidac_checksum(_bytes(data), t * z * y * x)
    checksum = (
        f"{XML}<scidacChecksum><version>1.0</version>"
        f"<suma>{suma:08x}</suma><sumb>{sumb:08x}</sumb></scidacChecksum>"
    )
    with open(path, "wb") as stream:
        _write_record(stream, "ildg-format", form.encode(), MESSAGE_BEGIN)
        if lfn is not None:
            _write_record(stream, "ildg-data-lfn", lfn.encode())
        _write_record(stream, "ildg-binary-data", _bytes(data))
        _write_record(stream, "scidac-checksum", checksum.encode(), MESSAGE_END)


def read_ildg(path: FilePath) -> tuple[Links, dict[str, Any]]:
    """Read a file of ILDG's format, and check it where it has a scidac-checksum.

    Of several fields in a file the first is read. Records of other types are skipped.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    links : ndarray of shape (T, Z, Y, X, 4, 3, 3), complex128 or complex64
        In the file's precision.
    metadata : dict
        "version" (str), "field" (str), "precision" (int), "lx", "ly", "lz", "lt" (int), "lfn" (str
        or None), "checksum" ((suma, sumb), or None where nothing vouches for the data).

    Raises
    ------
    FileError
        The file is not made of LIME records, or is cut off; it lacks ildg-format or
        ildg-binary-data; the data has another size than the format says; or another checksum.
    """
    with open(path, "rb") as stream:
        records = _records(path, stream)
        kinds = [kind for kind, _, _ in records]
        for kind in ("ildg-format", "ildg-binary-data"):
            if kind not in kinds:
                raise _wrong(path, "records", f"one of {kind}", ", ".join(kinds) or "none")

        def content(index: int) -> bytes:
            stream.seek(records[index][1])
            return stream.read(records[index][2])

        metadata = _xml(path, "ildg-format", content(kinds.index("ildg-format")), FORMAT_ENTRIES)
        for key, values in (("field", ("su3gauge",)), ("precision", (32, 64))):
            if metadata[key] not in values:
                expected = " or ".join(map(str, values))
                raise _wrong(path, f"ildg-format, {key}", expected, metadata[key])
        at = kinds.index("ildg-binary-data")
        raw = content(at)
        lfn = content(kinds.index("ildg-data-lfn")) if "ildg-data-lfn" in kinds else None
        metadata["lfn"] = None if lfn is None else lfn.rstrip(b"\0").decode(errors="replace")
        # A checksum follows its data: an earlier one may be that of another field.
        sums = [i for i, kind in enumerate(kinds) if kind == "scidac-checksum"]
        best = min(sums, key=lambda i: (i < at, i), default=None)
        stated = None
        if best is not None:
            found = _xml(path, "scidac-checksum", content(best), CHECKSUM_ENTRIES)
            stated = tuple(found.values())

    shape = tuple(metadata[key] for key in ("lt", "lz", "ly", "lx"))
    _check_size(path, shape, 3, metadata["precision"], len(raw))
    metadata["checksum"] = stated
    if stated is not None:
        computed = _scidac_checksum(memoryview(raw), math.prod(shape))
        if computed != stated:
            expected, got = (f"{suma:08x} {sumb:08x}" for suma, sumb in (stated, computed))
            raise _wrong(path, "scidac-checksum", expected, got)
    data = np.frombuffer(raw, f">c{metadata['precision'] // 4}")
    return _whole(data.reshape(*shape, 4, 3, 3)), metadata


def _wrong(path: FilePath, what: str, expected: object, got: object) -> FileError:
    return FileError(f"{os.fspath(path)}: {what}: expected {expected}, got {got}")


def _value(path: FilePath, what: str, text: str, kind: str) -> Any:
    """What a text of a file says, of the kind "text", "hexadecimal", "decimal" or "whole"."""
    try:
        if kind == "text":
            return text
        if kind == "hexadecimal":
            return int(text, 16)
        if kind == "decimal":
            return float(text)
        if int(text) > 0:
            return int(text)
    except ValueError:
        pass
    expected = "whole number above 0" if kind == "whole" else f"{kind} number"
    raise _wrong(path, what, f"a {expected}", repr(text))


def _check_links(links: Links) -> None:
    if links.dtype not in (np.complex128, np.complex64):
        raise ValueError(f"links: expected complex128 or complex64, got {links.dtype}")
    if links.ndim != 7 or links.shape[4:] != (4, 3, 3) or links.size == 0:
        raise ValueError(f"links: expected shape (T, Z, Y, X, 4, 3, 3), got {links.shape}")


def _check_size(path: FilePath, shape: tuple[int, ...], rows: int, bits: int, got: int) -> None:
    t, z, y, x = shape
    expected = t * z * y * x * 4 * rows * 3 * 2 * (bits // 8)
    if got != expected:
        sites = f"{x} x {y} x {z} x {t} sites (x, y, z, t) with {rows} rows of {bits} bits"
        cut = " (cut off?)" if got < expected else ""
        raise _wrong(path, "data", f"{expected} bytes for {sites}", f"{got} bytes{cut}")


def _third_row(links: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.conj(np.cross(links[..., 0, :], links[..., 1, :]))


def _whole(data: npt.NDArray[Any]) -> Links:
    """Links of three rows in this machine's byte order, from those of a file."""
    links = np.empty((*data.shape[:-2], 3, 3), data.dtype.newbyteorder("="))
    links[..., : data.shape[-2], :] = data
    if data.shape[-2] == 2:
        links[..., 2, :] = _third_row(links)
    return links


def _bytes(data: npt.NDArray[Any]) -> memoryview:
    return data.reshape(-1).view(np.uint8).data


def _nersc_checksum(data: npt.NDArray[Any]) -> int:
    """The sum of the 32-bit words of numbers, modulo 2**32.

    Words are those of a processor on which the numbers have their value, so it does not depend on
    the order of bytes in the file; nor on that of the two words of a double, as it is a sum.
    """
    order = "<" if data.dtype.newbyteorder("<") == data.dtype else ">"
    return int(data.reshape(-1).view(f"{order}u4").sum(dtype=np.uint64)) & 0xFFFFFFFF


def _read_nersc_header(path: FilePath, stream: BinaryIO) -> dict[str, str]:
    first = stream.readline(128)
    if first.strip() != b"BEGIN_HEADER":
        raise _wrong(path, "first line", "BEGIN_HEADER", repr(first.decode("latin-1")))
    header: dict[str, str] = {}
    while (line := stream.readline().decode("latin-1")).strip() != "END_HEADER":
        if not line:
            raise _wrong(path, "header", "END_HEADER", "the end of the file")
        key, equals, value = line.partition("=")
        if equals:
            header[key.strip()] = value.strip()
    missing = [key for key in NEEDED if key not in header]
    if missing:
        raise _wrong(path, "header", f"entries {', '.join(missing)}", "none of these")
    return header


def _scidac_checksum(raw: memoryview, sites: int) -> tuple[int, int]:
    """QIO's pair of checksums, of the bytes as in the file."""
    size = len(raw) // sites
    crcs = (zlib.crc32(raw[i * size : (i + 1) * size]) for i in range(sites))
    words = np.fromiter(crcs, np.uint64, sites)
    ranks = np.arange(sites, dtype=np.uint64)

    def combined(period: int) -> int:
        shifted = words << (ranks % np.uint64(period))
        rotated = (shifted | (shifted >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
        return int(np.bitwise_xor.reduce(rotated))

    return combined(29), combined(31)


def _write_record(stream: BinaryIO, kind: str, data: bytes | memoryview, flags: int = 0) -> None:
    header = (LIME_MAGIC, LIME_VERSION, flags, len(data), kind.encode("ascii"))
    stream.write(LIME_HEADER.pack(*header))
    stream.write(data)
    stream.write(bytes(-len(data) % 8))


def _records(path: FilePath, stream: BinaryIO) -> list[tuple[str, int, int]]:
    """Types of a file's LIME records, and where their data begins and how long it is."""
    size = os.fstat(stream.fileno()).st_size
    records: list[tuple[str, int, int]] = []
    # Flags are not looked at: of GPT's files every bit is set, and they can be read without.
    while header := stream.read(LIME_HEADER.size):
        if records and not header.strip(b"\0\n"):
            break  # some files have a line feed at their end
        what = f"header of LIME record {len(records) + 1}"
        if len(header) < LIME_HEADER.size:
            raise _wrong(path, what, f"{LIME_HEADER.size} bytes", f"{len(header)} (cut off?)")
        magic, version, _, length, name = LIME_HEADER.unpack(header)
        if (magic, version) != (LIME_MAGIC, LIME_VERSION):
            expected = f"magic number {LIME_MAGIC:08x} and version {LIME_VERSION}"
            raise _wrong(path, what, expected, f"{magic:08x} and {version}")
        kind, begin = name.split(b"\0")[0].decode("latin-1"), stream.tell()
        if begin + length > size:
            cut = f"{size - begin} (cut off?)"
            raise _wrong(path, f"LIME record {kind}", f"{length} bytes", cut)
        records.append((kind, begin, length))
        stream.seek(begin + length + -length % 8)
    return records


def _xml(path: FilePath, what: str, text: bytes, kinds: dict[str, str]) -> dict[str, Any]:
    """Values of elements, whatever their name space, from their names and kinds."""
    try:
        root = ElementTree.fromstring(text.strip(b"\0 \n\t\r"))  # QIO ends text with a null byte
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # or of its encoding
        raise _wrong(path, what, "XML", str(error)) from None
    found = {element.tag.split("}")[-1]: (element.text or "").strip() for element in root.iter()}
    missing = [key for key in kinds if key not in found]
    if missing:
        raise _wrong(path, what, f"elements {', '.join(missing)}", "none of these")
    return {key: _value(path, f"{what}, {key}", found[key], kind) for key, kind in kinds.items()}
