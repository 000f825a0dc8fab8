"""One seed to named, independent streams per person.

A person's key depends on the seed and on that person's own row (or label) alone. So plans do not change with the
batch, the order, the number of workers or the device, and two people in the same state get the same plan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


def keys_of_rows(rows: NDArray[Any], seed: int) -> Keys:
    """Return a 64-bit key per row of a numeric array, from the row's bytes and the seed."""
    return _keys((row.tobytes() for row in np.ascontiguousarray(rows)), seed)


def keys_of_labels(labels: Sequence[Any], seed: int) -> Keys:
    """Return a 64-bit key per label (a data frame's index), from its text and the seed."""
    return _keys((repr(x.item() if hasattr(x, "item") else x).encode() for x in labels), seed)


def _keys(contents: Iterable[bytes], seed: int) -> Keys:
    salt = _salt(seed)
    digests = b"".join(hashlib.blake2b(content, digest_size=8, key=salt).digest() for content in contents)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _salt(seed: int) -> bytes:
    """Return a seed as the key of a hash, which has room for 64 bytes."""
    digits = str(seed).encode()
    return digits if len(digits) <= hashlib.blake2b.MAX_KEY_SIZE else hashlib.blake2b(digits).digest()


def stream(keys: Keys, purpose: str) -> Keys:
    """Return the keys of an independent stream named `purpose` for the same people."""
    tag = np.frombuffer(hashlib.blake2b(purpose.encode(), digest_size=8).digest(), dtype="<u8")[0]
    z = keys ^ np.uint64(tag)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))
