"""`logsumexp`, which older programs import from `scipy.misc`."""

from .special import __getattr__ as _special

logsumexp = _special("logsumexp")

__all__ = ["logsumexp"]
