"""Evidence of pairs of attributes as plain data, the strongest pairs first."""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.explain.model import PartEvidence
from unnaive.explain.report.arrays import pack, pack_short
from unnaive.table import Block

MOST_CELLS = 1_000_000  # values times values times labels of all pairs on a page: about 5 MB


def pairs_data(facts: PartEvidence, block: Block) -> list[dict[str, Any]]:
    """The pairs of a part, as many as a page has room for; rows of the block are counted."""
    room, pairs = MOST_CELLS, []
    for pair in sorted(facts.pairs, key=lambda one: -one.importance):
        counts = pair.count(block)
        shown = pair.shown_slots(counts)
        room -= len(shown[0]) * len(shown[1]) * len(pair.labels)
        if room < 0:
            break
        pairs.append(
            {
                "columns": [pair.term.first, pair.term.second],
                "values": [
                    [names[k] for k in kept] for names, kept in zip(pair.values, shown, strict=True)
                ],
                "importance": round(pair.importance, 6),
                "logs": pack_short(pair.logs[np.ix_(*shown)]),
                "margins": [
                    pack_short(margin[kept])
                    for margin, kept in zip(pair.margins, shown, strict=True)
                ],
                "counts": pack(counts[np.ix_(*shown)].astype(np.int64)),
            }
        )
    return pairs
