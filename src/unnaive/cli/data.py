"""``unnaive data``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from unnaive.cli.options import Quiet

SAMPLES = {
    "credit": "german credit: 1,000 real loans, mixed columns, classes good and bad",
    "loans": "made loans: numbers, words, dates, gaps; classes repaid and defaulted",
    "led": "digits on a display with faulty lights, and 17 lights that mean nothing",
    "waveform": "three classes of noisy waves, 40 numbers",
    "monk1": "robots: head and body alike, or a red jacket",
    "monk2": "robots: exactly two attributes have their first value",
    "monk3": "robots: jacket, holding and body, with 5 % wrong labels",
    "xor": "exclusive or in the plane",
    "parity": "whether an odd number of 4 bits is set",
}


def data(
    name: Annotated[
        str, typer.Argument(help="Which table; without it, they are listed.", show_default=False)
    ] = "",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="CSV or Parquet file; - is standard output. "
            "Without it, NAME.csv, if that is not there yet.",
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Number of rows, for made tables.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of made tables.", min=0)] = 0,
    quiet: Quiet = False,
) -> None:
    """Write a sample table to a file.

    [bold]Example:[/] unnaive data loans --rows 5000 -o loans.csv
    """
    from pathlib import Path

    from unnaive.cli.console import show_table

    if not name:
        show_table(["name", "table"], [[key, text] for key, text in SAMPLES.items()], left=2)
        return
    if name not in SAMPLES:
        raise ValueError(f"there is no table {name!r}; choose among {', '.join(SAMPLES)}.")
    if out is None:
        out = f"{name}.csv"
        if Path(out).exists():
            raise FileExistsError(f"{out!r} is there already; name a file with -o to replace it.")
    from unnaive.cli.predict import check_out, writing
    from unnaive.common.wording import counted

    check_out(out)
    table, target = make(name, rows, seed)
    with writing(out) as write:
        write(table)
    if not quiet and out != "-":
        print(
            f"{counted(len(table), 'row')} written to {out}; the classes are in column {target!r}"
        )


def make(name: str, rows: int | None, seed: int) -> tuple[Any, str]:
    """A sample table with its classes as the last column, and the name of that column."""
    import pyarrow as pa

    from unnaive import datasets

    given: dict[str, Any] = {"random_state": seed} | ({} if rows is None else {"n_samples": rows})
    if name == "credit":
        if rows is not None:
            raise ValueError("credit has its 1,000 rows; --rows is for made tables.")
        X, y = datasets.load_german_credit()
        X = X.astype(dict.fromkeys(X.columns[X.dtypes == "category"], str))
    elif name.startswith("monk"):
        problem = int(name[-1])
        X, y = datasets.make_monks(problem, noise=0.05 * (problem == 3), **given)
    else:
        X, y = getattr(datasets, f"make_{name}")(**given)
    table = pa.Table.from_pandas(X.assign(**{str(y.name): y}), preserve_index=False)
    return table.replace_schema_metadata(None), str(y.name)
