"""From what a user passes to a `Source`: arrays, lists, frames, Arrow streams."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from unnaive.table.columns import Native, family_of
from unnaive.table.schema import FAMILY_WORDS, NUMERIC_FAMILIES, Column, Kind, Schema, resolve_kinds
from unnaive.table.source import Block, MemorySource

Frame = Any


def open_table(
    estimator: BaseEstimator,
    X: Any,
    y: NDArray[Any] | None = None,
    sample_weight: Any = None,
    *,
    categorical_features: Any = "from_dtype",
    fitted: Schema | None = None,
) -> MemorySource:
    """Read a table, check it against ``fitted`` where the model knows its columns already.

    Sets ``n_features_in_`` and ``feature_names_in_`` on the estimator at the first reading.
    Rows of weight zero are left out: they are the same as absent rows.
    """
    frame = as_frame(X)
    columns: list[Native] | NDArray[Any]
    if frame is not None:
        columns, names = _read_frame(frame, fitted)
        n_rows = len(frame)
    else:
        columns = _read_array(estimator, X)
        names, n_rows = list(range(columns.shape[1])), len(columns)
    if fitted is None:
        schema = _new_schema(estimator, columns, names, categorical_features)
    else:
        if frame is None or not fitted.named:
            validate_data(
                estimator, X if frame is not None else columns, reset=False, skip_check_array=True
            )
        schema = _check_against(fitted, columns)
    weight = _read_weight(sample_weight, n_rows)
    if y is not None:
        check_consistent_length(y, range(n_rows))
    block = Block(schema, columns, n_rows=n_rows, target=y, weight=weight)
    if weight is not None and not weight.all():
        block = block.keep(weight > 0)
    return MemorySource(block)


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """A narwhals view of a frame, or None for arrays and lists."""
    if isinstance(X, (np.ndarray, list, tuple)):
        return None
    _refuse_twins(getattr(X, "columns", None))
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame
    if hasattr(X, "__arrow_c_stream__"):
        import pyarrow as pa

        return nw.from_native(pa.table(X), eager_only=True)
    return None


def _refuse_twins(names: Any) -> None:
    if getattr(names, "is_unique", True):  # only pandas allows two columns of one name
        return
    twice = names[names.duplicated()][0]
    raise ValueError(f"the table has several columns named {twice!r}; rename or drop them.")


def _read_frame(frame: nw.DataFrame[Any], fitted: Schema | None) -> tuple[list[Native], list[Any]]:
    names = list(frame.columns)
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
    if not _are_names(names):
        return columns, list(range(len(names)))
    if fitted is not None and fitted.named:
        expected = fitted.names or []
        _check_names(expected, names)
        place = {name: j for j, name in enumerate(names)}
        return [columns[place[name]] for name in expected], expected
    return columns, names


def _are_names(names: list[Any]) -> bool:
    """Whether column labels are names, as scikit-learn sees it: all of them text."""
    return all(isinstance(n, str) for n in names)


def _check_names(expected: list[str], found: list[str]) -> None:
    missing = [n for n in expected if n not in set(found)]
    extra = [n for n in found if n not in set(expected)]
    if not missing and not extra:
        return
    lines = ["The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time:", extra),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            lines += [title, *(f"- {n}" for n in sorted(names)[:5])]
            lines += ["- ..."] if len(names) > 5 else []
    raise ValueError("\n".join(lines) + "\n")


def _read_array(estimator: BaseEstimator, X: Any) -> NDArray[Any]:
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM" and X.ndim == 2:
        return X
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
    numbers = all(isinstance(v, (int, float, np.number)) for v in array.ravel())
    return np.asarray(rows) if numbers else array


def _new_schema(
    estimator: BaseEstimator,
    columns: list[Native] | NDArray[Any],
    names: list[Any],
    categorical_features: Any,
) -> Schema:
    if isinstance(columns, np.ndarray) and columns.dtype.kind != "O":
        families = [family_of(columns[:0, 0], 0)] * columns.shape[1]
    else:
        families = [family_of(_column(columns, j), name) for j, name in enumerate(names)]
    named = _are_names(names)
    estimator.n_features_in_ = len(names)
    if named:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return Schema(resolve_kinds(names, families, categorical_features), named)


def _column(columns: list[Native] | NDArray[Any], j: int) -> Native:
    return columns[:, j] if isinstance(columns, np.ndarray) else columns[j]


def _check_against(fitted: Schema, columns: list[Native] | NDArray[Any]) -> Schema:
    plain = isinstance(columns, np.ndarray) and columns.dtype.kind in "iuf"
    if plain and all(c.kind == "numeric" and c.family == "number" for c in fitted):
        return fitted
    found = tuple(_check_column(spec, _column(columns, j)) for j, spec in enumerate(fitted.columns))
    return Schema(found, fitted.named)


def _check_column(spec: Column, column: Native) -> Column:
    family = family_of(column, spec.name)
    if spec.kind == "empty":
        kind: Kind = "numeric" if family in NUMERIC_FAMILIES else "categorical"
        return spec if family == "empty" else Column(spec.name, kind, family)
    if family in ("empty", spec.family) or _all_missing(column):
        return spec
    if spec.kind == "numeric" and spec.family == "number" and family == "bool":
        return spec
    raise ValueError(
        f"{spec} held {FAMILY_WORDS[spec.family]} when the model was fitted, "
        f"but now holds {FAMILY_WORDS[family]}; convert it before predicting."
    )


def _all_missing(column: Native) -> bool:
    """Pandas reads a text column without a single value as float NaN."""
    if isinstance(column, nw.Series):
        missing = column.null_count()
        if column.dtype.is_float() and missing < len(column):
            missing += int(column.is_nan().sum())
        return bool(missing >= len(column))
    return column.dtype.kind == "f" and bool(np.isnan(column).all())


def _read_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_rows, sample_weight)
    weight: NDArray[np.float64] = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be one number per row; got shape {weight.shape}.")
    if len(weight) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one number per row."
        )
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight holds negative values (the smallest is {weight.min():g}); "
            "weights say how often a row counts, so they must be 0 or more."
        )
    if not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: "
            "sample_weight is zero for every row."
        )
    return weight
