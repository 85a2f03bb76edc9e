"""A CSV file in stretches of whole rows, so that threads can take several apart at a time.

Where rows end is guessed: quotes come in pairs, which is wrong of a value such as ``5" pipe``.
Whoever takes a stretch apart asks `Stretch.is_whole`; while all before it were, it begins with
a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel

QUOTE, NEWLINE, RETURN = 34, 10, 13
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST = 8  # stretches that one row may fill
_WORDS = 512  # looked at together: what is known of them stays in cache
_ONE = np.uint64(0x0101010101010101)
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of rows, and some newlines after them that belong to no row."""

    bytes: NDArray[np.uint8]
    size: int
    first: bool
    """Whether the header is among them."""

    @property
    def rows(self) -> NDArray[np.uint8]:
        return self.bytes[: self.size]

    def is_whole(self, delimiter: str) -> bool:
        """Whether the last row ends here, if the first one begins here; no may be wrong."""
        if self.rows[: len(BYTE_ORDER_MARK)].tobytes() == BYTE_ORDER_MARK:
            return False  # part of a value here, but pyarrow would take it for the file's
        words = self.bytes[: -(-self.size // 8) * 8].view(np.uint64)
        return bool(_quotes_pair(words, np.uint64(ord(delimiter))))


def cut_text(stream: Any, size: int) -> Iterator[Stretch | None]:
    """All bytes of a file, about so many at a time; None at last where no end of a row is found."""
    left = np.frombuffer(stream.read(len(BYTE_ORDER_MARK)), np.uint8)
    if left.tobytes() == BYTE_ORDER_MARK:
        left = left[:0]
    first = True
    while True:
        room = np.empty(len(left) + size + 8, np.uint8)
        room[: len(left)] = left
        n = stream.readinto(room[len(left) : -8])
        filled = len(left) + n
        end = _last_row_end(room[:filled]) if n else filled
        if end == 0 and filled > LONGEST * size:
            yield None
            return
        left = room[end:filled].copy()
        if end:
            room[end : end + 8] = NEWLINE
            yield Stretch(room, end, first)
            first = False
        if n == 0:
            return


@kernel
def _last_row_end(data: NDArray[np.uint8]) -> int:
    """Where the last whole row ends, if all quotes come in pairs; 0 without one."""
    quotes = 0
    for i in range(len(data)):
        quotes += data[i] == QUOTE
    for i in range(len(data) - 1, -1, -1):
        quotes -= data[i] == QUOTE
        if data[i] == NEWLINE and quotes % 2 == 0:
            return i + 1
    return 0


@kernel
def _marks(word: np.uint64, sign: np.uint64) -> np.uint64:
    """The highest bit of each byte that is this sign."""
    other = word ^ (_ONE * sign)
    return ~(((other & _LOW) + _LOW) | other | _LOW)


@kernel
def _quotes_pair(words: NDArray[np.uint64], delimiter: np.uint64) -> bool:
    """Whether every other quote begins a value or follows its pair, and the last one is the second.

    Only then does pairing quotes tell what is inside. Eight bytes at a time, for both cases of what
    was before them; the second loop knows which it is.
    """
    if_outside, if_inside, odd = np.empty((3, _WORDS), np.uint64)
    quote, newline, back = np.uint64(QUOTE), np.uint64(NEWLINE), np.uint64(RETURN)
    inside = wrong = np.uint64(0)
    before = newline << np.uint64(56)
    for start in range(0, len(words), _WORDS):
        part = words[start : start + _WORDS]
        for i in range(len(part)):
            earlier = part[i] << np.uint64(8) | (part[i - 1] if i else before) >> np.uint64(56)
            here = _marks(part[i], quote)
            begins = _marks(earlier, delimiter) | _marks(earlier, newline) | _marks(earlier, back)
            loose = here & ~(begins | _marks(earlier, quote))
            opens = here ^ here << np.uint64(8)  # after each byte: is the number of quotes odd?
            opens ^= opens << np.uint64(16)
            opens ^= opens << np.uint64(32)
            if_outside[i], if_inside[i], odd[i] = loose & opens, loose & ~opens, opens
        before = part[-1]
        for i in range(len(part)):
            wrong |= if_inside[i] if inside else if_outside[i]
            inside ^= odd[i] >> np.uint64(63)
    return wrong == 0 and inside == 0
