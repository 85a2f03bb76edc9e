"""Wrong model files found by coverage: ``PYTHONPATH=tests python -m fuzz.guided``.

Needs atheris. It keeps the files that reach new lines of the loader, and changes those further,
inside of their checksums as often as outside.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path


def main() -> None:
    import atheris

    import unnaive

    with atheris.instrument_imports():  # what is not imported yet: the package store
        import unnaive.store  # noqa: F401

    from fuzz.judge import judge, samples
    from fuzz.mutate import mutated

    every = samples()

    def change(data: bytes, most: int, seed: int) -> bytes:
        other = random.Random(seed).choice(every).data
        try:
            return mutated(data, other, seed)[0][:most]
        except Exception:  # so far from a file that it cannot be taken apart
            return atheris.Mutate(data, most)

    def load(data: bytes) -> None:
        judge(every[0], data, inside=True)

    with tempfile.TemporaryDirectory() as folder:
        for k, sample in enumerate(every):
            (Path(folder) / f"{k}.unv").write_bytes(sample.data)
        options = [sys.argv[0], "-max_len=200000", "-timeout=20", "-rss_limit_mb=8192"]
        atheris.Setup([*options, *sys.argv[1:], folder], load, custom_mutator=change)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
