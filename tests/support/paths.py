"""Where the repository's folders lie, for tests that read files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SPEC = ROOT / "tests" / "spec"
SUPPORT = ROOT / "tests" / "support"
