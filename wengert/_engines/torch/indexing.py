"""torch kernels of `_prims/indexing.py` and `sorting.py`."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from ..checks import outside
from .common import HALF, TableKernel, by_bits, in_float32, view, widened


def whole(index: torch.Tensor) -> Any:
    """An index in torch's own integers; those of a byte would be taken for a mask."""
    return index if index.dtype is torch.int64 else index.to(torch.int64)


def require_inside(extents: Any, indices: Any) -> None:
    """Raises on an index out of range: torch itself checks in some kernels only, and on a GPU by ending the process."""
    for index, size in zip(indices, extents, strict=False):
        if index.numel():
            low, high = torch.aminmax(index)
            if not (-size <= int(low) and int(high) < size):
                raise outside(int(low) if int(low) < -size else int(high), size)


def _gather(x: torch.Tensor, *indices: Any) -> Any:
    if not indices:
        return x
    indices = (*map(whole, indices),)
    if x.is_cuda:
        require_inside(x.shape, indices)
    return x[indices]


def _flat_places(extents: Any, indices: Any) -> Any:
    """The positions that indices address in leading axes laid out as one."""
    place: Any = 0
    for index, size in zip(indices, extents, strict=True):
        place = place * size + torch.where(index < 0, index + size, index)
    return place


def _scatter_add(x: torch.Tensor, updates: torch.Tensor, *indices: torch.Tensor) -> Any:
    if not indices:
        return x + updates
    if x.dtype in HALF:
        return _scatter_add(x.float(), updates.float(), *indices).to(x.dtype)
    indices = (*map(whole, indices),)
    if len(indices) > 1 or x.ndim == 1:
        if x.is_cuda:
            require_inside(x.shape, indices)
        return torch.index_put(x, indices, updates, accumulate=True)
    # whole rows go faster so; it knows no negative numbers
    require_inside(x.shape, indices)
    places = _flat_places(x.shape[:1], indices).reshape(-1)
    return torch.index_add(x, 0, places, updates.reshape((places.numel(), *x.shape[1:])))


def _scatter(how: str) -> Any:
    def kernel(x: torch.Tensor, updates: torch.Tensor, *indices: torch.Tensor) -> Any:
        indices = (*map(whole, indices),)
        require_inside(x.shape, indices)
        count = len(indices)
        lead, rest = x.shape[:count], x.shape[count:]
        places = _flat_places(lead, indices).reshape(-1) if indices else torch.zeros(1, dtype=torch.int64).to(x.device)
        flat, updates = x.reshape((prod(lead), prod(rest))), updates.reshape((places.numel(), prod(rest)))
        index = places[:, None].expand(updates.shape)
        return torch.scatter_reduce(flat, 0, index, updates, how, include_self=True).reshape(x.shape)

    return kernel


def _scatter_mul(x: torch.Tensor, updates: torch.Tensor, *indices: torch.Tensor) -> Any:
    """torch multiplies no complex numbers into places: one round for each update of a place."""
    if not x.is_complex() or not indices or not indices[0].numel():
        return _scatter("prod")(x, updates, *indices)
    out, indices = x.clone(), (*map(whole, indices),)
    updates = updates.expand((*indices[0].shape, *x.shape[len(indices) :]))
    updates = updates.reshape((-1, *x.shape[len(indices) :]))
    for number, place in enumerate(zip(*[index.reshape(-1) for index in indices], strict=True)):
        out[place] = out[place] * updates[number]
    return out


def scatter_set(x: torch.Tensor, updates: Any, *indices: Any) -> Any:
    """The last of several updates of one place wins, which torch does not promise: the others are left out."""
    indices = (*map(whole, indices),)
    if not indices:
        return updates.expand(x.shape).clone()
    if x.is_cuda:
        require_inside(x.shape, indices)
    if indices[0].numel() > 1:
        is_last = last_writes(*indices, x.shape[: len(indices)])
        updates = updates.expand((*indices[0].shape, *x.shape[len(indices) :]))[is_last]
        indices = (*[index[is_last] for index in indices],)
    return torch.index_put(x, indices, updates)


def last_writes(*indices_and_extents: Any) -> Any:
    *indices, extents = indices_and_extents
    flat = _flat_places(extents, indices).reshape(-1)
    order = torch.arange(flat.numel(), device=flat.device)
    latest = torch.full((max(prod(extents), 1),), -1, device=flat.device).scatter_reduce_(0, flat, order, "amax")
    return (latest[flat] == order).reshape(indices[0].shape)


# -- sorting -----------------------------------------------------------------------------------------------------------


def _argsort(x: torch.Tensor, axis: int, descending: bool) -> Any:
    if not descending:
        return torch.argsort(x, dim=axis, stable=True)
    # turned round twice, so that equal elements keep their order
    return x.shape[axis] - 1 - torch.argsort(x.flip(axis), dim=axis, stable=True).flip(axis)


def _sort(x: torch.Tensor, axis: int, descending: bool) -> Any:
    ordered = torch.sort(x, dim=axis, stable=True)[0]
    return ordered.flip(axis) if descending else ordered


def _searchsorted(sequence: torch.Tensor, values: torch.Tensor, right: bool) -> Any:
    sequence, values = widened(sequence).contiguous(), widened(values).contiguous()
    if sequence.dtype is torch.bool:
        sequence, values = sequence.to(torch.uint8), values.to(torch.uint8)
    return torch.searchsorted(sequence, values, right=bool(right))


def _from_front(index: torch.Tensor, size: int) -> Any:
    """Indices counted from the front, all inside; usually they are."""
    require_inside((size,), (index,))
    return torch.where(index < 0, index + size, index) if index.numel() and int(index.min()) < 0 else index


def _take_along(x: torch.Tensor, index: torch.Tensor) -> Any:
    return torch.gather(x, -1, _from_front(index, x.shape[-1]))


def _add_along(x: torch.Tensor, index: torch.Tensor, size: int) -> Any:
    return x.new_zeros((*x.shape[:-1], size)).scatter_add_(-1, _from_front(index, size), x)


KERNELS: dict[str, TableKernel] = {
    "gather": by_bits(_gather, "first"),
    "scatter_add": _scatter_add,
    "scatter_set": scatter_set,
    "scatter_mul": _scatter_mul,
    "scatter_max": _scatter("amax"),
    "scatter_min": _scatter("amin"),
    "argsort": _argsort,
    "sort": _sort,
    "searchsorted": _searchsorted,
    "permute_along": view(lambda x, index, axis: torch.take_along_dim(x, index, axis)),
    "take_along": _take_along,
    "add_along": in_float32(_add_along),
    "last_writes": last_writes,
}
