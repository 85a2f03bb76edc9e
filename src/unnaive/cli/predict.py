"""``unnaive predict``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from unnaive.cli import options as opt
from unnaive.cli.console import SafeTerminal, progress, say
from unnaive.common.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".txt")


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    out: Annotated[
        str, opt.option("--out -o", "FILE", "CSV or Parquet file; - writes CSV to standard output.")
    ] = "-",
    proba: Annotated[
        bool, opt.flag("--proba", "Also write the probability of every class.")
    ] = False,
    reasons: Annotated[
        int,
        opt.option(
            "--reasons",
            "N",
            "Also write the N strongest reasons for the predicted class, in words.",
            min=0,
            show_default=False,
        ),
    ] = 0,
    threshold: opt.Threshold = None,
    positive: opt.Positive = None,
    cost: opt.Cost = None,
    keep: opt.Keep = None,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write the most probable class of every row, on request its probabilities and reasons.

    With a threshold or costs, given here or kept in the model, the class to decide for is in the
    column decision.

    Rows are read and predicted piece by piece, in their order, however many there are.

    [bold]Examples:[/] unnaive predict loans.unv new-loans.parquet --proba -o answers.parquet

    cat new-loans.csv | unnaive predict loans.unv - > answers.csv
    """
    from unnaive.cli.models import decide, load_model
    from unnaive.cli.rows import CsvText, paths_of, read_pieces

    check_out(out)
    fitted = decide(load_model(model), threshold, positive, cost)
    if not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{type(fitted).__name__} has no classes to predict.")
    if "n_jobs" in fitted.get_params():
        fitted.set_params(n_jobs=jobs)
    n_rows = 0
    with paths_of(data) as paths, progress(quiet or out == "-") as bar, writing(out) as write:
        text = CsvText(decimal, na_values)
        for X, extra in read_pieces(fitted.schema_, paths, keep or [], bar, text):
            write(predictions(fitted, X, extra, proba, reasons))
            n_rows += len(X)
    if not quiet and out != "-":
        say(f"{counted(n_rows, 'row')} written to {out}")


def predictions(
    model: Any, X: pa.Table, extra: pa.Table, proba: bool, reasons: int = 0
) -> pa.Table:
    """The kept columns, the prediction, probabilities and reasons."""
    import pyarrow as pa

    p = model.predict_proba(X)
    labels = pa.array(model.classes_.tolist())
    columns = {name: extra[name] for name in extra.column_names}
    answer = model.answer_
    classes = {"prediction": p.argmax(axis=1)}
    if answer.decision is not None:
        classes["decision"] = answer.choose(p)
    names = [f"probability_{c}" for c in model.classes_] if proba else []
    why = [f"reason_{k + 1}" for k in range(reasons)]
    for name in (*classes, *names, *why):
        if name in columns:
            raise ValueError(
                f"--keep {name}: the predictions have a column of this name; rename yours."
            )
    for name, numbers in classes.items():
        columns[name] = labels.take(pa.array(numbers))
    for k, name in enumerate(names):
        columns[name] = pa.array(p[:, k])
    if why:
        from unnaive.explain import explain_rows

        words = explain_rows(model, X, top=reasons).words
        blank = [""] * len(words)
        for k, name in enumerate(why):
            columns[name] = pa.array(words[:, k].tolist() if k < words.shape[1] else blank)
    return pa.table(columns)


def check_out(out: str, option: str = "--out") -> None:
    """Raise if an output cannot be written, before any work is done."""
    from unnaive.cli.models import check_writable
    from unnaive.common.atomic import takes_bytes

    if out == "-":
        return
    if not out.lower().endswith(ENDINGS) and not takes_bytes(out):
        raise ValueError(f"{option} {out!r} must end with {', '.join(ENDINGS)}, or be -.")
    check_writable(Path(out))


@contextmanager
def writing(out: str) -> Iterator[Any]:
    """A function that writes tables, one after the other, as CSV or Parquet.

    A file appears when it is complete, and not at all after an error.
    """
    import pyarrow.csv
    import pyarrow.parquet

    from unnaive.common.atomic import replacing

    with ExitStack() as stack:
        if out == "-":
            file: Any = SafeTerminal()
        else:
            file = stack.enter_context(replacing(out))
        parquet = out.lower().endswith((".parquet", ".pq"))
        options = pyarrow.csv.WriteOptions(delimiter="\t" if out.lower().endswith(".tsv") else ",")
        writers: list[Any] = []

        def write(table: pa.Table) -> None:
            if not writers:
                if parquet:
                    writer = pyarrow.parquet.ParquetWriter(
                        file, table.schema, write_page_checksum=True
                    )
                else:
                    writer = pyarrow.csv.CSVWriter(file, table.schema, write_options=options)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(table.cast(writers[0].schema) if parquet else table)
            if out == "-":
                file.flush()

        yield write
