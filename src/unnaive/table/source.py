"""Where rows are: the protocol that models read through.

A model never asks what kind of source it has. It hands over a function of one `Block` of rows and
says how two results add up (`reduce`), takes the results in the order of the rows (`each`), or asks
for one answer per row (`map`). Models that visit rows again and again have them coded once, by
`keep_records`, or by `join` of `table/records.py`, which brings them together.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from unnaive.common.progress import STEPS, Hook, Progress
from unnaive.table.block import Block, column_of, keep_rows
from unnaive.table.columns import (
    Native,
    as_categories,
    describe_column,
    has_no_value,
)
from unnaive.table.records import CODING, COUNTING, Storage, check_same_number, join_records
from unnaive.table.scan import ENGINES, FILES, Scan
from unnaive.table.schema import (
    FAMILY_WORDS,
    Column,
    Schema,
    chosen_as_categorical,
    refuse_duplicates,
)

if TYPE_CHECKING:
    from unnaive.table.records import Records

R = TypeVar("R")
T = TypeVar("T")
_log = logging.getLogger("unnaive")


def join_answers(answers: Iterable[Any]) -> Any:
    """Answers for blocks as one, in memory: arrays, lists, records, tables, or what can be joined
    by itself.
    """
    parts = list(answers)
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0], list):
        return [answer for part in parts for answer in part]
    if hasattr(parts[0], "joined"):
        return parts[0].joined(parts[1:])
    if dataclasses.is_dataclass(parts[0]):
        return join_records(parts)
    return nw.concat([nw.from_native(part, eager_only=True) for part in parts]).to_native()


class Source(Protocol):
    """Rows that can be visited, as often as needed."""

    storage: Storage
    """Where arrays with an entry for each row go."""

    may_change: bool
    """Whether rows are read anew in every pass, so that they may be others."""

    def report_passes(self, hook: Hook | None) -> None:
        """What passes that read rows from elsewhere call on their way; see `Progress`."""
        ...

    def reduce(self, fn: Callable[[Block], T], add: Callable[[T, T], T], name: str = COUNTING) -> T:
        """Apply ``fn`` to every block and sum the results with ``add``, in any order.

        ``name`` says what the pass does, in logs and reports of progress.
        """
        ...

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:
        """``fn`` of every block that has rows, in the order of the rows."""
        ...

    def keep_away(
        self, fn: Callable[[Block], tuple[R, T]], add: Callable[[T, T], T], name: str = CODING
    ) -> tuple[Records[R], T] | None:
        """Records of blocks that stay with the rows, and a sum; None where rows come here.

        A block may have no record: None.
        See `keep_records` of `table/records.py`.
        """
        ...

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:
        """One answer per row, in the form that suits the source.

        ``names`` are those of the answer's columns, where the answer is a table.
        """
        ...


class MemorySource:
    """A table in memory: one block."""

    may_change = False

    def __init__(self, block: Block) -> None:
        self.block, self.schema = block, block.schema
        self.storage = Storage()

    def report_passes(self, hook: Hook | None) -> None:
        """Rows in memory need no reading: there is nothing to report."""

    def reduce(
        self,
        fn: Callable[[Block], T],
        add: Callable[[T, T], T],  # noqa: ARG002
        name: str = COUNTING,  # noqa: ARG002
    ) -> T:
        return fn(self.block)  # one block: nothing to add

    def each(self, fn: Callable[[Block], T], name: str = CODING) -> Iterator[T]:  # noqa: ARG002
        yield fn(self.block)

    def keep_away(self, fn: Any, add: Any, name: str = CODING) -> None:
        """Rows in memory are here."""

    def map(self, fn: Callable[[Block], Any], names: Sequence[str] | None = None) -> Any:  # noqa: ARG002
        return fn(self.block)


class PassSource:
    """Base of sources that read their rows from elsewhere, in passes.

    Attributes
    ----------
    n_rows : int or None
        How many rows there are, where the source says so or a pass has counted them.
    """

    may_change = True
    n_rows: int | None = None
    _n_read: int | None = None  # rows of the first pass
    _hook: Hook | None = None

    def report_passes(self, hook: Hook | None) -> None:
        """Have passes call a hook from now on; see `Progress`."""
        self._hook = hook

    def keep_away(self, fn: Any, add: Any, name: str = CODING) -> Any:  # noqa: ARG002
        """Return None: records are brought here, unless a source of another kind says otherwise."""
        return None

    @contextmanager
    def begin_pass(self, name: str) -> Iterator[Progress]:
        """A new pass; all its rows are read when the context is left without an error."""
        steps = None if self.n_rows is None else STEPS
        progress = Progress(name, self.n_rows, steps=steps, hook=self._hook)
        yield progress
        progress.finish()
        n_rows = round(progress.done)
        if self._n_read is not None:
            check_same_number(self._n_read, n_rows)
        self.n_rows = self._n_read = n_rows
        _log.info("%s", progress)


def open_table(
    estimator: BaseEstimator,
    X: Any,
    y: NDArray[Any] | None = None,
    sample_weight: Any = None,
    *,
    categorical_features: Any = "from_dtype",
    fitted: Schema | None = None,
) -> Source:
    """Read a table, check it against ``fitted`` where the model knows its columns already.

    ``X`` is a table in memory, or a `Scan` (then there is neither y nor sample_weight: the scan
    names their columns). Rows of weight zero are left out: they are the same as absent rows.
    """
    if isinstance(X, Scan):
        # An engine is loaded only when it is used; its module opens a scan as a source.
        engine = import_module(dict(ENGINES.values()).get(X.kind, FILES))
        n_jobs = getattr(estimator, "n_jobs", None)
        opened: Source = engine.open_scan(X, categorical_features, fitted, n_jobs)
        return opened
    frame = as_frame(X)
    columns: Sequence[Native] | NDArray[Any]
    if frame is not None:
        columns, names = _read_frame(frame, fitted)
        n_rows = len(frame)
    else:
        columns = _read_array(estimator, X)
        names, n_rows = list(range(columns.shape[1])), len(columns)
    if fitted is not None and (frame is None or not fitted.named):
        checked = X if frame is not None else columns
        validate_data(estimator, checked, reset=False, skip_check_array=True)
    weight = read_weight(sample_weight, n_rows)
    if y is not None and len(y) != n_rows:
        check_consistent_length(y, range(n_rows))
    row_ids = None
    if weight is not None and not weight.all():
        kept = weight > 0
        columns, weight, row_ids = keep_rows(columns, kept), weight[kept], np.flatnonzero(kept)
        y, n_rows = None if y is None else y[kept], len(row_ids)
    if fitted is None:
        schema = new_schema(columns, names, categorical_features, frame is not None)
    else:
        schema = check_against(fitted, columns)
    block = Block(schema, columns, n_rows=n_rows, target=y, weight=weight, row_ids=row_ids)
    return MemorySource(block)


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """A narwhals view of a frame, or None for arrays and lists."""
    if isinstance(X, (np.ndarray, list, tuple)):
        return None
    if not hasattr(X, "collect"):  # asking a lazy table for its columns makes it work
        _refuse_duplicates(X)
    frame = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(frame, nw.DataFrame):
        return frame
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy table; call .collect() on it first.")
    if isinstance(frame, nw.Series):
        raise ValueError(
            "X is a single column or row. Expected 2D array or table: pass a table, which "
            "X.to_frame() makes of a column, and table.iloc[[0]] or table.head(1) of a row."
        )
    if hasattr(X, "__arrow_c_stream__"):
        import pyarrow as pa

        return nw.from_native(pa.table(X), eager_only=True)
    return None


def _refuse_duplicates(X: Any) -> None:
    names: Any = getattr(X, "column_names", None)
    if not isinstance(names, list):  # pandas may have a column of this name
        names = getattr(X, "columns", None)
    if isinstance(names, list):
        refuse_duplicates(names)
    elif not getattr(names, "is_unique", True):
        refuse_duplicates(list(names))


def _read_frame(frame: nw.DataFrame[Any], fitted: Schema | None) -> tuple[list[Native], list[Any]]:
    # NaN equals nothing, itself included: as a name it is one object, which is found by identity.
    given: list[Any] = list(frame.columns)
    names = [np.nan if isinstance(name, float) and name != name else name for name in given]
    if not names:
        raise ValueError(
            f"0 feature(s) (shape={frame.shape}) while a minimum of 1 is required: "
            "the table has no columns."
        )
    if len(frame) == 0:
        raise ValueError(
            f"0 sample(s) (shape={frame.shape}) while a minimum of 1 is required: "
            "the table has no rows."
        )
    columns: list[Native] = list(frame.iter_columns())
    if fitted is None or not fitted.named:
        return columns, names
    check_names(fitted.names, names)
    place = {name: j for j, name in enumerate(names)}
    return [columns[place[name]] for name in fitted.names], fitted.names


def check_names(expected: list[Any], columns: list[Any]) -> None:
    """Refuse columns other than those that a model knows, in any order."""
    there, expected_names = set(columns), set(expected)
    missing = [n for n in expected if n not in there]
    extra = [n for n in columns if n not in expected_names]
    if not missing and not extra:
        return
    lines = ["The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time:", extra),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            lines += [title, *(f"- {n}" for n in sorted(names, key=str)[:5])]
            lines += ["- ..."] if len(names) > 5 else []
    raise ValueError("\n".join(lines) + "\n")


def _read_array(estimator: BaseEstimator, X: Any) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.getmaskarray(X).any():
            raise ValueError(
                "X is a masked array: mark masked values as missing, by X.astype(float)."
                "filled(numpy.nan) or X.astype(object).filled(None)."
            )
        X = X.data
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM" and X.ndim == 2:
        return X
    if type(X) is np.ndarray and X.dtype.kind in "biuf" and X.ndim == 2 and X.size:
        return X  # what scikit-learn's check would return, for more than counting few rows takes
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], (list, tuple)):
        # Rows of different kinds of values keep them: NumPy would turn all into text.
        X = _rows_of_objects(X)
    array: NDArray[Any] = check_array(
        X,
        dtype=None,
        ensure_all_finite=False,
        estimator=estimator,
        accept_sparse=False,
        input_name="X",
    )
    return array


def _rows_of_objects(rows: Any) -> Any:
    array = np.asarray(rows, dtype=object) if len({len(r) for r in rows}) == 1 else None
    if array is None or array.ndim != 2:
        return rows
    numbers = all(
        isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in array.ravel()
    )
    return np.asarray(rows) if numbers else array


def new_schema(
    columns: Sequence[Native] | NDArray[Any],
    names: list[Any],
    categorical_features: Any,
    named: bool,
    coded: frozenset[str] = frozenset(),
) -> Schema:
    """What the columns hold; those that are ``coded`` are not declared categorical by that."""
    chosen = chosen_as_categorical(names, categorical_features)
    each = (
        describe_column(column_of(columns, j), name, forced=chosen[j], coded=name in coded)
        for j, name in enumerate(names)
    )
    return Schema(tuple(each), named)


def check_against(fitted: Schema, columns: Sequence[Native] | NDArray[Any]) -> Schema:
    plain = isinstance(columns, np.ndarray) and columns.dtype.kind in "iuf"
    if plain and all(c.kind == "numeric" and c.family == "number" for c in fitted):
        return fitted
    specs = tuple(
        _check_column(spec, column_of(columns, j)) for j, spec in enumerate(fitted.columns)
    )
    return Schema(specs, fitted.named)


def _check_column(spec: Column, column: Native) -> Column:
    plain = as_categories(spec)
    described = describe_column(column, spec.name, forced=plain.kind == "categorical")
    family = described.family
    if family in ("empty", plain.family) or has_no_value(column):
        return spec
    if spec.family == "empty":
        return described
    if spec.kind == "numeric" and spec.family == "number" and family == "bool":
        return spec
    raise ValueError(
        f"{spec} held {FAMILY_WORDS[spec.family]} when the model was fitted, "
        f"but now holds {FAMILY_WORDS[family]}; convert it first."
    )


def read_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights of the rows, checked; None where all weigh the same."""
    if sample_weight is None:
        return None
    weight = check_weight(weight_of_each(sample_weight, n_rows), n_rows)
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be one number per row; got shape {weight.shape}.")
    if len(weight) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one number per row."
        )
    if not weight.any():
        raise all_weights_zero()
    return weight


def weight_of_each(sample_weight: Any, n_rows: int) -> Any:
    """One weight for all rows as one for each, as scikit-learn reads it; weights as they are."""
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight is {sample_weight!r}, but X is a table in memory: pass the weights "
            f"themselves, such as X[{sample_weight!r}]."
        )
    single = np.isscalar(sample_weight) or getattr(sample_weight, "shape", None) == ()
    return np.full(n_rows, sample_weight) if single else sample_weight


def check_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Weights as numbers, none of them missing, negative or too large."""
    try:
        weight: NDArray[np.float64] = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold one number for each row: {error}") from error
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight holds negative values (the smallest is {weight.min():g}); "
            "weights say how often a row counts, so they must be 0 or more."
        )
    if weight.max() > np.finfo(np.float64).max / n_rows:
        raise ValueError("sample_weight adds up to infinity; divide the weights by a large number.")
    return weight


def all_weights_zero() -> ValueError:
    return ValueError(
        "Sample weights must contain at least one non-zero number: "
        "sample_weight is zero for every row."
    )
