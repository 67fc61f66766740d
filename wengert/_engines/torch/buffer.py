"""torch kernels of `_prims/buffer.py`."""

from __future__ import annotations

from typing import Any

import torch

from ..buffer_indices import are_many, front, indexed_extents, whole_place
from .common import HALF, TableKernel, of_unsigned, view
from .indexing import require_inside, scatter_set


def _view(b: torch.Tensor, template: Any) -> Any:
    """What the slices and integers of a template leave, the axes of index arrays in front."""
    static, order = front(template)
    view = b[static]
    return view.permute((*order, *range(len(order), view.ndim)))


def _get(b: torch.Tensor, *indices_and_template: Any) -> Any:
    *indices, template = indices_and_template
    require_inside(indexed_extents(b.shape, template), indices)
    if not are_many(indices):
        return b[whole_place(template, map(int, indices))]
    return _view(b, template)[(*indices,)]


def _set(value: Any, b: torch.Tensor, *indices_and_template: Any) -> Any:
    *indices, template = indices_and_template
    require_inside(indexed_extents(b.shape, template), indices)
    out = b.clone()
    if are_many(indices):
        view = _view(out, template)
        view.copy_(scatter_set(view, value, *indices))
    else:
        out[whole_place(template, map(int, indices))] = value
    return out


def _add(value: Any, b: torch.Tensor, *indices_and_template: Any) -> Any:
    *indices, template = indices_and_template
    require_inside(indexed_extents(b.shape, template), indices)
    if b.dtype in HALF:
        return _add(value.float(), b.float(), *indices_and_template).to(b.dtype)
    out = b.clone()
    if are_many(indices):
        _view(out, template).index_put_((*indices,), value, accumulate=True)
    else:
        out[whole_place(template, map(int, indices))] += value
    return out


KERNELS: dict[str, TableKernel] = {
    "buffer_new": of_unsigned(torch.clone),
    "buffer_value": of_unsigned(lambda b: b, "first"),
    "buffer_get": view(_get),
    "buffer_set": _set,
    "buffer_add": _add,
}
