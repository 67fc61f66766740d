"""What SciPy's `misc` had once."""

from __future__ import annotations

from .special import __getattr__ as _special

logsumexp = _special("logsumexp")

__all__ = ["logsumexp"]
