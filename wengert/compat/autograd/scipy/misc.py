"""What SciPy's `misc` had once."""

from .special import __getattr__ as _special

logsumexp = _special("logsumexp")

__all__ = ["logsumexp"]
