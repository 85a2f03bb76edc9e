"""Compiles the kernels when the package is built, so that no first fit has to wait for that.

The environment variable ``UNNAIVE_MACHINE_CODE`` says for which processor: without it for that of
this machine; ``x86-64-v3`` for all of the last ten years, for wheels that travel; with ``0``
nothing is compiled. Where compiling fails the package is built without machine code, and kernels
are compiled when they are first used.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "src/unnaive/machine_code"
LONGEST = 3600  # seconds


class MachineCodeHook(BuildHookInterface):
    """Run ``python -m unnaive.build_kernels --into`` the folder that goes into the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """To compile the kernels is to run the library."""
        return list(self.metadata.core.dependencies) if self._processor != "0" else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the wheel what it holds: then it is for one platform."""
        if self._processor == "0" or not self._compile():
            return
        if version != "editable":
            build_data["artifacts"].append(f"/{FOLDER}/**")
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    @property
    def _processor(self) -> str:
        return os.environ.get("UNNAIVE_MACHINE_CODE", "")

    def _compile(self) -> bool:
        command = [sys.executable, "-m", "unnaive.build_kernels", "--into", FOLDER]
        if self._processor:
            command += ["--processor", self._processor]
        path = str(Path(self.root, "src")), os.environ.get("PYTHONPATH", "")  # pip's is there
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
        for name in ("UNNAIVE_MACHINE_CODE", "NUMBA_CACHE_DIR"):  # all is compiled here and now
            environment.pop(name, None)
        try:
            subprocess.run(command, cwd=self.root, env=environment, check=True, timeout=LONGEST)
        except (OSError, subprocess.SubprocessError) as error:
            self.app.display_warning(f"built without machine code: {error}")
            return False
        return True
