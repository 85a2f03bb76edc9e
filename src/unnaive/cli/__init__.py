"""ASKING: the `unnaive` command, one file per command.

A new command is a function in a file of its own, with an example in its docstring, and a line in
`app.py`. Nothing heavy is imported at the top of these files, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Entry point of the ``unnaive`` command."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.exit(
            f"unnaive: the command line needs {error.name}; "
            "install it with: pip install 'unnaive[cli]'"
        )
    try:
        from unnaive.cli.running import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before the command starts
        sys.stderr.write("unnaive: stopped\n")
        code = 130
    if code > 128:
        # Files are closed by now. Threads may still be running, and Python would exit with another
        # code if the interrupt came inside exec(), as in imports.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
