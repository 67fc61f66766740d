"""Build hook: an editable install leaves bytecode beside the sources, as a plain install does.

Without it every `import wengert` would compile the package anew where Python may not write bytecode
(PYTHONDONTWRITEBYTECODE, read-only checkouts), which takes longer than the import itself.
"""

from __future__ import annotations

import compileall
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BytecodeHook(BuildHookInterface):
    """Compiles the package after an editable wheel has been built."""

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version == "editable":
            compileall.compile_dir(str(Path(self.root) / "wengert"), quiet=1)
