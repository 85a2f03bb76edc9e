"""Rows of a decomposition, each judged as if it had not been counted."""

from __future__ import annotations

import numpy as np

from unnaive.answer import Folded
from unnaive.answer.nodes import Node
from unnaive.answer.predict import fold_probabilities, joint
from unnaive.bayes.scoring import probabilities
from unnaive.encode import Labels
from unnaive.encode.labels import groups_of
from unnaive.models._calibration import CALIBRATING, JudgedRows, replace_own, take_logs
from unnaive.table import Block, Source
from unnaive.table.storage import join


def judge_pairs(
    folded: Folded, without: Node, source: Source, n_rows: int, n_jobs: int | None = None
) -> JudgedRows:
    """Log probabilities of the classes of all rows of a source, whose labels are pairs.

    ``without`` is the evidence for a row of each pair that was not counted.
    """
    labels = Labels(np.arange(len(folded.owner)))

    def judge(block: Block) -> JudgedRows:
        assert block.target is not None
        pairs = groups_of(labels, block.target)
        scores = joint(folded.inner, block, n_jobs)
        replace_own(scores, joint(without, block, n_jobs), pairs)
        votes = fold_probabilities(folded, probabilities(scores, n_jobs))
        take_logs(votes)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        return JudgedRows(votes, folded.owner[pairs], weight)

    return join(source, judge, n_rows, CALIBRATING)
