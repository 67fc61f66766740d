"""Steps on arrays: elementwise ops, reductions, indices, shapes, products."""

from __future__ import annotations

from tests.fuzz.maker import Maker, Step, is_float, is_float_with_axes

SMOOTH = ["sin", "cos", "tanh", "exp(-wg.abs({}))", "log1p(wg.abs({}))", "sqrt(wg.abs({}) + 0.5)", "arctan", "square",
          "negative", "sigmoid", "expm1(-wg.abs({}))", "ops.softplus", "ops.erf", "reciprocal(1.5 + wg.abs({}))",
          "cosh(wg.tanh({}))", "arcsinh", "cbrt(wg.abs({}) + 0.5)", "ops.silu", "ops.gelu"]  # fmt: skip
KINKED = ["abs", "sign", "floor", "ceil", "round", "ops.relu", "trunc", "nan_to_num", "ops.elu", "ops.relu6"]
PAIRS = ["add", "subtract", "multiply", "maximum", "minimum", "hypot", "arctan2", "logaddexp", "copysign", "fmax"]
COMPARED = ["less", "greater_equal", "equal", "not_equal"]
WHOLE = ["add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder", "bitwise_and", "bitwise_xor"]
REDUCED = ["sum", "mean", "max", "min", "std", "var", "ops.logsumexp", "prod"]
ALONG = ["cumsum", "ops.softmax", "ops.log_softmax", "flip", "sort", "ops.cummax"]


def smooth(m: Maker) -> str:
    v, name = m.some(is_float), m.r.choice([*SMOOTH, *SMOOTH, *KINKED])
    return f"wg.{name.format(v.name)}" if "{" in name else f"wg.{name}({v.name})"


def pair(m: Maker) -> str:
    v, w = m.some(is_float), m.some(is_float)
    number = m.r.choice(["0.5", "2.0", "-1.25", "3"])
    return f"wg.{m.r.choice(PAIRS)}({v.name}, {w.name if m.r.random() < 0.8 else number})"


def quotient(m: Maker) -> str:
    v, w = m.some(is_float), m.some(is_float)
    return f"{v.name} / (2.0 + wg.{m.r.choice(['abs', 'cos', 'square'])}({w.name}))"


def power(m: Maker) -> str:
    v = m.some(is_float)
    return m.r.choice(
        [
            f"{v.name} ** {m.r.choice(['2', '3', '0', '1'])}",
            f"(wg.abs({v.name}) + 0.5) ** {m.r.choice(['0.5', '-1.0', '-2', '1.7'])}",
        ]
    )


def whole(m: Maker) -> str:
    v, w = m.some(lambda v: v.is_count), m.some(lambda v: v.is_count)
    return m.r.choice([
        f"wg.{m.r.choice(WHOLE)}({v.name}, {w.name})", f"wg.sum({v.name})", f"wg.astype({v.name}, 'float64') * 0.25",
        f"wg.{m.r.choice(['floor_divide', 'remainder'])}({v.name}, {m.r.choice([2, 3, -3])})", f"wg.cumsum({v.name})",
        f"wg.{m.r.choice(['max', 'min', 'any', 'all', 'count_nonzero'])}({v.name}, axis=-1)",
    ])  # fmt: skip


def chosen(m: Maker) -> str:
    u, v, w = m.some(is_float), m.some(is_float), m.some(is_float)
    test = f"wg.{m.r.choice(COMPARED)}({u.name}, {m.r.choice(['0.0', '0.3', v.name])})"
    return m.r.choice(
        [
            f"wg.where({test}, {v.name}, {m.r.choice([w.name, '0.0'])})",
            f"wg.where({test}, wg.log(wg.abs({v.name}) + 1.0), {w.name})",
            test,
        ]
    )


def converted(m: Maker) -> str:
    v = m.some()
    if v.is_float and m.r.random() < 0.5:
        return f"wg.astype(wg.clip({v.name} * 3.0, 0.0, 9.0), '{m.r.choice(m.profile.others)}')"
    return f"wg.astype({v.name}, '{m.r.choice(m.profile.floats)}')"


def reduced(m: Maker) -> str:
    v = m.some(is_float)
    axes = [None, *range(len(v.shape))] + ([(0, -1), (0, 1)] if len(v.shape) > 1 else [])
    name = m.r.choice(REDUCED)
    subject = f"wg.tanh({v.name}) + 1.0" if name == "prod" else v.name
    return f"wg.{name}({subject}, axis={m.r.choice(axes)}, keepdims={m.r.random() < 0.4})"


def along(m: Maker) -> str:
    v = m.some(is_float_with_axes)
    return f"wg.{m.r.choice(ALONG)}({v.name}, axis={m.axis(v)})"


def placed(m: Maker) -> str:
    v = m.some(is_float_with_axes)
    return f"wg.{m.r.choice(['argmax', 'argmin', 'argsort'])}({v.name}, axis={m.axis(v)})"


def reshaped(m: Maker) -> str:
    v = m.some()
    if not v.shape:
        return f"wg.broadcast_to({v.name}, ({m.extent()},))"
    order = m.r.sample(range(len(v.shape)), len(v.shape))
    return m.r.choice([
        f"wg.reshape({v.name}, -1)", f"wg.transpose({v.name}, {tuple(order)})", f"wg.expand_dims({v.name}, {m.axis(v)})",
        f"wg.reshape({v.name}, {v.shape[::-1]})", f"wg.broadcast_to({v.name}, {(m.r.randint(1, 4), *v.shape)})",
        f"{v.name}[None]", f"wg.moveaxis({v.name}, 0, -1)", f"wg.reshape({v.name}, (1, -1))",
    ])  # fmt: skip


def sliced(m: Maker) -> str:
    v = m.some(lambda v: len(v.shape) > 0)
    parts: list[str] = []
    for n in v.shape:
        start, stop = m.r.randint(-1, 2), m.r.choice(["", "-1", str(max(1, n // 2)), ""])
        parts.append(
            m.r.choice([":", f"{start}:{stop}", "::-1", "::2", f":{stop}", "-3:", f"{m.r.randint(0, max(0, n - 1))}"])
        )
    return f"{v.name}[{', '.join(parts[: m.r.randint(1, len(parts))])}]"


def padded(m: Maker) -> str:
    v = m.some(lambda v: len(v.shape) > 0)
    widths = (*[(m.r.randint(0, 2), m.r.randint(0, 2)) for _ in v.shape],)
    mode = m.r.choice(["constant", "constant", "edge", "reflect", "wrap"])
    shift = m.r.choice([1, -2, 5])
    return m.r.choice(
        [
            f"wg.pad({v.name}, {widths}, '{mode}')",
            f"wg.roll({v.name}, {shift}, axis={m.axis(v)})",
            f"wg.tile({v.name}, 2)",
            f"wg.repeat({v.name}, 3, axis={m.axis(v)})",
        ]
    )


def joined(m: Maker) -> str:
    v = m.some(is_float_with_axes)
    w = m.some(lambda w: w.shape == v.shape and w.is_float)
    return m.r.choice([
        f"wg.concatenate([{v.name}, {w.name}, wg.sin({v.name})], axis={m.axis(v)})", f"wg.stack([{v.name}, {w.name} * 2.0], axis={m.axis(v)})",
        f"wg.concatenate([{v.name}[1:], {w.name}[:1]])",
    ])  # fmt: skip


def gathered(m: Maker) -> str:
    v = m.some(lambda v: len(v.shape) > 0 and v.shape[0] > 0)
    i = m.maybe(lambda v: v.dtype.kind in "iu")
    places = [m.r.randrange(-v.shape[0], v.shape[0]) for _ in range(m.r.choice([1, 3, 6]))]
    own = f"wg.remainder({i.name}, {v.shape[0]})" if i is not None and m.r.random() < 0.5 else f"np.array({places})"
    return m.r.choice([f"{v.name}[{own}]", f"wg.take({v.name}, {own}, axis=0)"])


def written(m: Maker) -> str:
    v = m.some(lambda v: v.is_float and len(v.shape) > 0 and v.shape[0] > 1)
    places = [m.r.randrange(-v.shape[0], v.shape[0]) for _ in range(m.r.choice([1, 3, 6]))]
    where = m.r.choice(["0", "-1", "1:", "::2", f"np.array({places})"])
    source = m.r.choice([f"{v.name}[{where}] * 0.5", "0.25", f"wg.sin({v.name}[{where}])"])
    return f"{v.name}.at[{where}].{m.r.choice(['set', 'add', 'multiply', 'max'])}({source})"


def product(m: Maker) -> str:
    v = m.some(lambda v: v.is_float and len(v.shape) == 2)
    return m.r.choice([
        f"wg.matmul({v.name}, wg.transpose({v.name})) * 0.1", f"wg.matmul({v.name}, wg.sum({v.name}, axis=0)) * 0.1",
        f"wg.einsum('ij,ij->j', {v.name}, wg.cos({v.name}))", f"wg.einsum('ij,kj,j->ik', {v.name}, {v.name}, wg.mean({v.name}, axis=0)) * 0.1",
        f"wg.outer({v.name}[0], wg.sum({v.name}, axis=1)) * 0.1", f"wg.tril({v.name})", f"wg.diagonal({v.name})",
    ])  # fmt: skip


STEPS: list[Step] = [
    smooth, smooth, smooth, pair, pair, pair, quotient, power, whole, chosen, chosen, converted, reduced, reduced, reduced,
    along, placed, reshaped, reshaped, sliced, sliced, padded, joined, gathered, written, product,
]  # fmt: skip
