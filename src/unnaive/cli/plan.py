"""``unnaive plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from unnaive.cli import options as opt
from unnaive.cli.console import collect_advice, say
from unnaive.common.wording import counted


def plan(
    data: opt.Data,
    target: opt.Target,
    out: Annotated[Path, opt.option("--out -o", "FILE", "Plan to write.")],
    weight: opt.Weight = None,
    drop: opt.Drop = None,
    categorical: opt.Categorical = None,
    settings: Annotated[
        list[str] | None,
        opt.option("--set", "NAME=VALUE", "Parameter of the naive Bayes model; repeatable."),
    ] = None,
    values: Annotated[
        bool,
        opt.flag(
            "--values",
            "List the classes, categories and ranges of the rows too, which summarize "
            "--private needs. They are then public.",
        ),
    ] = False,
    decimal: opt.Decimal = None,
    na_values: opt.NaValues = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write the plan by which several sites count their rows: columns, kinds, parameters.

    The rows are examples that show what the columns hold; without --values, none of their values
    comes into the plan, which is JSON and may be edited.

    [bold]Example:[/] unnaive plan example.csv --target outcome -o plan.json
    """
    from unnaive.cli.models import check_writable, make_estimator
    from unnaive.cli.rows import CsvText, paths_of, read_rows
    from unnaive.cli.running import print_error
    from unnaive.living.plan import Plan

    check_writable(out)
    model = make_estimator("nb", settings or [], 0, None)
    if categorical:
        model._declare_categories(categorical)
    with paths_of(data) as paths, collect_advice() as advice:
        rows = read_rows(paths, target, weight, drop, text=CsvText(decimal, na_values))
        model.fit(rows.scan)
    for text in [] if quiet else advice:
        print_error(text, "warning")
    Plan.of(model, target, weight, values=values).write(out)
    if not quiet:
        say(f"{out}: {counted(len(model.schema_), 'column')}, target {target!r}")
