"""``unnaive merge``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from unnaive.cli.console import say
from unnaive.cli.options import NewModelFile, Quiet, argument
from unnaive.common.wording import counted, size_words


def merge(
    models: Annotated[list[Path], argument(metavar="MODEL", help="Model files.")],
    out: NewModelFile,
    quiet: Quiet = False,
) -> None:
    """Merge models of parts of the rows into the model of all rows, bit for bit.

    Naive Bayes models can be merged; they must have equal parameters.

    [bold]Example:[/] unnaive merge north.unv south.unv -o both.unv
    """
    from unnaive.cli.models import check_writable, load_model, save_model
    from unnaive.models import merge as join

    check_writable(out)
    size = save_model(join([load_model(path) for path in models]), out)
    if not quiet:
        say(f"{counted(len(models), 'model')} merged into {out}: {size_words(size)}")
