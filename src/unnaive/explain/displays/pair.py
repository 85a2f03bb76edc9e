"""A heat map of what two attributes say together, beside what each says alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.common.wording import listed
from unnaive.explain.displays import drawing
from unnaive.explain.model import PairEvidence, evidence_of, find_label, read_model

MOST_WRITTEN = 16  # values of an attribute whose cells are written in
MOST_NAMED = 40  # values of an attribute that are named


class PairDisplay:
    """Evidence of two attributes together, as colours of cells with the number of rows in each.

    Parameters
    ----------
    evidence : PairEvidence
        From ``evidence_of(model).pairs``.
    counts : array of shape (values, values) or None, default=None
        Rows behind each cell.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    rows_, columns_ : arrays of int
        The values of the first and second attribute that are drawn.
    cells_ : matplotlib artist
        The coloured cells: weight of evidence, from the first value downwards.

    Examples
    --------
    >>> import numpy as np
    >>> from unnaive import PairDisplay, UnnaiveBayesClassifier
    >>> X = np.random.default_rng(0).integers(0, 2, (400, 2)).astype(str)
    >>> model = UnnaiveBayesClassifier(n_bags=2, random_state=0).fit(X, X[:, 0] == X[:, 1])
    >>> display = PairDisplay.from_estimator(model, X)
    >>> display.evidence.name
    'x0 x x1'
    """

    def __init__(self, evidence: PairEvidence, counts: NDArray[np.float64] | None = None) -> None:
        self.evidence, self.counts = evidence, counts

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, pair: int | Sequence[str] = 0, **options: Any
    ) -> Self:
        """Draw a pair of attributes of a fitted classifier.

        Parameters
        ----------
        estimator : fitted UnnaiveBayesClassifier
        X : table of shape (n_samples, n_features) or None, default=None
            Rows to count in every cell: models keep no counts of pairs.
        pair : int or two names, default=0
            Which pair: its number in ``pairs_``, or its attributes.
        **options :
            As in `plot`.

        Returns
        -------
        PairDisplay
        """
        reading = read_model(estimator)
        evidence = find_pair(evidence_of(reading).pairs, pair)
        if X is None:
            return cls(evidence).plot(**options)
        return cls(evidence, evidence.count(reading.block(X))).plot(**options)

    def plot(self, *, label: Any = None, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        label : Any, default=None
            The class that evidence is for; by default the last.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        PairDisplay
        """
        evidence = self.evidence
        names = np.array(evidence.labels, dtype=object)
        c = len(names) - 1 if label is None else find_label(names, str(label), "label")
        weights = evidence.weights[:, :, c]
        self.rows_, self.columns_ = evidence.shown_slots(self.counts)
        drawn = weights[np.ix_(self.rows_, self.columns_)]
        width, height = 2.6 + 0.42 * len(self.columns_), 1.6 + 0.26 * len(self.rows_)
        self.figure_, self.ax_ = drawing.canvas(ax, min(max(width, 5.0), 14.0), min(height, 14.0))
        texts = None
        if self.counts is not None:
            counts = self.counts[np.ix_(self.rows_, self.columns_)]
            texts = [[drawing.rows_text(n) for n in row] for row in counts.tolist()]
        self.cells_ = draw_cells(self.ax_, evidence, (self.rows_, self.columns_), drawn, texts)
        note = "numbers are rows" if texts is not None and is_written(drawn) else ""
        title = f"Evidence of {drawing.plain(evidence.name, 60)} for {drawing.plain(names[c], 30)}"
        drawing.title(self.ax_, title, note)
        return self


def find_pair(pairs: Sequence[PairEvidence], pair: int | Sequence[str]) -> PairEvidence:
    """A pair by its number or by its two attributes, in any order."""
    if not pairs:
        raise ValueError("the model has no evidence of pairs; UnnaiveBayesClassifier may have.")
    if isinstance(pair, (int, np.integer)):
        if not 0 <= pair < len(pairs):
            raise ValueError(f"pair must be a number from 0 to {len(pairs) - 1}; got {pair!r}.")
        return pairs[int(pair)]
    for candidate in pairs:
        if set(candidate.columns) == {str(name) for name in pair}:
            return candidate
    some = listed((candidate.name for candidate in pairs), 5)
    raise ValueError(f"there is no pair {tuple(pair)!r}; the model has {some}.")


def draw_cells(
    ax: Any,
    evidence: PairEvidence,
    slots: tuple[NDArray[np.intp], NDArray[np.intp]],
    sizes: NDArray[np.float64],
    texts: Sequence[Sequence[str]] | None,
) -> Any:
    """Coloured cells of a pair, with texts where there is room for them."""
    limit = max(float(np.abs(sizes).max(initial=0.0)), drawing.LEAST_SCALE)
    cells = ax.imshow(sizes, cmap=drawing.diverging(), vmin=-limit, vmax=limit, aspect="auto")
    for axis, names, kept in zip((ax.yaxis, ax.xaxis), evidence.values, slots, strict=True):
        step = -(-len(kept) // MOST_NAMED)
        places = np.arange(0, len(kept), step)
        words = [drawing.plain(names[kept[k]], 18) for k in places]
        turned = {"rotation": 90} if axis is ax.xaxis else {}
        drawing.name_ticks(axis, places, words, **turned)
    if texts is not None and is_written(sizes):
        for i, row in enumerate(texts):
            for k, text in enumerate(row):
                dark = abs(sizes[i, k]) > 0.65 * limit
                colour = "white" if dark else "black"
                drawing.write(ax, k, i, text, ha="center", fontsize=drawing.SMALL - 2, color=colour)
    ax.set_ylabel(drawing.plain(evidence.columns[0], 40), fontsize=drawing.SMALL, parse_math=False)
    ax.set_xlabel(drawing.plain(evidence.columns[1], 40), fontsize=drawing.SMALL, parse_math=False)
    drawing.bare(ax)
    return cells


def is_written(sizes: NDArray[np.float64]) -> bool:
    """Whether there is room for text in the cells."""
    return max(sizes.shape) <= MOST_WRITTEN
