"""JAX kernels of `_prims/indexing.py`, `sorting.py` and `buffer.py`. A buffer is a plain array here: XLA writes in
place where nobody reads the older version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..buffer_indices import are_many, front, indexed_extents, whole_place
from ..checks import require_inside
from .common import canonical, in_float32, values_of, widened


def _require_inside(extents: Sequence[int], indices: Sequence[Any]) -> None:
    """Raises on an index out of range, where the values are at hand; compiled programs clamp or drop it."""
    require_inside(values_of(*indices), extents)


def _gather(x: jax.Array, *indices: object) -> Any:
    _require_inside(x.shape, indices)
    return x[indices] if indices else x


def _scatter(name: str, sums: bool = False) -> Any:
    def kernel(x: jax.Array, updates: jax.Array, *indices: jax.Array) -> Any:
        _require_inside(x.shape, indices)
        wide, more = (widened(x), widened(updates)) if sums else (x, updates)
        return getattr(wide.at[indices], name)(more).astype(x.dtype)

    return kernel


def _scatter_set(x: jax.Array, updates: object, *indices: Any) -> Any:
    """The last of several updates of one place wins, which XLA does not promise: the others are dropped."""
    _require_inside(x.shape, indices)
    if not indices or not indices[0].size:
        return x.at[indices].set(updates)
    is_last = _last_writes(*indices, x.shape[: len(indices)])
    # an index beyond the extent is dropped
    first = jnp.where(is_last, indices[0], x.shape[0])
    return x.at[(first, *indices[1:])].set(updates, mode="drop")


def _last_writes(*indices_and_extents: Any) -> Any:
    *indices, extents = indices_and_extents
    shape = indices[0].shape
    place: Any = jnp.zeros(shape, canonical(np.int64))
    total = 1
    for index, size in zip(indices, extents, strict=True):
        place = place * size + jnp.where(index < 0, index + size, index)
        total *= size
    flat = jnp.ravel(place)
    order = jnp.arange(flat.size)
    latest = jnp.full((max(total, 1),), -1, order.dtype).at[flat].max(order)
    return jnp.reshape(latest[flat] == order, shape)


# -- sorting -----------------------------------------------------------------------------------------------------------


def _argsort(x: jax.Array, axis: int, descending: bool) -> Any:
    x = widened(x)
    if not descending:
        return jnp.argsort(x, axis, stable=True).astype(canonical(np.int64))
    # turned round twice, so that equal elements keep their order
    order = jnp.argsort(jnp.flip(x, axis), axis, stable=True).astype(canonical(np.int64))
    return x.shape[axis] - 1 - jnp.flip(order, axis)


def _sort(x: jax.Array, axis: int, descending: bool) -> Any:
    ordered = jnp.sort(x, axis, stable=True)
    return jnp.flip(ordered, axis) if descending else ordered


def _searchsorted(sequence: Any, values: Any, right: bool) -> Any:
    side = "right" if right else "left"
    sequence, values = widened(sequence), widened(values)
    if sequence.ndim == 1:
        return jnp.searchsorted(sequence, values, side=side).astype(canonical(np.int64))

    def of_row(row: Any, wanted: Any) -> Any:
        return jnp.searchsorted(row, wanted, side=side)

    for _ in range(sequence.ndim - 1):
        of_row = jax.vmap(of_row)
    return of_row(sequence, values).astype(canonical(np.int64))


def _along(x: jax.Array, index: Any, axis: int) -> Any:
    return jnp.take_along_axis(x, index, axis)


def _take_along(x: jax.Array, index: jax.Array) -> Any:
    _require_inside((x.shape[-1],), (index,))
    return jnp.take_along_axis(x, index, -1)


def _add_along(x: jax.Array, index: jax.Array, size: int) -> Any:
    _require_inside((size,), (index,))
    rows = [jnp.arange(n).reshape((-1, *(1,) * (x.ndim - axis - 1))) for axis, n in enumerate(x.shape[:-1])]
    return jnp.zeros((*x.shape[:-1], size), x.dtype).at[(*rows, index)].add(x)


# -- buffers -----------------------------------------------------------------------------------------------------------


def _get(b: jax.Array, *indices_and_template: Any) -> Any:
    *indices, template = indices_and_template
    _require_inside(indexed_extents(b.shape, template), indices)
    if not are_many(indices):
        return b[whole_place(template, indices)]
    static, order = front(template)
    view = b[static]
    return view.transpose((*order, *range(len(order), view.ndim)))[(*indices,)]


def _write(name: str) -> Any:
    def kernel(value: Any, b: jax.Array, *indices_and_template: Any) -> Any:
        *indices, template = indices_and_template
        _require_inside(indexed_extents(b.shape, template), indices)
        if not are_many(indices):
            return _put(b, whole_place(template, indices), value, name)
        static, order = front(template)
        view = b[static]
        perm = (*order, *range(len(order), view.ndim))
        turned = view.transpose(perm)
        if name == "set":
            turned = _scatter_set(turned, value, *indices)
        else:
            turned = _put(turned, (*indices,), value, name)
        return b.at[static].set(turned.transpose(sorted(range(len(perm)), key=perm.__getitem__)))

    return kernel


def _put(b: jax.Array, place: Any, value: object, name: str) -> Any:
    wide = widened(b) if name == "add" else b
    return getattr(wide.at[place], name)(widened(value) if name == "add" else value).astype(b.dtype)


KERNELS: dict[str, Any] = {
    "gather": _gather,
    "scatter_add": _scatter("add", sums=True),
    "scatter_set": _scatter_set,
    "scatter_mul": _scatter("multiply"),
    "scatter_max": _scatter("max"),
    "scatter_min": _scatter("min"),
    "argsort": _argsort,
    "sort": in_float32(_sort),
    "searchsorted": _searchsorted,
    "permute_along": _along,
    "take_along": _take_along,
    "add_along": in_float32(_add_along),
    "buffer_new": lambda x: x,
    "buffer_value": lambda b: b,
    "buffer_get": _get,
    "buffer_set": _write("set"),
    "buffer_add": _write("add"),
    "last_writes": _last_writes,
}
