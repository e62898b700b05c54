"""Opening compressed records: every codec, Java's framing of snappy, what is damaged and what is too large."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import cramjam
import pytest
from attrs import evolve

from groupsim.protocol.batch import compression
from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.batch.codec import encode_records
from groupsim.protocol.batch.compression import opened
from groupsim.protocol.batch.sizes import batch_of

RECORDS = tuple(LogRecord(number, b"key", b"value %d" % number * 9, number) for number in range(40))


def xerial(data: bytes) -> bytes:
    """As snappy-java frames it: a header, and blocks with their lengths."""
    blocks = [bytes(cramjam.snappy.compress_raw(data[at : at + 500])) for at in range(0, len(data), 500)]
    return b"\x82SNAPPY\x00" + bytes(8) + b"".join(len(block).to_bytes(4, "big") + block for block in blocks)


CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (1, gzip.compress),
    "snappy": (2, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "snappy of Java": (2, xerial),
    "lz4": (3, lambda data: bytes(cramjam.lz4.compress(data))),
    "zstd": (4, lambda data: bytes(cramjam.zstd.compress(data))),
}


def packed(name: str) -> Batch:
    """The records in a codec."""
    number, compress = CODECS[name]
    return evolve(batch_of(RECORDS, 1_000), records=None, raw=compress(encode_records(RECORDS)), attributes=number)


@pytest.mark.parametrize("name", CODECS)
def test_every_codec_is_opened(name: str) -> None:
    """The records are those that were packed."""
    assert opened(packed(name)) == RECORDS


@pytest.mark.parametrize("name", CODECS)
def test_what_is_cut_short_stays_closed(name: str) -> None:
    """Half of the bytes, or none, are no records, and no error either."""
    batch = packed(name)
    assert batch.raw is not None
    assert opened(evolve(batch, raw=batch.raw[: len(batch.raw) // 2])) is None
    assert opened(evolve(batch, raw=b"")) is None


@pytest.mark.parametrize("name", CODECS)
def test_what_grows_too_large_stays_closed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes may not fill the memory."""
    monkeypatch.setattr(compression, "MOST_BYTES", 400)
    assert opened(packed(name)) is None


def test_what_is_not_compressed_is_open_already() -> None:
    """Its own records; a counted batch has none."""
    batch = batch_of(RECORDS, 1_000)
    assert opened(batch) == RECORDS
    assert opened(evolve(batch, records=None)) is None


def test_an_unknown_codec_stays_closed() -> None:
    """Numbers 5 to 7 mean nothing yet."""
    assert opened(evolve(packed("zstd"), attributes=6)) is None
