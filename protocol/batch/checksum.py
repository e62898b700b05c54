"""CRC-32C (Castagnoli), the checksum of record batches.

The library `crc32c` (extra `files`) uses the processor's own instruction. Without it a table in Python does the same a
thousand times slower: enough to read a file now and then, too slow for a broker.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

_POLYNOMIAL = 0x82F63B78  # reflected


@cache
def crc32c_function() -> Callable[[bytes | memoryview], int]:
    """Return the fastest CRC-32C available: the library's, or the one below. The import happens at the first use."""
    try:
        import crc32c
    except ImportError:
        return crc32c_in_python
    found: Callable[[bytes | memoryview], int] = crc32c.crc32c
    return found


def crc32c_in_python(data: bytes | memoryview) -> int:
    """CRC-32C by a table of 256 entries."""
    table = _table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@cache
def _table() -> tuple[int, ...]:
    entries = []
    for crc in range(256):
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        entries.append(crc)
    return tuple(entries)
