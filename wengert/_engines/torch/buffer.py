"""torch kernels of `_prims/buffer.py`."""

from __future__ import annotations

from typing import Any

import torch

from .common import HALF
from .indexing import require_inside, scatter_set


def _place(template: Any, indices: Any) -> Any:
    """The index of a place without index arrays that have axes."""
    following = iter(indices)
    return (*[slice(*e) if type(e) is tuple else next(following) if e is None else e for e in template], ...)


def _are_many(indices: Any) -> bool:
    """Whether index arrays have axes; without, they are integers."""
    return bool(indices) and indices[0].shape != ()


def _view(b: torch.Tensor, template: Any) -> Any:
    """What the slices and integers of a template leave, the axes of index arrays in front."""
    view = b[(*[slice(*e) if type(e) is tuple else slice(None) if e is None else e for e in template], ...)]
    kept = [e for e in template if e is None or type(e) is tuple]
    order = sorted(range(len(kept)), key=lambda axis: kept[axis] is not None)
    return view.permute((*order, *range(len(order), view.ndim)))


def _extents(b: torch.Tensor, template: Any) -> list[int]:
    return [n for n, e in zip(b.shape, template, strict=False) if e is None]


def _get(b: torch.Tensor, *indices_and_template: Any) -> Any:
    *indices, template = indices_and_template
    require_inside(_extents(b, template), indices)
    if not _are_many(indices):
        return b[_place(template, map(int, indices))]
    return _view(b, template)[(*indices,)]


def _set(value: Any, b: torch.Tensor, *indices_and_template: Any) -> Any:
    *indices, template = indices_and_template
    require_inside(_extents(b, template), indices)
    out = b.clone()
    if _are_many(indices):
        view = _view(out, template)
        view.copy_(scatter_set(view, value, *indices))
    else:
        out[_place(template, map(int, indices))] = value
    return out


def _add(value: Any, b: torch.Tensor, *indices_and_template: Any) -> Any:
    *indices, template = indices_and_template
    require_inside(_extents(b, template), indices)
    if b.dtype in HALF:
        return _add(value.float(), b.float(), *indices_and_template).to(b.dtype)
    out = b.clone()
    if _are_many(indices):
        _view(out, template).index_put_((*indices,), value, accumulate=True)
    else:
        out[_place(template, map(int, indices))] += value
    return out


KERNELS: dict[str, Any] = {
    "buffer_new": torch.clone,
    "buffer_value": lambda b: b,
    "buffer_get": _get,
    "buffer_set": _set,
    "buffer_add": _add,
}
