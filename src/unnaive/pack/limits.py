"""How much may come out of a file: limits on what is decoded, not on what is stored.

A short file may ask for a lot: equal bytes deflate a thousandfold, and a few letters of JSON are
objects of hundreds of bytes. So everything is paid for before it is made, out of one budget.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_HEADER = 1 << 26
MOST_BYTES = 1 << 33  # of all that is decoded, unless the caller says otherwise
# Most that decoding may multiply a file by, beyond an allowance; the writer keeps to it.
MOST_RATIO, ALLOWANCE = 256, 1 << 26
MOST_DEPTH = 100  # of brackets; models take 14, with models within them
# What a bracket, comma or colon stands for takes at most so much: parsed, and then decoded.
TOKEN_BYTES = 256
LETTER_BYTES = 4
MOST_AXES = 8
SPARE = 1 << 14  # for the padding's line in the table of arrays
CHUNK = 1 << 20


class PackError(ValueError):
    """Something that cannot be packed, or a file that is not what it should be."""


class Budget:
    """Bytes of memory that a file may take.

    Parameters
    ----------
    size : int
        Of the file.
    limit : int
        Most bytes, whatever the size.
    """

    def __init__(self, size: int, limit: int = MOST_BYTES) -> None:
        self.size, self.limit, self.spent = size, limit, 0

    def spend(self, n_bytes: int) -> None:
        """Pay for something before it is made."""
        self.spent += n_bytes
        if self.spent > self.limit:
            raise PackError(
                f"the file unpacks to {self.spent:,} bytes, more than the limit of "
                f"{self.limit:,}; raise max_bytes if you trust it."
            )
        if self.spent > MOST_RATIO * self.size + ALLOWANCE:
            raise PackError(
                f"a file of {self.size:,} bytes that unpacks to {self.spent:,} is refused."
            )


def padding(size: int, spent: int) -> int:
    """Bytes that a file needs beyond its size, so that readers decode as much as was spent."""
    missing = spent + SPARE - ALLOWANCE - MOST_RATIO * size
    return max(0, -(-missing // (MOST_RATIO - 1)))  # the padding itself is decoded, too


def is_shape(shape: Any) -> bool:
    """Whether this is the shape of an array, with numbers whose product takes no time."""
    right = isinstance(shape, list) and len(shape) <= MOST_AXES
    return right and all(type(n) is int and 0 <= n < 1 << 48 for n in shape)


def header_cost(text: bytes) -> int:
    """Most memory that JSON takes once it is parsed and decoded; too deep nesting is refused.

    Linear in the length, and needs little memory itself: pieces of a megabyte are looked at.
    """
    n_tokens, depth, inside = 0, 0, 0
    if b"\\" in text:  # an escaped quote ends nothing
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    for start in range(0, len(text), CHUNK):
        letters = np.frombuffer(text, np.uint8, min(CHUNK, len(text) - start), start)
        quoted = inside ^ (np.cumsum(letters == ord('"'), dtype=np.uint8) & 1)
        inside = int(quoted[-1])
        plain = letters[quoted == 0]
        # Brackets and braces differ in one bit, as do their closing ones.
        opening, closing = plain | 32 == ord("{"), plain | 32 == ord("}")
        n_tokens += int(np.count_nonzero(opening | (plain == ord(",")) | (plain == ord(":"))))
        depths = depth + np.cumsum(opening.astype(np.int64) - closing)
        depth = int(depths[-1]) if len(depths) else depth
        if np.max(depths, initial=0) > MOST_DEPTH:
            raise PackError(f"its content is nested more than {MOST_DEPTH} levels deep.")
    return TOKEN_BYTES * n_tokens + LETTER_BYTES * len(text)
