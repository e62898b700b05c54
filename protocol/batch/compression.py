"""Decompress records, for lookups by time.

gzip needs nothing; snappy, lz4 and zstd need the library cramjam, which comes with `groupsim[serve]`. Java's snappy is
not a block of snappy but a row of them behind a header of its own (xerial); librdkafka's is a block.

Source: `CompressionType`, `SnappyInputStream` of snappy-java.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from groupsim.protocol.batch.batch import COMPRESSION_MASK, Batch, LogRecord
from groupsim.protocol.batch.codec import decode_records
from groupsim.protocol.errors import ProtocolError

MOST_BYTES: Final = 64 * 1024 * 1024
"""The largest decompressed size; a hostile batch could fill the memory."""

_GZIP, _SNAPPY, _LZ4, _ZSTD = 1, 2, 3, 4
_XERIAL, _XERIAL_HEADER = b"\x82SNAPPY\x00", 16


def opened(batch: Batch) -> tuple[LogRecord, ...] | None:
    """Return the records of a compressed batch; None without the library, and for a damaged or too large batch."""
    if batch.raw is None:
        return batch.records
    try:
        data = _unpacked(batch.attributes & COMPRESSION_MASK, bytes(batch.raw))
        return None if data is None else decode_records(data, batch.count)
    except (ProtocolError, zlib.error):
        return None


def _unpacked(codec: int, data: bytes) -> bytes | None:
    if codec == _GZIP:
        opener = zlib.decompressobj(wbits=31)
        found = opener.decompress(data, MOST_BYTES)
        return found if opener.eof else None
    try:
        import cramjam
    except ImportError:
        return None
    if codec == _SNAPPY:
        blocks = _xerial(data) if data.startswith(_XERIAL) else [data]
        parts = [_grown(cramjam.snappy.decompress_raw_into, cramjam.DecompressionError, block) for block in blocks]
        return None if None in parts else b"".join(part for part in parts if part is not None)
    into = {_LZ4: cramjam.lz4.decompress_into, _ZSTD: cramjam.zstd.decompress_into}.get(codec)
    return None if into is None else _grown(into, cramjam.DecompressionError, data)


def _grown(into: Callable[..., Any], refused: type[Exception], data: bytes) -> bytes | None:
    """Decompress into a buffer of the first allowed size that is large enough."""
    size = max(16 * len(data), 64 * 1024)
    while True:
        buffer = bytearray(min(size, MOST_BYTES))
        try:
            return bytes(buffer[: into(data, buffer)])
        except refused:
            if size >= MOST_BYTES:
                return None
            size *= 16


def _xerial(data: bytes) -> list[bytes]:
    """Return the blocks; each has its length, 4 bytes, before it."""
    blocks, at = [], _XERIAL_HEADER
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        blocks.append(data[at + 4 : end])
        at = end
    return blocks
