"""Records on the wire: the records of a Produce as a batch, and batches as the records of a Fetch.

A producer's batch stays as it came, compressed or not. Its errors are found here, in Kafka's order, with Kafka's error
codes: the framing (`ByteBufferLogInputStream`), one batch of format v2 (`ProduceRequest.validateRecords`), its
checksum, and content that a client may not write (`UnifiedLog.analyzeAndValidateRecords`, `LogValidator`). The log
checks size, age, missing keys and a LogAppendTime that a producer set. Uncompressed records are decoded once, so that a
later reader finds what the header says; a wrong maximum timestamp is corrected, as in Kafka. Compressed ones are not
checked; Kafka would decompress and count them.

On the way out the bytes of batches are copied once, into the response.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from groupsim.protocol.batch.batch import COMPRESSION_MASK, CONTROL, HEADER_BYTES, NO_TIMESTAMP, Batch
from groupsim.protocol.batch.checksum import crc32c_function
from groupsim.protocol.batch.codec import (
    CHECKED_FROM,
    HEADER,
    LENGTH_END,
    MAGIC,
    EncodedBatch,
    check_records,
    encode,
    read_batch,
)
from groupsim.protocol.errors import ErrorCode, ProtocolError

_ZSTD, _CODECS = 4, 5
_ZSTD_SINCE = 7
"""The version of Produce from which a batch may be compressed with zstd (KIP-110)."""
_MAGIC_AT, _ATTRIBUTES_AT = 16, 21
_SMALLEST = 14
"""The smallest length field that any format allows (`LegacyRecord.RECORD_OVERHEAD_V0`)."""
_LENGTH = Struct(">i")
_LAST_TIME = 2**63 - 1


class RecordsRefused(Exception):
    """Records that a broker does not append, with the error that it answers.

    `early`: Kafka finds the error when it parses the request, before it checks the leadership.
    """

    def __init__(self, error: ErrorCode, why: str) -> None:
        super().__init__(error, why)
        self.error = error
        self.why = why
        self.early = False


def batch_of_producer(data: bytes | None, version: int) -> Batch:
    """Return the one batch of a Produce of this version for a partition. Raises RecordsRefused.

    A tail that is too short for a batch is dropped, as in Kafka.
    """
    try:
        whole = _the_one(data or b"", version)
    except RecordsRefused as refused:
        refused.early = True
        raise
    _check_header(whole)
    try:
        batch = read_batch(whole, verify=False)
        if batch.attributes & COMPRESSION_MASK:
            return batch
        delta = check_records(memoryview(whole)[HEADER_BYTES:], batch.record_count, origin=HEADER_BYTES)
    except ProtocolError as wrong:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, str(wrong)) from None
    latest = max(NO_TIMESTAMP, batch.timestamp_ms + delta)
    if latest == batch.max_timestamp_ms:
        return batch
    if latest > _LAST_TIME:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, f"a timestamp of {latest} ms")
    return batch.stamped(latest, batch.attributes)


def _the_one(data: bytes, version: int) -> bytes:
    """Return the bytes of the only batch."""
    size = _whole(data, 0)
    if not size:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, "a partition needs at least one record batch")
    if data[_MAGIC_AT] != MAGIC:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, f"a batch has magic {data[_MAGIC_AT]}, not {MAGIC}")
    if size < HEADER_BYTES:
        raise RecordsRefused(ErrorCode.CORRUPT_MESSAGE, f"a batch of {size} bytes is shorter than its header")
    if data[_ATTRIBUTES_AT + 1] & COMPRESSION_MASK == _ZSTD and version < _ZSTD_SINCE:
        raise RecordsRefused(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce {_ZSTD_SINCE}, this is {version}"
        )
    if _whole(data, size):
        raise RecordsRefused(ErrorCode.INVALID_RECORD, "a partition may have one record batch only")
    return data if size == len(data) else data[:size]


def _whole(data: bytes, at: int) -> int:
    """Return the size of the batch that begins here, 0 when it is incomplete; CORRUPT_MESSAGE for no batch."""
    left = len(data) - at
    if left < LENGTH_END:
        return 0
    length: int = _LENGTH.unpack_from(data, at + LENGTH_END - _LENGTH.size)[0]
    if length < _SMALLEST:
        raise RecordsRefused(ErrorCode.CORRUPT_MESSAGE, f"a batch of length {length}, less than {_SMALLEST}")
    if left <= _MAGIC_AT:
        return 0
    if data[at + _MAGIC_AT] > MAGIC:
        raise RecordsRefused(ErrorCode.CORRUPT_MESSAGE, f"a batch of magic {data[at + _MAGIC_AT]}")
    return length + LENGTH_END if length + LENGTH_END <= left else 0


def _check_header(data: bytes) -> None:
    """Check the fields of a batch's header that a client may set, and its checksum."""
    base, _, _, _, crc, attributes, last_delta, _, _, producer, _, sequence, count = HEADER.unpack_from(data)
    if base != 0:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, f"the base offset is {base}, not 0")
    if crc32c_function()(memoryview(data)[CHECKED_FROM:]) != crc:
        raise RecordsRefused(ErrorCode.CORRUPT_MESSAGE, "the checksum does not match the bytes")
    if attributes & COMPRESSION_MASK >= _CODECS:
        raise RecordsRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"compression {attributes & COMPRESSION_MASK} is unknown")
    if count <= 0 or last_delta + 1 != count:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, f"{count} records for the offsets 0 to {last_delta}")
    if attributes & CONTROL:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if producer >= 0 and sequence < 0:
        raise RecordsRefused(ErrorCode.INVALID_RECORD, f"sequence {sequence} of producer {producer}")


class Joined:
    """The bytes of several batches, not yet joined: `out += joined` copies them, for the only time.

    A Fetch of a megabyte would otherwise be copied when its batches are joined and again into the response.
    """

    __slots__ = ("_pieces", "_size")

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._pieces: list[bytes | memoryview] = []
        for batch in batches:
            if isinstance(batch, EncodedBatch):
                self._pieces += batch.pieces()
            else:
                self._pieces.append(encode(batch))
        self._size = sum(map(len, self._pieces))

    def __len__(self) -> int:
        return self._size

    def __radd__(self, out: bytearray) -> bytearray:
        for piece in self._pieces:
            out += piece
        return out
