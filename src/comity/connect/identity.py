"""What stands for a message where it must be short: in notes on progress, and in the header `Idempotency-Key`."""

from __future__ import annotations

from hashlib import blake2b

DIGEST_BYTES = 16


def key_digest(key: str) -> bytes:
    """16 bytes that stand for the key of a message, the same ones on every machine.

    >>> key_digest('["fires","/a","1"]').hex()
    'fbac2b287d3b94bf4861c5f494d650a4'
    """
    return blake2b(key.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES).digest()
