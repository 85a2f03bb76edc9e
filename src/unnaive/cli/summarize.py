"""``unnaive summarize``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from unnaive.cli.console import progress, say
from unnaive.cli.options import Data, Decimal, NaValues, NewModelFile, Quiet, option
from unnaive.common.wording import counted, size_words


def summarize(
    data: Data,
    schema: Annotated[
        Path,
        option("--schema", "PLAN", "Plan of columns and parameters, as unnaive plan writes it."),
    ],
    out: NewModelFile,
    epsilon: Annotated[
        float | None,
        option(
            "--private",
            "EPSILON",
            "Add noise to all counts: differential privacy of this epsilon. The plan must "
            "list values.",
        ),
    ] = None,
    delta: Annotated[float, option("--delta", "P", "Of --private: above 0, Gaussian noise.")] = 0.0,
    decimal: Decimal = None,
    na_values: NaValues = None,
    quiet: Quiet = False,
) -> None:
    """Count the rows of one site by a common plan; unnaive merge adds the parts of all sites.

    The merged model is that of all rows, cuts included, though no row has left its site. A part
    holds counts, not rows; it is a model file like any other, and is not anonymous, unless noise
    is added with --private.

    [bold]Example:[/] unnaive summarize north.parquet --schema plan.json -o north.unv
    """
    from unnaive.cli.models import check_writable, save_model
    from unnaive.cli.rows import CsvText, paths_of, update_scan
    from unnaive.living.plan import Plan
    from unnaive.living.private import private

    check_writable(out)
    plan = Plan.read(schema)
    with paths_of(data) as paths, progress(quiet) as bar:
        bar("counting")
        text = CsvText(decimal, na_values)
        rows = update_scan(plan.schema, paths, plan.target, plan.weight, text)
        if epsilon is None:
            model, spent = plan.summarize(rows), None
        else:
            model, spent = private(plan, rows, epsilon=epsilon, delta=delta)
    size = save_model(model, out)
    if not quiet:
        assert model.summary_ is not None
        about = "" if spent is None else "about "
        n_rows = counted(model.summary_.n_rows, "row")
        say(f"{about}{n_rows} counted in {out}: {size_words(size)}")
        if spent is not None:
            say(str(spent))
