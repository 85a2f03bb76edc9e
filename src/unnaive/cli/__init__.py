"""The ``unnaive`` command.

A new command is a function in ``train.py`` or ``apply.py`` with an example in its docstring, and a
name in ``COMMANDS`` of ``app.py``. Nothing heavy is imported at the top of these modules, so that
``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the ``unnaive`` command."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401

        from unnaive.cli.app import run

        code = run(sys.argv[1:])
    except ImportError as error:
        sys.exit(
            f"unnaive: the command line needs {error.name}; "
            "install it with: pip install 'unnaive[cli]'"
        )
    except KeyboardInterrupt:  # before the command starts
        sys.stderr.write("unnaive: stopped\n")
        code = 130
    if code > 128:  # threads may still be running
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
