"""Programs that write to arrays as NumPy programs do, on a namespace `np`, a vector x of 6 and a matrix m of 4 by 5.

Each is a function (np, x, m) of arrays that it may write to; it returns one array. The namespace is NumPy for what
should come out, and `wengert.numpy` for what is tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.write_algorithms import ALGORITHMS

IDIOMS: dict[str, Callable[[Any, Any, Any], Any]] = {}


def idiom(f: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Enters a program in the table."""
    IDIOMS[f.__name__.strip("_")] = f
    return f


def _source(name: str, text: str) -> None:
    """A program of statements; the last one is an expression, which it returns."""
    *body, last = [part.strip() for part in text.split(";")]
    scope: dict[str, Any] = {}
    exec(f"def {name}(np, x, m):\n    " + "\n    ".join([*body, f"return {last}"]), scope)
    IDIOMS[name] = scope[name]


_TABLE = """
no_axes_set: a = np.zeros(()); a[()] = x[0] * 2; a + x
no_axes_add: a = np.zeros(()); b = a; a += x[1]; a[...] += x[2]; a + b + x
no_axes_view: v = m[1, 2, ...]; v[...] = x[0] * x[1]; v += x[2]; m
number_rebinds: s = x[0]; t = s; s += x[1]; x * t + s
views_of_several: v, w = np.atleast_2d(x, m); v[0, 1] = m[1, 2]; w[1:] *= x[0]; np.concatenate([x, m.ravel()])
squeezed_view: v = np.squeeze(m[1:2, 3:4]); v *= x[0]; m
power_at_duplicates: np.power.at(x, [0, 1, 0], [2.0, 3.0, 0.5]); x
hypot_at: np.hypot.at(m, (slice(None), [1, 1]), x[0]); m
exp_at: np.exp.at(x, [0, 0, 3]); x
sum_out: np.sum(m * m, axis=0, out=x[:5]); x
max_out_where: np.max(m, axis=1, out=x[1:5], where=m > 0, initial=0.1); x
method_out: m.mean(1, None, x[:4]); x
cumsum_method_out: m.cumsum(0, out=m); m
resize_longer: a = x * x; a.resize(8, refcheck=False); a[6:] = x[:2]; a
resize_shorter: a = x * x; a.resize((2, 2), refcheck=False); a[1] += x[0]; a
same_view: v = m.view(); v[0] = x[1]; m
setfield: z = x * 1j; z.setfield(x * 2, float); np.real(z) * np.imag(z)
set_item: x[2] = x[0] * x[1]; x
set_item_negative: x[-1] = x[0] ** 2; x
set_slice: x[1:4] = x[:3] * 2; x
set_slice_step: x[::2] = x[1::2] ** 2; x
set_slice_backwards: x[::-1] = x * 1.0; x
set_slice_number: x[1:3] = 7.0; x
set_all: x[:] = x[::-1]; x
set_ellipsis: m[...] = m * m; m
set_row: m[1] = m[0] * m[2]; m
set_column: m[:, 2] = m[:, 0] * m[:, 1]; m
set_block: m[1:3, 1:4] = m[:2, 2:] * 3; m
set_element: m[1, 2] = m[0, 0] * x[3]; m
set_broadcast_row: m[:] = x[:5]; m
set_broadcast_column: m[:, :] = x[:4, None]; m
set_number_in_matrix: m[2] = x[0]; m
set_list: x[[0, 3]] = x[[1, 2]] ** 2; x
set_list_duplicates: x[[1, 1]] = x[[0, 2]]; x
set_index_array: x[np.arange(3) * 2] = x[:3]; x
set_index_arrays: m[[0, 1], [2, 3]] = x[:2]; m
set_rows_by_list: m[[0, 2]] = m[[1, 3]] * x[0]; m
set_list_and_slice: m[[0, 2], 1:] = x[2]; m
set_mask_number: x[np.array([True, False, True, False, False, True])] = 3.0; x
set_mask_values: x[np.array([True, False, True, False, False, True])] = x[:3] * 2; x
set_mask_rows: m[np.array([True, False, False, True])] = x[:5]; m
set_newaxis: x[None, 1:3] = x[None, 3:5] * 2; x
set_ix: m[np.ix_([0, 2], [1, 3])] = x[:4].reshape(2, 2); m
set_python_list: x[:3] = [1.0, 2.0, 3.0]; x
set_list_of_items: x[:2] = [x[3] * 2, x[4]]; x
set_numpy_int: x[np.int64(2)] = x[0]; x
add_item: x[1] += x[2] ** 2; x
add_slice: x[1:4] += x[3:]; x
add_overlap: x[1:] += x[:-1]; x
add_overlap_back: x[:-1] += x[1:]; x
set_overlap: x[1:] = x[:-1]; x
set_overlap_back: x[:-1] = x[1:]; x
multiply_slice: x[2:] *= x[0]; x
subtract_row: m[1] -= m[0] * x[1]; m
divide_column: m[:, 1] /= x[0]; m
power_slice: x[1:3] **= 2; x
add_mask: x[np.array([True, False, True, False, False, True])] += x[:3]; x
add_list: x[[0, 2]] += x[3:5]; x
add_list_duplicates: x[[0, 0, 2]] += x[3:6]; x
add_whole: x += x; x
add_number: x += 1.0; x
add_row_to_all: m += x[:5]; m
multiply_whole: m *= m; m
subtract_whole: m -= m.sum(axis=0); m
divide_whole: x /= x.sum(); x
floor_divide: x //= 0.25; x
power_whole: x **= 3; x
modulo: x %= 0.7; x
matmul_whole: q = m[:, :4] * 1.0; q @= q * 0.5; q
alias_sees: y = x; y += m[0, 0]; x * y
alias_item: y = x; y[0] = 5.0; x * y
rebinding_no_alias: y = x; y = y + 1; x * y
copy_is_own: y = x.copy(); y[0] = m[0, 0]; x * y
np_copy_is_own: y = np.copy(x); y += 1; x * y
array_is_own: y = np.array(x); y *= 2; x * y
asarray_shares: y = np.asarray(x); y *= 2; x * y
astype_is_own: y = x.astype(float); y *= 2; x * y
kept_value: y = x * 2; x[0] = 5.0; y + x
kept_sum: s = x.sum(); x[:] = 0.0; x + s
kept_slice_value: y = x[1:4] * 1.0; x[2] = 9.0; x[1:4] * y
view_slice_writes: v = x[1:4]; v[0] = 5.0; x * 2
view_slice_sees: v = x[1:4]; x[2] = x[0] * 5; v * v
view_row_writes: r = m[1]; r[:] = x[:5]; m
view_row_adds: r = m[1]; r += x[:5]; m
view_row_sees: r = m[1]; m[1, 2] = x[0]; r * r
view_column_writes: c = m[:, 1]; c *= x[:4]; m
view_of_view: r = m[1:3]; q = r[:, 1:]; q[0, 0] = x[0]; m * m
view_of_view_sees: r = m[1:3]; q = r[:, 1:]; m[1] = x[1:]; q * q
view_step: v = x[::2]; v += x[1::2]; x
view_backwards: v = x[::-1]; v[0] = x[0] * 3; x
view_sum_between: v = x[1:]; s = v.sum(); v *= s; x + v.sum()
transpose_writes: t = m.T; t[0] = x[:4]; m
transpose_sees: t = m.T; m[0] = x[:5]; t * t
transpose_item: m.T[1, 2] = x[0]; m
transpose_function: t = np.transpose(m); t[1:3] *= 2; m
swapaxes_writes: t = np.swapaxes(m, 0, 1); t[2] = x[:4]; m
moveaxis_writes: t = np.moveaxis(m, 0, -1); t[2] += x[:4]; m
transpose_add: t = m.T; t += x[:4]; m
reshape_writes: f = x.reshape(2, 3); f[1] = x[:3]; x
reshape_sees: f = x.reshape(2, 3); x[4] = x[0] * 2; f * f
reshape_function: f = np.reshape(m, (5, 4)); f[0] = x[:4]; m
reshape_minus: f = m.reshape(-1); f[3:8] = x[:5]; m
reshape_transposed_is_own: f = m.T.reshape(-1); f[:] = 0.0; m
ravel_writes: f = m.ravel(); f[::3] *= x[0]; m
ravel_transposed_is_own: f = m.T.ravel(); f += 1.0; m
flatten_is_own: f = m.flatten(); f[0] = 9.0; m
newaxis_view: v = x[None]; v[0, 2] = x[0]; x * x
expand_dims_view: v = np.expand_dims(x, 1); v[1, 0] = x[0] * 2; x
squeeze_view: v = m[1:2]; q = np.squeeze(v); q[0] = x[3]; m
atleast_view: v = np.atleast_2d(x); v[0, 1:3] = 2.0; x * x
split_views: a, b = np.split(x, 2); a += b; x
hsplit_views: a, b = np.hsplit(m[:, :4], 2); a[:] = b; m
flip_view: v = np.flip(x); v[0] = x[0] ** 2; x
fliplr_view: v = np.fliplr(m); v[:, 0] = x[:4]; m
rot90_view: v = np.rot90(m); v[0] += x[:4]; m
unpacking_rows: a, b, c, d = m; a += b; m
iterated_rows: [r.__imul__(2.0) for r in m]; m
fancy_is_own: v = x[[0, 1]]; v += 5.0; x
mask_is_own: v = x[np.array([True, False, True, False, False, True])]; v *= 2.0; x
take_is_own: v = np.take(x, [0, 1]); v += 5.0; x
item_rebinds: s = x[0]; s += 5.0; x * s
element_rebinds: s = m[1, 1]; s *= m[0, 0]; m * s
total_rebinds: s = x.sum(); t = s; s += 1.0; x * s * t
swap_items: x[0], x[1] = x[1], x[0] * 1.0; x * x[0]
swap_rows_by_list: m[[0, 1]] = m[[1, 0]]; m
swap_rows_copied: m[0], m[1] = m[1].copy(), m[0].copy(); m
swap_rows_views: m[0], m[1] = m[1], m[0]; m
roll_by_slices: t = x[0]; x[:-1] = x[1:]; x[-1] = t; x
zeros_item: a = np.zeros(6); a[1] = x[0]; a[2] = a[1] * x[1]; a
zeros_rows: a = np.zeros((4, 5)); a[1:3] = m[:2]; a[0, 0] = x[1]; a
empty_filled: a = np.empty(6); a[:] = x; a[::2] = 0.0; a * x
ones_scaled: a = np.ones((4, 5)); a *= m; a[1] = 0.0; a
full_written: a = np.full(6, 2.0); a[1:] -= x[1:]; a
eye_written: a = np.eye(5); a[:4] += m; a
zeros_like_written: a = np.zeros_like(m); a[:, 0] = x[:4]; a + m
arange_written: a = np.arange(6.0); a[2:] *= x[2:]; a
linspace_written: a = np.linspace(0, 1, 6); a[1] = x[1]; a * x
diagonal_of_flat: a = np.zeros((3, 3)); a.flat[::4] = x[:3]; a
copyto_whole: np.copyto(x, x[::-1] * 2); x
copyto_broadcast: np.copyto(m, x[:5]); m
copyto_where: np.copyto(x, 2 * x, where=np.array([True, False, True, False, False, True])); x
copyto_view: np.copyto(m[1], x[:5]); m
fill_diagonal: np.fill_diagonal(m, x[0]); m
fill_diagonal_values: np.fill_diagonal(m, x[:4]); m
add_at: np.add.at(x, [0, 0, 2], x[3:] * 1.0); x
add_at_number: np.add.at(x, [1, 1], 2.0); x
add_at_matrix: np.add.at(m, ([0, 0], [1, 1]), x[:2]); m
subtract_at: np.subtract.at(x, [1, 3], x[:2] * 1.0); x
multiply_at: np.multiply.at(x, [1, 3, 3], m[0, :3]); x
maximum_at: np.maximum.at(x, [1, 3], 0.5); x
negative_at: np.negative.at(x, [1, 3]); x
put: np.put(x, [0, 3], x[1:3] * 2); x
put_matrix: np.put(m, [0, 7], x[:2]); m
put_method: x.put([1, 2], [5.0, 6.0]); x
place: np.place(x, np.array([True, False, True, False, False, True]), x[:2] * 2); x
putmask: np.putmask(x, np.array([True, False, True, False, False, True]), 3 * x); x
put_along_axis: np.put_along_axis(m, np.array([[1], [0], [2], [4]]), x[:4, None] * 1.0, axis=1); m
out_add: a = np.zeros(6); np.add(x, 1.0, out=a); a * x
out_self: np.exp(x, out=x); x
out_multiply_row: np.multiply(m[0], x[:5], out=m[1]); m
out_where: a = np.zeros(6); np.sin(x, out=a, where=np.array([True, False, True, False, False, True])); a + x
out_sum: a = np.zeros(5); np.sum(m, axis=0, out=a); a
out_dot: a = np.zeros(4); np.dot(m, x[:5], out=a); a
out_clip: np.clip(x, 0.3, 1.0, out=x); x
sort_method: x.sort(); x * np.arange(6.0)
sort_rows: m.sort(axis=0); m * np.arange(5.0)
sort_view: v = x[1:5]; v.sort(); x * np.arange(6.0)
sort_function_is_own: y = np.sort(x); y[0] = 3.0; x * y
fill_method: x.fill(2.0); x * m[0, 0]
fill_row: m[1].fill(x[0]); m
flat_item: m.flat[7] = x[0]; m
flat_slice: m.flat[2:6] = x[:4]; m
flat_list: m.flat[[0, 9]] = x[:2]; m
flat_add: m.flat[3] += x[1]; m
broadcast_read: b = np.broadcast_to(x[:5], (4, 5)); m += b; m
diagonal_reads: d = np.diagonal(m); m[1, 1] = x[0]; d * d
real_of_real: r = x.real; r[0] = 4.0; x * x
complex_parts: z = x[:3] + 1j * x[3:]; z.real = z.real if False else z.real; z.imag[1] = x[0]; abs(z)
complex_real_view: z = m + 0j; z.real[1] = x[:5]; z.real * 2
dtype_float_into: a = np.zeros(6); a[0] = 1; a[1:] = np.arange(5); a * x
bool_array: a = np.zeros(6, dtype=bool); a[2:4] = True; np.where(a, x, 0.0)
integers: a = np.zeros(6, dtype=int); a[2:] += 3; x * a
einsum_diagonal_writes: a = m[:, :4] * 1.0; d = np.einsum('ii->i', a); d += x[:4]; a
array_shares_if_asked: a = np.array(x, copy=None); a[0] = 2.0; x * x
set_ranges: a = m[:, :4] * 1.0; a[range(4), range(4)] = x[:4]; a
shape_is_set: y = x * 1; y.shape = (2, 3); y[1] = 0; y
sliding_windows: a = np.lib.stride_tricks.sliding_window_view(x, 3); a.sum(axis=1)
triu_indices: i = np.triu_indices(4, 1); m[i] = x; m
symmetrize: a = m[:, :4] * 1.0; i = np.tril_indices(4, -1); a[i] = a.T[i]; a
swap_cols: m[:, [0, 2]] = m[:, [2, 0]]; m[:, 1] *= x[0]; m
add_accumulate: np.add.accumulate(x, out=x); x * x
np_divide_where: np.divide(x, x.sum(), out=np.zeros_like(x), where=x > 0.6)
np_sqrt_view: np.sqrt(m[:, 1], out=m[:, 1]); m
np_einsum_out: a = np.zeros(4); np.einsum("ij,j->i", m, x[:5], out=a); a
np_take_out: a = np.zeros(3); np.take(x, [1, 1, 4], out=a); a
np_stack_out: a = np.zeros((2, 6)); np.stack([x, x * 3], out=a); a
nditer_w: it = np.nditer(x, op_flags=['readwrite']); [it_.__setitem__(..., it_ * 2) for it_ in it]; x
zip_rows: [a.__iadd__(b) for a, b in zip(m[:2], m[2:])]; m
attr_aug: o = type('O', (), {})(); o.a = x[1:4]; o.a *= 2; x
tuple_swap_views: x[:3], x[3:] = x[3:], x[:3]; x
aug_shift3: x[1:-1] += x[2:] - 2 * x[1:-1] + x[:-2]; x
laplace2d: m[1:-1, 1:-1] += 0.1 * (m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2] - 4 * m[1:-1, 1:-1]); m
gauss_seidel: [x.__setitem__(i, 0.5 * (x[i - 1] + x[i + 1])) for _ in range(3) for i in range(1, 5)]; x
const_array_alias: a = np.zeros(6); b = a[2:5]; b[:] = x[:3]; a
array_split: p = np.array_split(x, 4); p[0][:] = p[3][0]; x
dsplit: t = m[:, :4].reshape(2, 2, 4); a, b = np.dsplit(t, 2); a[...] = b * b; m
unstack: rows = np.unstack(m); rows[0][...] = rows[1]; m
rollaxis: t = np.rollaxis(m, 1); t[0] = x[:4]; m
recursion: f = lambda a: (a.__imul__(2.0), f(a[1:])) if len(a) > 1 else None; f(x); x
quicksort: g = lambda a: None if len(a) < 2 else (a.sort(), g(a[1:])); g(x); x * np.arange(6.0)
put_mode: np.put(x, [7, -1], [x[0], x[1]], mode='wrap'); x
bincount: h = np.bincount([0, 1, 2, 0, 1, 1], weights=x, minlength=4); h[3] = x[0]; h
iand: b = x > 0.5; b &= x < 0.9; np.where(b, x, 0)
buffer_swap: a = x * 1; b = np.zeros(6); b[:] = a[::-1]; a, b = b, a; b[0] = 0; a + b
self_T: a = m[:, :4] * 1; a += a.T; a
givens: c, s = np.cos(x[0]), np.sin(x[0]); m[[0, 1]] = np.array([[c, -s], [s, c]]) @ m[[0, 1]]; m
horner: r = np.zeros_like(m); [(r.__imul__(m), r.__iadd__(c)) for c in x]; r
diag_flat_stride: a = np.zeros((4, 4)); a.ravel()[1::5] = x[:3]; a
complex_set: z = np.zeros(4, complex); z[1] = x[0] + 1j * x[1]; z[2:] *= 2; z[3] = 1j * x[2]; z.imag + z.real
windows_written: w = np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True); w[1] = x[4:]; x[3] = x[0] * 2; w * w
strided_writes: w = np.lib.stride_tricks.as_strided(x, (2, 2), (16, 8)); w[1] *= x[0]; x[0] = x[1] * 3; w * 1.0 + x[4]
einsum_transposed_writes: t = np.einsum('ij->ji', m); t[1] = x[:4]; m
number_seen_often: y = np.zeros(()); v = np.broadcast_to(y, (3,)); y[...] = x[0] * 5; v * x[:3]
number_strided: y = np.array(x[1]); v = np.lib.stride_tricks.as_strided(y, (2, 2), (0, 0)); v[...] = m[:2, :2]; y[...] += x[0]; v * y
shape_of_view_is_set: v = x[1:5]; v.shape = (2, 2); v[0] *= x[5]; x
"""
for _line in filter(None, (_TABLE + ALGORITHMS).replace("\n    ", " ").splitlines()):
    _name, _, _text = _line.partition(": ")
    _source(_name, _text)


@idiom
def loop_recurrence(np: Any, x: Any, m: Any) -> Any:
    a = np.zeros(10)
    a[0], a[1] = x[0], x[1]
    for i in range(2, 10):
        a[i] = np.sin(a[i - 1]) + a[i - 2] * x[i % 6]
    return a


@idiom
def lu(np: Any, x: Any, m: Any) -> Any:
    a = m[:, :4] + 3.0 * np.eye(4)
    for k in range(3):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[k, k + 1 :]
    return a


@idiom
def cholesky(np: Any, x: Any, m: Any) -> Any:
    s = m @ m.T + np.eye(4)
    lower = np.zeros((4, 4))
    for i in range(4):
        for j in range(i + 1):
            t = s[i, j] - lower[i, :j] @ lower[j, :j]
            lower[i, j] = np.sqrt(t) if i == j else t / lower[j, j]
    return lower


@idiom
def thomas(np: Any, x: Any, m: Any) -> Any:
    low, mid, up, d = m[0, 1:] * 0.1, 2.0 + x[:5], m[1, 1:] * 0.1, m[2].copy()
    for i in range(1, 5):
        w = low[i - 1] / mid[i - 1]
        mid[i] -= w * up[i - 1]
        d[i] -= w * d[i - 1]
    out = np.zeros(5)
    out[-1] = d[-1] / mid[-1]
    for i in range(3, -1, -1):
        out[i] = (d[i] - up[i] * out[i + 1]) / mid[i]
    return out


@idiom
def fdtd(np: Any, x: Any, m: Any) -> Any:
    e, h = np.zeros(8), np.zeros(7)
    for n in range(6):
        h += 0.5 * (e[1:] - e[:-1])
        e[1:-1] += 0.5 * (h[1:] - h[:-1])
        e[3] += x[n]
    return e


@idiom
def longest_path(np: Any, x: Any, m: Any) -> Any:
    t = np.zeros((4, 5))
    t[0] = np.cumsum(m[0])
    for i in range(1, 4):
        t[i, 0] = t[i - 1, 0] + m[i, 0]
        for j in range(1, 5):
            t[i, j] = m[i, j] + np.logaddexp(t[i - 1, j], t[i, j - 1])
    return t


@idiom
def callee_writes(np: Any, x: Any, m: Any) -> Any:
    def step(p: Any, q: Any) -> None:
        p -= 0.1 * q

    step(x, m[0, 0] * x)
    step(x[1:3], x[3:5])
    return x
