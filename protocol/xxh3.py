"""XXH3, the 64-bit variant, without a seed.

A consumer group's record holds a hash of the topics to which the group subscribes (`metadata_hash`), which Kafka
computes with hash4j; so the value is part of the bytes in the log. An input is hashed in one of five ways by its
length: up to 3, 8, 16, 128 or 240 bytes, and above. Short inputs are mixed with a constant, the secret, by
multiplication; long ones run through eight lanes of 64 bits, 64 bytes at a time.

Source: the xxHash specification (XXH3_64bits), `com.dynatrace.hash4j.hashing.XXH3_64`.
"""

from __future__ import annotations

from struct import unpack_from

_MASK = (1 << 64) - 1
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_PMX_1, _PMX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE = 64
_CONSUMED = 8  # the secret moves by this per stripe
_LAST_STRIPE = len(_SECRET) - _STRIPE - 7
_STRIPES = (len(_SECRET) - _STRIPE) // _CONSUMED  # stripes of a block
_BLOCK = _STRIPE * _STRIPES
_START = (_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1)


def xxh3_64(data: bytes) -> int:
    """Return the hash as an unsigned number of 64 bits."""
    size = len(data)
    if size <= 16:
        return _up_to_16(data, size)
    if size <= 128:
        return _up_to_128(data, size)
    if size <= 240:
        return _up_to_240(data, size)
    return _long(data, size)


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _folded(left: int, right: int) -> int:
    product = left * right
    return (product ^ product >> 64) & _MASK


def _avalanche(h: int) -> int:
    h ^= h >> 37
    h = h * _PMX_1 & _MASK
    return h ^ h >> 32


def _avalanche_64(h: int) -> int:
    """Return the finish of the older XXH64, which inputs of up to 3 bytes still have."""
    h ^= h >> 33
    h = h * _P64_2 & _MASK
    h ^= h >> 29
    h = h * _P64_3 & _MASK
    return h ^ h >> 32


def _up_to_16(data: bytes, size: int) -> int:
    if size > 8:
        low = _u64(_SECRET, 24) ^ _u64(_SECRET, 32) ^ _u64(data, 0)
        high = _u64(_SECRET, 40) ^ _u64(_SECRET, 48) ^ _u64(data, size - 8)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _folded(low, high) & _MASK)
    if size >= 4:
        both = _u32(data, size - 4) + (_u32(data, 0) << 32)
        return _rotate_and_mix(both ^ _u64(_SECRET, 8) ^ _u64(_SECRET, 16), size)
    if size:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return _avalanche_64(combined ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    return _avalanche_64(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))


def _rotate_and_mix(h: int, size: int) -> int:
    h ^= ((h << 49 | h >> 15) ^ (h << 24 | h >> 40)) & _MASK
    h = h * _PMX_2 & _MASK
    h ^= (h >> 35) + size
    h = h * _PMX_2 & _MASK
    return h ^ h >> 28


def _mixed(data: bytes, at: int, secret_at: int) -> int:
    return _folded(_u64(data, at) ^ _u64(_SECRET, secret_at), _u64(data, at + 8) ^ _u64(_SECRET, secret_at + 8))


def _up_to_128(data: bytes, size: int) -> int:
    h = size * _P64_1
    for step in range((size - 1) // 32, -1, -1):
        h += _mixed(data, 16 * step, 32 * step) + _mixed(data, size - 16 * (step + 1), 32 * step + 16)
    return _avalanche(h & _MASK)


def _up_to_240(data: bytes, size: int) -> int:
    h = size * _P64_1
    for step in range(8):
        h += _mixed(data, 16 * step, 16 * step)
    h = _avalanche(h & _MASK)
    for step in range(8, size // 16):
        h += _mixed(data, 16 * step, 16 * (step - 8) + 3)
    return _avalanche(h + _mixed(data, size - 16, 136 - 17) & _MASK)


def _long(data: bytes, size: int) -> int:
    lanes = list(_START)
    blocks = (size - 1) // _BLOCK
    for block in range(blocks):
        for stripe in range(_STRIPES):
            _accumulate(lanes, data, block * _BLOCK + stripe * _STRIPE, stripe * _CONSUMED)
        _scramble(lanes)
    for stripe in range((size - 1 - blocks * _BLOCK) // _STRIPE):
        _accumulate(lanes, data, blocks * _BLOCK + stripe * _STRIPE, stripe * _CONSUMED)
    _accumulate(lanes, data, size - _STRIPE, _LAST_STRIPE)
    h = size * _P64_1
    keys = unpack_from("<8Q", _SECRET, 11)
    for lane in range(0, 8, 2):
        h += _folded(lanes[lane] ^ keys[lane], lanes[lane + 1] ^ keys[lane + 1])
    return _avalanche(h & _MASK)


def _accumulate(lanes: list[int], data: bytes, at: int, secret_at: int) -> None:
    values = unpack_from("<8Q", data, at)
    keys = unpack_from("<8Q", _SECRET, secret_at)
    for lane in range(8):
        keyed = values[lane] ^ keys[lane]
        lanes[lane ^ 1] = lanes[lane ^ 1] + values[lane] & _MASK
        lanes[lane] = lanes[lane] + (keyed & 0xFFFFFFFF) * (keyed >> 32) & _MASK


def _scramble(lanes: list[int]) -> None:
    keys = unpack_from("<8Q", _SECRET, len(_SECRET) - _STRIPE)
    for lane in range(8):
        h = lanes[lane]
        lanes[lane] = (h ^ h >> 47 ^ keys[lane]) * _P32_1 & _MASK
