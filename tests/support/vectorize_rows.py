"""`vectorize` with signatures beside Keras's: signatures, axes in front that meet, arguments left out, what is refused.

A program: prints the rows in which the two differ, with Keras on the backend that the environment names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import keras
import numpy as np

import wengert as wg

RNG = np.random.default_rng(0)


class Row(NamedTuple):
    """A call: `f` takes a namespace of ops and the arguments."""

    signature: str | None
    f: Any
    arguments: list[Any]
    excluded: set[int] | None = None


def draw(*shape: int) -> Any:
    return np.round(RNG.normal(size=shape), 2)


def rows() -> Iterator[Row]:
    for front in [(), (4,), (2, 4), (0,), (1,), (2, 1, 3)]:
        vector, matrix = draw(*front, 3), draw(*front, 2, 3)
        yield Row("(n)->()", lambda ops, a: ops.sum(a), [vector])
        yield Row("(n)->(n)", lambda ops, a: a * 2 + ops.sum(a), [vector])
        yield Row("(n)->(),()", lambda ops, a: (ops.sum(a), ops.max(a)), [vector])
        yield Row("(n)->(n),()", lambda ops, a: (a, ops.max(a)), [vector])
        yield Row("(m,n)->(n,m)", lambda ops, a: ops.transpose(a), [matrix])
        yield Row("(m,n)->(m)", lambda ops, a: ops.sum(a, axis=1), [matrix])
        yield Row("()->()", lambda ops, a: a * a, [draw(*front)])
        if 0 not in front:  # else only a call would tell
            yield Row("()->(n)", lambda ops, a: ops.stack([a, a * 2]), [draw(*front)])
            yield Row("(n)->(k)", lambda ops, a: ops.concatenate([a, a]), [vector])
            yield Row(None, lambda ops, a: a * a + 1, [draw(*front)])
    fronts = [
        ((), ()),
        ((4,), ()),
        ((), (4,)),
        ((4,), (4,)),
        ((4,), (1,)),
        ((2, 1), (3,)),
        ((2, 4), (4,)),
        ((0,), (1,)),
    ]
    for one, two in [*fronts, ((2, 1), (1, 3)), ((4,), (3,)), ((2, 3), (3, 2))]:  # the last two do not meet
        a, b = draw(*one, 3), draw(*two, 3)
        yield Row("(n),(n)->()", lambda ops, a, b: ops.sum(a * b), [a, b])
        yield Row("(n),(n)->(n),()", lambda ops, a, b: (a * b, ops.sum(b)), [a, b])
        yield Row("(m,n),(n)->(m)", lambda ops, a, b: ops.matmul(a, b), [draw(*one, 2, 3), b])
        yield Row("(m,n),(n,p)->(m,p)", lambda ops, a, b: ops.matmul(a, b), [draw(*one, 2, 3), draw(*two, 3, 4)])
        yield Row("(),(n)->(n)", lambda ops, a, b: a * b, [draw(*one), b])
        yield Row("(n),()->()", lambda ops, a, b: ops.sum(a) * b, [a, draw(*two)])
        yield Row("(m),(n)->(m,n)", lambda ops, a, b: ops.outer(a, b), [draw(*one, 2), b])
        yield Row("(n),(m)->()", lambda ops, a, b: ops.sum(a) * ops.sum(b), [draw(*one, 2), b])
        yield Row("(n),(n)->()", lambda ops, a, b: ops.sum(a * b), [a, draw(*two, 4)])
        yield Row("(n)->()", lambda ops, a, b: ops.sum(a) * b, [a, 2.0], {1})
        yield Row("(n)->()", lambda ops, a, b: ops.sum(a) * ops.sum(b), [a, draw(*two, 5)], {1})
        yield Row("(n)->()", lambda ops, b, a: ops.sum(a) * ops.sum(b), [draw(*two, 5), a], {0})
    for wrong in [
        "(n)",
        "n->()",
        "(n)->",
        "(n),->()",
        "(n)->(m",
        "",
        "()",
        "->()",
        "(n)->n",
        "(n?)->()",
        "(n)->(n)(n)",
    ]:
        yield Row(wrong, lambda ops, a, *others: ops.sum(a), [draw(2, 3)])
    yield Row("(n)->(n)", lambda ops, a: ops.concatenate([a, a]), [draw(2, 3)])
    yield Row("(n)->()", lambda ops, a: a, [draw(2, 3)])
    yield Row("(n)->(),()", lambda ops, a: ops.sum(a), [draw(2, 3)])
    yield Row("(n)->()", lambda ops, a: ops.sum(a), [np.float64(2.0)])
    yield Row("(m,n)->()", lambda ops, a: ops.sum(a), [draw(3)])
    yield Row("(n),(n)->()", lambda ops, a: ops.sum(a), [draw(3)])
    yield Row("(n)->()", lambda ops, a, b: ops.sum(a), [draw(3), draw(3)])
    yield Row("(n)->()", lambda ops, a: ops.sum(a), [np.arange(6.0).reshape(2, 3).T.copy().T])


def outcome(ops: Any, row: Row) -> Any:
    """The results, or that there are none."""
    try:
        mapped = ops.vectorize(lambda *xs: row.f(ops, *xs), excluded=row.excluded, signature=row.signature)
        result = mapped(*row.arguments)
    except (TypeError, ValueError):
        return None
    return [np.asarray(x) for x in (result if isinstance(result, (tuple, list)) else [result])]


def is_same(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    pairs = zip(one, two, strict=False)
    return len(one) == len(two) and all(x.shape == y.shape and np.allclose(x, y, atol=1e-6) for x, y in pairs)


def main() -> None:
    cases, differing = [*rows()], []
    for row in cases:
        ours, theirs = outcome(wg.ops, row), outcome(keras.ops, row)
        if not is_same(ours, theirs):
            shapes = [np.shape(x) for x in row.arguments]
            differing.append(f"{row.signature} of {shapes}, without {row.excluded}: {ours}, Keras {theirs}")
    print(json.dumps([len(cases), differing]))


if __name__ == "__main__":
    main()
