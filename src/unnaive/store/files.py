"""Model files: a zip of one JSON document and the arrays that it refers to."""

from __future__ import annotations

import io
import json
import math
import os
import re
import struct
import sys
import zipfile
import zlib
from dataclasses import replace
from datetime import datetime
from typing import IO, Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unnaive.answer.unwrap import unwrap_classifier
from unnaive.common.atomic import replacing
from unnaive.estimator.base import About, moment_text, release
from unnaive.store.estimators import STORED
from unnaive.store.plain import WRONG, ArrayReader, ArrayWriter, ModelFileError

AnyFile: TypeAlias = str | os.PathLike[str] | BinaryIO
KIND = "unnaive model"
FORMAT = 1  # readers refuse later formats
DOCUMENT = "model.json"
MOST_JSON = 1 << 26
NODE_BYTES = 128  # memory of a value, per bracket, comma and colon of the JSON
PIECE = 1 << 20  # bytes that are inflated at a time
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every member, so that equal models have equal bytes
NPY = re.compile(
    r"\{'descr': '([<|](?:b1|[iu][1248]|f[248]|[mM]8\[(?:Y|M|W|D|h|m|s|ms|us|ns)\]|[SU]\d{1,9}))', "
    r"'fortran_order': False, 'shape': \(((?:\d{1,15}, ?){0,8}\d{0,15})\), \} *\n"
)
BAD_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OSError)


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
    try:
        model = unwrap_classifier(model, "saved")
        about = getattr(model, "_about", About())
        if trained is not None:
            about = replace(about, trained=moment_text(trained))
        content = {
            "kind": KIND,
            "format": FORMAT,
            "release": release(),
            "about": STORED.pack(about, About, "about"),
            "model": STORED.pack(model, BaseEstimator, "model"),
        }
        file = write_content(content)
        _read(file, max_bytes=sys.maxsize)  # what is saved can be loaded
    except WRONG as error:
        raise ModelFileError(f"the model cannot be saved: {error}") from error
    if isinstance(path, (str, os.PathLike)):
        with replacing(path) as target:
            target.write(file.getbuffer())
    else:
        path.write(file.getbuffer())


def load(path: AnyFile, *, max_bytes: int = 2 * 2**30) -> Any:
    """Read a model that `save` wrote.

    Loading runs nothing that the file holds, and checks everything before it is used: sizes,
    types, ranges, and that the parts fit together. A file from a stranger may hold a bad model,
    but it cannot do harm.

    Parameters
    ----------
    path : path or binary file
    max_bytes : int, default=2147483648
        Most memory that the model may take, arrays and document together.

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
    if not isinstance(path, (str, os.PathLike)):
        return _load(path, max_bytes, "the file")
    with open(path, "rb") as file:
        return _load(file, max_bytes, path)


def _load(file: BinaryIO, max_bytes: int, name: Any) -> Any:
    try:
        return _read(file, max_bytes)
    except zipfile.BadZipFile as error:
        problem = f"this is not a file of unnaive, or it is damaged ({error!s:.80})"
        raise ModelFileError(f"{name} cannot be loaded: {problem}") from error
    except (*WRONG, *BAD_ZIP) as error:
        raise ModelFileError(f"{name} cannot be loaded: {error}") from error


def write_content(content: dict[str, Any]) -> io.BytesIO:
    """Return a zip of plain values: the JSON document, then the arrays by their numbers."""
    writer = ArrayWriter()
    text = json.dumps(writer.encode(content), separators=(",", ":"), allow_nan=False).encode()
    if len(text) > MOST_JSON:
        raise ModelFileError(
            f"the content has {len(text):,} bytes of names and categories, more than "
            f"{MOST_JSON:,}; group rare categories (max_categories=), or call compact() first."
        )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_member(DOCUMENT), text)
        for i, array in enumerate(writer.arrays):
            with archive.open(
                _member(f"{i}.npy"), "w", force_zip64=array.nbytes >= 1 << 30
            ) as member:
                laid = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
                np.lib.format.write_array(member, laid, version=(1, 0), allow_pickle=False)
    return file


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _read(file: BinaryIO, max_bytes: int) -> Any:
    content = read_content(file, max_bytes)
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ModelFileError("the file holds no model.")
    if type(content.get("format")) is not int or content["format"] < 1:
        raise ModelFileError("the file is damaged: it does not say its format.")
    if content["format"] > FORMAT:
        raise ModelFileError(
            f"the file has format {content['format']}, and this release of unnaive reads formats "
            f"up to {FORMAT}; install a later release to read it."
        )
    if content.keys() != {"kind", "format", "release", "about", "model"}:
        raise ModelFileError("the file holds no model.")
    about = STORED.unpack(content["about"], About, "about")
    model = STORED.unpack(content["model"], BaseEstimator, "model")
    check_is_fitted(model)
    if about != About():
        model._about = about
    return model


def read_content(file: BinaryIO, max_bytes: int) -> Any:
    """Return the plain values of a zip. Sizes are checked before anything is inflated."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        names = [info.filename for info in members]
        if names != [DOCUMENT, *(f"{i}.npy" for i in range(len(names) - 1))]:
            raise ModelFileError("the file is damaged: its members are not those of a model.")
        for info in members:
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ModelFileError("the file is packed in a way that is not read.")
        size = sum(info.file_size for info in members)
        if size > max_bytes:
            raise ModelFileError(
                f"the file unpacks to {size:,} bytes, more than max_bytes, {max_bytes:,}; raise "
                "max_bytes if you trust it."
            )
        document = members[0]
        if document.file_size > MOST_JSON:
            raise ModelFileError(f"a document of {document.file_size:,} bytes is refused.")
        with archive.open(document) as member:
            text = _inflated(member, document.file_size)
        cost = NODE_BYTES * sum(text.count(sign) for sign in b"[{,:")
        if size + cost > max_bytes:
            raise ModelFileError("its document needs more memory than max_bytes.")
        arrays = [_read_array(archive, info) for info in members[1:]]
    node = json.loads(text.decode(), parse_constant=_no_constant, object_pairs_hook=_no_twins)
    return ArrayReader(arrays, max_bytes - size - cost).decode(node)


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Read an array whose header agrees with the size of its member."""
    with archive.open(info) as member:
        start = _inflated(member, min(10, info.file_size))
        n_header = int.from_bytes(start[8:], "little")
        if start[:8] != b"\x93NUMPY\x01\x00":
            raise ModelFileError(f"{info.filename} is not an array of NumPy.")
        header = NPY.fullmatch(_inflated(member, n_header).decode("latin1"))
        if header is None:
            raise ModelFileError(f"{info.filename} is an array of a type that is not allowed.")
        dtype = np.dtype(header[1])
        shape = tuple(int(n) for n in re.findall(r"\d+", header[2]))
        n_bytes = math.prod(shape) * dtype.itemsize
        if n_bytes != info.file_size - len(start) - n_header:
            raise ModelFileError(f"{info.filename} is not as large as its shape says.")
        array = np.empty(n_bytes, dtype=np.uint8)
        for begin in range(0, n_bytes, PIECE):
            piece = _inflated(member, min(PIECE, n_bytes - begin))
            array[begin : begin + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
    if dtype.kind == "b" and (array > 1).any():
        raise ModelFileError(f"{info.filename} has something neither true nor false.")
    if dtype.kind == "U" and (array.view("<u4") > sys.maxunicode).any():
        raise ModelFileError(f"{info.filename} has text that is none.")
    return array.view(dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _inflated(member: IO[bytes], n_bytes: int) -> bytes:
    """Return exactly so many bytes; no more are inflated, whatever the data hold."""
    data = member.read(n_bytes)
    if len(data) < n_bytes:
        raise ModelFileError("the file is truncated.")
    return data


def _no_constant(word: str) -> Any:
    raise ModelFileError(f"the file is damaged: {word} is not JSON.")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    node = dict(pairs)
    if len(node) < len(pairs):
        raise ModelFileError("the file is damaged: its document names something twice.")
    return node
