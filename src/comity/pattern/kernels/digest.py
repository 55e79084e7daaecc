"""BLAKE2b with digests of 16 bytes, as `hashlib.blake2b(content, digest_size=16)` gives them (RFC 7693).

A call of `hashlib` for each report costs as much as everything else that is done for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined

BLOCK_BYTES = 128
WORDS = 8 + 16 + 16
"""Numbers that the work needs: the state, the words of a block, and their mixture."""
_MIXED, _BLOCK = 24, 8

_IV = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
_SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    np.int64,
)
_LANES = np.array(
    [
        [0, 4, 8, 12],
        [1, 5, 9, 13],
        [2, 6, 10, 14],
        [3, 7, 11, 15],
        [0, 5, 10, 15],
        [1, 6, 11, 12],
        [2, 7, 8, 13],
        [3, 4, 9, 14],
    ],
    np.int64,
)
_PARAMETERS = np.uint64(0x01010000 ^ 16)
"""No key, one leaf, digests of 16 bytes."""


@inlined
def turned(word: Any, bits: Any) -> Any:
    """The word with its bits turned to the right."""
    return (word >> np.uint64(bits)) | (word << np.uint64(64 - bits))


@inlined
def mix(words: Any, lane: Any, first: Any, second: Any) -> None:
    """Mixes two words of the block into a lane."""
    a, b, c, d = (
        _MIXED + _LANES[lane, 0],
        _MIXED + _LANES[lane, 1],
        _MIXED + _LANES[lane, 2],
        _MIXED + _LANES[lane, 3],
    )
    words[a] = words[a] + words[b] + words[_BLOCK + first]
    words[d] = turned(words[d] ^ words[a], 32)
    words[c] = words[c] + words[d]
    words[b] = turned(words[b] ^ words[c], 24)
    words[a] = words[a] + words[b] + words[_BLOCK + second]
    words[d] = turned(words[d] ^ words[a], 16)
    words[c] = words[c] + words[d]
    words[b] = turned(words[b] ^ words[c], 63)


@inlined
def take_block(words: Any, content: Any, at: Any, done: Any, is_last: Any) -> None:
    """Mixes a block into the state; `done` are the bytes up to its end, without what fills it up."""
    for word in range(16):
        value = np.uint64(0)
        for byte in range(8):
            value |= np.uint64(content[at + 8 * word + byte]) << np.uint64(8 * byte)
        words[_BLOCK + word] = value
    for word in range(8):
        words[_MIXED + word] = words[word]
        words[_MIXED + 8 + word] = _IV[word]
    words[_MIXED + 12] ^= np.uint64(done)
    if is_last:
        words[_MIXED + 14] = ~words[_MIXED + 14]
    for turn in range(12):
        for lane in range(8):
            mix(words, lane, _SIGMA[turn, 2 * lane], _SIGMA[turn, 2 * lane + 1])
    for word in range(8):
        words[word] ^= words[_MIXED + word] ^ words[_MIXED + 8 + word]


@inlined
def digest(content: Any, size: Any, words: Any, out: Any, place: Any) -> None:
    """Writes the digest of the first bytes of `content`, which has a block of room behind; `words` are scratch."""
    for byte in range(BLOCK_BYTES):
        content[size + byte] = 0
    for word in range(8):
        words[word] = _IV[word]
    words[0] ^= _PARAMETERS
    at = 0
    while size - at > BLOCK_BYTES:
        take_block(words, content, at, at + BLOCK_BYTES, False)
        at += BLOCK_BYTES
    take_block(words, content, at, size, True)
    for byte in range(16):
        out[place + byte] = np.uint8((words[byte // 8] >> np.uint64(8 * (byte % 8))) & np.uint64(255))
