"""Compiled kernels of the sources as they are, not of an earlier state."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

HERE = Path(__file__).parent


def fingerprint() -> str:
    """Of all sources with compiled functions: Numba itself looks at one file at a time, and would
    keep a caller that was compiled together with an older callee of another file.
    """
    texts = [path.read_bytes() for path in sorted((HERE / "src").rglob("*.py"))]
    return hashlib.sha256(
        b"".join(t for t in texts if b"numba" in t or b"@kernel" in t)
    ).hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(HERE / ".numba_cache" / fingerprint()))

from hypothesis import settings  # noqa: E402

from spark_session import spark  # noqa: E402, F401

# The same examples each time, so that a change fails by its own fault alone; to look for new ones:
# pytest --hypothesis-profile=search
settings.register_profile("search", derandomize=False)
settings.register_profile("same", derandomize=True)
settings.load_profile("same")
