"""Spark's own hash of texts, in Python: a task that no row was sent to must know which bucket an identity is in."""

from __future__ import annotations

import struct

_1, _2, _3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_4, _5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_64_BITS = (1 << 64) - 1
_SEED = 42
_STRIPE = 32


def xxhash64(*texts: str) -> int:
    """What Spark's function of this name gives for these columns in a row.

    >>> xxhash64("Spark", "1")
    -8214148296368433864
    """
    found = _SEED
    for text in texts:
        found = _of_bytes(text.encode(), found)
    return found - (1 << 64) if found >> 63 else found


def _of_bytes(data: bytes, seed: int) -> int:
    """XXH64: stripes of 32 bytes, then words of 8, one of 4, then bytes."""
    striped = len(data) // _STRIPE * _STRIPE
    found = (_of_stripes(data[:striped], seed) if striped else seed + _5) + len(data)
    at = len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[striped:at]):
        found = (_turned((found & _64_BITS) ^ _mixed(word), 27) * _1 + _4) & _64_BITS
    found &= _64_BITS
    if len(data) - at >= 4:
        (half,) = struct.unpack_from("<I", data, at)
        found = (_turned(found ^ (half * _1 & _64_BITS), 23) * _2 + _3) & _64_BITS
        at += 4
    for byte in data[at:]:
        found = _turned(found ^ (byte * _5 & _64_BITS), 11) * _1 & _64_BITS
    return _spread(found)


def _of_stripes(data: bytes, seed: int) -> int:
    lanes = [seed + _1 + _2, seed + _2, seed, seed - _1]
    for words in struct.iter_unpack("<4Q", data):
        lanes = [
            _turned((lane + word * _2) & _64_BITS, 31) * _1 & _64_BITS for lane, word in zip(lanes, words, strict=True)
        ]
    found = sum(_turned(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True)) & _64_BITS
    for lane in lanes:
        found = ((found ^ _mixed(lane)) * _1 + _4) & _64_BITS
    return found


def _mixed(word: int) -> int:
    return _turned(word * _2 & _64_BITS, 31) * _1 & _64_BITS


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _64_BITS


def _spread(word: int) -> int:
    """Every bit of it changes half of the bits."""
    word = (word ^ word >> 33) * _2 & _64_BITS
    word = (word ^ word >> 29) * _3 & _64_BITS
    return word ^ word >> 32
