"""Model files; docs/guide/model_files.md says what is in them."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from datetime import datetime
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unnaive.estimator.about import About, moment_text
from unnaive.models.wrapped import look_inside
from unnaive.pack import PackError, read_pack, write_pack
from unnaive.pack.container import AnyFile, write_parts
from unnaive.pack.release import release
from unnaive.store.models import MODELS

KIND = "unnaive model"
FORMAT = 2
# What wrong content ends in, wherever it is noticed.
WRONG = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)


class ModelFileError(PackError):
    """A file that is no model, or a model that cannot be kept in a file."""


def save(model: Any, path: AnyFile, *, trained: datetime | None = None) -> None:
    """Write a fitted model to a file that `load` reads again.

    The file holds numbers and text, never code. It is small: logarithms and counts are packed, and
    ``compact()`` leaves out the sums that only updating and merging need. It appears whole or not
    at all, and replaces what was there.

    Parameters
    ----------
    model : fitted estimator of unnaive
        Of one inside scikit-learn's searches, or with a threshold of scikit-learn's, the model
        inside is saved, with the threshold as its decision.
    path : path or binary file
        Usually with the ending ``.unv``.
    trained : datetime or None, default=None
        When the model was trained, for ``unnaive show``; the command writes it. None: as the file
        that the model came from said. Without it, models that learned the same have the same file.

    Raises
    ------
    ModelFileError
        If the model holds something that cannot be kept in a file, such as an estimator of another
        library or labels of a type of one's own.

    See Also
    --------
    load : Read it again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import unnaive
    >>> X, y = load_iris(return_X_y=True)
    >>> model = unnaive.NaiveBayesClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     unnaive.save(model, Path(folder) / "iris.unv")
    ...     again = unnaive.load(Path(folder) / "iris.unv")
    >>> (again.predict_proba(X) == model.predict_proba(X)).all()
    np.True_
    """
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"save takes a fitted model, then a path; got a {type(model)}.")
    if hasattr(model, "fit"):
        check_is_fitted(model)
    file = io.BytesIO()
    try:
        model = look_inside(model).alone("saved")
        content = {"unnaive": release(), "model": MODELS.pack(model, BaseEstimator, "model")}
        about = getattr(model, "_about", About())
        if trained is not None:
            about = replace(about, trained=moment_text(trained))
        if about != About():
            content["about"] = MODELS.pack(about, About, "about")
        write_pack(file, content, kind=KIND, version=FORMAT)
        file.seek(0)
        _read(file, max_bytes=sys.maxsize)  # what is saved can be loaded
    except WRONG as error:
        raise ModelFileError(f"the model cannot be saved: {error}") from error
    write_parts(path, [file.getbuffer()])


def load(path: AnyFile, *, max_bytes: int | None = None) -> Any:
    """Read a model that `save` wrote.

    Loading runs nothing that the file holds, and checks everything before it is used: sizes,
    types, ranges, and that the parts fit together. A file from a stranger may hold a bad model,
    but it cannot do harm.

    Parameters
    ----------
    path : path or binary file
    max_bytes : int or None, default=None
        Most memory that the model may take, numbers and text together; None is 8 GiB.

    Returns
    -------
    estimator
        Fitted, with the parameters it had. It predicts the same numbers, bit for bit, and can be
        updated and merged as before.

    Raises
    ------
    ModelFileError
        If the file is not a model, is truncated or damaged, would take too much memory, or was
        written by a later release in a form that this one does not know.

    See Also
    --------
    save : Has an example.
    """
    try:
        return _read(path, max_bytes)
    except WRONG as error:
        named = f"{path} " if isinstance(path, str) or hasattr(path, "__fspath__") else ""
        raise ModelFileError(f"{named}cannot be loaded: {error}") from error


def _read(path: AnyFile, max_bytes: int | None) -> Any:
    version, content = read_pack(path, kind=KIND, version=FORMAT, max_bytes=max_bytes)
    if not isinstance(content, dict) or content.keys() - {"about"} != {"unnaive", "model"}:
        raise PackError("the file holds no model.")
    about = MODELS.unpack(content["about"], About, "about") if "about" in content else About()
    if version < FORMAT:
        raise PackError(f"version {version} of the format was never released.")
    model = MODELS.unpack(content["model"], BaseEstimator, "model")
    check_is_fitted(model)
    if about != About():
        model._about = about
    return model
