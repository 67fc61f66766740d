"""More programs of `write_idioms.py`: algorithms in place, views of views, and what programs write in passing.

A line that begins with blanks goes on from the one before.
"""

ALGORITHMS = """
lu_pivot_swap: a = m[:, :4] * 1.0; a[np.arange(4), np.arange(4)] += x[:4]; a[[0, 2]] = a[[2, 0]]; a[1:, 0] /= a[0,
    0]; a[1:, 1:] -= np.outer(a[1:, 0], a[0, 1:]); a[[1, 3], 1:] = a[[3, 1], 1:]; a[2:, 1] /= a[1, 1]; a[2:, 2:] -=
    a[2:, 1:2] * a[1:2, 2:]; a
gauss_seidel_too: u = np.zeros(6); [u.__setitem__(i, (x[i] + 0.3 * u[i - 1]) / 2) for i in range(6)]; u
red_black: u = m * 1.0; u[1:-1:2, 1:-1:2] = 0.25 * (u[:-2:2, 1:-1:2] + u[2::2, 1:-1:2] + u[1:-1:2, :-2:2] +
    u[1:-1:2, 2::2]); u[2:-1:2, 2:-1:2] *= x[0]; u
floyd: d = m[:, :4] * 1.0; [np.minimum(d, d[:, k:k + 1] + d[k:k + 1, :] * 0.1, out=d) for k in range(4)]; d
floyd_newaxis: d = m[:, :4] * 1.0; [np.minimum(d, d[:, k, None] * 0.2 + d[None, k, :] * 0.3, out=d) for k in
    range(4)]; d
edit_table: d = np.zeros((4, 5)); d[:, 0] = np.arange(4.0); d[0, :] = np.arange(5.0); [d.__setitem__((i, j),
    np.minimum(d[i - 1, j] + x[i], d[i, j - 1] + m[i, j]) + 0.1 * d[i - 1, j - 1]) for i in range(1, 4) for j in
    range(1, 5)]; d
viterbi: t = np.zeros((4, 5)); t[0] = m[0]; [t.__setitem__(i, np.max(t[i - 1][:, None] * m[i][None, :], axis=0)) for
    i in range(1, 4)]; t
ring_buffer: b = np.zeros(4); [b.__setitem__(i % 4, x[i] * b[(i - 1) % 4] + x[i]) for i in range(6)]; b
roll_into: x[:] = np.roll(x, 2) * x; x
roll_copyto: np.copyto(m, np.roll(m, 1, axis=0)); m * x[0]
new_axes_isub: a = m * 1.0; b = x[:5]; a[..., None, :] -= b; a
masked_read_write: a = x * 1.0; k = x > 0.6; b = a[k]; b *= 3; a[k] = b + a[k]; a
negative_steps: a = m; a[::-2, ::-1] = a[1::2, :] * x[0]; a
negative_iadd: x[::-1] += x * 0.5; x
overlap_rev: x[1:] = x[:-1][::-1] * 2; x
overlap_2d: m[1:, 1:] = m[:-1, :-1] * x[1]; m
overlap_add_2d: m[:, :-1] += m[:, 1:]; m
rows_mask_times_slice: k = m[:, 0] > 0.5; m[k, 1:3] = m[k, 2:4] * x[0]; m
rows_mask_iadd: k = np.array([True, False, True, True]); m[k] += x[:5]; m
cols_mask_scalar: k = np.array([True, False, True, True, False]); m[1:3, k] *= x[2]; m
two_masks: m[np.array([True, False, True, False]), np.array([True, False, False, True, False])] = x[:2]; m
ix_write: m[np.ix_([0, 2], [1, 3, 4])] = x.reshape(2, 3); m
ix_iadd: m[np.ix_([3, 1], [0, 4])] += x[:2]; m
zero_d_view: v = x[2, ...]; v *= x[0]; x
zero_d_out: s = np.zeros(()); np.multiply(x[0], x[1], out=s); x * s
zero_d_accum: s = np.array(0.0); s += x.sum(); s *= s; x + s
empty_slice: x[3:3] = x[:0]; x[5:2] *= 4; x
empty_mask: x[x > 100] = 4.0; x
empty_fancy: x[[]] = 4.0; x
repeat_iadd: x[[0, 0, 2]] += m[0, :3]; x
repeat_add_at: np.add.at(x, [0, 0, 2], m[0, :3]); x
repeat_set: x[[1, 1, 1]] = m[0, :3]; x
put_along: np.put_along_axis(m, np.argsort(m, axis=1)[:, :2], x[:4, None], axis=1); m
put_along_0: np.put_along_axis(m, np.array([[0, 1, 2, 3, 0]]), x[:5][None], axis=0); m
putmask_repeat: np.putmask(m, m > 0.6, x); m
putmask_same: np.putmask(x, x < 0.7, x ** 2); x
place_cycle: np.place(m, m > 0.7, x[:3]); m
partition_in_place: x.partition(3); x * np.arange(6)
partition_axis0: m.partition(2, axis=0); m
sort_axis0_view: v = m[:, 1:4]; v.sort(axis=0); m
sort_transposed: m.T.sort(axis=1); m
sort_flat_view: m.reshape(-1).sort(); m
sort_neg: v = x[::-1]; v.sort(); x
real_write: z = x + 1j * x[::-1]; z.real = z.imag * 2; np.abs(z)
imag_iadd: z = x + 1j * x[::-1]; z.imag += x ** 2; np.real(z * z)
imag_slice: z = x + 0j; z.imag[1:4] = x[:3]; np.abs(z) ** 2
real_slice_isub: z = m + 1j * m; z[1].real -= x[:5]; np.imag(z * z)
conj_out: z = x + 1j * x[::-1]; np.conjugate(z, out=z); np.imag(z * z)
flat_step: m.flat[::2] = x[0]; m
flat_step_vec: m.flat[1:12:2] = x; m
flat_list_too: m.flat[[1, 5, 7]] = x[:3]; m
flat_iadd: m.flat[3] += x[0]; m
flat_slice_mul: m.flat[2:9] *= x[1]; m
T_flat: m.T.flat[2:6] = x[:4]; m
T_index: m.T[1] = x[:4]; m
T_fancy: m.T[[0, 3], 1] = x[:2]; m
ravel_fancy: m.reshape(-1)[[3, 19, 7]] = x[:3]; m
ravel_fancy_iadd: v = m.reshape(-1); v[[3, 19, 7]] += x[:3]; m
ravel_mask: v = m.ravel(); v[v > 0.5] *= x[0]; m
reshape_block_view: v = m[:, :4].reshape(2, 2, 4); v[1] *= x[0]; m
reshape_view_rows: v = m.reshape(2, 10); v[1, 2:5] = x[:3]; m
swapaxes_iadd: v = np.swapaxes(m, 0, 1); v[2] += x[:4]; m
diag_write: m[np.arange(4), np.arange(4)] = x[:4] ** 2; m
diag_flat_stride_too: m.reshape(-1)[::6] = x[:4]; m
fill_diag_wrap: a = np.zeros((6, 3)); np.fill_diagonal(a, x[0], wrap=True); a * x[1]
diag_indices_isub: a = m[:, :4] * 1.0; a[np.diag_indices(4)] -= x[:4]; a
tril_zero: a = m[:, :4]; a[np.triu_indices(4, 1)] = 0.0; m
tril_mirror: a = m[:, :4] * 1.0; i = np.tril_indices(4, -1); a.T[i] = a[i]; a
mirror_T: a = m[:, :4] * 1.0; a[np.triu_indices(4, 1)] = a.T[np.triu_indices(4, 1)]; a
cumsum_out_view: np.cumsum(m[:, :3], axis=0, out=m[:, 1:4]); m
cumprod_out_self: np.cumprod(x, out=x); x
cumsum_own: v = x[::2]; v[:] = np.cumsum(v); x
add_accumulate_out: np.add.accumulate(x, out=x); x
diff_in_place: x[1:] -= x[:-1].copy(); x
diff_in_place_overlap: x[1:] -= x[:-1]; x
prefix_loop: [x.__setitem__(i, x[i] + x[i - 1]) for i in range(1, 6)]; x
normalise_rows: m /= m.sum(axis=1, keepdims=True); m
normalise_cols: m -= m.mean(0); m /= m.std(0) + 1; m
softmax_in_place: m -= m.max(1, keepdims=True); np.exp(m, out=m); m /= m.sum(1, keepdims=True); m
welford: mean = 0.0; [mean := mean + (x[i] - mean) / (i + 1) for i in range(6)]; x * mean
horner_in_place: p = np.zeros(6); [(p.__imul__(x), p.__iadd__(c)) for c in (1.0, 2.0, 3.0)]; p
swap_rows_tuple: m[0], m[1] = m[1].copy(), m[0].copy(); m * x[0]
swap_cols_fancy: m[:, [0, 3]] = m[:, [3, 0]]; m
swap_elements: x[0], x[5] = x[5], x[0]; x * np.arange(6)
reverse_in_place: x[:3], x[3:] = x[3:][::-1].copy(), x[:3][::-1].copy(); x * np.arange(6)
reverse_in_place_alias: x[:] = x[::-1]; x * np.arange(6)
perm_in_place: m[:] = m[[2, 0, 3, 1]]; m * x[0]
argsort_in_place: x[:] = x[np.argsort(x)]; x * np.arange(6)
where_out: np.add(x, 1.0, out=x, where=x > 0.6); x
where_divide: r = np.zeros(6); np.divide(x, x[::-1], out=r, where=x > 0.5); r
clip_out: np.clip(x, 0.4, 0.9, out=x); x
clip_method_out: m.clip(0.4, 0.9, out=m); m
maximum_out_view: np.maximum(m[0], m[1], out=m[2]); m
matmul_out: a = np.zeros((4, 4)); np.matmul(m, m.T, out=a); a * x[:4]
einsum_out: a = np.zeros((4,)); np.einsum('ij,j->i', m, x[:5], out=a); a
outer_out: a = np.zeros((6, 6)); np.multiply.outer(x, x, out=a); a
take_out: a = np.zeros(3); np.take(x, [5, 0, 0], out=a, mode='clip'); a * x[:3]
concat_out: a = np.zeros(12); np.concatenate([x, x * x], out=a); a
stack_out: a = np.zeros((2, 6)); np.stack([x, x * x], out=a); a
sum_out_view: np.sum(m, axis=1, out=m[:, 0]); m
mean_out: a = np.zeros(5); np.mean(m, axis=0, out=a); a * x[:5]
fdtd_views: e = x * 1.0; h = np.zeros(5); dh = h[:]; de = e[1:-1]; [(dh.__iadd__(0.3 * (e[1:] - e[:-1])),
    de.__iadd__(0.3 * (h[1:] - h[:-1]))) for _ in range(3)]; np.concatenate([e, h])
heat: u = x * 1.0; [u[1:-1].__iadd__(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])) for _ in range(3)]; u
double_buffer: a = x * 1.0; b = np.empty_like(a); b[:] = a * a; a, b = b, a; b[1:] = a[:-1]; a + b
grow_list: r = []; [r.append(x[i] * (r[-1] if r else 1.0)) for i in range(6)]; a = np.empty(6); a[:] = r; a
nested_list_write: a = np.zeros((2, 3)); a[:] = [[x[0], x[1], 1.0], [x[2], 2.0, x[3]]]; a
tuple_write: a = np.zeros(3); a[:] = (x[0], x[1] * 2, 5); a
list_fancy_write: x[[0, 1]] = [x[2], x[3] * x[4]]; x
ndenumerate_write: a = np.zeros((2, 3)); [a.__setitem__(i, v * v) for i, v in np.ndenumerate(x.reshape(2, 3))]; a
nditer_rw: [it.__setitem__(Ellipsis, it * 2) for it in np.nditer(x, op_flags=['readwrite'])]; x
row_iteration: [r.__imul__(x[0]) for r in m]; m
row_enum: [r.__setitem__(slice(0, 2), x[i]) for i, r in enumerate(m)]; m
zip_rows_too: [r.__iadd__(s) for r, s in zip(m[1:], m[:-1])]; m
unpack_rows: a, b, c, d = m; a += b; c *= d; m
split_views_too: a, b = np.split(x, 2); a += b; b[:] = 1.0; x
array_split_views: p = np.array_split(x, 4); p[1][:] = p[0] * 2; x
hsplit_views_too: a, b = np.hsplit(m[:, :4], 2); a *= b; m
broadcast_view_read: b = np.broadcast_to(x[:5], (4, 5)); m += b; x[0] = 7.0; m + b
sliding_read: w = np.lib.stride_tricks.sliding_window_view(x, 3); s = w.sum(1); x[0] = 9.0; s * w[:, 0]
copy_independent: y = x.copy(); y[0] = 5.0; x[1] = 6.0; x * y
astype_copy: y = x.astype(float); y[0] = 5.0; x * y
asarray_alias: y = np.asarray(x); y[0] = x[1] * 5.0; x
array_copy: y = np.array(x); y[0] = 5.0; x * y
ascontiguous_alias: y = np.ascontiguousarray(m); y[0] = 5.0; m
ascontiguous_T: y = np.ascontiguousarray(m.T); y[0] = 5.0; m
squeeze_identity: y = np.squeeze(x); y[0] = x[1] * 3; x
squeeze_method: y = m.squeeze(); y[0] = x[0]; m
squeeze_axis_none: y = np.squeeze(m[None]); y[1] *= x[0]; m
atleast: y = np.atleast_1d(x); y[2] = x[0] * x[1]; x
atleast3: y = np.atleast_3d(m); y[1, 2, 0] = x[0]; m
expand_dims_w: y = np.expand_dims(x, 0); y[0, 1:3] = x[3:5]; x
moveaxis_w: a = np.zeros((2, 3, 4)); y = np.moveaxis(a, 0, -1); y[..., 1] = m[:3, :4]; a * x[0]
rollaxis_w: a = np.zeros((2, 3, 4)); y = np.rollaxis(a, 2); y[1] = x.reshape(2, 3); a
flipud_w: np.flipud(m)[0] = x[:5]; m
fliplr_w: np.fliplr(m)[:, 0] = x[:4]; m
rot90_w: np.rot90(m)[0] *= x[0]; m
ravel_contig: np.ravel(m)[3] = x[0]; m
ravel_noncontig: np.ravel(m.T)[3] = x[0]; m
flatten_copy: m.flatten()[3] = x[0]; m
diagonal_sum_after: d = np.diagonal(m); m[0, 0] = x[0]; d * x[1]
diag_copy: d = np.diag(m).copy(); m[0, 0] = x[0]; d * x[1]
trace_after: m[1, 1] = x[0]; x * np.trace(m)
tril_copy: t = np.tril(m); t[0, 0] = x[0]; m + t
choose_out: a = np.zeros(5); np.choose([0, 1, 2, 3, 0], m, out=a); a
compress_out: a = np.zeros(3); np.compress([1, 0, 1, 1], m[:, 0], out=a); a * x[:3]
repeat_w: r = np.repeat(x, 2); r[::2] *= x; r
tile_w: r = np.tile(x, 2); r[3:9] = x; r
meshgrid_w: a, b = np.meshgrid(x[:3], x[3:]); a += b; a * x[0]
meshgrid_nocopy: a, b = np.meshgrid(x[:3], x[3:], copy=False); x[0] = 9.0; a * b
apply_rows: r = np.zeros(4); [r.__setitem__(i, (m[i] ** 2).sum()) for i in range(4)]; r
scatter_matrix: k = np.zeros((6, 6)); [k.__setitem__(np.ix_([i, i + 1], [i, i + 1]), k[np.ix_([i, i + 1], [i, i +
    1])] + x[i] * np.array([[1.0, -1], [-1, 1]])) for i in range(5)]; k
assemble_slices: k = np.zeros((6, 6)); [k[i:i + 2, i:i + 2].__iadd__(x[i] * np.array([[1.0, -1], [-1, 1]])) for i in
    range(5)]; k
assemble_add_at: k = np.zeros(6); e = np.array([[0, 1], [1, 2], [2, 5]]); np.add.at(k, e, m[:3, :2]); k
bincount_like: h = np.zeros(3); np.add.at(h, np.array([0, 1, 2, 0, 1, 2]), x); h
subtract_at_too: np.subtract.at(x, np.array([0, 0]), m[0, :2]); x
multiply_at_too: np.multiply.at(m, (np.array([0, 0, 1]), 2), x[:3]); m
maximum_at_too: np.maximum.at(x, [0, 1, 1], m[0, :3]); x
boolean_invert: k = ~(x > 0.5); x[k] = -x[k]; x
nan_to_zero: a = x * 1.0; a[np.isnan(a)] = 0.0; a
heaviside_write: a = np.where(x > 0.5, x, 0.0); a[a == 0] = x[a == 0] * 0.1; a
argmax_write: x[x.argmax()] = x.sum(); x
argmin_rows: m[np.arange(4), m.argmin(1)] = x[:4]; m
unravel_write: m[np.unravel_index(7, m.shape)] = x[0]; m
searchsorted_write: x[np.searchsorted(np.arange(6.0), 2.5)] = x[0]; x
select_write: m[:] = np.select([m > 0.8, m > 0.5], [m * 2, m * x[0]], m); m
piecewise_write: x[:] = np.piecewise(x, [x < 0.5, x >= 0.5], [lambda v: v * 2, lambda v: v ** 2]); x
interp_write: x[:3] = np.interp([0.5, 1.5, 2.5], np.arange(6.0), x); x
put_wrap: np.put(m, [3, 25], x[:2], mode='wrap'); m
put_clip: np.put(m, [3, 25], x[:2], mode='clip'); m
put_method_too: m.put([0, 19], x[:2]); m
itemset_like: m[2][3] = x[0]; m
chained_view: m[1:][1:][0][2:][1] = x[0]; m
chained_rows: m[1:3][0][::2] = x[:3]; m
negative_index: m[-1, -2] = x[-1]; m
ellipsis_mid: a = np.zeros((2, 3, 4)); a[0, ..., 1] = x[:3]; a[..., 2] += x[3]; a
newaxis_set: a = np.zeros((2, 3)); a[None, :, :] = x.reshape(1, 2, 3); a[:, None] *= 2; a
int_array_axis: m[np.array([0, 2]), :] *= x[:2, None]; m
mixed_adv: a = np.zeros((2, 3, 4)); a[0, :, [1, 3]] = x.reshape(2, 3); a
mixed_adv2: a = np.zeros((3, 4, 2)); a[[0, 2], 1:3, [1, 0]] = x[:4].reshape(2, 2); a
mixed_adv_iadd: a = np.ones((2, 3, 4)); a[[1, 0], :, 2] += x.reshape(2, 3); a
adv_bool_int: a = np.ones((2, 3)); a[np.array([True, False]), 1] = x[0]; a
bool_2d_part: a = np.zeros((2, 3, 4)); a[np.array([[True, False, True], [False, True, False]])] = x[:4]; a
lone_true: x[True] *= 2; x
none_index: x[None][0, 1] = x[0]; x
ipow: x **= 2; x
ipow_t: m **= x[:5]; m
ifloordiv: m //= 0.25; m * x[0]
imod: m %= 0.3; m
imatmul: a = m[:, :4] * 1.0; b = a; b @= b * x[0]; a
iadd_alias: y = x; y += 1; x * y
iadd_broadcast: x += x[0]; x
imul_overlap: x[:-1] *= x[1:]; x
idiv_row: m[1] /= m[0]; m
isub_T: a = m[:, :4]; a -= a.T; m
isub_T_copy: a = m[:, :4] * 1.0; a -= a.T; a
iadd_flip: m += m[::-1]; m
iadd_flip_cols: m[:, ::-1] += m; m
resize_func: a = np.resize(x, 8); a[6:] = 0.0; a
full_like_w: a = np.full_like(m, 2.0); a[1] = x[:5]; a
ones_like_w: a = np.ones_like(x); a[2:] = x[:4]; a
empty_w: a = np.empty((2, 6)); a[0], a[1] = x, x * 2; a
identity_w: a = np.eye(4); a += m[:, :4]; a[0] = 0; a
tri_w: a = np.tri(4); a *= m[:, :4]; a
linspace_w: a = np.linspace(0, 1, 6); a *= x; a[0] = x[1]; a
arange_w: a = np.arange(6.0); a[::3] = x[:2]; a
int_array_hold: a = np.arange(6); a[2] = 4; x[a]
matrix_power_loop: a = np.eye(4); [a.__setitem__(Ellipsis, a @ m[:, :4]) for _ in range(3)]; a
householder: a = m * 1.0; v = a[:, 0].copy(); v[0] += np.sqrt((v * v).sum()); v /= np.sqrt((v * v).sum()); a -= 2.0
    * np.outer(v, v @ a); a[:, 1:]
gram_schmidt: q = m.T[:, :3].copy(); [(q[:, j:j + 1].__itruediv__(np.sqrt((q[:, j] ** 2).sum())), q[:, j +
    1:].__isub__(np.outer(q[:, j], q[:, j] @ q[:, j + 1:]))) for j in range(3)]; q
back_subst: a = m[:, :4] + 2 * np.eye(4); b = x[:4].copy(); [b.__setitem__(i, (b[i] - a[i, i + 1:] @ b[i + 1:]) /
    a[i, i]) for i in range(3, -1, -1)]; b
ldl: a = m[:, :4] @ m[:, :4].T + np.eye(4); d = np.zeros(4); l = np.eye(4); [(d.__setitem__(j, a[j, j] - (l[j, :j]
    ** 2 * d[:j]).sum()), l.__setitem__((slice(j + 1, None), j), (a[j + 1:, j] - (l[j + 1:, :j] * l[j, :j] *
    d[:j]).sum(1)) / d[j])) for j in range(4)]; l * d
fft_butterfly: a = x[:4] + 0j; a[::2], a[1::2] = a[::2] + a[1::2], a[::2] - a[1::2]; a[1] *= 1j; np.abs(a) ** 2
haar: a = x[:4] * 1.0; s = (a[::2] + a[1::2]) / 2; a[2:] = (a[::2] - a[1::2]) / 2; a[:2] = s; a
lifting: a = x * 1.0; a[1::2] -= a[::2]; a[::2] += a[1::2] / 2; a
bubble: [np.copyto(x[i:i + 2], np.sort(x[i:i + 2])) for i in (0, 1, 2, 3, 4)]; x
insertion: [x.__setitem__(slice(0, i + 1), np.sort(x[:i + 1])) for i in range(1, 6)]; x
exp_moving: [x.__setitem__(i, 0.3 * x[i] + 0.7 * x[i - 1]) for i in range(1, 6)]; x
iir: y = np.zeros(6); [y.__setitem__(n, x[n] + (0.5 * y[n - 1] if n else 0.0) - (0.2 * y[n - 2] if n > 1 else 0.0))
    for n in range(6)]; y
convolve_full: y = np.zeros(8); [y[i:i + 3].__iadd__(x[i] * x[:3]) for i in range(6)]; y
pascal: p = np.zeros(6); p[0] = 1; [p[1:].__iadd__(p[:-1] * x[0]) for _ in range(4)]; p
binomial_tree: v = x * 1.0; [v.__setitem__(slice(0, 5 - i), 0.5 * (v[:5 - i] + v[1:6 - i])) for i in range(5)]; v
american_tree: v = x * 1.0; [v.__setitem__(slice(0, 5 - i), np.maximum(0.5 * (v[:5 - i] + v[1:6 - i]), 0.6)) for i
    in range(5)]; v
knapsack: d = np.zeros(6); [d.__setitem__(slice(w, None), np.maximum(d[w:], d[:6 - w] + x[w])) for w in (1, 2, 3)]; d
lcs_rows: d = np.zeros((3, 6)); [d.__setitem__((i, j), np.where(x[j] > 0.5, d[i - 1, j - 1] + x[j], np.maximum(d[i -
    1, j], d[i, j - 1]))) for i in range(1, 3) for j in range(1, 6)]; d
game_of_life: u = m * 1.0; n = np.zeros((4, 5)); n[1:] += u[:-1]; n[:-1] += u[1:]; n[:, 1:] += u[:, :-1]; n[:, :-1]
    += u[:, 1:]; u[n > 1.5] *= x[0]; u
periodic_pad: p = np.zeros(8); p[1:-1] = x; p[0] = p[-2]; p[-1] = p[1]; p
ghost_cells: p = np.zeros((6, 7)); p[1:-1, 1:-1] = m; p[0], p[-1] = p[1], p[-2]; p[:, 0], p[:, -1] = p[:, 1], p[:,
    -2]; p
multigrid_restrict: c = x[::2] * 1.0; c[:-1] += 0.5 * x[1:-1:2]; f = np.zeros(6); f[::2] = c; f[1:-1:2] = 0.5 *
    (c[:-1] + c[1:]); f
rk4_state: y = x[:2].copy(); [y.__iadd__(0.1 * np.array([y[1], -y[0] * x[2]])) for _ in range(3)]; y
leapfrog: q, p = x[:3].copy(), x[3:].copy(); [(p.__isub__(0.05 * q), q.__iadd__(0.1 * p), p.__isub__(0.05 * q)) for
    _ in range(3)]; np.concatenate([q, p])
nbody: f = np.zeros((3, 2)); r = x.reshape(3, 2); [(f.__setitem__(i, f[i] + (r[j] - r[i])), f.__setitem__(j, f[j] -
    (r[j] - r[i]) ** 2)) for i in range(3) for j in range(i)]; f
adam: v = np.zeros(6); mm = np.zeros(6); p = x * 1.0; [(mm.__imul__(0.9), mm.__iadd__(0.1 * p), v.__imul__(0.99),
    v.__iadd__(0.01 * p * p), p.__isub__(0.1 * mm / (np.sqrt(v) + 1e-3))) for _ in range(3)]; p
kmeans_sum: c = np.zeros((2, 5)); np.add.at(c, np.array([0, 1, 0, 1]), m); c /= 2.0; c
dropout: k = np.array([1, 0, 1, 1, 0, 1], bool); x *= k; x /= 0.8; x
one_hot_scatter: o = np.zeros((6, 3)); o[np.arange(6), [0, 1, 2, 0, 1, 2]] = x; o
"""
