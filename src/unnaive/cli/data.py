"""``unnaive data``."""

from __future__ import annotations

from typing import Annotated, Any

from unnaive.cli.console import say, show_table
from unnaive.cli.options import Quiet, argument, option
from unnaive.common.wording import counted

SAMPLES = {
    "credit": "german credit: 1,000 real loans, mixed columns, classes good and bad",
    "loans": "generated loans: numbers, text, dates, missing values; classes repaid and defaulted",
    "electricity": "half-hours of an electricity market; classes up and down",
    "flights": "flights in the order of departure; classes delayed and on time",
}


def data(
    name: Annotated[str, argument(help="Name of the table; without it, they are listed.")] = "",
    out: Annotated[
        str | None,
        option(
            "--out -o",
            "FILE",
            "CSV or Parquet file; - is standard output. Default: NAME.csv, never replaced.",
        ),
    ] = None,
    rows: Annotated[
        int | None, option("--rows -n", "NUMBER", "Number of rows of a generated table.", min=1)
    ] = None,
    seed: Annotated[int, option("--seed", "NUMBER", "Random seed.", min=0)] = 0,
    quiet: Quiet = False,
) -> None:
    """Write a sample table to a file.

    [bold]Example:[/] unnaive data loans --rows 5000 -o loans.csv
    """
    from pathlib import Path

    if not name:
        show_table(["name", "table"], [[key, text] for key, text in SAMPLES.items()], left=2)
        return
    if name not in SAMPLES:
        raise ValueError(f"there is no table {name!r}; choose one of {', '.join(SAMPLES)}.")
    if out is None:
        out = f"{name}.csv"
        if Path(out).exists():
            raise FileExistsError(f"{out!r} exists already; replace it with -o {out}.")
    from unnaive.cli.predict import check_out, writing

    check_out(out)
    table, target = make(name, rows, seed)
    with writing(out) as write:
        write(table)
    if not quiet and out != "-":
        say(f"{counted(len(table), 'row')} written to {out}; the classes are in column {target!r}")


def make(name: str, rows: int | None, seed: int) -> tuple[Any, str]:
    """A sample table with its classes as the last column, and the name of that column."""
    import pyarrow as pa

    from unnaive import datasets

    params: dict[str, Any] = {"random_state": seed}
    if rows is not None:
        params["n_samples"] = rows
    if name == "credit":
        if rows is not None:
            raise ValueError("credit has 1,000 rows; --rows is for generated tables.")
        X, y = datasets.load_german_credit()
        X = X.astype(dict.fromkeys(X.columns[X.dtypes == "category"], str))
    else:
        X, y = getattr(datasets, f"make_{name}")(**params)
    table = pa.Table.from_pandas(X.assign(**{str(y.name): y}), preserve_index=False)
    return table.replace_schema_metadata(None), str(y.name)
