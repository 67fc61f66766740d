"""The cofactors of matrices by their singular values, for every engine: exact at singular matrices, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Calls(NamedTuple):
    """An engine's functions, of which each works along the last axis."""

    svd: Callable[[Any], Any]  # to square factors u and vh, and the singular values between them
    det: Callable[[Any], Any]
    conj: Callable[[Any], Any]
    cumprod: Callable[[Any], Any]
    flip: Callable[[Any], Any]
    concatenate: Callable[[list[Any]], Any]
    ones_like: Callable[[Any], Any]
    as_dtype_of: Callable[[Any, Any], Any]  # from real numbers and a matrix


def by_singular_values(a: Any, calls: Calls) -> Any:
    """The cofactors of finite matrices (..., n, n): the factors' conjugates, and between them products of all singular
    values but one."""
    u, s, vh = calls.svd(a)
    ones = calls.ones_like(s[..., :1])
    ahead = calls.cumprod(calls.concatenate([ones, s[..., :-1]]))
    behind = calls.flip(calls.cumprod(calls.concatenate([ones, calls.flip(s[..., 1:])])))
    products = calls.as_dtype_of((ahead * behind)[..., : s.shape[-1]], a)  # of no values there would be one
    weight = (calls.det(u) * calls.det(vh))[..., None]
    return calls.conj(u) * (weight * products)[..., None, :] @ calls.conj(vh)


__all__ = ["Calls", "by_singular_values"]
