"""``unnaive forget``."""

from __future__ import annotations

from unnaive.cli.options import Data, Decimal, ModelFile, NaValues, OptionalTarget, Quiet, Weight
from unnaive.cli.update import ChangedModel, change_model


def forget(
    model: ModelFile,
    data: Data,
    target: OptionalTarget = None,
    weight: Weight = None,
    decimal: Decimal = None,
    na_values: NaValues = None,
    out: ChangedModel = None,
    quiet: Quiet = False,
) -> None:
    """Unlearn rows: the model becomes the one fitted without them.

    Rows that the model cannot have learned from are refused, and no file changes. Naive Bayes can
    forget; other models have to be fitted again on the other rows.

    [bold]Example:[/] unnaive forget loans.unv withdrawn.csv --target outcome
    """
    from unnaive.cli.rows import CsvText

    text = CsvText(decimal, na_values)
    change_model(model, out, "forget", data, target, weight, text, quiet)
