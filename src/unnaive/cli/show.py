"""``unnaive show``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from unnaive.cli.console import say, show_table
from unnaive.cli.options import ModelFile, option
from unnaive.common.wording import counted, printable, shortened, size_words

if TYPE_CHECKING:
    from unnaive.explain.model import PartEvidence

LONGEST = 40  # characters of a name or value


def show(
    model: ModelFile,
    columns: Annotated[
        int, option("--columns -n", "NUMBER", "Number of columns whose evidence is shown.", min=0)
    ] = 10,
    depth: Annotated[
        int | None, option("--depth", "NUMBER", "Maximum depth of the tree shown.", min=0)
    ] = None,
) -> None:
    """Print a model: its parameters, columns, classes, tree and evidence.

    [bold]Example:[/] unnaive show loans.unv --columns 5
    """
    from unnaive.answer import Ensemble
    from unnaive.cli.models import load_model
    from unnaive.explain.model import BY_ROW
    from unnaive.explain.trees import export_text

    fitted = load_model(model)
    numeric = len(fitted.schema_.numeric)
    say(f"{fitted!r}")
    kinds = f"{counted(len(fitted.schema_), 'column')}, {numeric} of them numeric"
    state = model.stat()
    about = fitted._about
    written = datetime.fromtimestamp(state.st_mtime).strftime("%Y-%m-%d %H:%M")
    when = f"trained on {about.day}" if about.trained else f"written on {written}"
    say(f"{kinds}; {size_words(state.st_size)}, {when}")
    if not hasattr(fitted, "classes_"):  # a transformer or a clusterer
        return
    names = ", ".join(printable(str(c)) for c in fitted.classes_[:20])
    more = f", and {len(fitted.classes_) - 20} more" if len(fitted.classes_) > 20 else ""
    of = f" of {printable(about.target)}" if about.target else ""
    say(f"classes{of}: {names}{more}")
    decision = fitted.answer_.decision
    if decision is not None:
        say(f"decision: {decision.describe(fitted.classes_)}")
    for edit in fitted.answer_.edits:
        say(f"corrected: {edit}")
    if fitted.answer_.tree is not None:
        say(f"\n{export_text(fitted, max_depth=depth)}")
    for line in members_of(fitted):
        say(line)
    parts = find_evidence(fitted)
    core = fitted.answer_.core
    pooled = isinstance(core, Ensemble) and core.stack is None
    if pooled or any(BY_ROW in part.reasons() for part in parts):
        say(f"columns by importance: {importance_words(fitted, columns)}")
    for evidence in parts:
        heads, rows, title = evidence_rows(evidence, columns)
        if rows:
            say()
            show_table(heads, rows, title)
        for reason, without in evidence.reasons().items():
            if reason == BY_ROW:  # trees, which were shown, and forests
                continue
            some = ", ".join(shortened(name, LONGEST) for name in without[:20])
            others = f" and {len(without) - 20} more" if len(without) > 20 else ""
            say(f"no evidence of {printable(some)}{others}: {reason}")


def members_of(model: Any) -> Iterator[str]:
    """The members of a pool with their weights, those that count most first; what was left out."""
    from unnaive.answer import Ensemble

    pool = model.answer_.core
    if not isinstance(pool, Ensemble) or pool.stack is not None:
        return
    members = sorted(zip(pool.shares.tolist(), pool.names, strict=True), key=lambda both: -both[0])
    some = ", ".join(f"{printable(name)} {weight:.2f}" for weight, name in members[:20])
    more = f" and {len(members) - 20} more" if len(members) > 20 else ""
    yield f"{counted(len(members), 'member')} by weight: {some}{more}"
    gone = [name for name in getattr(model, "names_", ()) if name not in pool.names]
    if gone:
        yield f"left out, with weight 0: {', '.join(map(printable, gone))}"


def importance_words(model: Any, most: int) -> str:
    """The most important columns and how much they say."""
    import numpy as np

    sizes = model.feature_importances_
    order = np.argsort(-sizes, kind="stable")[:most].tolist()
    names = (shortened(model.schema_.label(j), LONGEST) for j in order)
    return ", ".join(f"{printable(n)} {sizes[j]:.3f}" for n, j in zip(names, order, strict=True))


def find_evidence(model: Any) -> list[PartEvidence]:
    """The evidence of a model, of a pool that of its members; none where it has no such parts."""
    from unnaive.explain.model import evidence_of, read_model

    try:
        reading = read_model(model)
        names = reading.parts.names
        members = names[1:] if names[0] == "pool" else ()
        return [evidence_of(reading, k) for k in range(1, len(members) + 1)] or [
            evidence_of(reading)
        ]
    except (TypeError, ValueError):
        return []


def evidence_rows(evidence: PartEvidence, most: int) -> tuple[list[str], list[list[str]], str]:
    """The most important columns, and for each class the value that favours it most."""
    import numpy as np

    rows = []
    names = evidence.names[:6]
    for column in evidence.ranked()[:most]:
        is_value = np.array([state == "value" for state in column.states])
        if column.form == "nothing" or not is_value.any():
            continue
        cells = []
        for c in range(len(names)):
            weights = np.where(is_value, column.weights[:, c], -np.inf)
            best = int(weights.argmax())
            cells.append(f"{shortened(column.values[best], LONGEST)} {weights[best]:+.2f}")
        rows.append([shortened(column.name, LONGEST), f"{column.importance:.3f}", *cells])
    title = f"evidence in {evidence.part}: the value that favours each class most, in log odds"
    heads = ["column", "importance", *(shortened(name, LONGEST) for name in names)]
    return heads, rows, title
