"""Class labels of any type to small integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from unnaive.common.checks import expect
from unnaive.common.kernels import kernel
from unnaive.encode.categories import sort_values
from unnaive.table.columns import (
    FAMILY_OF_KIND,
    RawCodes,
    as_objects,
    beyond_time,
    code_dtype,
    is_missing,
)
from unnaive.table.records import changed_rows
from unnaive.table.schema import FAMILY_WORDS


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The classes, sorted, in the type they came in."""

    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.classes)

    def check(self) -> None:
        """Refuse classes that no target has."""
        expect(self.classes.ndim == 1 and len(self), "classes are not a list.")
        listed = self.classes.tolist()
        expect(not any(map(is_missing, listed)), "a class is missing.")
        expect(len(set(listed)) == len(listed), "a class is listed twice.")


def read_target(y: Any) -> NDArray[Any]:
    """Labels as a 1-D array; continuous, missing or multi-column targets are refused."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    labels = _as_array(y)
    plain = type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind != "V"
    target: NDArray[Any] = (
        np.ascontiguousarray(labels) if plain else column_or_1d(labels, warn=True)
    )
    kind = target.dtype.kind
    missing = 0
    if kind == "O":
        missing = sum(is_missing(v) for v in target)
    elif kind in "fmM":
        missing = int((target != target).sum())
    _refuse_missing(missing)
    if kind == "f":
        if not np.isfinite(target).all():
            raise ValueError("Input y contains infinity; labels must be finite.")
        check_classification_targets(target)
    elif kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers.")
    return target


def _refuse_missing(n: int) -> None:
    if n:
        raise ValueError(
            f"y has {n} missing labels. Input y contains NaN. "
            "Drop these rows, or give them a class of their own."
        )


def _as_array(y: Any) -> Any:
    """Labels in an array that keeps their types, where NumPy would turn all into text or floats."""
    if isinstance(y, np.ma.MaskedArray):
        _refuse_missing(int(np.ma.getmaskarray(y).sum()))
        y = y.filled()
    if hasattr(y, "to_pylist") and not hasattr(y, "column_names"):
        try:
            return _of_one_type(y.to_pylist())
        except OverflowError:
            raise beyond_time("y") from None
    if isinstance(y, np.ndarray):
        listed = _of_one_type(y.tolist()) if y.dtype.kind in "OT" and y.ndim == 1 else y
        return listed if isinstance(listed, np.ndarray) else y  # labels that are tuples stay so
    if not (hasattr(y, "tolist") or hasattr(y, "to_list")):
        return _of_one_type(y) if isinstance(y, (list, tuple)) else y
    if getattr(y, "ndim", 1) != 1:
        return y
    if isinstance(getattr(y, "dtype", None), np.dtype) and y.dtype.kind != "O":
        return y.to_numpy() if hasattr(y, "to_numpy") else y  # a column of pandas
    return _of_one_type(y.tolist() if hasattr(y, "tolist") else y.to_list())


def _of_one_type(values: Any) -> Any:
    """A list as an array; of objects where its values are not all of one kind."""
    types = set(map(type, values))
    if any(issubclass(t, (list, tuple, np.ndarray)) for t in types):
        return values
    types = {bool if issubclass(t, (bool, np.bool_)) else t for t in types}
    plain = all(issubclass(t, (int, float, np.number)) for t in types) and bool not in types
    if not (len(types) == 1 or plain) or _end_in_nul(types, values):
        return as_objects(list(values))
    return np.asarray(values)


def _end_in_nul(types: set[type], values: Any) -> bool:
    """Whether there is text that ends in NUL, which arrays of text forget."""
    return any(issubclass(t, (str, bytes)) for t in types) and any(
        value[-1:] in ("\0", b"\0") for value in set(values)
    )


def label_groups(target: NDArray[Any] | RawCodes) -> tuple[Labels, NDArray[Any]]:
    """The classes that occur and each row's class number."""
    dense_range = 1 << 16  # integer labels closer together, or than there are, are not sorted
    if isinstance(target, RawCodes):
        return _coded_groups(target)
    large = target.dtype == np.uint64 and target.max(initial=0) > np.iinfo(np.int64).max
    if target.dtype.kind in "bui" and not large:
        if target.dtype.kind == "b":
            dense = target.view(np.uint8).astype(np.int64)
        else:
            dense = target.astype(np.int64, copy=False)
        low, high = int(dense.min()), int(dense.max())
        if high - low < max(dense_range, len(dense)):
            return _dense_groups(target, dense, low, high)
    if target.dtype.kind == "O":
        return _object_groups(target)
    classes, groups = np.unique(target, return_inverse=True)
    if classes.dtype.kind in "US":  # no wider than the classes: rows of other weight may be longer
        classes = np.array(classes.tolist())
    return Labels(classes), groups.astype(code_dtype(len(classes)))


def groups_of(labels: Labels, target: NDArray[Any] | RawCodes) -> NDArray[Any]:
    """Each row's class number among known classes; others are refused."""
    present, groups = label_groups(target)
    merged, (_, place) = merge_labels([labels, present])
    if len(merged) > len(labels):
        new = present.classes[[label not in labels.classes for label in present.classes]]
        raise changed_rows(f"y holds the label {new.tolist()[0]!r}, but did not in the first pass")
    return groups if len(present) == len(merged) else place.astype(code_dtype(len(merged)))[groups]


def _coded_groups(target: RawCodes) -> tuple[Labels, NDArray[Any]]:
    """Labels that a source has coded: only their values are looked at."""
    codes, values = target.codes.copy(), target.values  # of one type, whoever made them
    _refuse_missing(int((codes == np.iinfo(codes.dtype).max).sum()))
    there = np.zeros(len(values), dtype=np.bool_)
    _mark(codes, there)
    gaps = [c for c in np.flatnonzero(there) if is_missing(values[c])]
    _refuse_missing(int(np.isin(codes, gaps).sum()) if gaps else 0)
    # Each twice: numbers of which none comes twice would look like measurements.
    present = np.repeat(np.flatnonzero(there), 2)
    some = values[present] if isinstance(values, np.ndarray) else [values[c] for c in present]
    labels, groups = label_groups(read_target(some))
    place = np.zeros(len(values), dtype=groups.dtype)
    place[present] = groups
    in_order = place.dtype == codes.dtype and (place == np.arange(len(place))).all()
    return labels, codes if in_order else np.take(place, codes)  # twice as fast as place[codes]


def _dense_groups(
    target: NDArray[Any], dense: NDArray[np.int64], low: int, high: int
) -> tuple[Labels, NDArray[Any]]:
    """Whole numbers in a small range: the distance from the smallest, then gaps closed."""
    groups = np.empty(len(dense), dtype=code_dtype(high - low + 1))
    _subtract(dense, low, groups)
    present = np.zeros(high - low + 1, dtype=np.bool_)
    _mark(groups, present)
    offsets = np.flatnonzero(present)
    if len(offsets) < len(present):
        place = np.zeros(len(present), dtype=code_dtype(len(offsets)))
        place[offsets] = np.arange(len(offsets))
        groups = place[groups]
    return Labels((offsets + low).astype(target.dtype)), groups


def _object_groups(target: NDArray[Any]) -> tuple[Labels, NDArray[Any]]:
    index: dict[Any, int] = {}
    codes = np.fromiter((index.setdefault(v, len(index)) for v in target), np.intp, len(target))
    ordered = sort_values(index)
    place = np.empty(len(index), dtype=code_dtype(len(index)))
    for i, value in enumerate(ordered):
        place[index[value]] = i
    return Labels(as_objects(ordered)), place[codes]


def merge_labels(parts: Sequence[Labels]) -> tuple[Labels, list[NDArray[np.intp]]]:
    """All classes together, and for each part where its classes went."""
    first = parts[0].classes
    if all(len(p) == len(first) and (p.classes == first).all() for p in parts[1:]):
        return parts[0], [np.arange(len(first))] * len(parts)
    kinds = {p.classes.dtype.kind for p in parts}
    alike = len(kinds) == 1 or kinds <= set("iuf")
    joined = np.concatenate([p.classes for p in parts]) if alike else None
    # NumPy turns numbers beside text into text, and large integers of two kinds into floats.
    if joined is None or joined.dtype.kind not in kinds:
        joined = np.concatenate([p.classes.astype(object) for p in parts])
    mixed = joined.dtype == object
    classes = as_objects(sort_values(joined)) if mixed else np.unique(joined)
    index = {v: i for i, v in enumerate(classes.tolist())}
    maps = [np.array([index[v] for v in p.classes.tolist()], dtype=np.intp) for p in parts]
    return Labels(classes), maps


def keep_labels(labels: Labels, kept: NDArray[np.intp]) -> tuple[Labels, NDArray[np.intp]]:
    """Some of the classes, as they alone would come, and where each of these was before."""
    classes = labels.classes[kept]
    if len(kept) == len(labels) or classes.dtype.kind not in "OUS":
        return Labels(classes), kept
    # Each twice: numbers of which none comes twice would look like measurements.
    alone, groups = label_groups(read_target(np.repeat(classes, 2)))
    return alone, kept[np.argsort(groups[::2])]


def refuse_mixed(first: Labels, second: Labels) -> None:
    """Refuse labels that are of one type in some rows and of another in others."""
    families = [FAMILY_OF_KIND.get(part.classes.dtype.kind) for part in (first, second)]
    if None not in families and families[0] != families[1]:
        one, other = (FAMILY_WORDS[family] for family in families if family is not None)
        raise ValueError(
            f"the labels are {one} in one part of the data ({first.classes.tolist()[0]!r}) and "
            f"{other} in another ({second.classes.tolist()[0]!r}); convert them to one type."
        )


def known_groups(labels: Labels, target: NDArray[Any] | RawCodes) -> NDArray[np.intp]:
    """Return the number of each label among some classes; their number where it is none of them.

    A class may be a number in one file and text in another.
    """
    present, groups = label_groups(target)
    index = {label: k for k, label in enumerate(labels.classes.tolist())}
    text = {str(label): k for label, k in index.items()}
    places = (index.get(v, text.get(str(v), len(labels))) for v in present.classes.tolist())
    return np.fromiter(places, np.intp, len(present))[groups]


def refuse_strange_labels(any_known: Any, labels: Labels, given: Sequence[Any]) -> None:
    """Raise if no row is of a class that a model knows: its labels are of another kind."""
    if np.any(any_known):
        return
    each = [
        ", ".join(list(dict.fromkeys(map(repr, values[:1000].tolist())))[:4])
        for values in (np.asarray(given, dtype=object), labels.classes)
    ]
    raise ValueError(
        f"no row has a label that the model knows: y has {each[0]}, but the classes are {each[1]}; "
        "give labels as they were in fitting."
    )


@kernel
def _subtract(labels: NDArray[np.int64], low: int, groups: NDArray[Any]) -> None:
    for i in range(len(labels)):
        groups[i] = labels[i] - low


@kernel
def _mark(groups: NDArray[Any], present: NDArray[np.bool_]) -> None:
    for i in range(len(groups)):
        present[groups[i]] = True
