"""Cofactors of matrices: what eager and compiled code decide alike, and how every engine has them by singular values,
exact at singular matrices, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

MINORS = 4  # rows up to which cofactors are minors that are written out
MODEST = 1e3  # a condition number up to which an inverse loses three digits of sixteen, and that of cofactors no more
# up to which part of the numbers that were added up a sum is rounding alone, by the bytes of a real number
ROUNDING = {8: 2.0**-46, 4: 2.0**-17}


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


__all__ = ["MINORS", "MODEST", "ROUNDING", "Calls", "by_singular_values"]
